//! The input of a parser of ids: decodes ids to text with markers as letters, and maps the parser's results on letters
//! back to the text.

use std::borrow::Cow;
use std::sync::Arc;

use super::Finished;
use super::event::EventRef;
use super::kept_text::KeptText;
use super::options::Options;
use super::problem::Problem;
use super::signals::Malformed;
use super::span::Span;
use super::token_template::TokenTemplate;
use crate::content::Capture;
use crate::pattern::Letters;
use crate::tokens::{Sink, TextStream};
use backchat_core::json::{Object, Value};

/// How many ids that the tokenizer lacks are listed.
const NAMED: usize = 8;

/// The state of the ids of one parser.
#[derive(Clone, Debug)]
pub(super) struct TokenFeed {
    tokens: TokenTemplate,
    stream: TextStream,
    /// The text of the last feed, kept for its memory.
    scratch: String,
    map: LetterMap,
    /// The scan's fast-path flag, while nothing is being read.
    pub quiet: bool,
    stop_ids: Option<Arc<[u32]>>,
    stopped: bool,
    /// The text so far, from where the message begins, if requested.
    kept: Option<KeptText>,
    /// How many ids of the answer were read, and how many came after the stop.
    read: usize,
    unread: usize,
    /// The notes about ids that the tokenizer lacks, and how many there were.
    unknown: Vec<String>,
    unknown_count: usize,
}

/// The letters of a text, and how much longer it is with their markers.
#[derive(Clone, Debug, Default)]
struct LetterMap {
    /// The end of each letter, and by how much the text up to it is longer.
    ends: Vec<(usize, isize)>,
}

impl LetterMap {
    /// Notes the letters of a text that begins at a place.
    fn add(&mut self, letters: &Letters, text: &str, start: usize) {
        if Letters::may_have_letters(text) {
            for (end, growth) in letters.lengths(text) {
                let before = self.ends.last().map_or(0, |(_, longer)| *longer);
                self.ends.push((start + end, before + growth));
            }
        }
    }

    /// By how much the text so far is longer.
    #[inline]
    fn longer(&self) -> isize {
        self.ends.last().map_or(0, |(_, longer)| *longer)
    }

    fn place(&self, place: usize) -> usize {
        let longer = match self.ends.last() {
            Some((end, longer)) if *end <= place => *longer,
            _ => {
                let before = self.ends.partition_point(|(end, _)| *end <= place);
                before.checked_sub(1).and_then(|last| self.ends.get(last)).map_or(0, |(_, longer)| *longer)
            }
        };
        place.saturating_add_signed(longer)
    }

    fn span(&self, span: Span) -> Span {
        Span::new(self.place(span.start), self.place(span.end))
    }
}

/// Takes the text of ids, with markers as letters.
struct InLetters<'f> {
    tokens: &'f TokenTemplate,
    out: &'f mut String,
}

impl Sink for InLetters<'_> {
    fn text(&mut self, text: &str) {
        self.tokens.letters().write(text, self.out);
    }

    fn added(&mut self, token: usize) {
        match self.tokens.letter(token) {
            Some(letter) => self.out.push(letter),
            None => self.tokens.letters().write(self.tokens.tokens().added_content(token), self.out),
        }
    }
}

impl TokenFeed {
    pub fn new(tokens: &TokenTemplate, stream: TextStream, options: &Options) -> Self {
        Self {
            tokens: tokens.clone(),
            stream,
            scratch: String::new(),
            map: LetterMap::default(),
            quiet: false,
            stop_ids: options.stop_ids.clone(),
            stopped: false,
            kept: options.keep_text.then(KeptText::default),
            read: 0,
            unread: 0,
            unknown: Vec::new(),
            unknown_count: 0,
        }
    }

    /// The text of a prompt's ids in letters.
    pub fn prompt_text(&mut self, ids: &[u32]) -> String {
        let mut text = String::new();
        for (place, id) in ids.iter().enumerate() {
            if !self.push(*id, &mut text) {
                self.note_unknown(*id, || format!("place {place} of the prompt"));
            }
        }
        text
    }

    /// Notes the letters of a text that begins at a place, and keeps the text if requested.
    pub fn note(&mut self, text: &str, start: usize) {
        self.map.add(self.tokens.letters(), text, start);
        if let Some(kept) = &mut self.kept {
            kept.text.push_str(&self.tokens.read(text));
        }
    }

    fn note_id(&mut self, text: &str, start: usize) {
        let before = self.kept.as_ref().map(|kept| kept.text.len());
        self.note(text, start);
        if let (Some(kept), Some(before)) = (&mut self.kept, before) {
            kept.add_id(before, kept.text.len(), self.stream.is_inside_character());
        }
    }

    /// Records text without ids, after which no character is open.
    fn note_end(&mut self, text: &str, start: usize) {
        self.note(text, start);
        if let Some(kept) = &mut self.kept {
            kept.settle(kept.text.len());
        }
    }

    /// Appends the text of an id; false if the tokenizer lacks it.
    fn push(&mut self, id: u32, out: &mut String) -> bool {
        self.stream.push(self.tokens.tokens(), id, &mut InLetters { tokens: &self.tokens, out })
    }

    fn note_unknown(&mut self, id: u32, place: impl FnOnce() -> String) {
        self.unknown_count += 1;
        if self.unknown.len() < NAMED {
            let place = place();
            self.unknown.push(format!("unknown-id: the tokenizer lacks the id {id} at {place}, which adds no text"));
        }
    }

    /// The text of an id that does not depend on the state and has no letters.
    #[inline]
    pub fn plain(&self, id: u32) -> Option<&str> {
        if self.stopped || self.kept.is_some() || self.is_stop(id) {
            None
        } else {
            self.stream.plain(self.tokens.tokens(), id)
        }
    }

    #[inline]
    fn is_stop(&self, id: u32) -> bool {
        self.stop_ids.as_ref().is_some_and(|stops| stops.contains(&id))
    }

    /// Counts an id whose text was requested.
    #[inline]
    pub fn count(&mut self) {
        self.read += 1;
    }

    /// The text of ids in letters, which begins at a place of all that the parser has read.
    pub fn text(&mut self, ids: &[u32], start: usize) -> String {
        let mut out = std::mem::take(&mut self.scratch);
        out.clear();
        for id in ids {
            if self.stopped {
                self.unread += 1;
                continue;
            }
            let place = self.read;
            self.read += 1;
            self.stopped = self.is_stop(*id);
            let before = out.len();
            if (!self.stopped || self.tokens.is_marker(*id)) && !self.push(*id, &mut out) {
                self.note_unknown(*id, || format!("place {place}"));
            }
            if self.kept.is_some() {
                self.note_id(out.get(before..).unwrap_or_default(), start + before);
            }
        }
        if self.kept.is_none() {
            self.note(&out, start);
        }
        out
    }

    /// A text without ids, as letters: markers spelled in it count as markers.
    pub fn spelled(&mut self, text: &str, start: usize) -> String {
        let mut out = String::new();
        if !self.stopped && !text.is_empty() {
            self.stream.end(self.tokens.tokens(), &mut InLetters { tokens: &self.tokens, out: &mut out });
            self.stream = TextStream::after(self.tokens.tokens(), text);
            self.note_end(&out, start);
            let before = out.len();
            out.push_str(&self.tokens.letters().spell(text));
            self.note(out.get(before..).unwrap_or_default(), start + before);
        }
        out
    }

    /// The text that an id would add.
    pub fn text_of_next(&self, id: u32) -> String {
        let mut out = String::new();
        if !self.stopped && (!self.is_stop(id) || self.tokens.is_marker(id)) {
            let mut sink = InLetters { tokens: &self.tokens, out: &mut out };
            self.stream.clone().push(self.tokens.tokens(), id, &mut sink);
        }
        self.tokens.read(&out).into_owned()
    }

    pub fn kept(&self) -> Option<&KeptText> {
        self.kept.as_ref()
    }

    /// Takes back a text to reuse its memory.
    pub fn give_back(&mut self, scratch: String) {
        self.scratch = scratch;
    }

    /// The text that the end of the ids completes.
    pub fn end(&mut self, start: usize) -> String {
        let mut out = std::mem::take(&mut self.scratch);
        out.clear();
        self.stream.end(self.tokens.tokens(), &mut InLetters { tokens: &self.tokens, out: &mut out });
        self.note_end(&out, start);
        out
    }

    /// Maps a span after all letters to the text.
    #[inline]
    pub fn span_at_end(&self, span: Span) -> Span {
        let longer = self.map.longer();
        Span::new(span.start.wrapping_add_signed(longer), span.end.wrapping_add_signed(longer))
    }

    /// Maps a place of the text in letters to the text.
    pub fn place(&self, place: usize) -> usize {
        self.map.place(place)
    }

    /// Forwards an event, mapped back to the text.
    #[inline]
    pub fn show(&self, event: EventRef<'_>, sink: &mut dyn FnMut(EventRef<'_>)) {
        if self.map.ends.is_empty() { sink(event) } else { self.show_with_letters(event, sink) }
    }

    fn show_with_letters(&self, event: EventRef<'_>, sink: &mut dyn FnMut(EventRef<'_>)) {
        let span = |span| self.map.span(span);
        match event {
            EventRef::Open { field, captures, span: at } => {
                sink(EventRef::Open { field, captures: &self.captures(captures), span: span(at) });
            }
            EventRef::Chunk { field, text: chunk, dirty, span: at } => {
                sink(EventRef::Chunk { field, text: &self.tokens.read(chunk), dirty, span: span(at) });
            }
            EventRef::Close { field, value, captures, span: at, body } => {
                let (value, captures) = (self.value(value), self.captures(captures));
                sink(EventRef::Close { field, value: &value, captures: &captures, span: span(at), body: span(body) });
            }
            EventRef::CallStart { field, index, name, id } => {
                let id = id.map(|id| self.tokens.read(id));
                sink(EventRef::CallStart { field, index, name: &self.tokens.read(name), id: id.as_deref() });
            }
            EventRef::CallArguments { field, index, delta } => {
                sink(EventRef::CallArguments { field, index, delta: &self.tokens.read_json(delta) });
            }
            EventRef::Malformed { field, text: raw, reason, span: at, body } => {
                let (raw, reason) = (self.tokens.read(raw), self.tokens.read_quoting(reason));
                sink(EventRef::Malformed { field, text: &raw, reason: &reason, span: span(at), body: span(body) });
            }
            EventRef::Problem(problem) => sink(EventRef::Problem(&self.problem(problem.clone()))),
        }
    }

    fn captures(&self, captures: &[Capture]) -> Vec<Capture> {
        let read =
            |capture: &Capture| Capture { text: self.tokens.read(&capture.text).into_owned(), ..capture.clone() };
        captures.iter().map(read).collect()
    }

    fn problem(&self, problem: Problem) -> Problem {
        let reason = problem.reason.map(|reason| self.tokens.read_quoting(&reason));
        let path = problem.path.map(|path| self.tokens.read(&path).into_owned());
        Problem { span: self.map.span(problem.span), reason, path, ..problem }
    }

    fn value<'v>(&self, value: &'v Value) -> Cow<'v, Value> {
        match value {
            Value::String(text) => match self.tokens.read(text) {
                Cow::Borrowed(_) => Cow::Borrowed(value),
                Cow::Owned(text) => Cow::Owned(Value::String(text)),
            },
            Value::List(items) => {
                Cow::Owned(Value::List(items.iter().map(|item| self.value(item).into_owned()).collect()))
            }
            Value::Object(entries) => Cow::Owned(Value::Object(self.object(entries))),
            _ => Cow::Borrowed(value),
        }
    }

    /// An object whose keys and values are text.
    pub fn object(&self, entries: &Object) -> Object {
        entries.iter().map(|(key, value)| (self.tokens.read(key), self.value(value).into_owned())).collect()
    }

    /// The complete message, mapped back to the text, with the notes about the ids.
    pub fn finish(self, finished: Finished) -> Finished {
        let text = |text: &str| self.tokens.read(text).into_owned();
        let malformed = finished.malformed.iter().map(|region| Malformed {
            field: region.field.clone(),
            text: text(&region.text),
            reason: self.tokens.read_quoting(&region.reason),
        });
        let notes = finished.notes.iter().map(|note| text(note));
        Finished {
            message: self.object(&finished.message),
            malformed: malformed.collect(),
            notes: notes.chain(self.notes()).collect(),
            problems: finished.problems.into_iter().map(|problem| self.problem(problem)).collect(),
            ..finished
        }
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = self.unknown.clone();
        let others = self.unknown_count - self.unknown.len();
        if others > 0 {
            notes.push(format!("unknown-id: the tokenizer lacks {others} more ids"));
        }
        match self.unread {
            0 => {}
            1 => notes.push("after-stop: 1 id after the stop was not read".to_owned()),
            unread => notes.push(format!("after-stop: {unread} ids after the stop were not read")),
        }
        notes
    }
}
