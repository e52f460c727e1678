//! Finds the start of the model's turn: compares the text that a prompt has already written with renders of whole turns.

use super::header::{Shift, aligned, before_opening, begins_with, loosely_shared, repeated, whole_marks};
use super::renders::{self, NEXT, PLAIN, Scene, Tokens, Turn, before, generated};
use backchat_core::text::{common_start, overlap, slice};
use backchat_probe::probe::marks::Segmentation;
use backchat_probe::probe::{Answer, Message, Setting, mentions_reasoning, needle};

/// A prompt, and how whole turns after the same history compare with it. All texts begin after the history.
pub(super) struct TurnStart {
    pub prompt: String,
    /// The end of the history in the prompt.
    pub said: usize,
    /// The text after the history, without text that no turn has before its header.
    tail: String,
    /// How positions in `tail` differ from those in the prompt.
    shift: Shift,
    /// How much of the prompt's end every plain turn has as well.
    pub shared: usize,
    pub state: State,
    /// The text after the content of a plain turn, up to the next opening of the template.
    pub stop: String,
    /// Whether reasoning follows this prompt without an opening, neither in the prompt nor in the turn.
    lacks_opening: bool,
    /// The words with which the prompt begins the thought; empty if it begins none.
    pub begun_thought: String,
    /// The text that the generation prompt adds; empty if it is not known.
    generated: String,
    /// The text that prompts add elsewhere, if this one adds none.
    missing: String,
    /// The text that ends every render, such as an unrequested prompt; empty if there is none.
    trailer: String,
}

/// The effect of the part of the prompt that plain turns lack.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// No such part exists, or it has nothing to do with reasoning.
    Plain,
    /// It opens reasoning. The text that opens it in renders; empty if renders have none.
    Open(String),
    /// It opens reasoning and closes it.
    Closed(String),
    /// It begins a call.
    Call,
}

/// A turn cut out of a render.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Piece {
    pub prefix: String,
    pub text: String,
    pub cut: Cut,
}

/// How a turn was cut out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cut {
    /// The render begins with the prompt: the text is the rest.
    Exact,
    /// The render differs from the prompt only in the history before.
    History,
    /// The prompt writes text that renders of whole turns lack: the output begins at their first difference.
    Shared,
    /// No prompt leads to this turn: the prompt opens reasoning that the turn lacks. The prefix ends before that.
    Unprompted,
    /// Every plain turn begins differently. The prefix ends at their first difference.
    Deviating,
}

impl TurnStart {
    /// Renders the prompt and plain turns; `None` if the template refuses the history or a plain answer, or leaves out the
    /// end of the history.
    pub fn find(scene: &Scene<'_, '_>, tokens: &Tokens<'_>, openings: &mut Vec<String>) -> Option<Self> {
        let Scene { prober, history, setting } = *scene;
        let prompt = scene.render(&[], true)?;
        let said = prompt.rfind(&*history.last)? + history.last.len();
        let mut turns = Vec::new();
        for text in PLAIN {
            turns.push((text, scene.turn(&Answer::content(text))?.text));
        }
        let (text, first) = turns.first()?;
        let (tail, shift) = aligned(prompt.get(said..)?, before(first, text));
        let tail = tail.as_str();
        let mut shared = tail;
        let mut is_exact = true;
        let mut stops = Vec::new();
        for (text, turn) in &turns {
            shared = common_start(shared, turn);
            is_exact &= turn.starts_with(tail);
            // If the answer is escaped, its end is unknown.
            stops.push(turn.rsplit_once(*text).map_or_else(String::new, |(_, stop)| stop.to_owned()));
        }
        let generated = generated(prober, &history.messages, setting);
        if generated.is_empty() && !renders::generated(prober, &history.messages, &Setting::new()).is_empty() {
            // Under this setting, the template ignores the request for a prompt.
            return None;
        }
        let missing = match generated.is_empty() {
            true => renders::generated(prober, &[Message::User(NEXT.to_owned())], setting),
            false => String::new(),
        };
        if first.strip_prefix(tail).is_some_and(|turn| begins_with(turn, &missing)) {
            return None;
        }
        let mut stop = common_start(stops.first()?, stops.last()?).to_owned();
        let trailer = scene.trailer(tokens, &stop, tail).unwrap_or_default();
        stop.truncate(stop.len() - trailer.len());
        stop.truncate(next_turn(&stop, &generated));
        let thought = scene.thought();
        if let Some(thought) = thought.as_deref().filter(|_| !is_exact) {
            shared = common_start(shared, thought);
        }
        let shared = if is_exact { tail.len() } else { whole_marks(tail, shared.len()) };
        let is_headed = tail.strip_suffix(generated.as_str()).is_some_and(|before| {
            tail.get(before.len()..shared).is_some_and(|header| header.contains(char::is_alphanumeric))
        });
        let surplus = Surplus { shared: slice(tail, ..shared), text: slice(tail, shared..), is_headed };
        let state = match surplus.state(thought.as_deref(), openings, |open| scene.takes_out(open)) {
            State::Plain if scene.begins_call(tail, shared) => State::Call,
            _ if scene.names_call(tail, shared) => State::Call,
            state => state,
        };
        let lacks_opening = state == State::Plain
            && thought
                .as_deref()
                .and_then(|turn| turn.strip_prefix(tail))
                .is_some_and(|rest| rest.trim_start().starts_with(needle::REASONING));
        let begun_thought = surplus.begun_thought(&state, thought.as_deref()).unwrap_or_default().to_owned();
        let (shared, tail) = (shared.min(tail.len()), tail.to_owned());
        Some(Self {
            said,
            tail,
            shift,
            shared,
            state,
            stop,
            lacks_opening,
            begun_thought,
            generated,
            missing,
            trailer,
            prompt,
        })
    }

    /// The end of the prompt, after the history.
    pub fn prompted(&self) -> &str {
        slice(&self.prompt, self.said..)
    }

    /// What a prompt has written of a turn that was cut like this: the beginning of a call.
    pub fn begun(&self, cut: Cut) -> &str {
        let is_begun = self.state == State::Call && cut <= Cut::History;
        if is_begun { slice(&self.tail, self.shared..) } else { "" }
    }

    /// Cuts the turn with this answer out of its render; also returns the whole render.
    pub fn cut(&self, scene: &Scene<'_, '_>, answer: &Answer, openings: &[String]) -> Option<(Piece, String)> {
        let Turn { head, text: turn, whole } = scene.turn(answer)?;
        let shows_reasoning = answer.reasoning.as_deref().is_some_and(|thought| shows(&turn, thought));
        let mut piece = self.split(&head, &turn, shows_reasoning)?;
        if begins_with(&piece.text, &self.missing) {
            // No prompt leads to this turn.
            return None;
        }
        if shows_reasoning && self.lacks_opening && openings.iter().any(String::is_empty) {
            // Other prompts open reasoning, and this one does not lead to it.
            piece.cut = Cut::Unprompted;
        }
        piece.text.truncate(self.end(&piece.text, answer));
        Some((piece, whole))
    }

    /// The prompt up to a position in its aligned end.
    fn up_to(&self, at: usize) -> Option<&str> {
        let Shift { from, prompts, turns } = self.shift;
        let at = if at > from { (at + prompts).checked_sub(turns)? } else { at };
        self.prompt.get(..self.said + at)
    }

    fn split(&self, head: &str, turn: &str, shows_reasoning: bool) -> Option<Piece> {
        let tail = self.tail.as_str();
        let piece =
            |prefix: &str, text: &str, cut| Some(Piece { prefix: prefix.to_owned(), text: text.to_owned(), cut });
        let is_same = self.prompt.get(..self.said) == Some(head);
        let after_all = |text: &str, cut: Cut| {
            piece(&format!("{head}{}", self.prompted()), text, if is_same { cut } else { cut.max(Cut::History) })
        };
        if let Some(text) = turn.strip_prefix(self.prompted()) {
            return after_all(text, Cut::Exact);
        }
        if let Some(text) = turn.strip_prefix(tail) {
            return after_all(text, Cut::Shared);
        }
        let (ours, theirs) = loosely_shared(tail, turn);
        if ours > 0 && slice(tail, ours..).trim().is_empty() {
            // It begins as the prompt ends, except for white space.
            return after_all(slice(turn, theirs..), Cut::Shared);
        }
        let start = common_start(tail, turn);
        let at = start.len();
        if at < self.shared {
            // A turn of this kind begins differently from plain ones.
            let rest = turn.get(at..)?;
            let header = self.generated.trim();
            let lacks_header = slice(tail, at..).contains(header) && !rest.contains(header);
            if self.state == State::Plain && !header.is_empty() && lacks_header {
                // It has no header: the header in the prompt applies to it.
                return piece(&self.prompt, rest, Cut::Shared);
            }
            let splits_word = start.ends_with(char::is_alphanumeric) && rest.starts_with(char::is_alphanumeric);
            let prefix = self.up_to(at)?;
            return if splits_word { None } else { piece(prefix, rest, Cut::Deviating) };
        }
        let surplus = tail.get(self.shared..)?;
        let rest = turn.get(self.shared..)?;
        let before = self.up_to(self.shared)?;
        let repeated = repeated(surplus, rest);
        let after_prompt = || piece(&self.prompt, rest.get(repeated..)?, Cut::Shared);
        match (&self.state, shows_reasoning) {
            _ if surplus.trim().is_empty() => after_prompt(),
            (State::Plain, _) => after_prompt(),
            (State::Open(open), true) if open.is_empty() || repeated > 0 => after_prompt(),
            (State::Open(_), true) => piece(before, rest, Cut::Shared),
            (State::Closed(_), true) => None,
            (State::Open(open), false) if !open.is_empty() && rest.trim_start().starts_with(open) && repeated > 0 => {
                after_prompt()
            }
            (State::Open(open), false) => {
                piece(&format!("{before}{}", before_opening(surplus, open)), rest, Cut::Unprompted)
            }
            (State::Call, _) => piece(before, rest, Cut::Unprompted),
            (State::Closed(open), false) if !open.is_empty() && rest.trim_start().starts_with(open) => {
                piece(before, rest, Cut::Shared)
            }
            (State::Closed(_), false) => piece(&self.prompt, rest, Cut::Shared),
        }
    }

    /// The end of the model's turn: before the text that ends every render and before the next turn, without trailing white
    /// space, because no model writes the white space between turns.
    fn end(&self, text: &str, answer: &Answer) -> usize {
        let parts = answer.content.iter().chain(&answer.reasoning).map(String::as_str);
        let parts = parts.chain(answer.calls.iter().map(|call| call.name.as_str()));
        let text = text.strip_suffix(&self.trailer).unwrap_or(text);
        let last = parts.filter_map(|part| text.rfind(part).map(|at| at + part.len())).max().unwrap_or(text.len());
        let end = last + next_turn(slice(text, last..), &self.generated);
        // A turn may have its header again, between its parts: only then its stop follows, and none comes before.
        let stop = self.stop.trim();
        let is_stopped = stop.is_empty() || slice(text, ..end).trim_end().ends_with(stop);
        let again = slice(text, end..).strip_prefix(self.generated.trim());
        let is_own = !is_stopped && again.is_some_and(|rest| rest.trim() == stop);
        let text = text.get(..end).filter(|_| !is_own).unwrap_or(text);
        match self.stop.trim() {
            "" => text.len(),
            _ => text.trim_end().len(),
        }
    }

    /// The text without the stop, as engines return it: without the known token, or else without the marks that end the
    /// turn, or the last of them if the others close what this turn does not have. Ordinary text before one, such as a
    /// bracket, belongs to the answer. A turn that ends with another mark is returned without that one.
    pub fn without_stop<'t>(&self, text: &'t str, eos_token: Option<&str>) -> Option<&'t str> {
        let stop = self.stop.trim();
        if stop.is_empty() {
            return None;
        }
        if let Some(token) = eos_token.filter(|eos| !eos.is_empty() && stop.ends_with(eos)) {
            return text.strip_suffix(token);
        }
        let mut end = 0;
        let ends = Segmentation::Words.marks(stop).into_iter().filter_map(|mark| {
            let rest = slice(stop, end..);
            end += mark.len();
            Segmentation::Words.is_distinctive(mark).then_some(rest)
        });
        let mut ends: Vec<&str> = ends.collect();
        // With signs before it, the first of several marks closes what the turn has opened, as in `]]></text><end>`.
        if let [first, _, ..] = ends.as_slice()
            && first.len() < stop.len()
        {
            ends.remove(0);
        }
        let usual = match ends.as_slice() {
            [] => text.strip_suffix(stop),
            ends => ends.iter().find_map(|end| text.strip_suffix(end)),
        };
        usual.or_else(|| without_other_stop(text))
    }
}

/// The text without a mark at its end that closes nothing in it: no mark before has a word of it.
fn without_other_stop(text: &str) -> Option<&str> {
    let marks = Segmentation::Words;
    let last = marks.last(text).filter(|last| marks.is_distinctive(last))?;
    let before = text.strip_suffix(last)?;
    let closes = marks.marks(before).into_iter().any(|mark| marks.share_a_word(mark, last, ""));
    (!closes && !last.contains('/')).then_some(before)
}

/// The end of a prompt, beside that of plain turns.
struct Surplus<'t> {
    /// The text that plain turns begin with, too.
    shared: &'t str,
    /// The text that only the prompt has.
    text: &'t str,
    /// Whether plain turns have the header of the prompt and only lack the text after it.
    is_headed: bool,
}

impl Surplus<'_> {
    /// The effect of the surplus, judged by the text around reasoning in renders. `takes_out` says whether renders leave out
    /// content up to the closing mark of a text.
    fn state(&self, thought: Option<&str>, openings: &mut Vec<String>, takes_out: impl Fn(&str) -> bool) -> State {
        let surplus = self.text;
        if let Some((lead, after)) = thought.and_then(|turn| turn.split_once(needle::REASONING)) {
            let open = lead.strip_prefix(self.shared).unwrap_or(lead).trim();
            if !open.is_empty() && !openings.iter().any(|known| known == open) {
                openings.push(open.to_owned());
            }
            if surplus.trim().is_empty() {
                return State::Plain;
            }
            if open.is_empty() {
                // No render shows the opening of reasoning: text that shares a word with the closing is one.
                let close = before(before(after, needle::CONTENT), needle::NAMES[0]).trim();
                let surplus = surplus.trim_end();
                let last = slice(surplus, surplus.len() - overlap(surplus, close)..);
                // Other text that a prompt writes between its header and reasoning without an opening asks for reasoning.
                let closes = |text: &str| Segmentation::Words.share_a_word(text, close, "");
                let opens = closes(surplus) || self.is_headed && surplus.contains(char::is_alphanumeric);
                if opens && !openings.iter().any(String::is_empty) {
                    openings.push(String::new());
                }
                return match opens {
                    true if closes(last) => State::Closed(String::new()),
                    true => State::Open(String::new()),
                    false => State::Plain,
                };
            }
            let close = before(before(after, needle::CONTENT), needle::NAMES[0]).trim();
            if let Some(state) = opened(surplus, open, close) {
                return state;
            }
        }
        if let Some(state) = openings.iter().filter(|open| !open.is_empty()).find_map(|open| opened(surplus, open, ""))
        {
            return state;
        }
        // No render shows reasoning: a mark after which content is left out opens it. Otherwise, guess by the words of the mark.
        if openings.is_empty() && !surplus.trim().is_empty() && takes_out(surplus.trim()) {
            return State::Open(String::new());
        }
        let speaks = surplus.split_whitespace().any(mentions_reasoning);
        let closes = surplus.split("</").skip(1).chain(surplus.split("[/").skip(1)).any(mentions_reasoning);
        match (speaks && openings.is_empty(), closes) {
            (false, _) => State::Plain,
            (true, true) => State::Closed(String::new()),
            (true, false) => State::Open(String::new()),
        }
    }
}

impl<'t> Surplus<'t> {
    /// The words after the text that opens reasoning in this turn.
    fn begun_thought(&self, state: &State, thought: Option<&str>) -> Option<&'t str> {
        let (lead, _) = thought.filter(|_| matches!(state, State::Open(_)))?.split_once(needle::REASONING)?;
        let open = lead.strip_prefix(self.shared).unwrap_or(lead).trim_start();
        let (_, begun) = self.text.rsplit_once(open).filter(|_| !open.is_empty())?;
        Some(begun).filter(|begun| !begun.trim().is_empty())
    }
}

/// Whether a prompt's surplus ends with the text that opens reasoning, or has more text after it: the beginning of a thought
/// if there is no mark in it and a mark would close the thought.
fn opened(surplus: &str, open: &str, close: &str) -> Option<State> {
    let (_, begun) = surplus.rsplit_once(open)?;
    let is_mark = |text: &str| Segmentation::Words.is_distinctive(text);
    let is_open = begun.trim().is_empty() || is_mark(close) && !is_mark(begun);
    Some(if is_open { State::Open(open.to_owned()) } else { State::Closed(open.to_owned()) })
}

/// The position at which a text opens the next turn.
fn next_turn(text: &str, generated: &str) -> usize {
    let header = generated.trim();
    text.find(header).filter(|_| !header.is_empty()).unwrap_or(text.len())
}

/// Whether a text shows an answer's text in any escaping: whether it contains the longest run of plain words.
pub(super) fn shows(text: &str, said: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || c == ' ';
    let run = said.split(|c| !is_plain(c)).map(str::trim).max_by_key(|run| run.len());
    run.is_some_and(|run| !run.is_empty() && text.contains(run))
}

#[cfg(test)]
mod tests;
