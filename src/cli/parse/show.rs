//! Output for people: the message, formatted and colored, and its problems.

use std::fmt::Write;

use super::answer::Recording;
use super::row_error::RowError;
use backchat_core::diagnostic::{self, Diagnostic, Place, escape};
use backchat_core::json::{self, Object, Value};
use backchat_parser::parser::{Event, Mode, Problem, ProblemKind, Span};
use backchat_parser::template::Template;
use backchat_workbench::audit::{NEAR_MARKER, UNKNOWN_MARKER, wrong_closer};
use backchat_workbench::replay::{UnreadMarker, why_unclosed};

const RESET: &str = "\x1b[0m";
pub(super) const KEY: &str = "\x1b[36m";
pub(super) const STRING: &str = "\x1b[32m";
const NUMBER: &str = "\x1b[33m";
const WORD: &str = "\x1b[35m";
pub(super) const QUIET: &str = "\x1b[2m";
pub(super) const STEP: &str = "\x1b[1m";
pub(super) const BAD: &str = "\x1b[31m";

/// The message as JSON over several lines, safe to print.
pub fn message(message: &Value, color: bool) -> String {
    let mut out = String::new();
    let mut pen = Pen { out: &mut out, color };
    pen.value(message, 0);
    out
}

pub(super) struct Pen<'o> {
    pub(super) out: &'o mut String,
    pub(super) color: bool,
}

impl Pen<'_> {
    pub(super) fn painted(&mut self, color: &str, text: &str) {
        if self.color && !color.is_empty() && !text.is_empty() {
            self.out.extend([color, text, RESET]);
        } else {
            self.out.push_str(text);
        }
    }

    fn value(&mut self, value: &Value, depth: usize) {
        match value {
            Value::Object(entries) => self.object(entries, depth),
            Value::List(items) if items.is_empty() => self.out.push_str("[]"),
            Value::List(items) => {
                self.out.push('[');
                for (index, item) in items.iter().enumerate() {
                    self.next_line(index > 0, depth + 1);
                    self.value(item, depth + 1);
                }
                self.next_line(false, depth);
                self.out.push(']');
            }
            Value::String(text) => self.painted(STRING, &quoted(text)),
            Value::Number(_) => self.painted(NUMBER, &value.to_string()),
            Value::Null | Value::Bool(_) => self.painted(WORD, &value.to_string()),
        }
    }

    fn object(&mut self, entries: &Object, depth: usize) {
        if entries.is_empty() {
            return self.out.push_str("{}");
        }
        self.out.push('{');
        for (index, (key, value)) in entries.iter().enumerate() {
            self.next_line(index > 0, depth + 1);
            self.painted(KEY, &quoted(key));
            self.out.push_str(": ");
            self.value(value, depth + 1);
        }
        self.next_line(false, depth);
        self.out.push('}');
    }

    fn next_line(&mut self, comma: bool, depth: usize) {
        self.out.push_str(if comma { ",\n" } else { "\n" });
        self.out.extend(std::iter::repeat_n("  ", depth));
    }
}

/// A JSON string with control characters escaped.
fn quoted(text: &str) -> String {
    let json = Value::from(text).to_string();
    if escape(&json) == json {
        return json;
    }
    let mut out = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        // Writing to a string does not fail.
        let _ = match escape(c.encode_utf8(&mut [0; 4])).len() == c.len_utf8() {
            true => out.write_char(c),
            false => json::escape(c, &mut out),
        };
    }
    out
}

/// The longest text that a line shows.
const WIDTH: usize = 60;

/// The text between quotes, safe to print, shortened if it is long.
pub(super) fn excerpt(text: &str) -> String {
    let end = text.char_indices().nth(WIDTH).map_or(text.len(), |(at, _)| at);
    let shown = quoted(text.get(..end).unwrap_or(text));
    if end < text.len() { format!("{shown} … {} characters", text.chars().count()) } else { shown }
}

/// The end of a long text between quotes, safe to print.
pub(super) fn tail(text: &str) -> String {
    match text.char_indices().nth_back(WIDTH) {
        Some((at, c)) => format!("… {}", quoted(text.get(at + c.len_utf8()..).unwrap_or(text))),
        None => quoted(text),
    }
}

pub(super) fn shortened(json: &str) -> String {
    diagnostic::shortened(&escape(json), WIDTH).into_owned()
}

/// The findings about malformed regions. `text` is the output, from the file of that name.
pub fn malformed(recording: &Recording, text: &str, file: &str) -> impl Iterator<Item = Diagnostic> {
    recording.events().filter_map(move |event| match event {
        Event::Malformed { field, text: raw, reason, body, .. } => {
            let problem = recording.events().find_map(|event| match event {
                Event::Problem(problem) if problem.kind == ProblemKind::Malformed => {
                    (problem.span.start <= body.end && body.start <= problem.span.end).then_some(problem)
                }
                _ => None,
            });
            let remedy = problem
                .as_ref()
                .and_then(|problem| remedy(problem))
                .map(|remedy| format!("; {remedy}"))
                .unwrap_or_default();
            let message = format!("a region of `{field}` could not be parsed: {reason}");
            Some(
                Diagnostic::warning("malformed-region", message)
                    .at(place(body, recording.prefix_length, text).in_file(file))
                    .help(format!("its text, {}, is not in the message{remedy}", excerpt(raw))),
            )
        }
        _ => None,
    })
}

/// What reads a malformed region: recovery policies, or another closer in the template.
fn remedy(problem: &Problem) -> Option<String> {
    if let Some(marker) = wrong_closer(problem) {
        let (marker, field) = (escape(&marker), problem.field.as_deref().unwrap_or_default());
        return Some(format!(
            "if the model means a closer by `{marker}`, add it to `close` of `{field}` in the template"
        ));
    }
    let policies = problem.policies.iter().map(|policy| policy.as_str()).collect::<Vec<_>>().join(",");
    (!policies.is_empty() && !problem.is_recovered).then(|| format!("`--recover {policies}` reads it"))
}

/// The findings about regions without a closer.
pub fn unclosed<'a>(
    recording: &'a Recording,
    template: &'a Template,
    text: &'a str,
    file: &'a str,
) -> impl Iterator<Item = Diagnostic> + 'a {
    recording.events().filter_map(move |event| match event {
        Event::Problem(problem) if problem.kind == ProblemKind::Unclosed => {
            let field = problem.field.as_deref().unwrap_or_default();
            let by = if problem.at_end { "the end of the text" } else { "the end of the turn" };
            let message = format!("a region of `{field}` was closed by {by}, not by its own delimiter");
            let place = place(&problem.span, recording.prefix_length, text);
            let body = place.span.as_ref().and_then(|span| text.get(span.clone())).unwrap_or_default();
            let help = why_unclosed(template, field, body, problem.at_end);
            Some(Diagnostic::warning("unclosed-region", message).at(place.in_file(file)).help(help))
        }
        _ => None,
    })
}

/// The finding about a marker that is read as text.
pub fn unread_marker(unread: &UnreadMarker, text: &str, file: &str) -> Diagnostic {
    let place = match text.find(unread.written.as_str()) {
        Some(start) => Place::span(text, start..start + unread.written.len()),
        None => Place::default(),
    };
    let id = if unread.meant.is_some() { NEAR_MARKER } else { UNKNOWN_MARKER };
    Diagnostic::warning(id, unread.describe()).at(place.in_file(file)).help(unread.help())
}

/// The findings about other problems, and about recovered ones. The notes have those left out, if there are any notes.
pub fn problems(recording: &Recording, has_notes: bool, text: &str, file: &str) -> impl Iterator<Item = Diagnostic> {
    recording.events().filter_map(move |event| {
        let Event::Problem(problem) = event else { return None };
        let what = match problem.kind {
            ProblemKind::Malformed if problem.is_recovered => "the region departs from the format",
            ProblemKind::Unclosed if problem.is_recovered => "the end of the text cuts a call",
            ProblemKind::FalseOpener => "no value follows the opener",
            ProblemKind::BareCall => "a call lacks its opener",
            ProblemKind::CallInReasoning => "a call is inside the reasoning",
            ProblemKind::TextIgnored => "text outside of all tags is ignored",
            ProblemKind::ArgumentAbsorbed => "an argument contains the next one",
            ProblemKind::DuplicateKey => "a key comes twice, and the last one counts",
            ProblemKind::NamelessCall => "the call has no name",
            ProblemKind::UnknownTool => "the tool is not among those of the request",
            ProblemKind::ArgumentsNotObject => "the arguments are not an object",
            ProblemKind::InvalidArguments => "an argument violates the tool's schema",
            ProblemKind::StrayMarker | ProblemKind::TextOutside if problem.is_recovered => {
                "the text departs from the format"
            }
            ProblemKind::StrayMarker if !has_notes => "the marker closes nothing that is open",
            ProblemKind::TextOutside if !has_notes => "the text belongs to no field",
            _ => return None,
        };
        let path = problem.path.as_deref().map(|path| format!(", {}", escape(path))).unwrap_or_default();
        let reason = problem.reason.as_deref().filter(|_| problem.kind == ProblemKind::InvalidArguments);
        let reason = reason.map(|reason| format!(" ({reason})")).unwrap_or_default();
        let place = place(&problem.span, recording.prefix_length, text).in_file(file);
        let found = Diagnostic::warning(problem.kind.as_str(), format!("{what}{path}{reason}")).at(place);
        let policies = problem.policies.iter().map(|policy| policy.as_str()).collect::<Vec<_>>().join(",");
        Some(match (policies.is_empty(), problem.is_recovered) {
            (true, _) => found,
            (false, true) => found.help(format!("recovered by {policies}")),
            (false, false) => found.help(format!("`--recover {policies}` reads it")),
        })
    })
}

/// The position of a span in the output; `None` if it begins in the prompt.
fn place(stretch: &Span, prefix_length: usize, text: &str) -> Place {
    match (stretch.start.checked_sub(prefix_length), stretch.end.checked_sub(prefix_length)) {
        (Some(start), Some(end)) => Place::span(text, start..end),
        _ => Place::default(),
    }
}

/// The error of a parse that failed.
pub fn failed(error: &RowError, mode: Mode, file: &str) -> Diagnostic {
    let problem =
        Diagnostic::error("parse-failed", format!("at {}: {}", error.stage, error.message)).at(Place::file(file));
    match mode {
        Mode::Reference => {
            problem.help("transformers raises an error here; stable mode reports the problem and continues")
        }
        Mode::Stable => problem,
    }
}

/// The finding for a note of the parser.
pub fn doubtful(note: &str, file: &str) -> Diagnostic {
    Diagnostic::warning("doubtful-answer", escape(note).into_owned()).at(Place::file(file))
}

/// The finding about a missing required field.
pub fn missing(field: &str, file: &str) -> Diagnostic {
    Diagnostic::warning("missing-field", format!("the required field `{field}` is missing from the output"))
        .at(Place::file(file))
        .help("compare the output with the delimiter that opens the field; set `\"optional\": true` if the field may be absent")
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn a_message_is_indented_and_safe_to_print() {
        let value = json::read(r#"{"content": "a\u001b[31m\u202e", "n": [1.50, null], "e": {}, "l": []}"#).unwrap();
        let shown = message(&value, false);
        insta::assert_snapshot!(shown, @r#"
        {
          "content": "a\u001b[31m\u202e",
          "n": [
            1.50,
            null
          ],
          "e": {},
          "l": []
        }
        "#);
        assert_eq!(json::read(&shown).unwrap(), value, "it is still the same JSON");
        let colored = message(&value, true);
        assert!(colored.contains("\x1b[36m\"content\"\x1b[0m: \x1b[32m\"a\\u001b[31m\\u202e\"\x1b[0m"));
    }
}
