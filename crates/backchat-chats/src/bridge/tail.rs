//! The end of a turn in the render of all messages, proved with twins: renders in which a needle replaces a text.

use super::Conversation;
use super::answer::Answer;
use super::refusal::{Refusal, Refused, check_after_stop};
use backchat_core::json::{Value, entries_mut};
use backchat_core::text::overlap;
use backchat_parser::tokens::Tokens;
use backchat_probe::probe::needle::Needles;
use backchat_probe::probe::{role_of, said, text_part};

/// The render of all messages, and its text after the model's last value.
pub(super) struct Tail {
    pub render: String,
    /// Where it begins, in bytes.
    start: usize,
    /// The text after that value if no message follows.
    alone: String,
    /// The text after plain content if no message follows.
    plain: String,
    /// The message, with its last texts replaced.
    twin: Value,
    needle: String,
}

/// Where the appended text begins.
pub(super) struct Join {
    /// The place in the render, in bytes.
    pub place: usize,
    /// Whether the text begins with the end of the model's turn.
    pub closes: bool,
}

/// The end of a turn in the tail: its marker, if the template writes one.
struct TurnEnd {
    /// The position before the marker.
    start: usize,
    /// The position after it.
    end: usize,
    /// The markers that stop the model there.
    stops: Vec<String>,
}

fn after_last(render: &str, needle: &str) -> Option<String> {
    Some(render.rsplit_once(needle)?.1.to_owned())
}

fn unproved(reason: &str) -> Refused {
    Refused::new(Refusal::Unproved, reason)
}

impl Tail {
    pub fn find(conversation: &Conversation<'_>, answer: &Answer) -> Result<Self, Refused> {
        let new = conversation.sample.new_messages;
        let message = answer.for_render(new);
        let after = |message: Value| [&[message], new].concat();
        let render = conversation.render(&after(message.clone()), true)?;
        let mut needles = Needles::new(&[render.as_str(), &answer.text].concat());
        let needle = needles.draw();
        let mut twin = message.clone();
        replace_texts(&mut twin, &needle);
        let mut found = None;
        // If no text of the message is rendered, its content is replaced as well.
        for replaces_content in [false, true] {
            if replaces_content && let Value::Object(twin) = &mut twin {
                twin.insert("content", needle.as_str().into());
            }
            let twin = conversation.render(&after(twin.clone()), true);
            let twin = twin.map_err(|_| unproved("the template raises when a text of the model is replaced"))?;
            found = after_last(&twin, &needle);
            if found.is_some() {
                break;
            }
        }
        let tail = found.ok_or_else(|| unproved("the template does not write what the model said"))?;
        let Some(before) = render.strip_suffix(&tail) else {
            return Err(unproved("what follows the model's turn depends on what it said"));
        };
        let start = before.len();
        let after_needle =
            |message: &Value| after_last(&conversation.render(std::slice::from_ref(message), false).ok()?, &needle);
        let said = said("assistant", &needle);
        let plain = after_needle(&said).unwrap_or_default();
        let alone = after_needle(&twin).unwrap_or_else(|| plain.clone());
        let found = Self { render, start, alone, plain, twin, needle };
        found.check_new(conversation, &message, needles)?;
        Ok(found)
    }

    fn tail(&self) -> &str {
        self.render.get(self.start..).unwrap_or_default()
    }

    /// Checks that every new message is in the tail.
    fn check_new(&self, conversation: &Conversation<'_>, message: &Value, mut drawn: Needles) -> Result<(), Refused> {
        let needles: Vec<String> = conversation.sample.new_messages.iter().map(|_| drawn.draw()).collect();
        let marked = conversation.sample.new_messages.iter().zip(&needles).map(|(new, needle)| with_text(new, needle));
        let all: Vec<Value> = [message.clone()].into_iter().chain(marked).collect();
        let twin =
            conversation.render(&all, true).map_err(|_| unproved("the template raises on other new messages"))?;
        let before = self.render.get(..self.start).unwrap_or_default();
        let Some(tail) = twin.strip_prefix(before) else {
            return Err(unproved("how the template writes the model's turn depends on the new messages"));
        };
        let Some(place) = needles.iter().position(|needle| !tail.contains(needle)) else { return Ok(()) };
        let role = conversation.sample.new_messages.get(place).and_then(role_of).unwrap_or("");
        let reason = format!("the template does not write new message {place}, of role `{role}`");
        Err(Refused::new(Refusal::Dropped, reason))
    }

    /// The start of the appended text, which depends on how the sample ends.
    pub fn join(&self, conversation: &Conversation<'_>, answer: &Answer) -> Result<Join, Refused> {
        let tokens = conversation.bridge.tokenizer.tokens();
        let turn = self.turn_end(conversation, tokens)?;
        // Nothing may follow the marker that ends a plain turn.
        if let Some(usual) = turn.stops.first() {
            let is_stop = |id: &u32| tokens.added_text(*id).is_some_and(|text| text == usual);
            check_after_stop(conversation.sample.sampled_ids, is_stop, &format!(" `{usual}`"))?;
        }
        let at = |place: usize, closes: bool| Ok(Join { place: self.start + place, closes });
        let ends_with = |stop: &String| {
            answer.last_marker.as_ref() == Some(stop) || answer.text.trim_end().ends_with(stop.as_str())
        };
        let has_stop = turn.stops.iter().any(ends_with);
        if let Some(field) = &answer.open {
            return Err(Refused::new(Refusal::Unfinished, format!("the sample ends inside `{field}`")));
        }
        if has_stop {
            return at(turn.end, false);
        }
        let rest = self.tail().get(turn.end..).unwrap_or_default();
        let stop = answer.asked_stop.as_ref().or(answer.last_marker.as_ref()).filter(|stop| !stop.is_empty());
        if let Some(stop) = stop {
            // A model without an end-of-turn marker stops at the next header.
            if turn.stops.is_empty() && rest.starts_with(stop.as_str()) {
                return at(turn.end + stop.len(), false);
            }
            if turn.stops.is_empty() && self.is_header(conversation, turn.end, stop) {
                let reason = format!("the sample stopped at `{stop}`, which does not open the next message");
                return Err(Refused::new(Refusal::StopMismatch, reason));
            }
        }
        if answer.asked_stop.is_some() {
            return at(turn.end, false);
        }
        // No stop was sampled: the part of the end that the sample already has stays.
        let own = self.tail().get(..turn.start).unwrap_or_default();
        let shared = overlap(&answer.text, own);
        let has_calls = answer.message.get("tool_calls").is_some_and(|calls| !calls.is_empty());
        let place = if shared == 0 && has_calls { turn.start } else { shared };
        at(place, turn.end > turn.start)
    }

    /// Whether a marker opens a message of another role after the turn.
    fn is_header(&self, conversation: &Conversation<'_>, end: usize, marker: &str) -> bool {
        let own = self.tail().get(..end).unwrap_or_default();
        ROLES.iter().any(|role| {
            let tail = self.tail_before(conversation, role);
            tail.as_deref().and_then(|tail| tail.strip_prefix(own)).is_some_and(|rest| rest.starts_with(marker))
        })
    }

    /// The text after the turn if a message of this role comes next.
    fn tail_before(&self, conversation: &Conversation<'_>, role: &str) -> Option<String> {
        let next = Value::from([
            ("role", role.into()),
            ("content", "next".into()),
            ("tool_call_id", "call00000".into()),
            ("name", "next".into()),
        ]);
        after_last(&conversation.render(&[self.twin.clone(), next], true).ok()?, &self.needle)
    }

    fn turn_end(&self, conversation: &Conversation<'_>, tokens: &Tokens) -> Result<TurnEnd, Refused> {
        let (tail, alone, plain) = (self.tail(), self.alone.as_str(), self.plain.trim());
        let changed = || unproved("the template ends the turn differently than the conversation does");
        if plain.is_empty() {
            // The next header ends the turn.
            let own = if tail.starts_with(alone) { alone } else { alone.trim_end() };
            return match tail.starts_with(own) {
                true => Ok(TurnEnd { start: own.len(), end: own.len(), stops: Vec::new() }),
                false => Err(changed()),
            };
        }
        let usual = last_marker(tokens, plain).unwrap_or(plain);
        let marker = match alone.trim_end().ends_with(usual) {
            true => usual,
            false => last_marker(tokens, alone).unwrap_or(usual),
        };
        let start = alone.rfind(marker).ok_or_else(changed)?;
        let own = alone.get(..start).unwrap_or_default();
        let rest = tail.strip_prefix(own).ok_or_else(changed)?;
        let mut stops = vec![usual.to_owned(), marker.to_owned()];
        let mut end = start;
        if rest.starts_with(marker) {
            end += marker.len();
        } else if let Some(other) = first_marker(tokens, rest)
            && self.ends_turns(conversation, own, other)
        {
            // History has its own marker.
            stops.push(other.to_owned());
            end += other.len();
        }
        stops.dedup();
        Ok(TurnEnd { start, end, stops })
    }

    /// Whether a marker follows the turn before every other role that the template renders.
    fn ends_turns(&self, conversation: &Conversation<'_>, own: &str, marker: &str) -> bool {
        let next = conversation.sample.new_messages.first().and_then(role_of);
        let others = ROLES.iter().filter(|role| next != Some(role));
        let mut tails = others.filter_map(|role| self.tail_before(conversation, role));
        tails.all(|tail| tail.strip_prefix(own).is_some_and(|rest| rest.starts_with(marker)))
    }
}

/// The roles of messages that can follow a model's.
const ROLES: [&str; 3] = ["user", "tool", "system"];

/// Replaces the texts of a message that a model chose: its content, and the texts in the arguments of its calls, or the
/// name of a call without any.
fn replace_texts(message: &mut Value, needle: &str) {
    let Value::Object(message) = message else { return };
    if let Some(Value::String(content)) = message.get_mut("content")
        && !content.is_empty()
    {
        *content = needle.to_owned();
    }
    let Some(Value::List(calls)) = message.get_mut("tool_calls") else { return };
    for call in calls {
        let Value::Object(call) = call else { continue };
        let function = match call.get_mut("function") {
            Some(Value::Object(function)) => function,
            _ => call,
        };
        let is_replaced = function.get_mut("arguments").is_some_and(|arguments| replace_leaves(arguments, needle));
        if let (false, Some(name)) = (is_replaced, function.get_mut("name")) {
            *name = needle.into();
        }
    }
}

/// Replaces the texts inside a value; returns whether there were any.
fn replace_leaves(value: &mut Value, needle: &str) -> bool {
    match value {
        Value::String(text) => {
            *text = needle.to_owned();
            true
        }
        Value::List(items) => items.iter_mut().fold(false, |any, item| replace_leaves(item, needle) | any),
        Value::Object(entries) => entries.values_mut().fold(false, |any, item| replace_leaves(item, needle) | any),
        _ => false,
    }
}

fn with_text(message: &Value, more: &str) -> Value {
    let Value::Object(entries) = message else { return message.clone() };
    let mut entries = entries.clone();
    match entries.get_mut("content") {
        Some(Value::String(content)) => content.push_str(more),
        Some(Value::List(parts)) => match parts.iter_mut().find_map(|part| entries_mut(part)?.get_mut("text")) {
            Some(Value::String(text)) => text.push_str(more),
            _ => parts.push(text_part(more)),
        },
        _ => drop(entries.insert("content", more.into())),
    }
    Value::Object(entries)
}

/// The added token that ends last in a text.
fn last_marker<'t>(tokens: &Tokens, text: &'t str) -> Option<&'t str> {
    let places = tokens.added().filter(|(_, content)| !content.trim().is_empty()).filter_map(|(_, content)| {
        let start = text.rfind(content)?;
        Some((start + content.len(), content.len()))
    });
    let (end, length) = places.max()?;
    text.get(end - length..end)
}

/// The added token that a text begins with.
fn first_marker<'t>(tokens: &Tokens, text: &'t str) -> Option<&'t str> {
    let at_start = tokens.added().map(|(_, content)| content).filter(|content| !content.trim().is_empty());
    let length = at_start.filter(|content| text.starts_with(content)).map(str::len).max()?;
    text.get(..length)
}

#[cfg(test)]
mod tests {
    use super::*;
    use backchat_core::json;

    #[test]
    fn texts_that_the_model_chose_are_replaced() {
        for (message, twin) in [
            (r#"{"content": "Hi"}"#, r#"{"content": "N"}"#),
            (
                r#"{"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, "x"], "b": 2}}}]}"#,
                r#"{"content": "", "tool_calls": [{"function": {"name": "f", "arguments": {"a": [1, "N"], "b": 2}}}]}"#,
            ),
            (
                r#"{"tool_calls": [{"name": "f", "arguments": {}}]}"#,
                r#"{"tool_calls": [{"name": "N", "arguments": {}}]}"#,
            ),
        ] {
            let mut message = json::read(message).unwrap();
            replace_texts(&mut message, "N");
            assert_eq!(message.to_string(), twin);
        }
        let new = json::read(r#"{"role": "user", "content": [{"type": "text", "text": "Hi"}]}"#).unwrap();
        assert_eq!(
            with_text(&new, "N").to_string(),
            r#"{"role": "user", "content": [{"type": "text", "text": "HiN"}]}"#
        );
    }
}
