//! What a wire format cannot carry, each with the shortest example.

use super::arguments::{Arguments, Strings};
use super::calls::{Layout, Piece};
use super::findings::Findings;
use super::reasoning::Source;
use crate::diagnostic::Diagnostic;

/// Says what no parser can get back from this wire format.
pub(super) fn find(findings: &Findings) -> Vec<Diagnostic> {
    let mut limits = Vec::new();
    let mut limit = |id: &'static str, message: &str, help: &str| {
        limits.push(Diagnostic::new(crate::diagnostic::Severity::Note, id, message).help(help));
    };
    if let Some(reasoning) = &findings.reasoning
        && reasoning.source == Source::Prefilled
    {
        limit(
            "derive-reasoning-guessed",
            &format!(
                "the prompt opens reasoning with `{}`, and no render shows how it ends; `{}` is the counterpart",
                reasoning.open, reasoning.close
            ),
            "check one real output, or give some with --samples",
        );
    }
    if let Some(reasoning) = findings.reasoning.as_ref().filter(|reasoning| reasoning.source == Source::Asked) {
        limit(
            "derive-reasoning-asked",
            &format!(
                "under a setting the prompt asks for reasoning between `{}` and `{}`, and no render shows it",
                reasoning.open, reasoning.close
            ),
            "check one real output, or give some with --samples",
        );
    }
    let Some(calls) = &findings.calls else { return limits };
    match &calls.layout {
        Layout::Marked { head, arguments } => {
            if head.contains(&Piece::NamedId) {
                limit(
                    "derive-name-in-id",
                    "a call's name stands on the wire only inside its id",
                    "it is read as the part between the last dot and the colon, as in `space.NAME:0`",
                );
            }
            if let Arguments::Spelled(spelled) = arguments {
                if spelled.strings == Strings::Bare {
                    limit(
                        "derive-types-lost",
                        "the wire does not tell the string \"5\" from the number 5",
                        "pass the tools when parsing: their JSON schemas give the types back",
                    );
                }
                if let Strings::Quoted { escaped: false, quote } = &spelled.strings {
                    limit(
                        "derive-quotes",
                        &format!("strings stand between {quote} and nothing inside them is escaped"),
                        "an argument that holds the quote and what follows it on the wire is cut there",
                    );
                }
            }
        }
        Layout::Object(paths) | Layout::Array(paths) if paths.arguments_text => {
            limit(
                "derive-arguments-text",
                "arguments are written as the text of a JSON object inside JSON",
                "a response template cannot parse them a second time: they come back as text",
            );
        }
        Layout::Object(_) | Layout::Array(_) | Layout::Keyed => {}
    }
    limits
}
