//! Finds markers in the content of recorded outputs that neither the chat template nor the draft knows.

use super::{Departure, Explained, Sample, read, spelled};
use backchat_core::diagnostic::{Diagnostic, Severity, escape};
use backchat_core::json::Value;
use backchat_parser::template::Template;

/// A marker is one of a format, not one of a text, if at least this many outputs have it, and one of so many.
const LEAST: usize = 2;
const ONE_OF: usize = 3;

/// How many markers are named.
const MOST: usize = 6;

/// How many markers of a text, and different ones of all texts, are examined.
const MOST_EXAMINED: usize = 500;

/// The longest marker, in bytes.
const LONGEST: usize = 64;

impl Explained {
    /// Takes samples without an expected message for unexplained whose content keeps a marker that recurs: any text may be
    /// content, but a format's marker is none. Returns a warning that names the markers.
    pub(in crate::derive) fn without_unknown_markers(
        &mut self,
        samples: &[Sample],
        template: &Template,
    ) -> Option<Diagnostic> {
        let (warning, markers) = unknown_markers(samples, template)?;
        for sample in samples.iter().filter(|sample| sample.message.is_none()) {
            let is_known = self.departures.iter().any(|departure| departure.sample == sample.name);
            let kept = markers.iter().filter_map(|marker| Some((sample.text.find(marker)?, marker))).min();
            if let Some((at, marker)) = kept.filter(|_| !is_known) {
                let why = format!("the marker `{}` is unknown and stays in `content`", escape(marker));
                self.departures.push(Departure { sample: sample.name.clone(), at, why, got: None });
            }
        }
        Some(warning)
    }
}

/// A warning about the markers that recur in the content of samples without an expected message, and the markers.
fn unknown_markers(samples: &[Sample], template: &Template) -> Option<(Diagnostic, Vec<String>)> {
    let delimiters = template.fields().iter().flat_map(|field| field.open.iter().chain(&field.close));
    let known: Vec<String> = delimiters.flat_map(spelled).collect();
    let mut counts: Vec<(String, usize)> = Vec::new();
    // A message says what is content.
    let unjudged: Vec<&Sample> = samples.iter().filter(|sample| sample.message.is_none()).collect();
    for sample in &unjudged {
        let Ok((finished, _)) = read(sample, template, sample.prefix.as_deref().unwrap_or_default()) else { continue };
        let Some(content) = finished.message.get("content").and_then(Value::as_str) else { continue };
        let mut found: Vec<&str> = Vec::new();
        for mark in marks(content).take(MOST_EXAMINED) {
            if !found.contains(&mark) && !known.iter().any(|known| known.contains(mark)) {
                found.push(mark);
            }
        }
        for mark in found {
            let has_room = counts.len() < MOST_EXAMINED;
            match counts.iter_mut().find(|(known, _)| known == mark) {
                Some((_, count)) => *count += 1,
                None if has_room => counts.push((mark.to_owned(), 1)),
                None => {}
            }
        }
    }
    let of = unjudged.len();
    counts.retain(|(_, count)| *count >= LEAST && *count * ONE_OF >= of);
    let named = counts.iter().take(MOST).map(|(mark, count)| format!("`{}` ({count})", escape(mark)));
    let named = named.collect::<Vec<_>>().join(", ");
    (!counts.is_empty()).then(|| {
        let message =
            format!("markers that the chat template does not write stay in `content` of {of} samples: {named}");
        let help = "if they delimit reasoning or calls, give the samples a `message`, or write their fields by hand";
        let warning = Diagnostic::new(Severity::Warning, "derive-unknown-marker", message).help(help);
        (warning, counts.into_iter().map(|(mark, _)| mark).collect())
    })
}

/// What looks like a marker in a text and is not in quotes: `<word>`, `<|word|>`, `[WORD]`, `[[WORD]]`, with or without
/// `/`.
fn marks(text: &str) -> impl Iterator<Item = &str> {
    let is_quote = |c: char| matches!(c, '`' | '"' | '\'');
    text.match_indices(['<', '[']).filter_map(move |(at, bracket)| {
        let rest = text.get(at..)?;
        let close = if bracket == "<" { '>' } else { ']' };
        let name = rest.trim_start_matches(['<', '[', '|', '/']);
        let length = name.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | ':' | '.')))?;
        let (word, after) = name.split_at_checked(length)?;
        let tail = after.strip_prefix('|').unwrap_or(after);
        let closers = tail.len() - tail.trim_start_matches(close).len();
        let mark = rest.get(..rest.len() - tail.len() + closers)?;
        let before = text.get(..at)?.chars().next_back();
        // `[[WORD]]` is one marker, and begins at its first bracket.
        let is_inside = before.is_some_and(|c| matches!(c, '<' | '[') || is_quote(c));
        let is_loud = bracket == "<" || mark.starts_with("[[") || !word.chars().any(char::is_lowercase);
        let is_word = word.chars().filter(|c| c.is_alphabetic()).count() > 1 && mark.len() <= LONGEST;
        (closers > 0 && !is_inside && is_loud && is_word).then_some(mark)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, template, value};

    #[test]
    fn markers_that_recur_in_content_are_named() {
        let after = |text: &str| Sample::new("s", text).prefix("<assistant>".to_owned());
        let (call, words) = ("[[THOUGHT]]Hm.[[/THOUGHT]]Hi<end>", "Hi<end>");
        let meant = after(call).message(value(r#"{"content": "Hi"}"#));
        for (samples, named) in [
            (vec![after(call), after(words), after(call)], Some("`[[THOUGHT]]` (2), `[[/THOUGHT]]` (2)")),
            (vec![after(call), after(words)], None),
            (vec![after("<weigh>Hm.</weigh>Hi<end>"), after("<weigh>Hm.</weigh>Yo<end>")], None),
            (vec![after("Write `<b1>`: a < b, [x]<end>"), after("Write `<b1>`: a < b, [x]<end>")], None),
            (vec![meant.clone(), meant], None),
        ] {
            let found = unknown_markers(&samples, &template(ANSWER));
            let found = found.map(|(found, _)| found.message.rsplit_once("samples: ").unwrap().1.to_owned());
            assert_eq!(found.as_deref(), named, "{samples:?}");
        }
    }

    #[test]
    fn a_sample_whose_content_keeps_an_unknown_marker_is_not_explained() {
        let named = |name: &str, text: &str| Sample::new(name, text).prefix("<assistant>".to_owned());
        let call = "[[THOUGHT]]Hm.[[/THOUGHT]]Hi<end>";
        let samples = [named("a", call), named("b", "Hi<end>"), named("c", call)];
        let mut explained = crate::derive::recorded::explain(&samples, &template(ANSWER), &[]);
        assert_eq!(explained.departures, []);
        assert!(explained.without_unknown_markers(&samples, &template(ANSWER)).is_some());
        assert_eq!(explained.describe().as_deref(), Some("samples: 1 of 3 explained"));
        let departures: Vec<_> = explained.departures.iter().map(|found| (found.sample.as_str(), found.at)).collect();
        assert_eq!(departures, [("a", 0), ("c", 0)]);
        assert_eq!(explained.departures[0].why, "the marker `[[THOUGHT]]` is unknown and stays in `content`");
    }

    #[test]
    fn marks_are_words_in_brackets() {
        let found: Vec<_> = marks("<think>a</think> <|im_end|> [CALL] [[call]] [1] [x] <b \"<q>\" `[Q]` [[a").collect();
        assert_eq!(found, ["<think>", "</think>", "<|im_end|>", "[CALL]", "[[call]]"]);
    }
}
