//! The conversations that determine the places of generation blocks and prove them, with the spans of the assistant's text.

use super::super::frames::Frames;
use super::super::mask::{PartSpan, mask_with};
use super::super::script::{Form, Script};
use super::condition::Condition;
use backchat_chat::{ChatTemplate, RenderOptions, ended};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_probe::probe::{Renderer, context, role_of, stand_ins};

/// The conversations that determine the places of the tags, and more that only prove them.
pub(super) const SHAPES: &str =
    "UA SUA UAUA UR URUR UC UCT UCTA Uc UcTA Ur UrTA UrTR UD UDTTA UCTAUA UF SUAUCTAUA UAUAU UCTCTA UqTA";

/// The end of the texts in each half of the conversations, and what marks the stand-ins of special tokens that were not
/// given, so that nothing depends on the length of either.
pub(super) const HALVES: [(&str, &str); 2] = [("", "|"), ("\n\nSecond line, with <b> and {x}", "")];

/// A conversation to prove with.
pub(super) struct Case {
    pub(super) messages: Value,
    pub(super) context: Object,
    pub(super) text: String,
    /// The assistant's text, in bytes.
    pub(super) spans: Vec<Span>,
    /// Whether a block may begin in the header, as far as the generation prompt writes that.
    pub(super) is_lenient: bool,
}

impl Case {
    /// Whether the text between two positions is insignificant: white space, and the token that ends the whole chat.
    pub(super) fn is_beside(&self, from: usize, to: usize) -> bool {
        let Some(text) = self.text.get(from..to).map(str::trim) else { return false };
        let eos = self.context.get("eos_token").and_then(Value::as_str);
        text.is_empty() || to == self.text.trim_end().len() && Some(text) == eos
    }

    pub(super) fn is_blank(&self, from: usize, to: usize) -> bool {
        self.text.get(from..to).is_some_and(|text| text.trim().is_empty())
    }

    /// The position `characters` after another one.
    pub(super) fn later(&self, from: usize, characters: usize) -> usize {
        let rest = self.text.get(from..).unwrap_or_default();
        from + rest.char_indices().nth(characters).map_or(rest.len(), |(at, _)| at)
    }

    /// The position `characters` before another one.
    pub(super) fn earlier(&self, from: usize, characters: usize) -> usize {
        let before = self.text.get(..from).unwrap_or_default();
        characters.checked_sub(1).map_or(from, |last| before.char_indices().nth_back(last).map_or(0, |(at, _)| at))
    }

    /// Whether a stretch of the text was written under a condition that does not hold: by an iteration over the messages
    /// that writes no answer, after one, or after the last one.
    pub(super) fn is_foreign(&self, (start, end): (usize, usize), condition: Condition, iterations: &[usize]) -> bool {
        let own = iterations.iter().rposition(|begin| *begin <= start);
        let begin = |at: Option<usize>| at.and_then(|at| iterations.get(at)).copied();
        let (first, last) = match condition {
            _ if iterations.is_empty() => (start, end),
            Condition::Previous => {
                let Some(previous) = begin(own.and_then(|own| own.checked_sub(1))) else { return true };
                (previous, begin(own).unwrap_or(start))
            }
            Condition::Last => (begin(own).unwrap_or(start), start),
            _ => {
                let last = iterations.iter().find(|begin| **begin >= end).copied().unwrap_or(self.text.len());
                (begin(own).unwrap_or(start), last)
            }
        };
        self.spans.iter().all(|span| last <= span.text || first >= span.end)
    }

    /// Where a block of a span may begin.
    pub(super) fn earliest(&self, span: &Span) -> usize {
        if self.is_lenient { span.prompt } else { span.start }
    }

    /// The span that a stretch of the text belongs to.
    pub(super) fn span_of(&self, (start, end): (usize, usize)) -> Option<usize> {
        self.spans.iter().position(|span| start < span.end && end > span.start)
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// The end of the text before it.
    pub(super) header: usize,
    /// Where the generation prompt begins to write what is before it.
    pub(super) prompt: usize,
    pub(super) start: usize,
    pub(super) text: usize,
    pub(super) end: usize,
}

pub(super) fn cases(template: &ChatTemplate, variables: &Object, options: &RenderOptions) -> Vec<Case> {
    let renderer = Renderer::new(template, options.clone());
    let mut cases = Vec::new();
    for (suffix, mark) in HALVES {
        let mut variables = variables.clone();
        variables.extend(stand_ins(template, &variables, mark));
        let form = Frames::form(&renderer, &variables);
        let prompt = prompt(&renderer, &variables, &form);
        for tools in ["", "aa"] {
            for shape in SHAPES.split(' ') {
                if ended().is_some() {
                    return cases;
                }
                if form.reasoning.is_none() && shape.contains(['R', 'r', 'q']) {
                    continue;
                }
                let script = Script::new(shape, tools, &form, suffix);
                let context = context(&variables, &script.messages, &script.tools, false);
                let Ok(masked) = mask_with(&renderer, &context) else { continue };
                // A turn whose call the template drops has no text to mask.
                let answers = script.messages.iter().filter(|message| role_of(message) == Some("assistant"));
                let mut shown: Vec<usize> = masked.parts.iter().map(|part| part.message).collect();
                shown.dedup();
                if shown.is_empty() || shown.len() != answers.count() || !masked.problems.is_empty() {
                    continue;
                }
                let byte = bytes_of_points(&masked.text);
                let spans = masked.spans.iter().zip(&masked.headers).map(|((start, end), (header, _))| {
                    let within = |part: &&PartSpan| part.start >= *start && part.end <= *end;
                    let text = masked.parts.iter().filter(within).map(|part| part.start).min().unwrap_or(*start);
                    let start = byte(*start);
                    let prompt = start - prompted(slice(&masked.text, ..start), &prompt);
                    Span { header: byte(*header), prompt, start, text: byte(text), end: byte(*end) }
                });
                let messages = Value::List(script.messages);
                let spans = spans.collect();
                cases.push(Case { messages, context, spans, text: masked.text, is_lenient: false });
            }
        }
    }
    cases
}

/// What the generation prompt adds to a user's message.
pub(super) fn prompt(renderer: &Renderer<'_>, variables: &Object, form: &Form) -> String {
    let script = Script::new("U", "", form, "");
    let render = |prompt| renderer.text(&context(variables, &script.messages, &script.tools, prompt));
    let added =
        render(true).zip(render(false)).and_then(|(with, without)| Some(with.strip_prefix(&without)?.to_owned()));
    added.unwrap_or_default()
}

/// How many bytes at the end of a text are the beginning of a prompt.
pub(super) fn prompted(text: &str, prompt: &str) -> usize {
    let starts = prompt.char_indices().map(|(at, character)| at + character.len_utf8());
    starts.filter(|length| text.ends_with(slice(prompt, ..*length))).max().unwrap_or(0)
}

/// Gives the byte at which each code point of a text begins.
pub(super) fn bytes_of_points(text: &str) -> impl Fn(usize) -> usize + 'static {
    let (bytes, end): (Vec<usize>, usize) = (text.char_indices().map(|(at, _)| at).collect(), text.len());
    move |point| bytes.get(point).copied().unwrap_or(end)
}

/// How well a stretch of a render fits a span: 0 is exact, `None` is no fit. White space after the stop does not belong
/// to the span.
pub(super) fn fit(case: &Case, span: &Span, start: usize, end: usize) -> Option<usize> {
    if end != span.end {
        return None;
    }
    if start == span.start || (start < span.start && case.is_blank(start, span.start)) {
        return Some(0);
    }
    if start < span.start && start >= case.earliest(span) {
        return Some(2);
    }
    (start > span.start && start <= span.text).then_some(if case.is_blank(span.start, start) { 0 } else { 1 })
}
