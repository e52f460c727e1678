//! One turn in renders: the text from the history's words on, what the prompt adds to it, and what ends every render.

use super::conversations::History;
use super::header::{overlap, whole_marks};
use crate::wire::marks::{self, Segmentation};
use backchat_core::text::{common_end, common_start, slice};
use backchat_probe::probe::{Answer, Message, Prober, Setting, call, needle};

/// The user's next message, to show the text between two turns.
pub(super) const NEXT: &str = "Quokkas blink, then.";

/// The plain answers that show the start and the end of a turn; they share neither their first character nor their
/// last.
pub(super) const PLAIN: [&str; 2] = ["Zebras graze", "(nine) of \"them\"!"];

/// The special tokens that were given, as far as they bound a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tokens<'p> {
    pub bos: Option<&'p str>,
    pub eos: Option<&'p str>,
}

/// The text that ends every render and does not belong to a turn, such as an unrequested prompt: `tail`, the text after
/// a plain answer, from where it deviates from the text between two turns on. The stop token bounds it, and so does the
/// text before the first message.
pub(super) fn trailer(
    prober: &Prober<'_>,
    history: &History,
    setting: &Setting,
    tokens: &Tokens<'_>,
    tail: &str,
    prompted: &str,
) -> Option<String> {
    let next = Message::User(NEXT.to_owned());
    let bare = prober.render(&history.messages, setting, false)?;
    let [answer, _] = PLAIN;
    let mut messages = history.messages.clone();
    messages.push(Message::Assistant(Answer::content(answer)));
    messages.push(next.clone());
    let rendered = prober.render(&messages, setting, false);
    let between = rendered.as_deref().and_then(|text| text.rsplit_once(NEXT)?.0.rsplit_once(answer));
    let shared = between.map_or(tail, |(_, between)| common_start(tail, between));
    if shared.len() == tail.len() && between.is_some() {
        return None;
    }
    let stopped = tokens.eos.filter(|eos| !eos.is_empty()).and_then(|eos| Some(tail.find(eos)? + eos.len()));
    // A marker that begins every message, also the first, does not end a turn.
    let first = tokens.bos.and_then(|bos| bare.trim_start().strip_prefix(bos)).unwrap_or(&bare).trim_start();
    let header = between.map_or("", |(before, between)| common_end(before_first(before, history), between));
    let bound = between.map_or(tail.len(), |(_, between)| between.len() - header.len());
    let bounded = slice(shared, ..bound.min(shared.len()));
    let bounded = if bounded.trim().is_empty() { shared } else { bounded };
    let own = whole_marks(tail, bounded.len() - overlap(bounded, first));
    let ends_all = |trailer: &str| {
        let alone = || prober.render(std::slice::from_ref(&next), setting, false);
        bare.ends_with(trailer) || alone().is_some_and(|alone| alone.ends_with(trailer))
    };
    // An unrequested prompt may come before a stop token that ends every render.
    let is_prompted = |own: usize| {
        let (stop, trailer) = (slice(tail, ..own), slice(tail, own..));
        !stop.trim().is_empty() && ends_all(trailer)
    };
    let own = stopped.filter(|stopped| own >= *stopped || !is_prompted(own)).unwrap_or(own);
    let (stop, trailer) = tail.split_at_checked(own)?;
    // Text after the stop token is not part of the turn; other text is not if it ends every render and is not the stop.
    let is_written =
        stopped.is_some() || (ends_all(trailer) && (!stop.trim().is_empty() || prompted.contains(trailer.trim())));
    (is_written && !trailer.trim().is_empty()).then(|| trailer.to_owned())
}

/// The text of a render before the first words of a history.
fn before_first<'t>(text: &'t str, history: &History) -> &'t str {
    let first = match history.messages.first() {
        Some(Message::User(words) | Message::System(words)) => words.as_str(),
        _ => "",
    };
    before(text, first)
}

/// The text that the generation prompt adds to a render; empty if either is refused, or the prompt is written
/// otherwise.
pub(super) fn generated(prober: &Prober<'_>, history: &[Message], setting: &Setting) -> String {
    let render = |asks| prober.render(history, setting, asks);
    let (Some(prompt), Some(bare)) = (render(true), render(false)) else { return String::new() };
    prompt.strip_prefix(&bare).map_or_else(String::new, str::to_owned)
}

/// A turn in the render of the conversation that ends with it.
pub(super) struct Turn {
    /// The render up to the end of the history's own words.
    pub head: String,
    /// The text after them, without the marks that end an earlier message and no prompt.
    pub text: String,
    pub whole: String,
}

pub(super) fn turn(prober: &Prober<'_>, history: &History, setting: &Setting, answer: &Answer) -> Option<Turn> {
    let mut messages = history.messages.clone();
    messages.push(Message::Assistant(answer.clone()));
    let whole = prober.render(&messages, setting, false)?;
    let said = whole.rfind(history.last)? + history.last.len();
    let (head, text) = whole.split_at_checked(said)?;
    let (head, text) =
        (head.to_owned(), without_closing(prober, history, setting, text).unwrap_or_else(|| text.to_owned()));
    Some(Turn { head, text, whole })
}

/// A turn without the marks that end the history's last message; `None` if it has none of its own. A template may
/// write the message before a prompt with other marks than an earlier one: those of an earlier one are not in the
/// prompt, and any message may follow them.
fn without_closing(prober: &Prober<'_>, history: &History, setting: &Setting, turn: &str) -> Option<String> {
    let (Message::User(last) | Message::Tool { content: last, .. }) = history.messages.last()? else { return None };
    let (_, said) = last.rsplit_once(history.last)?;
    let prompt = prober.render(&history.messages, setting, true)?;
    let (_, tail) = prompt.rsplit_once(history.last)?;
    let (tail, rest) = (tail.strip_prefix(said)?, turn.strip_prefix(said)?);
    if tail.trim().is_empty() || whole_marks(tail, common_start(tail, rest).len()) > 0 {
        return None;
    }
    let mut messages = history.messages.clone();
    messages.push(Message::User(NEXT.to_owned()));
    let followed = prober.render(&messages, setting, false)?;
    let (before, between) = followed.rsplit_once(NEXT)?.0.rsplit_once(history.last)?;
    let closing = common_start(rest, between.strip_prefix(said)?);
    let closing = slice(closing, ..whole_marks(rest, closing.len()));
    // The marks that begin every message begin the first one as well.
    let is_closing = closing.contains(char::is_alphanumeric) && !before_first(before, history).contains(closing.trim());
    is_closing.then(|| format!("{said}{}", slice(rest, closing.len()..)))
}

/// Whether the part of the prompt that plain turns lack is the beginning of a call: a turn with one extends the prompt.
pub(super) fn begins_call(
    prober: &Prober<'_>,
    history: &History,
    setting: &Setting,
    tail: &str,
    shared: usize,
) -> bool {
    let surplus = slice(tail, shared..);
    let calls = || turn(prober, history, setting, &Answer::calls(vec![call(0, 1)]));
    let extends = |turn: Turn| turn.text.strip_prefix(tail).is_some_and(|rest| rest.contains(needle::NAMES[0]));
    !surplus.trim().is_empty() && calls().is_some_and(extends)
}

/// A turn that shows reasoning: many templates show it only together with a call.
pub(super) fn thought(prober: &Prober<'_>, history: &History, setting: &Setting) -> Option<String> {
    let beside = Answer { calls: vec![call(0, 1)], ..Answer::default() };
    let answers = [Answer::content(needle::CONTENT), beside];
    let mut turns = answers
        .into_iter()
        .filter_map(|answer| Some(turn(prober, history, setting, &answer.with_reasoning(needle::REASONING))?.text));
    turns.find(|turn| turn.contains(needle::REASONING))
}

/// Whether this is one mark, and the template leaves content out up to the mark that closes it.
pub(super) fn takes_out(prober: &Prober<'_>, history: &History, setting: &Setting, open: &str) -> bool {
    let [thought, rest] = PLAIN;
    let close = marks::counterpart(open).filter(|_| Segmentation::Words.marks(open).len() == 1);
    let turn = |close: String| turn(prober, history, setting, &Answer::content(&format!("{thought}{close}{rest}")));
    let turn = close.and_then(turn);
    turn.is_some_and(|turn| turn.text.contains(rest) && !turn.text.contains(thought))
}

/// A text up to a mark, or all of it.
pub(super) fn before<'t>(text: &'t str, mark: &str) -> &'t str {
    text.split_once(mark).map_or(text, |(before, _)| before)
}
