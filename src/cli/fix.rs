//! `fix`: writes a patched chat template only if the proof found every render byte-identical.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use super::chat_options::{Budget, Selected};
use super::{Failure, Global};
use backchat_chat::RenderOptions;
use backchat_core::diagnostic::{Diagnostic, Place, escape, escape_lines};
use backchat_probe::chats::{self, Patched};
use backchat_probe::diff::unified;
use backchat_workbench::answers;

/// Add generation blocks to a chat template, proved to render the same bytes
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat fix chat_template.jinja --generation > chat_template_training.jinja
  backchat fix chat_template.jinja --generation --write

The template goes to stdout, the proof to stderr.

Exit codes: 0 added and proved, 1 no placement of the blocks can be proved, 2 could not run.")]
pub struct Fix {
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the Hugging
    /// Face cache, or `-`
    source: String,
    /// Mark the assistant's text with `{% generation %}` blocks
    #[arg(long, required = true)]
    generation: bool,
    /// Write the template into its .jinja file instead of printing it
    #[arg(long)]
    write: bool,
    #[command(flatten)]
    selected: Selected,
    #[command(flatten)]
    budget: Budget,
}

impl Fix {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let source = self.selected.open(&self.source)?;
        let variables = self.selected.given.variables(&source);
        let options = RenderOptions::default().now(self.selected.given.clock());
        answers::compile(&source)?;
        self.budget.begin();
        let patched = chats::add_generation_blocks(&source.template, &variables, &options);
        self.budget.report(&source.file, global);
        let patched = match patched {
            Ok(patched) => patched,
            Err(error) => {
                super::say!("error: cannot add generation blocks: {}", escape(&error.to_string()));
                return Ok(ExitCode::from(1));
            }
        };
        if !global.is_quiet() {
            report(&patched, &source.template);
        }
        if self.write {
            let path = Path::new(&source.file);
            if path.extension().is_none_or(|extension| extension != "jinja") {
                let message = "only a .jinja file can be rewritten in place";
                let diagnostic = Diagnostic::error("cannot-write", message).at(Place::file(source.file.as_str()));
                return Err(diagnostic.help("print the template and copy it into the source").into());
            }
            super::signals::write(path, &patched.template)?;
        } else {
            super::print(&patched.template)?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Reports the proof, and rewritten expressions, on standard error.
fn report(patched: &Patched, before: &str) {
    let conversations = patched.conversations;
    if patched.had_blocks {
        super::note(&format!(
            "the template already has generation blocks; they mark the assistant's text in {conversations} of \
             {conversations} conversations"
        ));
        return;
    }
    super::note(&format!(
        "{conversations} of {conversations} conversations render to the same bytes, with the same spans as `render --mask`"
    ));
    if !patched.rewritten.is_empty() {
        super::note("some expressions had to be rewritten to place the blocks:");
        let diff = unified(before, &patched.template, 1, None);
        // A closed standard error is ignored.
        let _ = io::stderr().write_all(escape_lines(&diff).as_bytes());
    }
}
