//! The repair of the audited template, and how rows are read with it.

use crate::cli::parse::ParseOptions;
use crate::cli::{Failure, input};
use backchat_chat::Budget;
use backchat_derive::derive::Options;
use backchat_legacy::schema::source::TemplateOrSchema;
use backchat_parser::template::source;
use backchat_workbench::answers;
use backchat_workbench::repair::{self, Plan};

/// A template's repair.
pub struct Repaired {
    pub plan: Plan,
    /// The options of the audit, with the repaired template.
    pub options: ParseOptions,
}

/// The repair of a template; `None` if it needs none, or if no chat template shows how it should read. The default chat
/// template is the one next to the template.
pub fn find(
    template: Option<&str>,
    chat_template: Option<&str>,
    options: &ParseOptions,
    budget: Budget,
) -> Result<Option<Repaired>, Failure> {
    // Standard input was read for the audit.
    let Some(template) = template.filter(|template| *template != "-") else { return Ok(None) };
    let source = match chat_template {
        Some(name) => Some(backchat_chat::source::open(name, None)?.for_tools()),
        // One that does not load matters only if it was named.
        None => answers::chat_template(template).ok().flatten(),
    };
    let Some(source) = source.map(backchat_chat::source::Source::with_tokens_beside) else { return Ok(None) };
    let opened = input::template(template)?;
    let text = opened.sources.text(Some(&opened.file)).unwrap_or_default();
    let derive = Options::for_source(&source).budget(budget);
    let Some(plan) = repair::plan(&source.template, &opened.file, text, &derive) else { return Ok(None) };
    let repaired = source::from_text(opened.file, plan.text.clone())?.loaded.template;
    let options = ParseOptions {
        template: Some(TemplateOrSchema::Template(repaired)),
        tools: options.tools.clone(),
        row_options: options.row_options,
        ..ParseOptions::default()
    };
    Ok(Some(Repaired { plan, options }))
}
