//! The remaining notes: limits, losses, warnings.

use super::html::Html;
use super::page::Section;
use backchat_core::diagnostic::{Diagnostic, Place, Severity};

/// The section of notes, if there are any. Failures have a place of their own on the page.
pub(super) fn section(diagnostics: &[Diagnostic]) -> Option<Section<'_>> {
    let is_listed = |diagnostic: &&Diagnostic| diagnostic.id != "derive-unproved";
    let listed: Vec<&Diagnostic> = diagnostics.iter().filter(is_listed).collect();
    (!listed.is_empty()).then(|| Section::new("notes", "Limits and losses", |html| list(html, listed)))
}

/// Diagnostics as a list, each with its help.
pub(super) fn list<'d>(html: &mut Html, diagnostics: impl IntoIterator<Item = &'d Diagnostic>) {
    html.of_class("ul", "notes", |html| {
        for diagnostic in diagnostics {
            html.of_class("li", severity_class(diagnostic.severity), |html| one(html, diagnostic));
        }
    });
}

/// The class of a severity in the stylesheet.
pub(super) fn severity_class(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "bad",
        Severity::Warning => "doubtful",
        _ => "",
    }
}

fn one(html: &mut Html, diagnostic: &Diagnostic) {
    html.tag("strong", "", diagnostic.severity.name());
    html.text(" ");
    html.tag("code", "id", diagnostic.id);
    html.text(" ");
    if let Some(place) = &diagnostic.place {
        html.tag("span", "place", &place_words(place));
        html.text(" ");
    }
    html.prose(&diagnostic.message);
    for label in &diagnostic.labels {
        html.words("p", "label", &label.message);
    }
    if let Some(help) = &diagnostic.help {
        html.words("p", "help", help);
    }
}

/// A place as editors take it, `file:line:column`, with the path of the value.
fn place_words(place: &Place) -> String {
    let mut words = place.file.as_deref().map_or_else(String::new, str::to_owned);
    if let Some((line, column)) = place.line_column {
        words.push_str(&format!(":{line}:{column}"));
    }
    if let Some(path) = &place.path {
        words.push_str(&format!(" {path}"));
    }
    words.trim().to_owned()
}
