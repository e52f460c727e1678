//! Limits of a wire format that need no proof: values that it cannot carry, and guesses about it.

use crate::wire::structure::{Arguments, Encoding, FoundBy, WireFormat};
use backchat_core::diagnostic::{Diagnostic, Severity};

/// Reports the values that no parser can recover from this wire, and the guesses that no render confirms.
pub(super) fn find(wire: &WireFormat) -> Vec<Diagnostic> {
    let mut limits = Vec::new();
    let mut limit = |id: &'static str, message: &str, help: &str| {
        limits.push(Diagnostic::new(Severity::Note, id, message).help(help));
    };
    if let Some(reasoning) = &wire.reasoning {
        let (open, close) = (reasoning.open.trim(), reasoning.close.trim());
        let check = "check a recorded output, or pass several with --samples";
        match reasoning.source {
            FoundBy::Guessed => {
                let message = format!(
                    "the prompt opens reasoning with `{open}`, and no render shows how it ends; the draft closes it with `{close}`"
                );
                limit("derive-reasoning-guessed", &message, check);
            }
            FoundBy::Asked => {
                let message = format!(
                    "under a setting the prompt asks for reasoning between `{open}` and `{close}`, and no render shows it"
                );
                limit("derive-reasoning-asked", &message, check);
            }
            FoundBy::Rendered | FoundBy::OpenedByPrompt | FoundBy::Removed => {}
        }
    }
    let Some(calls) = &wire.calls else { return limits };
    if calls.ids_hold_names {
        limit(
            "derive-name-in-id",
            "the wire format writes the name of a call only inside its id",
            "the draft reads the part between the last dot and the colon, as in `space.NAME:0`",
        );
    }
    if let Arguments::Pairs(pairs) = &calls.body.arguments {
        if pairs.values.strings == Encoding::Bare {
            let is_marked = pairs.values.typed.is_some() || pairs.values.frame.is_some() || !pairs.forms.is_empty();
            let message = match is_marked {
                true => "the draft reads the string \"5\" and the number 5 alike, although the wire format marks types",
                false => "the wire format does not distinguish the string \"5\" from the number 5",
            };
            limit("derive-types-lost", message, "pass the tools when parsing: their JSON schemas restore the types");
        }
        if let Encoding::Quoted { escaped: false, open, .. } = &pairs.values.strings {
            limit(
                "derive-quotes",
                &format!("strings are written between {open} without escapes"),
                "an argument that contains the quote followed by the text that ends a value is cut there",
            );
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{named_body, pairs, reasoning, wire, wire_with};
    use crate::wire::structure::{Pairs, Typed, Values};

    fn ids(wire: &WireFormat) -> Vec<&'static str> {
        find(wire).iter().map(|note| note.id).collect()
    }

    #[test]
    fn each_form_of_arguments_has_its_limit() {
        let written = |strings| {
            let plain = pairs(["<", ">", "</>", ""]);
            Arguments::Pairs(Box::new(Pairs { values: Values { strings, ..plain.values.clone() }, ..plain }))
        };
        let quoted = |escaped| Encoding::Quoted { open: "'".to_owned(), close: "'".to_owned(), escaped };
        let typed =
            Typed { prefix: " type=".to_owned(), suffix: ">".to_owned(), string: "str".to_owned(), has_space: false };
        let plain = pairs(["<", ">", "</>", ""]);
        let marked = Pairs { values: Values { typed: Some(typed), ..plain.values.clone() }, ..plain };
        let table: [(Arguments, &[&str]); 6] = [
            (Arguments::Json, &[]),
            (written(Encoding::Bare), &["derive-types-lost"]),
            (Arguments::Pairs(Box::new(marked)), &["derive-types-lost"]),
            (written(Encoding::Json), &[]),
            (written(quoted(false)), &["derive-quotes"]),
            (written(quoted(true)), &[]),
        ];
        for (arguments, limits) in table {
            let wire = wire_with(["", "<f=", "</f>", "", ""], named_body(">", arguments.clone()));
            assert_eq!(ids(&wire), limits, "{arguments:?}");
        }
    }

    #[test]
    fn a_guess_about_reasoning_names_its_marks() {
        assert_eq!(ids(&wire()), [""; 0]);
        for (source, limits) in [
            (FoundBy::Rendered, &[][..]),
            (FoundBy::Guessed, &["derive-reasoning-guessed"]),
            (FoundBy::Asked, &["derive-reasoning-asked"]),
        ] {
            let mut thought = reasoning("<think>\n", "</think>");
            thought.source = source;
            let notes = find(&WireFormat { reasoning: Some(thought), ..wire() });
            assert_eq!(notes.iter().map(|note| note.id).collect::<Vec<_>>(), limits);
            assert!(notes.iter().all(|note| note.message.contains("`<think>`") && note.message.contains("`</think>`")));
        }
    }

    #[test]
    fn a_name_that_only_the_id_contains_is_a_limit() {
        let mut wire = wire_with(["", "<f=", "</f>", "", ""], named_body(">", Arguments::Json));
        wire.calls.as_mut().unwrap().ids_hold_names = true;
        assert_eq!(ids(&wire), ["derive-name-in-id"]);
    }
}
