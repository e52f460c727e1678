//! The formats of diagnostics. A format never fails, and omits absent parts of a diagnostic.

mod concise;
mod full;
mod github;
mod json;
mod junit;
mod sarif;

use anstyle::{AnsiColor, Style};

use super::{Diagnostic, Label, Place, Severity, Sources, escape, escape_json};

pub(super) use json::to_value;

pub use junit::{Case, Suite, render_junit};

/// How diagnostics are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// An excerpt of the file with the place underlined, and the fix: for people.
    Full,
    /// One line each.
    Concise,
    /// One JSON object.
    Json,
    /// Annotations of a GitHub workflow.
    Github,
    /// A JUnit report.
    Junit,
    /// A SARIF log.
    Sarif,
}

/// Writes diagnostics in a format; colors matter to [`Format::Full`] and [`Format::Concise`] only.
pub fn render(diagnostics: &[Diagnostic], format: Format, sources: &Sources, color: bool) -> String {
    match format {
        Format::Full => full::render(diagnostics, sources, color),
        Format::Concise => concise::render(diagnostics, color),
        Format::Json => escape_json(&json::render(diagnostics)).into_owned(),
        Format::Github => github::render(diagnostics),
        Format::Junit => render_junit(&Suite::by_file(diagnostics)),
        Format::Sarif => escape_json(&sarif::render(diagnostics, sources)).into_owned(),
    }
}

/// `file:line:column`, as far as it is known, safe to print.
fn position(place: &Place) -> Option<String> {
    let file = place.file.as_deref().map(escape);
    match (file, place.line_column) {
        (Some(file), Some((line, column))) => Some(format!("{file}:{line}:{column}")),
        (Some(file), None) => Some(file.into_owned()),
        (None, Some((line, column))) => Some(format!("{line}:{column}")),
        (None, None) => None,
    }
}

/// The style of the name of a severity, for output in color.
fn style_of(severity: Severity) -> Style {
    let color = match severity {
        Severity::Error => AnsiColor::Red,
        Severity::Warning => AnsiColor::Yellow,
        Severity::Note => AnsiColor::Green,
    };
    color.on_default().bold()
}

/// The labels without a place of their own, which add to the message.
fn remarks(diagnostic: &Diagnostic) -> impl Iterator<Item = &str> {
    let adds = diagnostic.labels.iter().filter(|label| label.place == Place::default());
    adds.map(|label| label.message.as_str())
}

/// A label on one line, with the place it points at.
fn located(label: &Label) -> String {
    let at = position(&label.place).map(|position| format!("{position}: ")).unwrap_or_default();
    let path = label.place.path.as_deref().map(|path| format!("{}: ", escape(path))).unwrap_or_default();
    format!("{at}{path}{}", escape(&label.message))
}
