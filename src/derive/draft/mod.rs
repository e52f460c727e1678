//! From findings to a response template.

mod calls;
mod close;
mod values;

use super::calls::Calls;
use super::findings::Findings;
use super::marks::{self, escape, flexible};
use crate::json::{Object, Value};

/// What the format leaves open: drafts differ in these, and the proof decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leeway {
    /// Whether a call whose outer mark is missing is still read as one.
    pub outer_marks_optional: bool,
    /// Whether a closing mark of reasoning that nothing opened is left out of content.
    pub stray_close_swallowed: bool,
}

impl Leeway {
    /// The leeways worth trying, the best first. An answer that only talks about a mark is kept whole where the proof
    /// and the samples leave it at that; about a mark that looks like a token of its own no answer talks.
    pub fn all(findings: &Findings) -> [Leeway; 3] {
        let swallows = findings.reasoning.as_ref().is_some_and(|reasoning| marks::is_token(&reasoning.close));
        [
            Leeway { outer_marks_optional: true, stray_close_swallowed: swallows },
            Leeway { outer_marks_optional: false, stray_close_swallowed: swallows },
            Leeway { outer_marks_optional: true, stray_close_swallowed: !swallows },
        ]
    }
}

/// Writes the response template these findings ask for.
pub(super) fn draft(findings: &Findings, leeway: Leeway) -> Value {
    let mut template = Object::new();
    template.insert("defaults".to_owned(), Value::from([("role", "assistant".into())]));
    template.insert("start_anchor".to_owned(), one_or_many(anchors(findings)));
    let mut fields = Object::new();
    let is_parted = findings.calls.is_some() || !findings.content.wraps.is_empty();
    let joins = is_parted && findings.content.opens.is_empty();
    if let Some(reasoning) = &findings.reasoning {
        let mut field = Object::new();
        if joins {
            // White space before it would be a piece of content, empty but for the join behind it. It is bounded: a run
            // without end would be held, and gone through again from each of its characters.
            field.insert("open_pattern".to_owned(), format!("\\s{{0,4}}{}", escape(&reasoning.open)).into());
        } else {
            field.insert("open".to_owned(), reasoning.open.as_str().into());
        }
        // A model that stops while it thinks has thought all the same.
        let stops = findings.sure_stops().filter(|stop| *stop != reasoning.close);
        let closes: Vec<String> = [reasoning.close.as_str()].into_iter().chain(stops).map(str::to_owned).collect();
        // A mark that opens calls may be all that stands between.
        let opening = findings.calls.as_ref().map(Calls::opening).unwrap_or_default();
        let begins = |end: &&String| opening.starts_with(end.as_str());
        let before_calls: Vec<String> =
            reasoning.other_ends.iter().filter(begins).map(|end| format!("(?={})", escape(end))).collect();
        if joins || !before_calls.is_empty() {
            let patterns: Vec<String> = closes.iter().map(|close| escape(close)).collect();
            let patterns = before_calls.into_iter().chain([format!("{}\\s*", any_of(patterns))]).collect::<Vec<_>>();
            field.insert("close_pattern".to_owned(), patterns.join("|").into());
        } else {
            field.insert("close".to_owned(), one_or_many(closes));
        }
        field.insert("content".to_owned(), "text".into());
        if joins {
            join(&mut field);
        }
        fields.insert(findings.reasoning_field.clone(), Value::Object(field));
    }
    if let Some(calls) = &findings.calls {
        fields.insert("tool_calls".to_owned(), Value::Object(calls::field(calls, findings, leeway)));
    }
    fields.insert("content".to_owned(), Value::Object(content_field(findings, joins, leeway)));
    template.insert("fields".to_owned(), Value::Object(fields));
    Value::Object(template)
}

/// The ends of the prompt after which the message begins. What the prompt writes behind the header is no part of it
/// where no mark of the message begins there.
fn anchors(findings: &Findings) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    let mut add = |text: String| {
        if !anchors.contains(&text) {
            anchors.push(text);
        }
    };
    for header in &findings.turn.headers {
        let text = header.text.trim_start();
        for prompt in findings.turn.prompts.iter().filter(|prompt| prompt.after == header.after) {
            let written = prompt.prefill.trim();
            let closes = findings.reasoning.as_ref().is_some_and(|reasoning| written == reasoning.close);
            if closes || !written.is_empty() && !opens(findings).iter().any(|mark| written.contains(mark)) {
                add(format!("{text}{}", prompt.prefill));
            }
        }
        add(text.to_owned());
    }
    anchors
}

/// The marks that open a part of the message.
fn opens(findings: &Findings) -> Vec<&str> {
    let reasoning = findings.reasoning.iter().flat_map(|reasoning| [reasoning.open.as_str(), &reasoning.close]);
    let content = findings.content.opens.iter().chain(&findings.content.wraps).map(String::as_str);
    let calls = findings.calls.iter().flat_map(|calls| [calls.section_open.as_str(), &calls.open]);
    reasoning.chain(content).chain(calls).map(str::trim).filter(|mark| !mark.is_empty()).collect()
}

/// A pattern that any of these matches.
fn any_of(mut patterns: Vec<String>) -> String {
    if patterns.len() == 1 { patterns.remove(0) } else { format!("(?:{})", patterns.join("|")) }
}

fn one_or_many(mut texts: Vec<String>) -> Value {
    match texts.len() {
        1 => texts.remove(0).into(),
        _ => Value::List(texts.into_iter().map(Value::from).collect()),
    }
}

fn content_field(findings: &Findings, joins: bool, leeway: Leeway) -> Object {
    let mut field = Object::new();
    let content = &findings.content;
    if content.opens.iter().any(|open| marks::ends_in_word(open)) {
        let opens = content.opens.iter().map(|open| calls::whole_word(open));
        field.insert("open_pattern".to_owned(), opens.collect::<Vec<_>>().join("|").into());
    } else if !content.opens.is_empty() {
        field.insert("open".to_owned(), one_or_many(content.opens.clone()));
    }
    let mut closes: Vec<String> = Vec::new();
    let mut add = |mark: &str| {
        // Where content is all that stands outside other marks, what ends it must not occur in prose or code.
        let stands_out = !content.opens.is_empty() || marks::is_distinct(mark);
        if !mark.trim().is_empty() && stands_out && !closes.iter().any(|known| known == mark) {
            closes.push(mark.to_owned());
        }
    };
    content.closes.iter().chain(&content.wraps).for_each(|mark| add(mark));
    if content.opens.is_empty() {
        if (content.closes_reasoning || leeway.stray_close_swallowed)
            && let Some(reasoning) = &findings.reasoning
        {
            add(&reasoning.close);
            // A token that opens reasoning together with a word is no text without the word, either.
            let token = reasoning.open.trim_end_matches(char::is_alphanumeric);
            if token != reasoning.open && marks::is_token(token) {
                add(token);
            }
        }
        if findings.turn.writes_header {
            add(findings.turn.header().trim());
        }
        if let Some(calls) = &findings.calls {
            marks::groups(&calls.section_close).into_iter().for_each(&mut add);
        }
    }
    findings.stops.iter().for_each(|stop| add(stop));
    if !closes.is_empty() {
        // White space after the end must not begin a new piece of content.
        let pattern = any_of(closes.iter().map(|close| flexible(close)).collect());
        if content.opens.is_empty() {
            field.insert("close_pattern".to_owned(), format!("{pattern}\\s*").into());
        } else if let Some(calls) = findings.calls.as_ref().filter(|_| content.ends_at_calls) {
            let next = calls::next_call(calls, findings);
            field.insert("close_pattern".to_owned(), format!("(?={next})|{pattern}").into());
        } else {
            field.insert("close".to_owned(), one_or_many(closes));
        }
    }
    field.insert("content".to_owned(), "text".into());
    if joins {
        join(&mut field);
    }
    field
}

/// Keeps every piece of a text that calls or marks part.
fn join(field: &mut Object) {
    field.insert("repeats".to_owned(), true.into());
    field.insert("join".to_owned(), "\n\n".into());
}
