//! Finds the boundary in a text that a template gets wrong, given the position of each part.

use std::mem::{self, Discriminant};
use std::sync::Arc;

use backchat_core::diagnostic::{counted, shortened};
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::parser::{Event, Span};
use backchat_probe::probe::Answer;

use super::reading::{Part, changed_argument};
use crate::derive::recorded::{calls_of, function_of};

/// A boundary that a template gets wrong, in bytes of the text.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Boundary {
    /// The field that was read wrongly.
    pub field: String,
    /// The position at which it should begin or end, or of its value.
    pub at: usize,
    /// The actual behavior.
    pub fault: Fault,
}

/// The wrong behavior of a template.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Fault {
    /// No region of the field opened for the part at this place: it is in another field, or in none.
    NotOpened {
        /// The field that has the text instead.
        inside: Option<String>,
    },
    /// The region began elsewhere.
    StartsAt(usize),
    /// The region began in the prompt, this many bytes before the text.
    StartsInPrompt(usize),
    /// The region ended elsewhere.
    EndsAt {
        at: usize,
        /// The text of the delimiter that closed it; empty at the end of the text.
        by: String,
    },
    /// A later region of the same field took the value's place.
    Overwritten {
        /// The start of the later region.
        at: usize,
    },
    /// The region's text could not be read.
    Malformed(String),
    /// Nothing closed the region, and its text could not be read.
    Unclosed,
    /// A region opened where there is no such part.
    Extra,
    /// The boundaries are right and the value is wrong.
    Misread { wanted: String, got: String },
}

impl Boundary {
    /// One line: the field, the place, and the fault there.
    pub fn describe(&self) -> String {
        let Self { field, at, fault } = self;
        match fault {
            Fault::NotOpened { inside: Some(other) } => {
                format!("`{field}` should contain the text at byte {at}; it went to `{other}`")
            }
            Fault::NotOpened { inside: None } => {
                format!("`{field}` should contain the text at byte {at}; no field does")
            }
            Fault::StartsAt(got) => format!("`{field}` should begin at byte {at}; it began at byte {got}"),
            Fault::StartsInPrompt(before) => {
                let bytes = counted(*before, "byte");
                format!("`{field}` should begin at byte {at}; it began in the prompt, {bytes} before the text")
            }
            Fault::EndsAt { at: got, by } if by.is_empty() && got < at => {
                format!("`{field}` should end at byte {at}; another field opened at byte {got}")
            }
            Fault::EndsAt { at: got, by } if by.is_empty() => {
                format!("`{field}` should end at byte {at}; it ran on to the end of the text, byte {got}")
            }
            Fault::EndsAt { at: got, by } => {
                format!("`{field}` should end at byte {at}; {by:?} closed it at byte {got}")
            }
            Fault::Overwritten { at: later } => {
                format!("`{field}` at byte {at} was read, and replaced by another region at byte {later}")
            }
            Fault::Malformed(reason) => format!("`{field}` at byte {at} could not be parsed: {reason}"),
            Fault::Unclosed => {
                format!(
                    "`{field}` at byte {at} could not be parsed: nothing closed it, and it ran on to the end of the text"
                )
            }
            Fault::Extra => format!("`{field}` opened at byte {at}, where it should not"),
            Fault::Misread { wanted, got } => format!("`{field}` at byte {at} was read as {got} instead of {wanted}"),
        }
    }

    /// The change to make in the template, given the text.
    pub fn hint(&self, text: &str) -> String {
        let Self { field, at, fault } = self;
        let after = |at: usize| format!("{:?}", slice(text, at..).chars().take(24).collect::<String>());
        let from = slice(text, ..*at).char_indices().rev().nth(23).map_or(0, |(from, _)| from);
        let before = format!("{:?}", slice(text, from..*at));
        let rest = after(*at);
        match fault {
            Fault::NotOpened { .. } if *at == 0 => {
                format!("assign the text from {rest} on to `{field}`: no other `open` may match here")
            }
            Fault::NotOpened { .. } => format!("make `open` of `{field}` match within {before}"),
            Fault::StartsAt(_) => format!("make `open` of `{field}` match up to the end of {before}"),
            Fault::StartsInPrompt(_) => {
                format!("make `start_anchor` or `open` of `{field}` match up to the end of the prompt")
            }
            Fault::EndsAt { at: got, .. } if got > at => format!("make `close` of `{field}` match the start of {rest}"),
            Fault::EndsAt { at: got, by } if by.is_empty() => {
                format!("make sure that no other `open` matches the start of {}", after(*got))
            }
            Fault::EndsAt { by, .. } => {
                format!(
                    "make sure that `close` of `{field}` does not match {by:?} inside a value; the value ends before {rest}"
                )
            }
            Fault::Overwritten { .. } => format!(
                "make the delimiter before the later region match the white space too, or give `{field}` `repeats` and `join`"
            ),
            Fault::Malformed(_) => format!("choose a content parser for `{field}` that reads the text after {before}"),
            Fault::Unclosed => format!("make `close` of `{field}` match the text after the value that begins {rest}"),
            Fault::Extra => format!("change the delimiters so that {rest} is not part of `{field}`"),
            Fault::Misread { .. } => {
                format!("change the content parser of `{field}`, or the captures of its delimiters")
            }
        }
    }

    /// The common key of failures with one cause.
    pub(super) fn cause(&self) -> (String, Discriminant<Fault>, String) {
        let detail = match &self.fault {
            Fault::NotOpened { inside: Some(other) } => other,
            Fault::EndsAt { by, .. } => by.trim(),
            _ => "",
        };
        (self.field.clone(), mem::discriminant(&self.fault), detail.to_owned())
    }
}

/// One region as the parser saw it, in bytes of the text.
pub(super) struct Region {
    pub field: Arc<str>,
    pub open: Span,
    pub body: Span,
    pub close: Span,
    /// Why its text could not be read.
    pub malformed: Option<String>,
}

pub(super) fn regions(events: &[Event]) -> Vec<Region> {
    let mut regions: Vec<Region> = Vec::new();
    for event in events {
        match event {
            Event::Open { field, span, .. } => {
                let field = field.clone();
                regions.push(Region { field, open: *span, body: *span, close: *span, malformed: None });
            }
            Event::Close { span, body, .. } => {
                if let Some(region) = regions.last_mut() {
                    (region.body, region.close) = (*body, *span);
                }
            }
            Event::Malformed { span, body, reason, .. } => {
                if let Some(region) = regions.last_mut() {
                    (region.body, region.close, region.malformed) = (*body, *span, Some(reason.clone()));
                }
            }
            // Growing calls are part of a region that opens and closes.
            _ => {}
        }
    }
    regions
}

const CALLS: &str = "tool_calls";

/// A wrong parse of a text.
pub(super) struct Parse<'p> {
    expected: &'p Answer,
    regions: Vec<Region>,
    read: &'p str,
    offset: usize,
}

impl<'p> Parse<'p> {
    /// `read` is the parsed text: the end of the prefix, `offset` bytes of it, and the text.
    pub fn new(expected: &'p Answer, events: &[Event], read: &'p str, offset: usize) -> Self {
        Self { expected, regions: regions(events), read, offset }
    }

    /// The boundary that causes the difference in this part of the message.
    pub fn wrong_boundary(&self, part: Part, message: &Object, reasoning: Option<&str>) -> Option<Boundary> {
        match part {
            Part::Content => {
                // If content contains a call, the boundary of the call is wrong.
                if let Some(name) = self.swallowed_call() {
                    return self.boundary(CALLS, name, Fault::NotOpened { inside: Some("content".to_owned()) });
                }
                self.of_text("content", self.expected.content.as_deref(), |read, said| read.rfind(said))
            }
            Part::Reasoning => {
                let field = reasoning.unwrap_or("reasoning_content");
                self.of_text(field, self.expected.reasoning.as_deref(), |read, said| read.find(said))
            }
            Part::Calls => self.of_calls(),
            Part::Name | Part::Id | Part::Arguments => self.of_call_part(part, message),
        }
    }

    /// A position, relative to the text without the prefix.
    fn at(&self, place: usize) -> usize {
        place.saturating_sub(self.offset)
    }

    /// A boundary; always `Some`, because every search ends with it.
    fn boundary(&self, field: &str, place: usize, fault: Fault) -> Option<Boundary> {
        Some(Boundary { field: field.to_owned(), at: self.at(place), fault })
    }

    fn regions_in(&self, field: &str) -> impl Iterator<Item = &Region> {
        self.regions.iter().filter(move |region| *region.field == *field)
    }

    /// The field whose region a place is in.
    fn field_at(&self, place: usize) -> Option<&str> {
        let holds = |region: &&Region| region.open.start <= place && place < region.close.end.max(region.body.end);
        self.regions.iter().find(holds).map(|region| &*region.field)
    }

    /// The boundary of content or reasoning with this text.
    fn of_text(&self, field: &str, said: Option<&str>, find: fn(&'p str, &str) -> Option<usize>) -> Option<Boundary> {
        let read = self.read;
        let Some(said) = said.map(str::trim) else {
            let extra = self.regions_in(field).find(|region| !text(read, region.body).trim().is_empty())?;
            return self.boundary(field, extra.body.start, Fault::Extra);
        };
        let start = find(read, said)?;
        let end = start + said.len();
        let Some(region) = self.regions_in(field).find(|region| region.body.start < end && region.body.end > start)
        else {
            let inside = self.field_at(start).map(str::to_owned);
            return self.boundary(field, start, Fault::NotOpened { inside });
        };
        let body = text(read, region.body);
        let first = region.body.start + (body.len() - body.trim_start().len());
        let last = region.body.start + body.trim_end().len();
        if first < self.offset {
            return self.boundary(field, start, Fault::StartsInPrompt(self.offset - first));
        }
        if first != start {
            return self.boundary(field, start, Fault::StartsAt(self.at(first)));
        }
        if last != end {
            let by = text(read, region.close).to_owned();
            return self.boundary(field, end, Fault::EndsAt { at: self.at(last), by });
        }
        let later = self.regions_in(field).find(|later| later.body.start > region.body.start)?;
        self.boundary(field, start, Fault::Overwritten { at: self.at(later.body.start) })
    }

    /// The wrong boundary if there are too many, too few or no calls.
    fn of_calls(&self) -> Option<Boundary> {
        let Self { expected, regions, read, .. } = self;
        if let Some((region, reason)) = regions.iter().find_map(|region| Some((region, region.malformed.as_ref()?))) {
            let is_unclosed = region.close.start == region.close.end && region.close.end == read.len();
            let fault = if is_unclosed { Fault::Unclosed } else { Fault::Malformed(shortened(reason, 120).into()) };
            return self.boundary(&region.field, region.body.start, fault);
        }
        for name in self.names() {
            match self.field_at(name?) {
                Some(CALLS) => {}
                other => return self.boundary(CALLS, name?, Fault::NotOpened { inside: other.map(str::to_owned) }),
            }
        }
        if let Some(extra) = self.regions_in(CALLS).nth(expected.calls.len()) {
            return self.boundary(CALLS, extra.open.start, Fault::Extra);
        }
        // Fewer regions than calls, and each name is in one: a region ran into the next call.
        let second = expected.calls.get(1)?;
        let region = self.regions_in(CALLS).next()?;
        let next = region.body.start + text(read, region.body).find(&second.name)?;
        let by = text(read, region.close).to_owned();
        self.boundary(CALLS, next, Fault::EndsAt { at: self.at(region.body.end), by })
    }

    /// The boundary of the first call with a misread part.
    fn of_call_part(&self, part: Part, message: &Object) -> Option<Boundary> {
        let region = self.regions_in(CALLS).next()?;
        let changed = changed_argument(self.expected, message).filter(|_| part == Part::Arguments);
        let (wanted, got) = match changed {
            Some((_, wanted, got)) => (wanted.to_string(), got.to_string()),
            None => (self.wanted(part), got(part, message)),
        };
        let (wanted, got) = (shortened(&wanted, 80).into(), shortened(&got, 80).into());
        self.boundary(CALLS, region.body.start, Fault::Misread { wanted, got })
    }

    /// One part of every call, as expected.
    fn wanted(&self, part: Part) -> String {
        let parts = self.expected.calls.iter().map(|call| match part {
            Part::Name => Value::from(call.name.as_str()).to_string(),
            Part::Id => Value::from(call.id.as_str()).to_string(),
            _ => Value::Object(call.arguments.clone()).to_string(),
        });
        parts.collect::<Vec<_>>().join(", ")
    }

    /// The position of each call's name; `None` for one that is missing, and for those after it.
    fn names(&self) -> impl Iterator<Item = Option<usize>> {
        let mut from = Some(self.offset);
        self.expected.calls.iter().map(move |call| {
            let start = from.take()?;
            let name = start + self.read.get(start..)?.find(&call.name)?;
            from = Some(name + call.name.len());
            Some(name)
        })
    }

    /// The position of the name of the first call that was read as content.
    fn swallowed_call(&self) -> Option<usize> {
        let holds = |region: &Region, name| region.body.start <= name && name < region.body.end;
        self.names().map_while(|name| name).find(|name| self.regions_in("content").any(|region| holds(region, *name)))
    }
}

fn got(part: Part, message: &Object) -> String {
    let parts = calls_of(message).iter().map(|call| {
        let part = match part {
            Part::Name => function_of(call).get("name"),
            Part::Id => call.get("id"),
            _ => function_of(call).get("arguments"),
        };
        part.map_or_else(|| "nothing".to_owned(), ToString::to_string)
    });
    parts.collect::<Vec<_>>().join(", ")
}

fn text(read: &str, span: Span) -> &str {
    slice(read, span.start..span.end)
}

#[cfg(test)]
mod tests {
    use super::super::reading::{difference, reasoning_field};
    use super::*;
    use crate::derive::by_hand::{ANSWER, calls_answer, template};
    use backchat_parser::parser::{Options, Parser};

    /// The boundary that a template gets wrong in the text of this answer.
    fn wrong(json: &str, text: &str, expected: &Answer) -> Option<Boundary> {
        let template = template(json);
        let mut parser = Parser::new(&template, "", Options::default()).unwrap();
        let mut events = parser.initial_events().to_vec();
        parser.feed_into(text, &mut |event| events.push(event.to_owned())).unwrap();
        let finished = parser.finish_into(&mut |event| events.push(event.to_owned())).unwrap();
        let reasoning = reasoning_field(&template);
        let broken = events.iter().any(|event| matches!(event, Event::Malformed { .. })).then_some(Part::Calls);
        let part = difference(expected, &finished.message, reasoning, "").or(broken)?;
        Parse::new(expected, &events, text, 0).wrong_boundary(part, &finished.message, reasoning)
    }

    fn content(text: &str) -> Answer {
        Answer::content(text)
    }

    #[test]
    fn each_kind_of_fault_is_reported_at_its_byte() {
        let say = |close: &str| {
            format!(r#"{{"start_anchor": "<bot>", "fields": {{"content": {{"open": "<say>", "close": "{close}"}}}}}}"#)
        };
        let right = ANSWER.to_owned();
        let without_calls = right.replace("<call>", "<never>");
        let early = right.replace("</weigh>", ".");
        let one = calls_answer(&[("f", r#"{"a": 1}"#)]);
        let called = "<call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</call><end>";
        let table = [
            (
                &without_calls,
                called,
                one.clone(),
                "`tool_calls` should contain the text at byte 16; it went to `content`",
            ),
            (&say("</say>"), "Yes.", content("Yes."), "`content` should contain the text at byte 0; no field does"),
            (
                &early,
                "<weigh>a.b</weigh>Yes.<end>",
                content("Yes.").with_reasoning("a.b"),
                "`content` should begin at byte 18; it began at byte 9",
            ),
            (
                &say("."),
                "<say>Yes. No.</say>",
                content("Yes. No."),
                "`content` should end at byte 13; \".\" closed it at byte 8",
            ),
            (
                &say("</s>"),
                "<say>Yes.</say>",
                content("Yes."),
                "`content` should end at byte 9; it ran on to the end of the text, byte 15",
            ),
            (
                &right,
                "Use <call> here.<end>",
                content("Use <call> here."),
                "`content` should end at byte 16; another field opened at byte 3",
            ),
            (
                &say("</say>"),
                "<say>Yes.</say><say>Oh</say>",
                content("Yes."),
                "`content` at byte 5 was read, and replaced by another region at byte 20",
            ),
            (
                &right,
                "<call>{\"name\": \"f\", \"arguments\": </call><end>",
                one.clone(),
                "`tool_calls` at byte 6 could not be parsed: ",
            ),
            (
                &right,
                "<call>{\"name\": \"f\"",
                one.clone(),
                "`tool_calls` at byte 6 could not be parsed: nothing closed it, and it ran on to the end of the text",
            ),
            (&right, "Yes.<end>", calls_answer(&[]), "`content` opened at byte 0, where it should not"),
            (
                &right,
                "<call>{\"name\": \"f\", \"arguments\": {\"a\": 1}}</call><call>{\"name\": \"g\", \"arguments\": {}}</call>",
                one.clone(),
                "`tool_calls` opened at byte 49, where it should not",
            ),
            (
                &right,
                "<call>{\"name\": \"f\", \"arguments\": {\"a\": \"1\"}}</call><end>",
                one.clone(),
                "`tool_calls` at byte 6 was read as \"1\" instead of 1",
            ),
            (
                &right,
                "<call>{\"name\": \"F\", \"arguments\": {\"a\": 1}}</call><end>",
                one,
                "`tool_calls` at byte 6 was read as \"F\" instead of \"f\"",
            ),
        ];
        for (template, text, expected, said) in table {
            let boundary = wrong(template, text, &expected).unwrap_or_else(|| panic!("{text}: nothing is wrong"));
            let described = boundary.describe();
            // The wording of a parser's reason is not compared.
            let is_expected = if said.ends_with(": ") { described.starts_with(said) } else { described == said };
            assert!(is_expected, "{text}\n{described}\n{said}");
        }
        assert_eq!(wrong(&right, "Yes.<end>", &content("Yes.")), None);
    }

    #[test]
    fn a_region_that_begins_in_the_prompt_is_said_to() {
        let template =
            template(r#"{"start_anchor": "<bot>", "fields": {"content": {"open": "<say>", "close": "</say>"}}}"#);
        let mut parser = Parser::new(&template, "<bot>", Options::default()).unwrap();
        let mut events = Vec::new();
        parser.feed_into("<say>Er,Yes.</say>", &mut |event| events.push(event.to_owned())).unwrap();
        let message = parser.finish_into(&mut |event| events.push(event.to_owned())).unwrap().message;
        // What is read begins after the anchor; the prompt ends within the region.
        let (read, offset) = ("<say>Er,Yes.</say>", "<say>Er,".len());
        let expected = content("Yes.");
        let parse = Parse::new(&expected, &events, read, offset);
        let boundary = parse.wrong_boundary(Part::Content, &message, None).unwrap();
        assert_eq!(
            boundary.describe(),
            "`content` should begin at byte 0; it began in the prompt, 3 bytes before the text"
        );
        assert_eq!(
            boundary.hint("Yes.</say>"),
            "make `start_anchor` or `open` of `content` match up to the end of the prompt"
        );
    }

    #[test]
    fn a_call_that_ran_into_the_next_should_have_ended_before_it() {
        let merges = r#"{"start_anchor": "<bot>", "fields": {"tool_calls": {"open_pattern": "<call>(?P<name>\\w+)",
            "close": "</calls>", "repeats": true, "content": "text",
            "transform": {"type": "function", "function": {"name": "{name}", "arguments": {}}}}}}"#;
        let expected = calls_answer(&[("f", "{}"), ("g", "{}")]);
        let boundary = wrong(merges, "<call>f</call><call>g</calls>", &expected).unwrap();
        let fault = Fault::EndsAt { at: 21, by: "</calls>".to_owned() };
        assert_eq!(boundary, Boundary { field: "tool_calls".to_owned(), at: 20, fault });
    }

    #[test]
    fn positions_are_bytes_of_the_turn_even_if_the_prompt_began_it() {
        let expected = content("Yes.");
        let open = |start: usize| Event::Open {
            field: "content".into(),
            span: Span { start, end: start },
            captures: Default::default(),
        };
        let message = Object::from([("content".to_owned(), "Yes. No.".into())]);
        let parse = Parse::new(&expected, &[open(6)], "<bot> Yes. No.", 6);
        let found = parse.wrong_boundary(Part::Content, &message, None).unwrap();
        assert_eq!((found.at, found.fault), (0, Fault::NotOpened { inside: None }));
    }

    #[test]
    fn the_hint_names_the_delimiter_to_change_and_the_text_there() {
        let of = |at: usize, fault: Fault| Boundary { field: "x".to_owned(), at, fault }.hint("<say>Yes. No.</say>");
        let by = |by: &str, at: usize| Fault::EndsAt { at, by: by.to_owned() };
        assert_eq!(of(13, by("", 19)), "make `close` of `x` match the start of \"</say>\"");
        assert_eq!(
            of(13, by(".", 8)),
            "make sure that `close` of `x` does not match \".\" inside a value; the value ends before \"</say>\""
        );
        assert_eq!(of(5, Fault::NotOpened { inside: None }), "make `open` of `x` match within \"<say>\"");
        assert_eq!(
            of(0, Fault::NotOpened { inside: None }),
            "assign the text from \"<say>Yes. No.</say>\" on to `x`: no other `open` may match here"
        );
    }

    #[test]
    fn failures_of_the_same_delimiter_have_one_cause() {
        let ends = |at: usize, by: &str| {
            Boundary { field: "x".to_owned(), at, fault: Fault::EndsAt { at, by: by.to_owned() } }.cause()
        };
        assert_eq!(ends(3, "</x>\n"), ends(9, "</x>"));
        assert_ne!(ends(3, "</x>"), ends(3, "</y>"));
        let starts = Boundary { field: "x".to_owned(), at: 3, fault: Fault::StartsAt(1) }.cause();
        assert_ne!(starts, ends(3, ""));
    }
}
