//! The smallest output of each cause as a fixture, with its message and its problems.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::cli::parse::ParseOptions;
use crate::cli::{Failure, Global, input, note, signals};
use backchat_core::diagnostic::{counted, escape};
use backchat_core::json::Value;
use backchat_legacy::schema::source::TemplateOrSchema;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{Options, Parser};
use backchat_parser::template::Template;
use backchat_workbench::audit::{Example, Tally};
use backchat_workbench::check::Reading;
use backchat_workbench::check::fixture::write_sections;
use backchat_workbench::replay::{Recording, Recovery, Run};

/// The output of a row, step by step, as the audit reads it; `None` for one of ids, or that no template reads.
pub fn recording_of(row: &Value, options: &ParseOptions) -> Option<Recording> {
    let output = row.get("text")?.as_str()?;
    let prefix = row.get("prefix").and_then(Value::as_str).unwrap_or_default();
    let tools = tools_of(row, options);
    let run = Run {
        template: &template_of(row, options)?,
        prefix,
        mode: options.mode,
        tools: tools.map(Tools::new).transpose().ok()?.map(Arc::new),
        recovery: Recovery { validate: options.row_options.validate, ..Recovery::default() },
    };
    Recording::new(&run, [output]).ok()
}

/// The tools of a row, or else those of the command line.
pub fn tools_of<'a>(row: &'a Value, options: &'a ParseOptions) -> Option<&'a Value> {
    row.get("tools").filter(|tools| !tools.is_null()).or(options.tools.as_ref())
}

/// The file of a template that a row carries, and its text.
type Carried = (PathBuf, String);

/// The folder of the fixtures, and the defaults for rows.
pub struct Fixtures<'a> {
    pub folder: &'a Path,
    pub options: &'a ParseOptions,
    /// The template of the command line.
    pub template: Option<&'a str>,
    pub logs: &'a str,
}

impl Fixtures<'_> {
    /// Writes a fixture for each cause; an existing file may have been reviewed, and is kept.
    pub fn write(&self, tally: &Tally, global: &Global) -> Result<(), Failure> {
        let cannot = |error| input::cannot_write(&self.folder.display().to_string(), &error);
        fs::create_dir_all(self.folder).map_err(cannot)?;
        let (mut written, mut kept) = (0, 0);
        for (cause, counted) in tally.ranked() {
            let file = self.folder.join(format!("{}.fixture", cause.name()));
            let Some((text, template)) = self.fixture(&file, &counted.example) else { continue };
            if file.exists() {
                kept += 1;
                continue;
            }
            if let Some((file, text)) = template {
                signals::write(&file, text)?;
            }
            signals::write(&file, text)?;
            written += 1;
        }
        if !global.is_quiet() {
            let folder = self.folder.display().to_string();
            let kept = if kept > 0 { format!(", kept {kept} that exist") } else { String::new() };
            note(&format!("wrote {} into {}{kept}", counted(written, "fixture"), escape(&folder)));
        }
        Ok(())
    }

    /// The text of a fixture, and the file of its template if the row carries one. `None` for an output of token ids.
    fn fixture(&self, file: &Path, example: &Example) -> Option<(String, Option<Carried>)> {
        let row = example.value();
        let output = row.get("text")?.as_str()?;
        let prefix = row.get("prefix").and_then(Value::as_str).unwrap_or_default();
        let tools = tools_of(&row, self.options);
        let (template, named, own) = self.template(file, &row)?;
        let made = tools.map(Tools::new).transpose().ok()?.map(Arc::new);
        let options = Options::default().tools(made).validate(self.options.row_options.validate);
        let reading = Reading::new(Parser::new(&template, prefix, options).ok()?, std::iter::once(output));
        let message = reading.message()?;
        let origin = format!("# Line {} of {}.\n", example.line, escape(input::name(self.logs)));
        let validate = if self.options.row_options.validate { "validate: yes\n" } else { "" };
        let sections = write_sections(prefix, tools, output, message);
        let mut text = format!("{origin}template: {named}\n{validate}\n{sections}");
        for (name, lines) in [("error", reading.errors()), ("problems", reading.problems)] {
            if !lines.is_empty() {
                text.push_str(&format!("=== {name}\n{}\n", lines.join("\n")));
            }
        }
        Some((text, own))
    }

    /// The template of a row, its name in a fixture, and a file of its own if it is in none.
    fn template(&self, file: &Path, row: &Value) -> Option<(Template, String, Option<Carried>)> {
        let template = template_of(row, self.options)?;
        let named = |name: &str| {
            let folder = file.parent().unwrap_or(Path::new(""));
            (input::path_from(folder, Path::new(name)), None)
        };
        let beside = |carried: &Value| {
            let own = file.with_extension("template.json");
            let name = own.file_name()?.to_string_lossy().into_owned();
            Some((name, Some((own, format!("{}\n", carried.to_pretty("  "))))))
        };
        let (name, own) = match (row.get("template"), self.template) {
            (Some(Value::String(name)), _) => named(name),
            (Some(carried), _) => beside(carried)?,
            // Standard input cannot be read again.
            (None, Some("-")) => beside(&template.to_value())?,
            (None, name) => named(name?),
        };
        Some((template, name, own))
    }
}

/// The response template for a row: the one that it contains or names, or else that of the command line.
pub fn template_of(row: &Value, options: &ParseOptions) -> Option<Template> {
    match row.get("template") {
        Some(Value::String(name)) => Some(input::template(name).ok()?.loaded.template),
        Some(carried) => Some(Template::from_value(carried).ok()?.template),
        None => match &options.template {
            Some(TemplateOrSchema::Template(template)) => Some(template.clone()),
            _ => None,
        },
    }
}
