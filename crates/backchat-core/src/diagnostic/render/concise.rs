//! The `concise` format: exactly one line for each diagnostic, whatever its texts contain.

use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use super::{position, remarks};
use crate::diagnostic::{Diagnostic, Severity, escape};

/// `file:line:column: severity[id] path: message; further differences`, one line each.
pub(super) fn render(diagnostics: &[Diagnostic], color: bool) -> String {
    let mut out = String::new();
    for diagnostic in diagnostics {
        let place = diagnostic.place.as_ref();
        if let Some(position) = place.and_then(position) {
            out.push_str(&position);
            out.push_str(": ");
        }
        let style = match diagnostic.severity {
            _ if !color => Style::new(),
            Severity::Error => AnsiColor::Red.on_default().bold(),
            Severity::Warning => AnsiColor::Yellow.on_default().bold(),
            Severity::Note => AnsiColor::Green.on_default().bold(),
        };
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
