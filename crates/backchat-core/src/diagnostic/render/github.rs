//! The `github` format: workflow commands. Properties and messages are encoded, so no text ends a command early.

use super::located;
use crate::diagnostic::{Diagnostic, Severity, escape};

/// Workflow commands, one line each, which GitHub shows as annotations of the file.
pub(super) fn render(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(command).collect()
}

fn command(diagnostic: &Diagnostic) -> String {
    let name = match diagnostic.severity {
        Severity::Note => "notice",
        other => other.name(),
    };
    let mut properties = Vec::new();
    let mut message = String::new();
    if let Some(place) = &diagnostic.place {
        properties.extend(place.file.as_deref().map(|file| format!("file={}", property(file))));
        if let Some((line, column)) = place.line_column {
            properties.push(format!("line={line},col={column}"));
        }
        if let Some(path) = &place.path {
            message = format!("{}: ", escape(path));
        }
    }
    properties.push(format!("title={}", property(diagnostic.id)));
    message.push_str(&escape(&diagnostic.message));
    for label in &diagnostic.labels {
        message.push('\n');
        message.push_str(&located(label));
    }
    if let Some(help) = &diagnostic.help {
        message.push('\n');
        message.push_str(&escape(help));
    }
    format!("::{name} {}::{}\n", properties.join(","), data(&message))
}

/// The runner reads `%`, carriage returns and newlines in the message back from their codes.
fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// In a property `:` and `,` end the value, so they are written as codes as well.
fn property(text: &str) -> String {
    data(&escape(text)).replace(':', "%3A").replace(',', "%2C")
}
