//! Parses every case back with a template, and sorts what differs into failures of the template and losses of the wire.

use std::sync::Arc;

use super::boundary::{self, Boundary};
use super::case::Case;
use super::conversations::tools;
use super::reading::{Part, answer_of, changed_argument, difference, message_of, reasoning_field};
use super::verdict::{Failure, Loss};
use crate::diagnostic::shortened;
use crate::json::{Object, Value};
use crate::parser::{Event, Options, ParseError, Parser, Tools};
use crate::python;
use crate::template::Template;
use crate::text::slice;
use crate::wire::conversation::Message;
use crate::wire::probe::Prober;

/// The result of one case.
pub(super) enum Outcome {
    Passed,
    Lost(Loss),
    Failed(Box<Failure>),
}

/// Judges cases with one template.
pub(super) struct Judge<'a, 't> {
    pub template: &'a Template,
    pub tools: Arc<Tools>,
    pub reasoning: Option<&'a str>,
    pub plain: &'a Prober<'t>,
    pub offering: &'a Prober<'t>,
}

/// The proof's tools, as the parser takes them.
pub(super) fn parser_tools() -> Option<Arc<Tools>> {
    Tools::new(&tools()).map(Arc::new).ok()
}

impl<'a, 't> Judge<'a, 't> {
    pub fn new(template: &'a Template, tools: Arc<Tools>, plain: &'a Prober<'t>, offering: &'a Prober<'t>) -> Self {
        Self { template, tools, reasoning: reasoning_field(template), plain, offering }
    }

    /// With the stop token and without it; whole and one character at a time.
    pub fn outcome(&self, case: &Case) -> Outcome {
        let mut lost = None;
        for text in [Some(&case.text), case.unstopped.as_ref()].into_iter().flatten() {
            let (message, events, offset) = match self.read(case, [text.as_str()]) {
                Ok(read) => read,
                Err(error) => return self.failed(case, text, Part::Content, &error.to_string(), None, Value::Null),
            };
            // A malformed region is an error in the reference, even if the message is right without it.
            let broken = events.iter().any(|event| matches!(event, Event::Malformed { .. })).then_some(Part::Calls);
            let part = difference(&case.expected, &message, self.reasoning, &case.prompted);
            let is_same = part.is_none();
            if let Some(part) = part.or(broken) {
                let loss = || self.loss(case, part, &message).filter(|_| !is_same);
                match loss().or_else(|| unreadable(case, part, &events).filter(|_| !is_same)) {
                    Some(loss) => lost = Some(loss),
                    None => {
                        let kept = slice(&case.prefix, case.prefix.len().saturating_sub(offset)..);
                        let read = format!("{kept}{text}");
                        let boundary =
                            boundary::find(part, &case.expected, &message, &events, &read, offset, self.reasoning);
                        return self.failed(case, text, part, part.describe(), boundary, Value::Object(message));
                    }
                }
            }
            let single = text.char_indices().map(|(at, c)| slice(text, at..at + c.len_utf8()));
            match self.read(case, single) {
                Ok((same, ..)) if same == message => {}
                Ok((other, ..)) => {
                    let part =
                        difference(&case.expected, &other, self.reasoning, &case.prompted).unwrap_or(Part::Content);
                    let what = "the message, which depends on where the text is cut,";
                    return self.failed(case, text, part, what, None, Value::Object(other));
                }
                Err(error) => return self.failed(case, text, Part::Content, &error.to_string(), None, Value::Null),
            }
        }
        lost.map_or(Outcome::Passed, Outcome::Lost)
    }

    fn failed(
        &self,
        case: &Case,
        text: &str,
        part: Part,
        what: &str,
        boundary: Option<Boundary>,
        got: Value,
    ) -> Outcome {
        Outcome::Failed(Box::new(Failure {
            count: 1,
            case: case.name.clone(),
            setting: case.setting.clone(),
            part,
            what: what.to_owned(),
            boundary,
            prefix: case.prefix.clone(),
            text: text.to_owned(),
            expected: message_of(&case.expected, self.reasoning),
            got,
        }))
    }

    /// The message, what happened on the way, and how much of the prompt's end the parser read.
    pub fn read<'x>(
        &self,
        case: &Case,
        chunks: impl IntoIterator<Item = &'x str>,
    ) -> Result<(Object, Vec<Event>, usize), ParseError> {
        let options = Options { tools: Some(self.tools.clone()), ..Options::default() };
        let mut parser = Parser::new(self.template, &case.prefix, options)?;
        let offset = parser.prefix_length();
        let mut events = parser.initial_events().to_vec();
        for chunk in chunks {
            parser.feed_into(chunk, &mut |event| events.push(event.to_owned()))?;
        }
        let finished = parser.finish_into(&mut |event| events.push(event.to_owned()))?;
        Ok((finished.message, events, offset))
    }

    /// The wire's loss: the message has as much structure as what was said, and renders to the same bytes.
    fn loss(&self, case: &Case, part: Part, message: &Object) -> Option<Loss> {
        let mut answer = answer_of(&case.expected, message, self.reasoning)?;
        // A part that the text does not show belongs to the conversation, not to the message.
        for (call, said) in answer.calls.iter_mut().zip(&case.said.calls) {
            if call.id.is_empty() {
                call.id.clone_from(&said.id);
            }
        }
        if case.drops_content {
            answer.content.clone_from(&case.said.content);
        }
        let mut messages = case.history.clone();
        messages.push(Message::Assistant(answer));
        let prober = if case.offers_tools { self.offering } else { self.plain };
        if prober.render(&messages, &case.setting, false)? != case.whole {
            return None;
        }
        let message = match (part, changed_argument(&case.expected, message)) {
            (Part::Arguments, Some((_, wanted, got))) => {
                format!("{} and {} are written alike", described(wanted), described(got))
            }
            _ => format!("another {} is written alike", part.name()),
        };
        Some(Loss { part, count: 1, message, example: case.text.clone() })
    }
}

/// A value that the template spells as Python does in the midst of JSON: no content parser of the format reads that, so
/// the call is lost with it.
fn unreadable(case: &Case, part: Part, events: &[Event]) -> Option<Loss> {
    let is_malformed = events.iter().any(|event| matches!(event, Event::Malformed { .. }));
    let values = case.expected.calls.iter().flat_map(|call| call.arguments.values());
    let spelled = values.filter(|value| !matches!(value, Value::String(_))).find_map(|value| {
        let spelled = python::spelling(value);
        let json = value.to_string();
        (spelled != json && case.text.contains(&spelled) && !case.text.contains(&json)).then_some((json, spelled))
    });
    let (json, spelled) = spelled.filter(|_| part == Part::Calls && is_malformed)?;
    let (json, spelled) = (shortened(&json, 60), shortened(&spelled, 60));
    let message = format!("{json} is written as {spelled}, which JSON parsers cannot read: the call is lost");
    Some(Loss { part, count: 1, message, example: case.text.clone() })
}

/// A value with the name of its type.
fn described(value: &Value) -> String {
    let kind = match value {
        Value::String(_) => "the text",
        Value::Null => "",
        Value::Bool(_) => "the boolean",
        Value::Number(_) => "the number",
        Value::List(_) => "the list",
        Value::Object(_) => "the object",
    };
    format!("{kind} {}", shortened(&value.to_string(), 60)).trim().to_owned()
}
