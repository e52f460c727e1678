//! One turn in renders: the text after the history, the text that the prompt adds, and the text that ends every render.

use super::conversations::History;
use super::header::whole_marks;
use crate::wire::after_history;
use crate::wire::marks::{self, Segmentation};
use backchat_core::json::Value;
use backchat_core::text::{common_end, common_start, overlap, slice};
use backchat_probe::probe::{Answer, Call, Message, Prober, Setting, call, needle};

/// The user's next message, which shows the text between two turns.
pub(super) const NEXT: &str = "Quokkas blink, then.";

/// Plain answers that show the start and the end of a turn. They share neither the first character nor the last.
pub(super) const PLAIN: [&str; 2] = ["Zebras graze", "(nine) of \"them\"!"];

/// The given special tokens that bound a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tokens<'p> {
    pub bos: Option<&'p str>,
    pub eos: Option<&'p str>,
}

/// Renders turns after one history, under one setting.
#[derive(Clone, Copy)]
pub(super) struct Scene<'p, 't> {
    pub prober: &'p Prober<'t>,
    pub history: &'p History,
    pub setting: &'p Setting,
}

impl Scene<'_, '_> {
    /// Renders the history and more messages.
    pub fn render(&self, more: &[Message], generation_prompt: bool) -> Option<String> {
        let messages = [self.history.messages.as_slice(), more].concat();
        self.prober.render(&messages, self.setting, generation_prompt)
    }

    /// The text that ends every render and does not belong to a turn, such as an unrequested prompt: the end of `tail`, the
    /// text after a plain answer, from where it deviates from the text between two turns. The stop token bounds it, and so
    /// does the text before the first message.
    pub fn trailer(&self, tokens: &Tokens<'_>, tail: &str, prompted: &str) -> Option<String> {
        let next = Message::User(NEXT.to_owned());
        let bare = self.render(&[], false)?;
        let [answer, _] = PLAIN;
        let rendered = self.render(&[Message::Assistant(Answer::content(answer)), next.clone()], false);
        let between = rendered.as_deref().and_then(|text| text.rsplit_once(NEXT)?.0.rsplit_once(answer));
        let shared = between.map_or(tail, |(_, between)| common_start(tail, between));
        if shared.len() == tail.len() && between.is_some() {
            return None;
        }
        let stopped = tokens.eos.filter(|eos| !eos.is_empty()).and_then(|eos| Some(tail.find(eos)? + eos.len()));
        // A marker that begins every message, including the first, does not end a turn.
        let first = tokens.bos.and_then(|bos| bare.trim_start().strip_prefix(bos)).unwrap_or(&bare).trim_start();
        let header = between.map_or("", |(before, between)| common_end(self.before_first(before), between));
        let bound = between.map_or(tail.len(), |(_, between)| between.len() - header.len());
        let bounded = slice(shared, ..bound.min(shared.len()));
        let bounded = if bounded.trim().is_empty() { shared } else { bounded };
        let own = whole_marks(tail, bounded.len() - overlap(bounded, first));
        let ends_all = |trailer: &str| {
            let alone = || self.prober.render(std::slice::from_ref(&next), self.setting, false);
            bare.ends_with(trailer) || alone().is_some_and(|alone| alone.ends_with(trailer))
        };
        // A stop token that ends every render may follow an unrequested prompt.
        let is_prompted = |own: usize| {
            let (stop, trailer) = (slice(tail, ..own), slice(tail, own..));
            !stop.trim().is_empty() && ends_all(trailer)
        };
        let own = stopped.filter(|stopped| own >= *stopped || !is_prompted(own)).unwrap_or(own);
        let (stop, trailer) = tail.split_at_checked(own)?;
        // Text after the stop token is not part of the turn. Other text is not if it ends every render and is not the stop.
        let is_written =
            stopped.is_some() || (ends_all(trailer) && (!stop.trim().is_empty() || prompted.contains(trailer.trim())));
        (is_written && !trailer.trim().is_empty()).then(|| trailer.to_owned())
    }

    /// The text of a render before the first message of the history.
    fn before_first<'r>(&self, text: &'r str) -> &'r str {
        let first = self.history.messages.first().filter(|message| !message.is_result());
        before(text, first.and_then(Message::said).unwrap_or_default())
    }

    /// A turn with this answer, in the render of the conversation that ends with it.
    pub fn turn(&self, answer: &Answer) -> Option<Turn> {
        let whole = self.render(&[Message::Assistant(answer.clone())], false)?;
        let prompt = self.render(&[], true);
        let text = after_history(&whole, &self.history.last, prompt.as_deref())?;
        let head = slice(&whole, ..whole.len() - text.len());
        let (head, text) = (head.to_owned(), self.without_closing(text).unwrap_or_else(|| text.to_owned()));
        Some(Turn { head, text, whole })
    }

    /// A turn without the marks that end the last message of the history; `None` if it has no such marks. A template may
    /// close the message before a prompt differently from an earlier one: those marks are not in the prompt, and any
    /// message may follow them.
    fn without_closing(&self, turn: &str) -> Option<String> {
        let (messages, words) = (&self.history.messages, &*self.history.last);
        let last = messages.last()?.said()?;
        let (_, said) = last.rsplit_once(words)?;
        let prompt = self.render(&[], true)?;
        let (_, tail) = prompt.rsplit_once(words)?;
        let (tail, rest) = (tail.strip_prefix(said)?, turn.strip_prefix(said)?);
        if tail.trim().is_empty() || whole_marks(tail, common_start(tail, rest).len()) > 0 {
            return None;
        }
        let followed = self.render(&[Message::User(NEXT.to_owned())], false)?;
        let (before, between) = followed.rsplit_once(NEXT)?.0.rsplit_once(words)?;
        let closing = common_start(rest, between.strip_prefix(said)?);
        let closing = slice(closing, ..whole_marks(rest, closing.len()));
        // Marks that begin every message also begin the first one.
        let is_closing = closing.contains(char::is_alphanumeric) && !self.before_first(before).contains(closing.trim());
        is_closing.then(|| format!("{said}{}", slice(rest, closing.len()..)))
    }

    /// Whether the part of the prompt that plain turns lack begins a call: a turn with a call extends the prompt.
    pub fn begins_call(&self, tail: &str, shared: usize) -> bool {
        !slice(tail, shared..).trim().is_empty() && self.is_continued(tail, call(0, 1), needle::NAMES[0])
    }

    /// Whether that part also names the tool, as the setting does.
    pub fn names_call(&self, tail: &str, shared: usize) -> bool {
        let surplus = slice(tail, shared..);
        let mut names = texts(self.setting).filter(|name| !name.is_empty() && surplus.contains(name));
        let named = |name: &str| Call { name: name.to_owned(), ..call(0, 1) };
        names.any(|name| self.is_continued(tail, named(name), needle::VALUES[0]))
    }

    /// Whether a turn with this call extends the prompt, and has this text of it in the rest.
    fn is_continued(&self, tail: &str, made: Call, next: &str) -> bool {
        let turn = self.turn(&Answer::calls(vec![made]));
        turn.is_some_and(|turn| turn.text.strip_prefix(tail).is_some_and(|rest| rest.contains(next)))
    }

    /// A turn that shows reasoning: many templates show it only together with a call.
    pub fn thought(&self) -> Option<String> {
        let answers = [Answer::content(needle::CONTENT), Answer::calls(vec![call(0, 1)])];
        let turns = answers.map(|answer| answer.with_reasoning(needle::REASONING));
        let mut turns = turns.iter().filter_map(|answer| Some(self.turn(answer)?.text));
        turns.find(|turn| turn.contains(needle::REASONING))
    }

    /// Whether a text is one mark, and the template removes content up to its closing mark, at least in earlier turns.
    pub fn takes_out(&self, open: &str) -> bool {
        let [thought, rest] = PLAIN;
        let Some(close) = marks::counterpart(open).filter(|_| Segmentation::Words.marks(open).len() == 1) else {
            return false;
        };
        let answer = Message::Assistant(Answer::content(&format!("{thought}{close}{rest}")));
        let earlier = [answer, Message::User(NEXT.to_owned())];
        [&earlier[..1], &earlier].into_iter().filter_map(|more| self.render(more, false)).any(|text| {
            let turn = text.rsplit_once(&*self.history.last).map_or("", |(_, turn)| turn);
            turn.contains(rest) && !turn.contains(thought)
        })
    }
}

/// The values in a value that contain no others.
pub(in crate::derive) fn leaves(value: &Value) -> Vec<&Value> {
    match value {
        Value::Object(members) => members.values().flat_map(leaves).collect(),
        Value::List(items) => items.iter().flat_map(leaves).collect(),
        _ => vec![value],
    }
}

/// The texts that a setting gives.
pub(super) fn texts(setting: &Setting) -> impl Iterator<Item = &str> {
    setting.values().flat_map(leaves).filter_map(Value::as_str)
}

/// The text that the generation prompt adds to a render; empty if either is refused or the prompt does not extend the
/// render.
pub(super) fn generated(prober: &Prober<'_>, history: &[Message], setting: &Setting) -> String {
    let render = |asks| prober.render(history, setting, asks);
    let (Some(prompt), Some(bare)) = (render(true), render(false)) else { return String::new() };
    // A template may end every render with white space.
    let after_space = || prompt.strip_prefix(bare.trim_end()).filter(|generated| !generated.trim().is_empty());
    prompt.strip_prefix(&bare).or_else(after_space).map_or_else(String::new, str::to_owned)
}

/// A turn in the render of the conversation that ends with it.
pub(super) struct Turn {
    /// The render up to the end of the history.
    pub head: String,
    /// The text after them, without the marks that end an earlier message and no prompt.
    pub text: String,
    pub whole: String,
}

/// A text up to a mark, or all of it.
pub(super) fn before<'t>(text: &'t str, mark: &str) -> &'t str {
    text.split_once(mark).map_or(text, |(before, _)| before)
}
