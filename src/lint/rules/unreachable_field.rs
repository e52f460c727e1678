//! Marks that cannot do what they are there for.

use std::collections::HashSet;

use super::rule::{Page, Rule, Source};
use super::run::read_whole;
use super::subject::{Side, Subject};
use crate::diagnostic::{Diagnostic, Severity};
use crate::json::Value;
use crate::pattern::{Construct, Pattern};
use crate::template::{ContentSpec, Delimiter};

pub(super) static UNREACHABLE: Rule = Rule {
    id: "RT010",
    name: "unreachable-field",
    severity: Severity::Warning,
    page: Page {
        what: "A field never opens: wherever its mark stands, another field is opened or closed instead.",
        why: "The field is missing from every message, and its text goes into another one. Of two delimiters that match at one place the longer one counts, and of two of one length an open before a close, then the name that sorts first.",
        example: "\"a\": {\"open\": \"<x>\", \"close\": \"</x>\"},\n\"b\": {\"open\": \"<x>\", \"close\": \"</x>\"}",
        fix: "Give the field a mark of its own, or a longer one.",
    },
    source: Source::Run(unreachable),
};

pub(super) static PREFIX_LITERAL: Rule = Rule {
    id: "RT011",
    name: "prefix-literal",
    severity: Severity::Warning,
    page: Page {
        what: "One literal of a list is the beginning of another.",
        why: "The longest one counts, but in a stream the shorter one is complete before the longer one has come. transformers takes the one or the other by where the chunks end.",
        example: "\"close\": [\"</think>\", \"</think>\\n\\n\"]",
        fix: "Keep the shorter one and let a pattern take the rest: `\"close_pattern\": \"</think>\\\\s*\"`.",
    },
    source: Source::Check(prefix_literal),
};

pub(super) static CLOSE_IN_BODY: Rule = Rule {
    id: "RT012",
    name: "close-in-body",
    severity: Severity::Warning,
    page: Page {
        what: "The close mark is something that the body of the region may hold.",
        why: "The first one ends the region, also in the middle of a string or of a nested object. The rest of the body goes elsewhere and the value is cut short or malformed. A mark cannot be escaped: the format knows no quoting.",
        example: "\"tool_calls\": {\"open\": \"<call>\", \"close\": \"}\", \"content\": \"json\"}",
        fix: "Close with a mark that only the model's format writes, such as a special token, or take in what surrounds it: `\"close_pattern\": \"\\\\}\\\\s*</call>\"`.",
    },
    source: Source::Check(close_in_body),
};

pub(super) static NO_STOP: Rule = Rule {
    id: "RT013",
    name: "stop-token-leaks",
    severity: Severity::Warning,
    page: Page {
        what: "No field closes with the token that ends the model's turn. A note if the file does not say which token that is.",
        why: "A server that does not strip the token leaves it at the end of the text, and it becomes part of the message. Whether it strips is the server's setting, not the template's.",
        example: "\"content\": {}\n\n\"Hi<|end|>\" has the content \"Hi<|end|>\".",
        fix: "Give the field that ends the message a `close` with every token that may end a turn: `\"close\": [\"<|end|>\", \"<|stop|>\"]`.",
    },
    source: Source::Check(no_stop),
};

pub(super) static EMPTY_MATCH: Rule = Rule {
    id: "RT014",
    name: "empty-match",
    severity: Severity::Warning,
    page: Page {
        what: "A delimiter can match without taking a character.",
        why: "An open of nothing opens everywhere. Where transformers meets a close of nothing for the field without `open` before that has any text, it stops looking, and the rest of the message vanishes; where open and close can both be nothing, it never ends.",
        example: "\"content\": {\"close_pattern\": \"(?=<)\"}",
        fix: "Let the pattern take at least the first character of the mark, or leave the close out: another field's open ends the field without `open` by itself.",
    },
    source: Source::Check(empty_match),
};

/// What may stand behind a mark: a pattern may look ahead for white space, a sign or a word.
const FOLLOWS: [&str; 4] = ["x", " x", "\nx", "{x"];

fn unreachable(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let regions =
        subject.fields().filter_map(|(_, marks)| Some(format!("{}x{}", marks.open.first()?, marks.close.first()?)));
    let mut contexts: Vec<String> = ["", "x", "\n", "x\n"].map(str::to_owned).to_vec();
    contexts.extend(regions);
    contexts.extend(subject.fields().filter_map(|(_, marks)| marks.close.first().cloned()));
    let mut found = Vec::new();
    for (field, marks) in subject.fields().filter(|(field, _)| field.open.is_some()) {
        let sees_behind =
            field.open.as_ref().is_some_and(|open| open.pattern().shape().constructs.contains(&Construct::LookBehind));
        if marks.open.is_empty() || sees_behind {
            continue;
        }
        let opens = |text: &str| {
            read_whole(subject.template, text)
                .is_none_or(|answer| answer.regions.iter().any(|(name, _)| *name == field.name))
        };
        let reached = marks.open.iter().take(12).any(|open| {
            contexts.iter().any(|before| FOLLOWS.iter().any(|after| opens(&format!("{before}{open}{after}"))))
        });
        if reached {
            continue;
        }
        let text = marks.open.first().cloned().unwrap_or_default();
        let instead = read_whole(subject.template, &format!("{text}x"));
        let winner = instead
            .and_then(|answer| answer.regions.into_iter().map(|(name, _)| name).find(|name| *name != field.name));
        let message = match &winner {
            Some(winner) => {
                format!("`{}` never opens: {} is taken for `{winner}`", field.name, Value::from(text.as_str()))
            }
            None => format!("`{}` never opens: {} does something else", field.name, Value::from(text.as_str())),
        };
        let finding = rule.finding(message).at(subject.place(&Subject::delimiter_path(field, Side::Open)));
        let winner = winner.and_then(|name| subject.template.field(&name));
        let finding = match winner.filter(|winner| winner.open.is_some()) {
            Some(winner) => {
                finding.label(subject.place(&Subject::delimiter_path(winner, Side::Open)), "this one is taken")
            }
            None => finding,
        };
        found.push(finding.help("give it a mark of its own"));
    }
    found
}

fn prefix_literal(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for (field, side, delimiter) in subject.delimiters() {
        let literals = delimiter.literals().unwrap_or(&[]);
        let known: HashSet<&str> = literals.iter().map(String::as_str).collect();
        for (index, long) in literals.iter().enumerate() {
            let begins = |end: usize| long.get(..end).and_then(|text| known.get(text));
            let Some(short) = long.char_indices().map(|(at, _)| at).skip(1).find_map(begins) else { continue };
            let message = format!("{} is the beginning of {}", Value::from(*short), Value::from(long.as_str()));
            let path = Subject::delimiter_path(field, side);
            let path = if literals.len() > 1 { path.index(index) } else { path };
            let finding = rule.finding(message).at(subject.place(&path));
            found.push(finding.help("keep the shorter one, and let a pattern take what may follow"));
        }
    }
    found
}

/// Bodies as they may well be, by how they are read.
const JSON_BODY: &str =
    "{\"name\": \"f\", \"arguments\": {\"a\": {\"b\": [1, 2]}, \"c\": \"x, (y) [z].\\n`k`: 'v' <b>\"}, \"d\": {}}";
const TEXT_BODY: &str = "Hello, world.\n\nIt's 3 < 4 & 5 > 2: `code` [1] (see {x}).\n- one\n- two\n\n```\nf(\"a\")\n```\n# Title\n<b>bold</b> | 7%\n";

fn close_in_body(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for field in subject.template.fields() {
        let Some(close) = field.close.as_ref().filter(|_| field.open.is_some()) else { continue };
        let body = match &field.content {
            ContentSpec::Json(_) => JSON_BODY.to_owned(),
            ContentSpec::Text { .. } => TEXT_BODY.to_owned(),
            ContentSpec::XmlInline(args) => args.tag_pattern.examples().concat(),
            ContentSpec::KvLines(args) => kv_body(args.line_sep.as_deref(), args.kv_sep.as_deref().unwrap_or(":")),
            _ => continue,
        };
        // A close at the end of the text, or one of nothing, is another rule's.
        let inside = close.pattern().find_at(&body, 0).ok().flatten();
        let Some(inside) = inside.filter(|inside| inside.span().1 < body.len() && !inside.text().is_empty()) else {
            continue;
        };
        let what = match field.content {
            ContentSpec::Json(_) => "JSON",
            ContentSpec::Text { .. } => "plain text",
            ContentSpec::XmlInline(_) => "its own tags",
            _ => "its own lines",
        };
        let message = format!("{} closes the region, and may stand inside {what}", Value::from(inside.text()));
        let path = Subject::delimiter_path(field, Side::Close);
        found.push(rule.finding(message).at(subject.place(&path)).help("close with a mark that no body holds"));
    }
    found
}

fn kv_body(line_sep: Option<&str>, kv_sep: &str) -> String {
    let line_sep = line_sep.unwrap_or("\n");
    format!("key{kv_sep} one two{line_sep}other{kv_sep} 3{line_sep}last{kv_sep} x, y{line_sep}")
}

fn no_stop(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let Some(implicit) = subject.template.implicit_field() else { return Vec::new() };
    let path = Subject::delimiter_path(implicit, Side::Close);
    match &subject.stop {
        Some(stop) => {
            let leaks = read_whole(subject.template, &format!("Words{stop}")).and_then(|answer| answer.message.ok());
            if !leaks.is_some_and(|message| Value::Object(message).to_string().contains(stop.as_str())) {
                return Vec::new();
            }
            let message = format!("the stop token {} becomes part of `{}`", Value::from(stop.as_str()), implicit.name);
            let finding = rule.finding(message).at(subject.place(&path));
            vec![finding.help("add it to the `close` of the field")]
        }
        None if implicit.close.is_none() => {
            let message = format!(
                "nothing closes `{}`: a stop token that the server leaves in becomes part of it",
                implicit.name
            );
            let finding = rule.finding(message).at(subject.key_place(&Subject::path(implicit)));
            let finding = finding.help("give it a `close` with the token that ends the turn");
            // Chat templates that write no such token exist, and only who knows the tokenizer knows one.
            vec![Diagnostic { severity: Severity::Note, ..finding }]
        }
        None => Vec::new(),
    }
}

fn empty_match(subject: &Subject<'_>, rule: &Rule) -> Vec<Diagnostic> {
    let is_empty =
        |delimiter: Option<&Delimiter>| delimiter.is_some_and(|delimiter| matches_nothing(delimiter.pattern()));
    let mut found = Vec::new();
    for field in subject.template.fields() {
        let (open, close) = (field.open.as_ref(), field.close.as_ref());
        // Around a region with a mark on one side a match of nothing on the other does no harm.
        let (side, message) = if is_empty(open) && is_empty(close) {
            (Side::Open, "open and close can both match nothing: transformers never ends".to_owned())
        } else if open.is_some_and(|open| matches_nothing_in(open.pattern(), "ab c\nd")) {
            (Side::Open, format!("`{}` can open without a mark, in the middle of plain text", field.name))
        } else if open.is_none() && is_empty(close) {
            let message = "this can match nothing: where it does before any text has come, transformers drops the rest of the message";
            (Side::Close, message.to_owned())
        } else {
            continue;
        };
        let finding = rule.finding(message).at(subject.place(&Subject::delimiter_path(field, side)));
        found.push(finding.help("let the pattern take at least one character"));
    }
    found
}

/// Whether a pattern can match nothing before the end of one of the texts it is about, or of plain text.
fn matches_nothing(pattern: &Pattern) -> bool {
    let probes = pattern.examples().into_iter().chain(["ab c\n<x>".to_owned()]);
    probes.into_iter().any(|probe| matches_nothing_in(pattern, &format!("{probe}~z")))
}

/// Whether a pattern matches nothing inside a text, its start and its end aside.
fn matches_nothing_in(pattern: &Pattern, text: &str) -> bool {
    let is_inside = |at: usize| at > 0 && at + 1 < text.len();
    pattern.can_be_empty()
        && pattern.matches(text).flatten().take(64).any(|found| found.text().is_empty() && is_inside(found.span().0))
}
