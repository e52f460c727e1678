//! The `concise` format: exactly one line for each diagnostic, even if its texts have several.

use std::fmt::Write;

use anstyle::Style;

use super::{position, remarks, style_of};
use crate::diagnostic::{Diagnostic, escape};

/// `file:line:column: severity[id] path: message; further differences`, one line each.
pub(super) fn render(diagnostics: &[Diagnostic], color: bool) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = diagnostic.place.as_ref();
        if let Some(position) = place.and_then(position) {
            out.push_str(&position);
            out.push_str(": ");
        }
        let style = if color { style_of(diagnostic.severity) } else { Style::new() };
        // Writing to a string does not fail.
        let _ = write!(out, "{style}{}[{}]{style:#} ", diagnostic.severity.name(), diagnostic.id);
        if let Some(path) = place.and_then(|place| place.path.as_deref()) {
            let _ = write!(out, "{}: ", escape(path));
        }
        out.push_str(&escape(&diagnostic.message));
        for remark in remarks(diagnostic) {
            let _ = write!(out, "; {}", escape(remark));
        }
        out.push('\n');
    }
    out
}
