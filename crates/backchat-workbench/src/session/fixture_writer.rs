//! Writes the message of an output into its fixture; the file is replaced as a whole or not at all.

use std::path::Path;

use super::material::Material;
use crate::check::Reading;
use crate::check::fixture::{self, Actual};
use crate::input::{Problem, path_from};
use backchat_core::diagnostic::{Diagnostic, Place};
use backchat_core::json::{Object, Value};
use backchat_parser::parser::{Options, Parser};
use backchat_parser::template::source;

/// A fixture that holds an output and the message it gives.
pub fn new_fixture(
    file: &Path,
    template: &str,
    material: &Material,
    tools: Option<&Value>,
    message: &Object,
) -> String {
    let folder = file.parent().unwrap_or(Path::new(""));
    let template = path_from(folder, Path::new(template));
    fixture::write_case(&template, &material.prefix, tools, &material.output, message)
}

/// What a case gives now: the message, what is wrong, the events.
pub fn actual(material: &Material) -> Result<Actual, Problem> {
    let options = Options::default().tools(material.tools.clone());
    let options = options.recover(material.recovery.policies).validate(material.recovery.validate);
    let parser = Parser::new(&material.template, &material.prefix, options);
    let parser = parser.map_err(|error| Diagnostic::error("parse-failed", error.to_string()))?;
    let reading = Reading::new(parser, std::iter::once(material.output.as_str()));
    let (error, events) = (reading.errors(), reading.event_values());
    Ok(Actual { message: reading.message().cloned(), error, problems: reading.problems, events })
}

/// Replaces a file as a whole.
pub fn write(file: &Path, text: &str) -> Result<(), Problem> {
    source::replace_file(file, text.as_bytes()).map_err(|error| {
        Diagnostic::error("unwritable-file", format!("cannot write the file: {error}"))
            .at(Place::file(file.display().to_string()))
            .help("the file is as it was; check that you may write to its folder")
            .into()
    })
}
