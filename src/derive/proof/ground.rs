//! The start of the model's turn: the text that a prompt has already written, compared with renders of the whole turn.

use super::conversations::History;
use crate::text::{common_end, common_start, slice};
use crate::wire::conversation::{Answer, Message, speaks_of_reasoning};
use crate::wire::marks::Segmentation;
use crate::wire::probe::{Prober, Setting, call, needle};

/// A prompt, and how whole turns after the same history compare with it. All texts begin after the history's own words.
pub(super) struct Ground {
    pub prompt: String,
    /// The end of the history's own words in the prompt.
    pub said: usize,
    /// The text after them, without what no turn shows before its header.
    tail: String,
    /// How positions in `tail` differ from those in the prompt.
    shift: Shift,
    /// How much of the prompt's end every plain turn shows as well.
    pub shared: usize,
    pub state: State,
    /// The text after the content of a plain turn, up to the next opening of the template.
    pub stop: String,
    /// Whether a thought follows this prompt with nothing that opens it, neither in the prompt nor in the turn.
    bares_thought: bool,
    /// The text that the generation prompt adds; empty if it is not known.
    generated: String,
    /// The text that prompts add elsewhere, if this one adds none.
    missing: String,
    /// The text that ends every render, such as a prompt that nobody asked for; empty if there is none.
    trailer: String,
}

/// The effect of the part of the prompt that plain turns lack.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum State {
    /// No such part exists, or it has nothing to do with reasoning.
    Plain,
    /// It opens reasoning; the text that opens it in renders, which is empty if none does.
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
pub(in crate::derive) enum Cut {
    /// The render begins with the prompt: the text is the rest.
    Exact,
    /// The render differs from the prompt only in the history before.
    History,
    /// The prompt writes text that renders of whole turns lack: the output begins at their first difference.
    Shared,
    /// No prompt leads up to this turn: the prompt opens reasoning that it lacks. The prefix ends before that.
    Unled,
    /// Every plain turn begins differently. The prefix ends at their first difference.
    Deviating,
}

/// What a user says next, to show the text between two turns.
const NEXT: &str = "Quokkas blink, then.";

/// The plain answers that show the start and the end of a turn; they share neither their first sign nor their last.
const PLAIN: [&str; 2] = ["Zebras graze", "(nine) of \"them\"!"];

impl Ground {
    /// Renders the prompt and plain turns; nothing if the template refuses this history or a plain answer to it, or
    /// leaves out the history's last words.
    pub fn find(
        prober: &Prober<'_>,
        history: &History,
        setting: &Setting,
        tokens: &Tokens<'_>,
        openings: &mut Vec<String>,
    ) -> Option<Self> {
        let prompt = prober.render(&history.messages, setting, true)?;
        let said = prompt.rfind(history.last)? + history.last.len();
        let mut turns = Vec::new();
        for text in PLAIN {
            turns.push((text, turn(prober, history, setting, &Answer::content(text))?.1));
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
            // An answer whose signs are spelled otherwise does not show where it ends.
            stops.push(turn.rsplit_once(*text).map_or_else(String::new, |(_, stop)| stop.to_owned()));
        }
        let generated = generated(prober, &history.messages, setting);
        if generated.is_empty() && !self::generated(prober, &history.messages, &Setting::new()).is_empty() {
            // Under an odd setting the template ignores that a prompt was asked for.
            return None;
        }
        let missing = match generated.is_empty() {
            true => self::generated(prober, &[Message::User(NEXT.to_owned())], setting),
            false => String::new(),
        };
        if first.strip_prefix(tail).is_some_and(|turn| begins_with(turn, &missing)) {
            return None;
        }
        let mut stop = common_start(stops.first()?, stops.last()?).to_owned();
        let trailer = trailer(prober, history, setting, tokens, &stop, tail).unwrap_or_default();
        stop.truncate(stop.len() - trailer.len());
        stop.truncate(next_turn(&stop, &generated));
        let thought = thought(prober, history, setting);
        if let Some(thought) = thought.as_deref().filter(|_| !is_exact) {
            shared = common_start(shared, thought);
        }
        let shared = if is_exact { tail.len() } else { whole_marks(tail, shared.len()) };
        // Whether plain turns show the header of the prompt, and only lack what follows it.
        let is_headed = tail.strip_suffix(generated.as_str()).is_some_and(|before| {
            tail.get(before.len()..shared).is_some_and(|header| header.contains(char::is_alphanumeric))
        });
        let state = match state(tail, shared, is_headed, thought.as_deref(), openings) {
            State::Plain if begins_call(prober, history, setting, tail, shared) => State::Call,
            state => state,
        };
        let bares_thought = state == State::Plain
            && thought
                .as_deref()
                .and_then(|turn| turn.strip_prefix(tail))
                .is_some_and(|rest| rest.trim_start().starts_with(needle::REASONING));
        let (shared, tail) = (shared.min(tail.len()), tail.to_owned());
        Some(Self { said, tail, shift, shared, state, stop, bares_thought, generated, missing, trailer, prompt })
    }

    /// The end of the prompt, from the end of the history's own words on.
    pub fn prompted(&self) -> &str {
        slice(&self.prompt, self.said..)
    }

    /// Cuts the turn with this answer out of its render, of which it also gives the whole.
    pub fn cut(
        &self,
        prober: &Prober<'_>,
        history: &History,
        setting: &Setting,
        answer: &Answer,
        openings: &[String],
    ) -> Option<(Piece, String)> {
        let (head, turn) = turn(prober, history, setting, answer)?;
        let whole = format!("{head}{turn}");
        let shows_reasoning = answer.reasoning.as_deref().is_some_and(|thought| shows(&turn, thought));
        let mut piece = self.split(&head, &turn, shows_reasoning)?;
        if begins_with(&piece.text, &self.missing) {
            // No prompt leads up to this turn.
            return None;
        }
        if shows_reasoning && self.bares_thought && openings.iter().any(String::is_empty) {
            // Other prompts open it, and this template leaves that to them.
            piece.cut = Cut::Unled;
        }
        piece.text.truncate(self.end(&piece.text, answer));
        Some((piece, whole))
    }

    /// The prompt up to a place in its aligned end.
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
            // It begins as the prompt ends, but for white space.
            return after_all(slice(turn, theirs..), Cut::Shared);
        }
        let start = common_start(tail, turn);
        let at = start.len();
        if at < self.shared {
            // A turn of this kind begins otherwise than plain ones do.
            let rest = turn.get(at..)?;
            let header = self.generated.trim();
            let lacks_header = slice(tail, at..).contains(header) && !rest.contains(header);
            if self.state == State::Plain && !header.is_empty() && lacks_header {
                // It has no header at all: the one that the prompt writes leads up to it as well.
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
            (State::Open(open), false) => piece(&format!("{before}{}", led(surplus, open)), rest, Cut::Unled),
            (State::Call, _) => piece(before, rest, Cut::Unled),
            (State::Closed(open), false) if !open.is_empty() && rest.trim_start().starts_with(open) => {
                piece(before, rest, Cut::Shared)
            }
            (State::Closed(_), false) => piece(&self.prompt, rest, Cut::Shared),
        }
    }

    /// The end of the model's own turn: before the text that ends every render and the turn that the template opens
    /// next, and at its last sign, since no model writes the white space that only parts it from the next turn.
    fn end(&self, text: &str, answer: &Answer) -> usize {
        let parts = answer.content.iter().chain(&answer.reasoning).map(String::as_str);
        let parts = parts.chain(answer.calls.iter().map(|call| call.name.as_str()));
        let text = text.strip_suffix(&self.trailer).unwrap_or(text);
        let last = parts.filter_map(|part| text.rfind(part).map(|at| at + part.len())).max().unwrap_or(text.len());
        let end = last + next_turn(slice(text, last..), &self.generated);
        let text = text.get(..end).unwrap_or(text);
        match self.stop.trim() {
            "" => text.len(),
            _ => text.trim_end().len(),
        }
    }

    /// The text without the end at which the model stops, as engines hand it out: the known token or all that ends the
    /// turn.
    pub fn without_stop<'t>(&self, text: &'t str, eos_token: Option<&str>) -> Option<&'t str> {
        let stop = self.stop.trim();
        let token = eos_token.filter(|eos| !eos.is_empty() && stop.ends_with(eos)).unwrap_or(stop);
        text.strip_suffix(token).filter(|_| !token.is_empty())
    }
}

/// The special tokens that were given, as far as they bound a turn.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tokens<'p> {
    pub bos: Option<&'p str>,
    pub eos: Option<&'p str>,
}

/// The text that ends every render and does not belong to a turn, such as a prompt that is written whether or not it is
/// asked for: `tail`, the text after a plain answer, from where it deviates from the text between two turns on. The stop
/// token bounds it, and so does the text before the first message.
fn trailer(
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
    let own = stopped.unwrap_or_else(|| {
        // A marker that begins every message, also the first, does not end a turn.
        let first = tokens.bos.and_then(|bos| bare.trim_start().strip_prefix(bos)).unwrap_or(&bare).trim_start();
        let header = between.map_or("", |(before, between)| common_end(before_first(before, history), between));
        let bound = between.map_or(tail.len(), |(_, between)| between.len() - header.len());
        let bounded = slice(shared, ..bound.min(shared.len()));
        let bounded = if bounded.trim().is_empty() { shared } else { bounded };
        whole_marks(tail, bounded.len() - overlap(bounded, first))
    });
    let (stop, trailer) = tail.split_at_checked(own)?;
    let ends_all = || {
        let alone = prober.render(std::slice::from_ref(&next), setting, false);
        bare.ends_with(trailer) || alone.is_some_and(|alone| alone.ends_with(trailer))
    };
    // Text after the stop token is not part of the turn; other text is not if it ends every render and is not the stop.
    let is_written =
        stopped.is_some() || (ends_all() && (!stop.trim().is_empty() || prompted.contains(trailer.trim())));
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
fn generated(prober: &Prober<'_>, history: &[Message], setting: &Setting) -> String {
    let render = |asks| prober.render(history, setting, asks);
    let (Some(prompt), Some(bare)) = (render(true), render(false)) else { return String::new() };
    prompt.strip_prefix(&bare).map_or_else(String::new, str::to_owned)
}

/// A render up to the end of the history's own words, and after them.
fn turn(prober: &Prober<'_>, history: &History, setting: &Setting, answer: &Answer) -> Option<(String, String)> {
    let mut messages = history.messages.clone();
    messages.push(Message::Assistant(answer.clone()));
    let text = prober.render(&messages, setting, false)?;
    let said = text.rfind(history.last)? + history.last.len();
    let (head, turn) = text.split_at_checked(said)?;
    Some((head.to_owned(), turn.to_owned()))
}

/// Whether the part of the prompt that plain turns lack is the beginning of a call: a turn with one extends the prompt.
fn begins_call(prober: &Prober<'_>, history: &History, setting: &Setting, tail: &str, shared: usize) -> bool {
    let surplus = slice(tail, shared..);
    let calls = || turn(prober, history, setting, &Answer::calls(vec![call(0, 1)]));
    let extends =
        |(_, turn): (String, String)| turn.strip_prefix(tail).is_some_and(|rest| rest.contains(needle::NAMES[0]));
    !surplus.trim().is_empty() && calls().is_some_and(extends)
}

/// A turn that shows reasoning: many templates show it only beside a call.
fn thought(prober: &Prober<'_>, history: &History, setting: &Setting) -> Option<String> {
    let beside = Answer { calls: vec![call(0, 1)], ..Answer::default() };
    let answers = [Answer::content(needle::CONTENT), beside];
    let mut turns = answers
        .into_iter()
        .filter_map(|answer| Some(turn(prober, history, setting, &answer.with_reasoning(needle::REASONING))?.1));
    turns.find(|turn| turn.contains(needle::REASONING))
}

/// The effect of the prompt's surplus over plain turns on reasoning, judged by the text around a thought in renders.
fn state(tail: &str, shared: usize, is_headed: bool, thought: Option<&str>, openings: &mut Vec<String>) -> State {
    let surplus = slice(tail, shared..);
    if let Some((lead, after)) = thought.and_then(|turn| turn.split_once(needle::REASONING)) {
        let open = lead.strip_prefix(slice(tail, ..shared)).unwrap_or(lead).trim();
        if !open.is_empty() && !openings.iter().any(|known| known == open) {
            openings.push(open.to_owned());
        }
        if surplus.trim().is_empty() {
            return State::Plain;
        }
        if open.is_empty() {
            // No render shows the opening of reasoning: a text that shares a word with its closing is one.
            let close = before(before(after, needle::CONTENT), needle::NAMES[0]).trim();
            let surplus = surplus.trim_end();
            let last = slice(surplus, surplus.len() - overlap(surplus, close)..);
            // Whatever else a prompt writes between its header and a thought that nothing opens asks for the thought.
            let opens = shares_word(surplus, close) || is_headed && surplus.contains(char::is_alphanumeric);
            if opens && !openings.iter().any(String::is_empty) {
                openings.push(String::new());
            }
            return match opens {
                true if shares_word(last, close) => State::Closed(String::new()),
                true => State::Open(String::new()),
                false => State::Plain,
            };
        }
        if let Some(state) = opened(surplus, open) {
            return state;
        }
    }
    if let Some(state) = openings.iter().filter(|open| !open.is_empty()).find_map(|open| opened(surplus, open)) {
        return state;
    }
    // No render shows reasoning: a guess, by the mark's own words.
    let speaks = surplus.split_whitespace().any(speaks_of_reasoning);
    let closes = surplus.split("</").skip(1).chain(surplus.split("[/").skip(1)).any(speaks_of_reasoning);
    match (speaks && openings.is_empty(), closes) {
        (false, _) => State::Plain,
        (true, true) => State::Closed(String::new()),
        (true, false) => State::Open(String::new()),
    }
}

/// The longest header that is looked for in a prompt.
const LONGEST_HEADER: usize = 200;

/// A place in the end of a prompt where turns have another text, and the length of either.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shift {
    from: usize,
    prompts: usize,
    turns: usize,
}

/// The ends of what two texts begin with alike, white space aside.
fn loosely_shared(a: &str, b: &str) -> (usize, usize) {
    let signs = |text: &'_ str| -> Vec<(usize, char)> {
        text.char_indices().filter(|(_, c)| !c.is_whitespace()).map(|(at, c)| (at + c.len_utf8(), c)).collect()
    };
    let (ours, theirs) = (signs(a), signs(b));
    let shared = ours.iter().zip(&theirs).take_while(|((_, a), (_, b))| a == b).last();
    shared.map_or((0, 0), |((a, _), (b, _))| (*a, *b))
}

/// A prompt's end as turns have it: without the text that no turn shows before its header, such as a reminder, and with
/// their white space. `lead` begins a turn: what of it deviates comes later in the prompt.
fn aligned(tail: &str, lead: &str) -> (String, Shift) {
    let shared = whole_marks(tail, common_start(tail, lead).len());
    let (surplus, rest) = (slice(tail, shared..), lead.get(shared..).unwrap_or(""));
    let ends = rest.char_indices().map(|(at, c)| at + c.len_utf8()).rev();
    let ends = ends.filter(|end| *end <= LONGEST_HEADER && whole_marks(rest, *end) == *end);
    let mut found = ends.filter_map(|end| {
        let header = rest.get(..end).filter(|header| !header.trim().is_empty())?;
        let at = surplus.rfind(header)?;
        (whole_marks(slice(surplus, at..), end) == end).then_some(at)
    });
    match found.next() {
        Some(length) => {
            let shift = Shift { from: shared, prompts: length, turns: 0 };
            (format!("{}{}", slice(tail, ..shared), slice(surplus, length..)), shift)
        }
        None => respaced(tail, lead, shared),
    }
}

/// A prompt's end with the white space of a turn that has all of its words up to its first value.
fn respaced(tail: &str, lead: &str, shared: usize) -> (String, Shift) {
    let (ours, theirs) = loosely_shared(tail, lead);
    let is_whole = slice(lead, theirs..).trim().is_empty() && slice(lead, ..theirs).contains(char::is_alphanumeric);
    if ours <= shared || !is_whole {
        return (tail.to_owned(), Shift { from: tail.len(), prompts: 0, turns: 0 });
    }
    // White space after the header is the prompt's and the turn's alike, or part of neither.
    let space = common_start(slice(tail, ours..), slice(lead, theirs..));
    let space = space.len() - space.trim_start().len();
    let (ours, theirs) = (ours + space, theirs + space);
    let shift = Shift { from: shared, prompts: ours - shared, turns: theirs - shared };
    (format!("{}{}", slice(lead, ..theirs), slice(tail, ours..)), shift)
}

/// Whether a turn begins with whole marks of a header.
fn begins_with(turn: &str, header: &str) -> bool {
    let header = header.trim_start();
    let shared = common_start(header, turn.trim_start());
    !slice(shared, ..whole_marks(header, shared.len())).trim().is_empty()
}

/// A text up to a mark, or all of it.
fn before<'t>(text: &'t str, mark: &str) -> &'t str {
    text.split_once(mark).map_or(text, |(before, _)| before)
}

/// Whether two texts have a word in common.
fn shares_word(a: &str, b: &str) -> bool {
    let words = |text: &'_ str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric()).filter(|word| word.len() > 1).map(str::to_owned).collect()
    };
    let known = words(b);
    words(a).iter().any(|word| known.contains(word))
}

/// The last place up to `end` that splits no bracketed or starred mark: two marks may begin with the same sign.
fn whole_marks(text: &str, end: usize) -> usize {
    const PAIRS: [(char, char); 14] = [
        ('<', '>'),
        ('[', ']'),
        ('{', '}'),
        ('(', ')'),
        ('«', '»'),
        ('「', '」'),
        ('『', '』'),
        ('【', '】'),
        ('《', '》'),
        ('〈', '〉'),
        ('⟦', '⟧'),
        ('⟨', '⟩'),
        ('‹', '›'),
        ('｢', '｣'),
    ];
    let Some(shown) = text.get(..end).filter(|shown| shown.len() < text.len()) else { return end };
    let mut open: Vec<(char, usize)> = Vec::new();
    for (at, c) in shown.char_indices() {
        if let Some((_, close)) = PAIRS.iter().find(|(open, _)| *open == c) {
            open.push((*close, at));
        } else if c == '\n' {
            open.clear();
        } else if let Some(i) = open.iter().rposition(|(close, _)| *close == c) {
            open.truncate(i);
        }
    }
    let end = open.first().map_or(end, |(_, at)| *at);
    let shown = slice(text, ..end);
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    if !text.get(end..).is_some_and(|rest| rest.starts_with(is_word)) {
        return end;
    }
    // A word begins or goes on here: it goes with the signs before it.
    let before = shown.trim_end_matches(is_word);
    before.trim_end_matches(['*', '#', '=', '~', '$', '%', '@', '^', '|']).len()
}

/// The text of a prompt's surplus before the mark that opens reasoning, such as a header that renders of turns lack;
/// empty if there is no such text, or no such mark.
fn led<'s>(surplus: &'s str, open: &str) -> &'s str {
    let written = surplus.trim_end();
    let words = Segmentation::Words;
    let last = || words.last(written).filter(|mark| words.is_distinctive(mark));
    let mark = if open.is_empty() { last() } else { Some(open) };
    let header = mark.and_then(|mark| written.rfind(mark)).map(|at| slice(surplus, ..at));
    header.filter(|header| !header.trim().is_empty()).map_or("", |header| header)
}

/// Whether a prompt's surplus ends in the text that opens reasoning, or has it with more after it.
fn opened(surplus: &str, open: &str) -> Option<State> {
    if surplus.trim_end().ends_with(open) {
        return Some(State::Open(open.to_owned()));
    }
    surplus.contains(open).then(|| State::Closed(open.to_owned()))
}

/// The position at which the text opens the next turn by itself.
fn next_turn(text: &str, generated: &str) -> usize {
    let header = generated.trim();
    text.find(header).filter(|_| !header.is_empty()).unwrap_or(text.len())
}

/// How much of the end of one text is the start of the other.
fn overlap(end: &str, start: &str) -> usize {
    let at = end.char_indices().map(|(at, _)| at).find(|at| end.get(*at..).is_some_and(|rest| start.starts_with(rest)));
    at.map_or(0, |at| end.len() - at)
}

/// How much of a turn's start the end of the prompt has written already, white space aside.
fn repeated(surplus: &str, turn: &str) -> usize {
    if surplus.trim().is_empty() {
        return overlap(surplus, turn);
    }
    let lead = turn.len() - turn.trim_start().len();
    let rest = slice(turn, lead..);
    match overlap(surplus, rest).max(overlap(surplus.trim_end(), rest)) {
        0 => 0,
        shared => lead + shared,
    }
}

/// Whether a text shows an answer's text, however it spells signs: by the longest run of plain words in it.
pub(super) fn shows(text: &str, said: &str) -> bool {
    let is_plain = |c: char| c.is_alphanumeric() || c == ' ';
    let run = said.split(|c| !is_plain(c)).map(str::trim).max_by_key(|run| run.len());
    run.is_some_and(|run| !run.is_empty() && text.contains(run))
}

#[cfg(test)]
mod tests {
    use super::super::conversations::histories;
    use super::*;
    use crate::chat::ChatTemplate;
    use crate::json::Object;

    /// The ground after a question, with the opening of reasoning as far as it shows.
    fn ground(chat_template: &str) -> (Option<Ground>, Vec<String>) {
        let template = ChatTemplate::compile(chat_template).unwrap();
        let variables = Object::new();
        let input = crate::wire::conversation::ReasoningInput::Key("reasoning_content".to_owned());
        let prober = Prober::new(&template, &variables, None).with_reasoning(Some(&input));
        let mut openings = Vec::new();
        let found =
            Ground::find(&prober, &histories(false, false)[0], &Setting::new(), &Tokens::default(), &mut openings);
        (found, openings)
    }

    /// A template whose turns begin with `turn` and whose prompt ends with `prompt`.
    fn chat(turn: &str, prompt: &str) -> String {
        format!(
            "{{% for m in messages %}}<{{{{ m.role }}}}>{{% if m.role == 'assistant' %}}{turn}{{% endif %}}\
             {{{{ m.content }}}}<end>{{% endfor %}}{{% if add_generation_prompt %}}<assistant>{prompt}{{% endif %}}"
        )
    }

    const THOUGHT: &str = "{% if m.reasoning_content %}<think>{{ m.reasoning_content }}</think>{% endif %}";

    #[test]
    fn the_prompt_says_more_than_a_plain_turn_does() {
        for (turn, prompt, state, openings) in [
            (THOUGHT, "", State::Plain, &["<think>"][..]),
            (THOUGHT, "<think>", State::Open("<think>".to_owned()), &["<think>"]),
            (THOUGHT, "<think></think>", State::Closed("<think>".to_owned()), &["<think>"]),
            // No render shows it: the mark's own words are about reasoning.
            ("", "<think>", State::Open(String::new()), &[]),
            ("", "<think></think>", State::Closed(String::new()), &[]),
            ("", "<say>", State::Plain, &[]),
        ] {
            let (ground, known) = ground(&chat(turn, prompt));
            let ground = ground.unwrap();
            assert_eq!(
                (&ground.state, known.iter().map(String::as_str).collect::<Vec<_>>().as_slice()),
                (&state, openings),
                "{turn} {prompt}"
            );
            assert_eq!(ground.prompted(), format!("?<end><assistant>{prompt}"), "after the words `7f3a`");
            assert_eq!(ground.stop, "<end>");
        }
    }

    #[test]
    fn no_ground_without_a_rendered_history() {
        let forgetful = "{% for m in messages %}{% if m.role != 'user' %}{{ m.content }}{% endif %}{% endfor %}";
        assert!(ground(forgetful).0.is_none());
        assert!(ground("{{ raise_exception('no') }}").0.is_none());
    }

    #[test]
    fn a_turn_is_cut_according_to_what_its_prompt_opened() {
        let cut = |prompt: &str, answer: &Answer| {
            let source = chat(THOUGHT, prompt);
            let template = ChatTemplate::compile(&source).unwrap();
            let variables = Object::new();
            let input = crate::wire::conversation::ReasoningInput::Key("reasoning_content".to_owned());
            let prober = Prober::new(&template, &variables, None).with_reasoning(Some(&input));
            let history = &histories(false, false)[0];
            let mut openings = Vec::new();
            let ground = Ground::find(&prober, history, &Setting::new(), &Tokens::default(), &mut openings)?;
            let (piece, _) = ground.cut(&prober, history, &Setting::new(), answer, &openings)?;
            Some((piece.cut, piece.prefix.rsplit_once("<end>")?.1.to_owned(), piece.text))
        };
        let plain = Answer::content("Yes.");
        let thought = plain.clone().with_reasoning("Hm.");
        let piece = |cut, prefix: &str, text: &str| Some((cut, prefix.to_owned(), text.to_owned()));
        assert_eq!(cut("", &plain), piece(Cut::Exact, "<assistant>", "Yes.<end>"));
        assert_eq!(cut("<think>", &thought), piece(Cut::Exact, "<assistant><think>", "Hm.</think>Yes.<end>"));
        // The prompt opens reasoning, and the turn has none.
        assert_eq!(cut("<think>", &plain), piece(Cut::Unled, "<assistant>", "Yes.<end>"));
        // Such a prompt asks for a turn without reasoning.
        assert_eq!(cut("<think></think>", &thought), None);
        assert_eq!(cut("<think></think>", &plain), piece(Cut::Shared, "<assistant><think></think>", "Yes.<end>"));
    }

    #[test]
    fn text_that_ends_every_render_belongs_to_no_turn() {
        let ends = |source: &str, eos: Option<&str>| {
            let template = ChatTemplate::compile(source).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None);
            let history = &histories(false, false)[0];
            let tokens = Tokens { bos: None, eos };
            let ground = Ground::find(&prober, history, &Setting::new(), &tokens, &mut Vec::new()).unwrap();
            let said = Answer::content("Yes.");
            let (piece, _) = ground.cut(&prober, history, &Setting::new(), &said, &[]).unwrap();
            (piece.text, ground.stop, ground.trailer)
        };
        let turns = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}";
        let asked = "{% if add_generation_prompt %}<assistant>{% endif %}";
        let lines = turns.replace("<end>", "\n").replace("<{{ m.role }}>", "### {{ m.role }}: ");
        for (source, eos, text, stop, trailer) in [
            (format!("{turns}{asked}"), None, "Yes.<end>", "<end>", ""),
            // A prompt that is always written, also where a stop or the first message has to bound it.
            (format!("{turns}<assistant>"), None, "Yes.<end>", "<end>", "<assistant>"),
            (format!("{turns}<user><assistant>"), Some("<end>"), "Yes.<end>", "<end>", "<user><assistant>"),
            (format!("{lines}### assistant: "), None, "Yes.\n", "\n", "### assistant: "),
            (
                format!("{}### assistant: ", lines.replace("\n", "<end>\n")),
                None,
                "Yes.<end>",
                "<end>\n",
                "### assistant: ",
            ),
            // A footer, before a prompt or without one; a token that only ends the text.
            (format!("{turns}[be brief]{asked}"), None, "Yes.<end>", "<end>", "[be brief]"),
            (
                format!("{turns}{{% if add_generation_prompt %}}<assistant>{{% else %}}<eos>{{% endif %}}"),
                None,
                "Yes.<end>",
                "<end>",
                "<eos>",
            ),
            // The last turn alone ends like this: that is how it ends.
            (
                turns.replace("<end>", "{{ '<fin>' if loop.last and loop.length > 1 else '<end>' }}") + asked,
                None,
                "Yes.<fin>",
                "<fin>",
                "",
            ),
            // Text after the stop token does not belong to the turn.
            (
                format!("{turns}{{% if messages | length > 1 %}}<last>{{% endif %}}{asked}"),
                Some("<end>"),
                "Yes.<end>",
                "<end>",
                "<last>",
            ),
        ] {
            let expected = (text.to_owned(), stop.to_owned(), trailer.to_owned());
            assert_eq!(ends(&source, eos), expected, "{source}");
        }
    }

    #[test]
    fn a_prompt_is_aligned_with_the_header_of_a_turn() {
        for (tail, lead, aligned_tail, [from, prompts, turns]) in [
            ("?<end><bot>", "?<end><bot>", "?<end><bot>", [11, 0, 0]),
            ("?<end>[be brief]<bot>", "?<end><bot>", "?<end><bot>", [6, 10, 0]),
            ("?    <bot><think>", "?<bot></think>", "?<bot><think>", [1, 4, 0]),
            // The header of prompts alone, and the thought that they open.
            ("?<end><reply>", "?<end><turn>", "?<end><reply>", [13, 0, 0]),
            ("?<bot><think>", "?<bot>", "?<bot><think>", [13, 0, 0]),
            ("?Assistant says: ", "?A: ", "?Assistant says: ", [17, 0, 0]),
            // A header that turns indent otherwise, with the thought that the prompt writes after it.
            ("?\nBot: <think></think>", "?\n    Bot: ", "?\n    Bot: <think></think>", [2, 5, 9]),
        ] {
            assert_eq!(aligned(tail, lead), (aligned_tail.to_owned(), Shift { from, prompts, turns }), "{tail} {lead}");
        }
    }

    #[test]
    fn a_history_without_a_prompt_has_no_ground() {
        let silent = "{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}\
                      {% if add_generation_prompt and messages | length == 1 %}<assistant>{% endif %}";
        let grounds = |source: &str| {
            let template = ChatTemplate::compile(source).unwrap();
            let variables = Object::new();
            let prober = Prober::new(&template, &variables, None);
            let find = |history| Ground::find(&prober, history, &Setting::new(), &Tokens::default(), &mut Vec::new());
            histories(false, false).iter().take(2).map(|history| find(history).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(grounds(silent), [true, false]);
        assert_eq!(grounds(&silent.replace(" and messages | length == 1", "")), [true, true]);
    }

    #[test]
    fn engines_hand_out_the_text_before_the_token_that_stops() {
        let ground = |stop: &str| Ground { stop: stop.to_owned(), ..ground(&chat("", "")).0.unwrap() };
        for (stop, text, eos_token, shown) in [
            ("<end>\n", "Yes.<end>", None, Some("Yes.")),
            ("</s><end>", "Yes.</s><end>", Some("<end>"), Some("Yes.</s>")),
            ("<end>", "Yes.<end>", Some("<other>"), Some("Yes.")),
            ("<end>", "Yes.", None, None),
            ("", "Yes.", None, None),
        ] {
            assert_eq!(ground(stop).without_stop(text, eos_token), shown, "{stop:?} {text}");
        }
    }

    #[test]
    fn a_cut_splits_no_mark() {
        for (text, end, whole) in [
            // `<think>` and `<tool>` share a bracket and a letter.
            ("<bot>\n<think>", 8, 6),
            ("<bot>\n<think>", 6, 6),
            ("<bot>\n", 6, 6),
            ("say hello", 5, 4),
            ("**think", 3, 0),
            // A bracket of an earlier line was never closed.
            ("a < b\nc", 6, 6),
        ] {
            assert_eq!(whole_marks(text, end), whole, "{text:?} {end}");
        }
    }

    #[test]
    fn the_text_before_a_mark_leads_to_it_unless_it_is_blank() {
        for (surplus, open, header) in [
            ("<header>\n<think>\n", "<think>", "<header>\n"),
            ("\n<think>", "<think>", ""),
            ("<header><think>", "", "<header>"),
            ("<think>", "<other>", ""),
        ] {
            assert_eq!(led(surplus, open), header, "{surplus:?} {open}");
        }
    }

    #[test]
    fn texts_are_compared_at_their_ends() {
        assert_eq!([overlap("abc<x", "<xy"), overlap("abc", "d"), overlap("é<", "<é")], [2, 0, 1]);
        assert_eq!([next_turn("a<bot>b", "\n<bot>"), next_turn("ab", ""), next_turn("ab", "<bot>")], [1, 2, 2]);
        // The prompt wrote the mark already, with or without the white space around it.
        assert_eq!(
            [repeated("<think>\n", "<think>\nHm"), repeated("<think>\n", "\n<think>Hm"), repeated("x", "y")],
            [8, 8, 0]
        );
        assert!(shares_word("<think>", "[/think]") && !shares_word("<a>", "</a>") && !shares_word("<say>", "</think>"));
    }

    #[test]
    fn a_text_shows_what_was_said_however_it_spells_signs() {
        assert!(shows("1 &lt; 2 or so it seems", "1 < 2 or so it seems"));
        assert!(!shows("2 or so", "1 < 2 or so it seems"));
        assert!(!shows("anything", "…") && !shows("anything", ""), "signs alone are not evidence");
    }
}
