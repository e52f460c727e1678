//! Changes of a chat template that are computed on request, each proved by renders.

use backchat_chat::source::Source;
use backchat_chat::{Budget, ChatTemplate, RenderOptions, examine};
use backchat_chats::chats;
use backchat_chats::mending;
use backchat_core::diagnostic::Edit;
use backchat_core::json::Object;
use backchat_probe::doctor::Options;

use crate::chat_text::ChatText;
use crate::fixtures::smallest_edit;
use crate::settings::Settings;

fn variables(source: &Source, settings: &Settings) -> Object {
    let mut variables = source.special_tokens.clone();
    variables.extend(settings.set.iter().cloned());
    variables
}

/// An edit of the source as one of the document.
fn of_document(text: &ChatText, edit: &Edit) -> Edit {
    Edit { span: text.span(&edit.span), text: text.written(&edit.text) }
}

/// Marks the assistant's text with generation blocks, as `backchat fix --generation` does.
///
/// # Errors
///
/// No placement of the blocks can be proved.
pub fn generation_blocks(text: &ChatText, source: &Source, settings: &Settings) -> Result<Option<Edit>, String> {
    let options = RenderOptions::default().now(Some(settings.now.clone()));
    let variables = variables(source, settings);
    let patched = examine(Budget::default(), || chats::add_generation_blocks(&source.template, &variables, &options));
    let patched = patched.map_err(|error| format!("cannot add generation blocks: {error}"))?;
    Ok(smallest_edit(&text.source, &patched.template).map(|edit| of_document(text, &edit)))
}

/// Repairs what `backchat fix` repairs.
///
/// # Errors
///
/// The template does not compile.
pub fn repaired(text: &ChatText, source: &Source, settings: &Settings) -> Result<Option<Edit>, String> {
    let compiled = ChatTemplate::compile(&source.template).map_err(|error| error.to_string())?;
    let options = Options::default().variables(variables(source, settings)).now(Some(settings.now.clone()));
    let repair = examine(Budget::times(mending::WORK), || mending::repair(&source.template, &compiled, &[], &options));
    Ok(smallest_edit(&text.source, &repair.text).map(|edit| of_document(text, &edit)))
}
