//! A chat template as commands use it: its name in messages, its compilation, and its clock.

use crate::input::Problem;
use backchat_chat::ChatTemplate;
use backchat_chat::source::Source;
use backchat_core::diagnostic::Sources;
pub use backchat_probe::probe::NOW;

/// How messages name a template: its file, or its key in one.
pub fn template_name(source: &Source) -> String {
    if source.file.ends_with(".jinja") {
        return source.file.clone();
    }
    let several = !source.other_names.is_empty();
    let key = source.name.as_deref().filter(|_| several).unwrap_or("chat_template");
    format!("{} ({key})", source.file)
}

/// Compiles a source, or returns the error.
pub fn compile(source: &Source) -> Result<ChatTemplate, Problem> {
    ChatTemplate::compile(&source.template).map_err(|error| {
        let file = template_name(source);
        Problem {
            diagnostics: vec![error.diagnostic(&source.template, &file)],
            sources: Sources::none().with(file, ChatTemplate::normalize(&source.template)),
        }
    })
}
