//! The field of reasoning: what opens it, and all that may close it.

use super::choices::{Choices, ThoughtEnd, ThoughtStart};
use super::pattern::{Delimiter, any_of, escape, spaced};
use super::{at_end, calls, content_label, joined, parser, without_label};
use crate::wire::structure::{Reasoning, WireFormat};
use backchat_core::json::Object;
use backchat_core::text::slice;

/// The field of reasoning; `None` if the wire has none.
pub(super) fn field(wire: &WireFormat, choices: &Choices) -> Option<Object> {
    let reasoning = wire.reasoning.as_ref()?;
    let mut field = Object::new();
    let whole = whole_close(wire, reasoning);
    let open = match reasoning.open.trim().is_empty() {
        // Without an opening, there is reasoning if the closing mark occurs at all, or in every turn.
        true if choices.thought_start == ThoughtStart::Exact => Delimiter::Pattern("^".to_owned()),
        true => Delimiter::Pattern(format!("^(?=.*?{})", escape(whole))),
        false => opening(wire, reasoning, choices.thought_start),
    };
    open.write(&mut field, "open");
    closing(wire, reasoning, choices).write(&mut field, "close");
    parser(&mut field, reasoning.is_json);
    joined(&mut field, reasoning.join.as_deref(), (&reasoning.open, &reasoning.close));
    Some(field)
}

/// The opening of reasoning, without white space around it as far as renders leave that open.
fn opening(wire: &WireFormat, reasoning: &Reasoning, start: ThoughtStart) -> Delimiter {
    let bare = reasoning.open.trim();
    let open = without_label(wire, bare);
    if wire.is_distinct(open) || reasoning.join.is_some() {
        Delimiter::Literals(vec![open.to_owned()])
    } else if reasoning.is_late {
        // The white space before a label is part of it, such as the start of a line.
        Delimiter::Literals(vec![reasoning.open.trim_end().to_owned()])
    } else if start != ThoughtStart::Spaced && open == bare {
        // An answer that begins with the same word has other white space around it, or nothing that closes reasoning after it.
        let closed = format!("(?=.*?{})", escape(whole_close(wire, reasoning)));
        let closed = if start == ThoughtStart::Closed { closed } else { String::new() };
        Delimiter::Pattern(format!("^{}{closed}", escape(&reasoning.open)))
    } else {
        // Prose may contain a label, so it opens reasoning only at the start of the turn.
        Delimiter::Pattern(format!("^\\s*{}", spaced(open)))
    }
}

/// What closes reasoning.
fn closing(wire: &WireFormat, reasoning: &Reasoning, choices: &Choices) -> Delimiter {
    let close = reasoning.close.trim();
    let closes = closing_texts(wire, reasoning, choices);
    let label = content_label(wire);
    match &wire.calls {
        // JSON contains no line break.
        _ if reasoning.is_json && close.is_empty() && reasoning.close.contains('\n') => {
            Delimiter::Pattern("\\s*\\n\\s*".to_owned())
        }
        // JSON may contain the text that follows it, but not after a quote without a backslash.
        _ if reasoning.is_json && !wire.is_distinct(close) => {
            let close = format!("(?<=[^\\\\]\"|\\\\\\\\\")\\s*{}", spaced(close));
            Delimiter::Pattern(close)
        }
        // White space and a label after it are not content.
        _ if reasoning.is_late || label.is_some() => {
            let label = label.map_or_else(String::new, |label| format!("(?:{}\\s*)?", escape(label)));
            let patterns = closes.iter().enumerate().map(|(at, close)| match at {
                0 => format!("{}\\s*{label}", spaced(close)),
                _ => format!("{}\\s*", spaced(close)),
            });
            Delimiter::Pattern(any_of(patterns))
        }
        // If nothing closes it before calls, the calls do.
        Some(calls) if reasoning.calls_close => {
            let calls = format!("(?={})", calls::opening(wire, calls, choices));
            let patterns = [calls].into_iter().chain(closes.iter().map(|close| escape(close)));
            // Any other stop, which reasoning may contain, closes it only at the end of the text.
            let stops = wire.stops.iter().filter(|stop| !closes.contains(stop)).map(|stop| at_end(wire, stop));
            Delimiter::Pattern(any_of(patterns.chain(stops)))
        }
        _ => match wire.sure_stops().find(|stop| close.starts_with(*stop)) {
            Some(stop) if choices.thought_end == ThoughtEnd::Turn => {
                let patterns = closes.iter().map(|close| escape(close)).chain([at_end(wire, stop)]);
                Delimiter::Pattern(any_of(patterns))
            }
            _ => Delimiter::Literals(closes),
        },
    }
}

/// The texts that close reasoning: its close, or the first mark of it, and each stop.
fn closing_texts(wire: &WireFormat, reasoning: &Reasoning, choices: &Choices) -> Vec<String> {
    let whole = whole_close(wire, reasoning);
    let first = wire.segmentation.first(reasoning.close.trim()).unwrap_or(whole);
    let closes = match choices.thought_end {
        ThoughtEnd::FirstMark => vec![first],
        ThoughtEnd::WholeOrFirst => vec![whole, first],
        _ => vec![whole],
    };
    let mut closes: Vec<String> = closes.into_iter().map(str::to_owned).collect();
    closes.retain(|close| !close.trim().is_empty());
    // A model that stops while it thinks has still produced reasoning.
    for stop in wire.sure_stops() {
        if !closes.iter().any(|close| close.contains(stop) || stop.contains(close.as_str())) {
            closes.push(stop.to_owned());
        }
    }
    closes
}

/// The whole close of reasoning, with the line breaks that tell it from prose.
fn whole_close<'w>(wire: &WireFormat, reasoning: &'w Reasoning) -> &'w str {
    // Reasoning may contain a label, so it counts only after the line breaks that renders have before it.
    let is_line = reasoning.close.starts_with('\n') && !wire.is_distinct(reasoning.close.trim());
    if is_line { reasoning.close.trim_end() } else { with_line_end(wire, &reasoning.close) }
}

/// What closes reasoning without white space around it, except for the line break that renders have after a text that prose
/// may contain, and for all of them after a mere sign, with which lines end in reasoning, too.
fn with_line_end<'w>(wire: &WireFormat, close: &'w str) -> &'w str {
    let (close, text) = (close.trim_start(), close.trim());
    let space = slice(close, text.len()..);
    let breaks = space.len() - space.trim_start_matches('\n').len();
    let most = if text.contains(char::is_alphanumeric) { 1 } else { breaks };
    let is_ended = !text.is_empty() && !wire.is_distinct(text);
    if is_ended { slice(close, ..text.len() + breaks.min(most)) } else { text }
}

#[cfg(test)]
mod tests {
    use super::super::{compile, opens_with_prose};
    use super::*;
    use crate::derive::by_hand::{draft, read, reasoning, wire};
    use crate::wire::structure::Content;
    use backchat_core::json::Value;

    #[test]
    fn reasoning_without_an_opening_needs_its_close() {
        let bare = WireFormat { reasoning: Some(reasoning("", "</think>")), ..wire() };
        let message = read(&draft(&bare), "Hm.</think>Yes.<end>");
        assert_eq!(message.to_string(), r#"{"role": "assistant", "thinking": "Hm.", "content": "Yes."}"#);
        assert_eq!(read(&draft(&bare), "Yes.<end>").to_string(), r#"{"role": "assistant", "content": "Yes."}"#);
        // Unless every turn begins with it.
        let always = Choices { thought_start: ThoughtStart::Exact, ..Choices::default() };
        let message = read(&compile(&bare, &always, "thinking"), "Hm.<end>");
        assert_eq!(message.to_string(), r#"{"role": "assistant", "thinking": "Hm."}"#);
    }

    #[test]
    fn choices_decide_which_marks_end_reasoning_and_are_not_content() {
        let message = |close: &str, choices: Choices, text: &str| {
            let wire = WireFormat { reasoning: Some(reasoning("<think>", close)), ..wire() };
            let message = read(&compile(&wire, &choices, "thinking"), text);
            ["thinking", "content"].map(|part| message.get(part).and_then(Value::as_str).unwrap_or_default().to_owned())
        };
        let (plain, thought) = (Choices::default(), "<think>Hm.</think>Yes.<end>");
        assert_eq!(message("</think>\n<say>", plain, thought), ["Hm.</think>Yes.", ""]);
        let early = Choices { thought_end: ThoughtEnd::FirstMark, ..plain };
        assert_eq!(message("</think>\n<say>", early, thought), ["Hm.", "Yes."]);
        let either = Choices { thought_end: ThoughtEnd::WholeOrFirst, ..plain };
        assert_eq!(message("</think><say>", either, "<think>Hm.</think><say>Yes.<end>"), ["Hm.", "Yes."]);
        assert_eq!(message("</think><say>", either, "<think>Hm.</think><end>"), ["Hm.", ""]);
        assert_eq!(message("</think>", plain, "</think>Yes.<end>"), ["", "</think>Yes."]);
        let swallows = Choices { drops_stray: true, ..plain };
        assert_eq!(message("</think>", swallows, "</think>Yes.<end>"), ["", "Yes."]);
    }

    #[test]
    fn a_turn_that_stops_inside_reasoning_has_reasoning() {
        let thinking = WireFormat { reasoning: Some(reasoning("<think>", "</think>")), ..wire() };
        let message = read(&draft(&thinking), "<think>Hm.<end>");
        assert_eq!(message.to_string(), r#"{"role": "assistant", "thinking": "Hm."}"#);
        // Reasoning may contain a stop that looks like a closing tag.
        let tagged = WireFormat { stops: vec!["</s>".to_owned()], ..thinking };
        assert_eq!(
            draft(&tagged).get("fields").unwrap().get("thinking").unwrap().get("close"),
            Some(&"</think>".into())
        );
    }

    #[test]
    fn a_bracket_with_a_line_break_behind_it_ends_reasoning_only_so() {
        let thinking = draft(&WireFormat { reasoning: Some(reasoning("(", ")\n")), ..wire() });
        let message = read(&thinking, "(Hm (or so), yes.)\nYes.<end>");
        assert_eq!(message.get("thinking"), Some(&"Hm (or so), yes.".into()));
        assert_eq!(message.get("content"), Some(&"Yes.".into()));
        // A mark does without the line break.
        let tagged = WireFormat { reasoning: Some(reasoning("<think>", "</think>\n")), ..wire() };
        assert_eq!(read(&draft(&tagged), "<think>Hm.</think>Yes.<end>").get("thinking"), Some(&"Hm.".into()));
    }

    #[test]
    fn a_word_opens_reasoning_with_any_white_space_around_it_or_exactly_that_of_renders() {
        let thinking = WireFormat { reasoning: Some(reasoning("Thinking\n", "</think>")), ..wire() };
        let exact = Choices { thought_start: ThoughtStart::Exact, ..Choices::default() };
        for (text, loose, strict) in [
            ("Thinking\nHm.</think>Yes.<end>", Some("Hm."), Some("Hm.")),
            ("\nThinking Hm.</think>Yes.<end>", Some("Hm."), None),
            ("Thinking about it, yes.<end>", Some("about it, yes."), None),
        ] {
            for (choices, thought) in [(Choices::default(), loose), (exact, strict)] {
                let message = read(&compile(&thinking, &choices, "thinking"), text);
                assert_eq!(message.get("thinking").and_then(Value::as_str), thought, "{text}");
            }
        }
        // A mark may have any white space around it.
        let marked = WireFormat { reasoning: Some(reasoning("<think>\n", "</think>")), ..wire() };
        assert_eq!(compile(&marked, &exact, "thinking"), compile(&marked, &Choices::default(), "thinking"));
        assert!(!opens_with_prose(&marked) && opens_with_prose(&thinking));
    }

    #[test]
    fn a_sign_opens_reasoning_alone_or_only_with_its_close_after_it() {
        let thinking = WireFormat { reasoning: Some(reasoning("*", "*\n\n")), ..wire() };
        let closed = Choices { thought_start: ThoughtStart::Closed, ..Choices::default() };
        let list = "* one\n* two *three*\n* four\n\nDone.";
        for (text, loose, strict) in [
            ("*Hm.*\n\nYes.<end>", Some("Hm."), Some("Hm.")),
            ("*Hm, *so*\nor so.*\n\nYes.<end>", Some("Hm, *so*\nor so."), Some("Hm, *so*\nor so.")),
            (&format!("{list}<end>"), Some(list.get(1..).unwrap().trim()), None),
        ] {
            for (choices, thought) in [(Choices::default(), loose), (closed, strict)] {
                let message = read(&compile(&thinking, &choices, "thinking"), text);
                assert_eq!(message.get("thinking").and_then(Value::as_str), thought, "{text}");
            }
        }
    }

    #[test]
    fn reasoning_opens_behind_a_label_that_content_leaves_out() {
        let content = Content { labels: vec!["final|>\n".to_owned()], ..Content::default() };
        let thought = reasoning("final|>\n<think>", "</think>");
        let labeled = draft(&WireFormat { content, reasoning: Some(thought), ..wire() });
        let message = read(&labeled, " final|>\n<think>Hm.</think>Yes.<end>");
        assert_eq!(message.get("thinking"), Some(&"Hm.".into()));
        assert_eq!(message.get("content"), Some(&"Yes.".into()));
        assert_eq!(read(&labeled, " final|>\nYes.<end>").get("content"), Some(&"Yes.".into()));
    }

    #[test]
    fn reasoning_in_json_ends_with_its_line() {
        let thought = Reasoning { is_json: true, ..reasoning("think:", "\n") };
        let message =
            read(&draft(&WireFormat { reasoning: Some(thought), ..wire() }), "think: \"So:\\nHm.\"\nYes.<end>");
        assert_eq!(message.get("thinking"), Some(&"So:\nHm.".into()));
        assert_eq!(message.get("content"), Some(&"Yes.".into()));
    }
}
