//! Finds which characters of a rendered chat the assistant wrote, from renders with needles instead of texts.

use std::rc::Rc;

use super::needles::{Hit, MessagePart, Text, align, substitute};
use backchat_chat::{ChatTemplate, RenderError, RenderOptions, charge};
use backchat_core::json::{Object, Value};
use backchat_core::text::{common_end, common_start, slice};
use backchat_probe::probe::marks::Segmentation;
use backchat_probe::probe::needle::{self, Needles};
use backchat_probe::probe::{Answer, Call, Message, Renderer, RequestShape, call_with, role_of, text_part};

/// A part of an assistant's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Its reasoning.
    Reasoning,
    /// Its content.
    Content,
    /// A call of a tool, with its markers.
    Call,
    /// The marker that ends the turn.
    Stop,
}

impl Part {
    /// Its name in rows.
    pub fn name(self) -> &'static str {
        match self {
            Part::Reasoning => "reasoning",
            Part::Content => "content",
            Part::Call => "call",
            Part::Stop => "stop",
        }
    }
}

impl MessagePart {
    /// The part of a turn that it is in.
    fn span(self) -> Part {
        match self {
            MessagePart::Content => Part::Content,
            MessagePart::Reasoning => Part::Reasoning,
            MessagePart::Call(_) => Part::Call,
        }
    }
}

/// One part of one message, in code points of the render.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartSpan {
    /// The message's index in the conversation.
    pub message: usize,
    /// Which part.
    pub part: Part,
    /// Its start.
    pub start: usize,
    /// Its end.
    pub end: usize,
}

/// A rendered chat and the assistant's text in it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Masked {
    /// The render.
    pub text: String,
    /// The assistant's text, one span for each of its messages, in code points.
    pub spans: Vec<(usize, usize)>,
    /// The template's text before each span, from the end of the last text before it, in code points.
    pub headers: Vec<(usize, usize)>,
    /// The parts inside the spans.
    pub parts: Vec<PartSpan>,
    /// The spans of the template's own generation blocks, in code points.
    pub tags: Vec<(usize, usize)>,
    /// Messages that could not be located, and why.
    pub problems: Vec<String>,
}

/// How many rewritten texts are located one by one before all texts are.
const MOST_KEPT: usize = 12;

/// What it costs to find the turns in a byte of a render, in steps of the evaluator.
const STEPS_PER_BYTE: usize = 4;

/// Renders a conversation and finds the assistant's text.
///
/// A span begins where the generation prompt of its turn ends and ends with the marker that ends the turn. It costs one
/// render for each message of the assistant, and a few more.
pub fn mask(template: &ChatTemplate, context: &Object, options: &RenderOptions) -> Result<Masked, RenderError> {
    mask_with(&Renderer::new(template, options.clone()), context)
}

/// [`mask`] with a renderer that many conversations share.
pub(crate) fn mask_with(renderer: &Renderer<'_>, context: &Object) -> Result<Masked, RenderError> {
    let rendered = Rc::unwrap_or_clone(renderer.render(context).map_err(Rc::unwrap_or_clone)?);
    charge(STEPS_PER_BYTE * rendered.text.len());
    // Without messages the assistant wrote nothing.
    let messages = context.get("messages").and_then(Value::as_list).map_or(&[][..], |messages| messages);
    let mut work = Work::new(renderer, context, &rendered.text, messages);
    work.align();
    let mut spans = Vec::new();
    let mut headers = Vec::new();
    let mut parts = Vec::new();
    for index in work.answering() {
        for (span, own) in work.turn(index) {
            spans.push(span);
            headers.push((work.end_before(span.0), span.0));
            parts.extend(own);
        }
    }
    let problems = work.problems;
    let to_points = super::text::CodePoints::new(&rendered.text);
    for (start, end) in spans.iter_mut().chain(&mut headers) {
        (*start, *end) = (to_points.of_byte(*start), to_points.of_byte(*end));
    }
    for part in &mut parts {
        (part.start, part.end) = (to_points.of_byte(part.start), to_points.of_byte(part.end));
    }
    Ok(Masked { text: rendered.text, spans, headers, parts, tags: rendered.assistant_spans, problems })
}

/// The end of a turn.
struct Closing<'h> {
    /// The last text.
    last: &'h Hit,
    /// Its last repetition, or the text itself.
    hit: &'h Hit,
    /// How many texts are repeated after it.
    repeated: usize,
    /// The render up to the next message.
    alone: Option<String>,
}

/// The needle conversation of one context.
struct Work<'w> {
    renderer: &'w Renderer<'w>,
    context: &'w Object,
    messages: &'w [Value],
    /// The real render.
    real: &'w str,
    needles: Needles,
    replaced: Vec<Value>,
    texts: Vec<Text>,
    hits: Vec<Hit>,
    /// The text that opens a user's turn, if the renders of the template show it.
    header: Option<String>,
    /// The text that a generation prompt adds to a user's message.
    prompt: Option<String>,
    /// The marker that opens every turn, the user's and the assistant's.
    turn_marker: Option<String>,
    /// The text that opens a tool result after a call, if the result is not a turn of its own.
    result_header: Option<String>,
    problems: Vec<String>,
}

impl<'w> Work<'w> {
    fn new(renderer: &'w Renderer<'w>, context: &'w Object, real: &'w str, messages: &'w [Value]) -> Self {
        Self {
            renderer,
            context,
            messages,
            real,
            needles: Needles::new(real),
            replaced: Vec::new(),
            texts: Vec::new(),
            hits: Vec::new(),
            header: None,
            prompt: None,
            turn_marker: None,
            result_header: None,
            problems: Vec::new(),
        }
    }

    /// A message with content of the form that the conversation has: some templates refuse strings.
    fn said(&self, role: &str, text: &str) -> Value {
        let mut contents = self.messages.iter().filter_map(|message| message.get("content"));
        let in_parts = contents.clone().any(|content| content.as_list().is_some())
            && contents.all(|content| content.as_str().is_none());
        let content = if in_parts { Value::List(vec![text_part(text)]) } else { text.into() };
        Value::from([("role", role.into()), ("content", content)])
    }

    fn render_with(&self, messages: &[Value], prompt: Option<bool>) -> Option<String> {
        let mut context = self.context.clone();
        context.insert("messages", Value::List(messages.to_vec()));
        if let Some(prompt) = prompt {
            context.insert("add_generation_prompt", prompt.into());
        }
        self.renderer.text(&context)
    }

    /// Finds the texts in the real render. A text that the template rewrites is not replaced, and is located
    /// separately.
    fn align(&mut self) {
        let real = self.real;
        let mut kept: Vec<usize> = Vec::new();
        loop {
            self.needles = Needles::new(real);
            (self.replaced, self.texts) = substitute(self.messages, &mut self.needles, &kept);
            let render = self.render_with(&self.replaced, None);
            let aligned = render.map_or(Err(None), |render| align(&render, real, &self.texts, &self.needles));
            match aligned {
                Ok(hits) => {
                    self.hits = hits;
                    break;
                }
                Err(Some(text)) if kept.len() < MOST_KEPT && !kept.contains(&text) => kept.push(text),
                Err(_) => {
                    // Texts can only be located one at a time.
                    kept = (0..self.texts.len()).collect();
                    (self.replaced, self.texts) = substitute(self.messages, &mut Needles::new(real), &kept);
                    self.hits = Vec::new();
                    break;
                }
            }
        }
        for text in kept {
            self.locate(text);
        }
        self.hits.sort_by_key(|hit| hit.real);
        self.header = self.user_header();
        self.prompt = self.generation_prompt();
        self.turn_marker = self.turn_marker();
        self.result_header = self.result_header();
    }

    /// Finds one text by replacing it alone.
    fn locate(&mut self, text: usize) {
        let real = self.real;
        let others: Vec<usize> = (0..self.texts.len()).filter(|other| *other != text).collect();
        let mut needles = Needles::new(real);
        let (messages, _) = substitute(self.messages, &mut needles, &others);
        let render = self.render_with(&messages, None);
        let places = render.as_deref().map_or_else(Vec::new, |render| needles.find(render));
        let found = match (&render, places.as_slice()) {
            (Some(render), [(_, (start, end))]) => {
                let (before, after) = (render.get(..*start), render.get(*end..));
                before.zip(after).filter(|(before, after)| {
                    before.len() + after.len() <= real.len() && real.starts_with(before) && real.ends_with(after)
                })
            }
            _ => None,
        };
        if let Some((before, after)) = found {
            let real = (before.len(), real.len() - after.len());
            self.hits.push(Hit { text, real });
            return;
        }
        let Some(text) = self.texts.get(text).filter(|text| text.answers) else { return };
        let why = match places.len() {
            0 if render.is_some() => return,
            0 => "the template raises when its text is replaced",
            1 => "the template rewrites its text",
            _ => "its text appears more than once",
        };
        let part = text.part.span().name();
        self.problems.push(format!("messages[{}]: cannot tell where its {part} is: {why}", text.message));
    }

    /// The end of the last text before a position.
    fn end_before(&self, place: usize) -> usize {
        self.hits.iter().map(|hit| hit.real.1).filter(|end| *end <= place).max().unwrap_or(0)
    }

    fn answering(&self) -> Vec<usize> {
        let is_answer = |message: &Value| role_of(message) == Some("assistant");
        (0..self.messages.len()).filter(|index| self.messages.get(*index).is_some_and(is_answer)).collect()
    }

    fn message_of(&self, hit: &Hit) -> Option<usize> {
        self.texts.get(hit.text).map(|text| text.message)
    }

    /// The text that opens a user's turn: common to the first one and to one after an answer.
    fn user_header(&self) -> Option<String> {
        let mut needles = Needles::new(self.real);
        let messages = ["user", "assistant", "user"].map(|role| self.said(role, &needles.draw()));
        let render = self.render_with(&messages, Some(false))?;
        let places = needles.find(&render);
        let [(0, first), (1, answer), (2, second), ..] = places.as_slice() else { return None };
        let opening = render.get(..first.0)?;
        let between = render.get(answer.1..second.0)?;
        let mut header = Segmentation::Words.shared_end(between, opening);
        // A system turn before the user's ends like any turn. The header begins at the render's first marker, or else
        // after the turn's end.
        match first_marker(self.without_bos(opening)).and_then(|marker| header.find(marker)) {
            Some(at) => header = slice(header, at..),
            None => {
                let ended = self.render_with(messages.get(..2)?, Some(false));
                let tail = ended.as_deref().and_then(|ended| ended.get(needles.find(ended).get(1)?.1.1..));
                let stop = tail.map_or(0, |tail| Segmentation::Words.shared_start(between, tail).len());
                header = slice(between, stop.max(between.len() - header.len())..);
            }
        }
        let stop = between.strip_suffix(header)?;
        (!stop.trim().is_empty() && !header.trim().is_empty()).then(|| header.to_owned())
    }

    /// The marker that both the header of a user and the generation prompt begin with.
    fn turn_marker(&self) -> Option<String> {
        let [user, assistant] = [self.header.as_deref(), self.prompt.as_deref()].map(|text| leading_marker(text?));
        (user?.trim() == assistant?.trim()).then(|| user.unwrap_or_default().trim().to_owned())
    }

    fn generation_prompt(&self) -> Option<String> {
        let user = [self.said("user", needle::USER)];
        let without = self.render_with(&user, Some(false))?;
        self.render_with(&user, Some(true))?.strip_prefix(&without).map(str::to_owned)
    }

    /// The text that opens a tool result: common to the first and the second one after two calls.
    fn result_header(&self) -> Option<String> {
        let mut needles = Needles::new(self.real);
        let user = Message::User(needles.draw());
        let calls = [0, 1].map(|index| {
            let arguments = Object::from_iter([(needle::KEYS[0].to_owned(), needles.draw().into())]);
            Call { name: needle::NAMES[0].to_owned(), ..call_with(index, arguments) }
        });
        let results = calls.clone().map(|Call { id, name, .. }| Message::Tool { id, name, content: needles.draw() });
        let calling = Message::Assistant(Answer::calls(calls.to_vec()));
        let messages: Vec<Message> = [user, calling].into_iter().chain(results).collect();
        let given = RequestShape::USUAL.messages(&messages, None);
        let render = self.render_with(given.as_list().unwrap_or_default(), Some(false))?;
        let places = needles.find(&render);
        let [(0, _), (1, _), (2, call), (3, first), (4, second)] = places.as_slice() else { return None };
        let (opening, between) = (render.get(call.1..first.0)?, render.get(first.1..second.0)?);
        let header = Segmentation::Words.shared_end(opening, between);
        let is_turn = first_marker(self.without_bos(&render)).is_some_and(|marker| header.contains(marker));
        let marker = first_marker(header)?;
        (!is_turn && header.starts_with(marker) && !self.ends_turns(marker)).then(|| header.to_owned())
    }

    /// Whether a marker comes after plain content, as far as a render can show that.
    fn ends_turns(&self, marker: &str) -> bool {
        let messages = [self.said("user", needle::USER), self.said("assistant", needle::ANSWER)];
        let render = self.render_with(&messages, Some(false));
        let tail = render.as_deref().and_then(|render| Some(render.rsplit_once(needle::ANSWER)?.1));
        tail.is_none_or(|tail| tail.contains(marker))
    }

    fn without_bos<'r>(&self, render: &'r str) -> &'r str {
        let bos = self.context.get("bos_token").and_then(Value::as_str);
        bos.and_then(|bos| render.strip_prefix(bos)).unwrap_or(render)
    }

    /// The spans of one answer, in bytes of the real render, with their parts: several if the template writes a result
    /// in between.
    fn turn(&self, index: usize) -> Vec<((usize, usize), Vec<PartSpan>)> {
        let mut runs: Vec<Vec<&Hit>> = vec![Vec::new()];
        let mut known: Vec<usize> = Vec::new();
        for hit in &self.hits {
            if self.message_of(hit) != Some(index) {
                runs.push(Vec::new());
            } else if !known.contains(&hit.text) {
                // Markers and the result of a call may repeat its name.
                known.push(hit.text);
                runs.last_mut().into_iter().for_each(|run| run.push(hit));
            }
        }
        let mut turns = Vec::new();
        for own in &runs {
            let (Some(first), Some(last)) = (own.first(), own.last()) else { continue };
            let start = if turns.is_empty() { self.start(index, first) } else { first.real.0 };
            let closing = self.closing(last);
            let span = (start, closing.hit.real.1 + self.stop(&closing));
            turns.push((span, self.parts(index, own, span)));
        }
        turns
    }

    /// The end of the generation prompt of the turn: as far as the prompt and the conversation agree.
    fn start(&self, index: usize, first: &Hit) -> usize {
        let before = self
            .hits
            .iter()
            .rfind(|hit| hit.real.1 <= first.real.0 && self.message_of(hit).is_some_and(|message| message < index));
        let from = before.map_or(0, |hit| hit.real.1);
        let gap = slice(self.real, from..first.real.0);
        let prompt = self.replaced.get(..index).and_then(|earlier| self.render_with(earlier, Some(true)));
        let tail = prompt.as_deref().and_then(|prompt| self.tail(prompt, before));
        match tail {
            Some(tail) => {
                let agreed = Segmentation::Words.shared_start(gap, tail).len();
                let rest = slice(gap, agreed..);
                from + agreed + self.prompt.as_deref().map_or(0, |prompt| header_length(rest, prompt))
            }
            None => first.real.0,
        }
    }

    /// The text after `last` in a render, if that is its last text.
    fn tail<'r>(&self, render: &'r str, last: Option<&Hit>) -> Option<&'r str> {
        let Some(last) = last else { return Some(render) };
        let text = self.texts.get(last.text)?;
        let (at, length) = match render.rfind(&text.needle) {
            Some(at) => (at, text.needle.len()),
            None => (render.rfind(text.original.trim())?, text.original.trim().len()),
        };
        let tail = render.get(at + length..)?;
        self.needles.find(tail).is_empty().then_some(tail)
    }

    /// The index of the first later message with a text: messages without one do not affect the turn's end.
    fn next_message(&self, hit: &Hit) -> usize {
        let own = self.message_of(hit);
        let mut later = self.hits.iter().filter(|later| later.real.0 >= hit.real.1);
        later.find_map(|later| self.message_of(later).filter(|next| Some(*next) > own)).unwrap_or(self.messages.len())
    }

    /// The end of a turn after its last text. The marker that closes a call may repeat its name, and so may the header
    /// of a result.
    fn closing<'h>(&'h self, last: &'h Hit) -> Closing<'h> {
        let earlier = self.replaced.get(..self.next_message(last));
        let alone = earlier.and_then(|messages| self.render_with(messages, Some(false)));
        let needle = self.texts.get(last.text).map(|text| text.needle.as_str());
        let rest = needle.zip(alone.as_deref()).and_then(|(needle, alone)| Some(alone.split_once(needle)?.1));
        let after = self.hits.iter().skip_while(|hit| hit.real.0 < last.real.1);
        let own = after.take_while(|hit| self.message_of(hit) == self.message_of(last));
        let repeated = self.needles.find(rest.unwrap_or_default()).into_iter().zip(own);
        let repeated: Vec<&Hit> =
            repeated.take_while(|((number, _), hit)| *number == hit.text).map(|(_, hit)| hit).collect();
        Closing { last, hit: repeated.last().copied().unwrap_or(last), repeated: repeated.len(), alone }
    }

    /// The length of the marker after the last text of a run, from the end of that text or of its repetition.
    fn stop(&self, closing: &Closing<'_>) -> usize {
        let Closing { last, hit, repeated, alone } = closing;
        let next = self.hits.iter().find(|next| next.real.0 >= hit.real.1);
        let to = next.map_or(self.real.len(), |hit| hit.real.0);
        let mut stop = slice(self.real, hit.real.1..to);
        // The turn ends the same way before the next message and before a user message.
        let alone = alone.as_deref().and_then(|alone| self.after(alone, last, *repeated)).map(str::to_owned);
        let is_last = self.next_message(last) == self.messages.len();
        let followed = if is_last { self.followed(last, *repeated) } else { None };
        for other in [alone, followed].into_iter().flatten() {
            let shared = slice(stop, ..Segmentation::Words.shared_start(stop, &other).len());
            stop = match self.other_stop(stop, &other) {
                Some(own) if shared.trim().is_empty() => own,
                _ => shared,
            };
        }
        if let Some(marker) = &self.turn_marker
            && let Some(at) = stop.get(1..).and_then(|rest| rest.find(marker.as_str()))
        {
            stop = slice(stop, ..at + 1);
        }
        // A user's turn without text is no part of it.
        if let Some(header) = self.header.as_deref().map(str::trim).filter(|header| first_marker(header).is_some())
            && let Some(at) = stop.find(header)
        {
            stop = slice(stop, ..at);
        }
        for header in [&self.header, &self.result_header].into_iter().flatten() {
            stop = without_header(stop, header);
        }
        // Headers that begin alike look like a part of the stop, but nothing is written after the token that ends a turn.
        let eos = self.context.get("eos_token").and_then(Value::as_str).filter(|eos| !eos.is_empty());
        if let Some(end) = eos.and_then(|eos| Some(stop.find(eos)? + eos.len())) {
            stop = slice(stop, ..end);
        }
        stop.trim_end().len()
    }

    /// The stop of this text, if another render ends the same turn with another one: some templates write one stop in
    /// history and another at the end, and some close a part of the turn that history drops.
    fn other_stop<'s>(&self, text: &'s str, other: &str) -> Option<&'s str> {
        let (own, other) = (leading_marker(text)?, leading_marker(other)?);
        // A marker that opens a turn is not a stop, and may follow a turn without one.
        let opens = |marker: &str| {
            self.turn_marker.as_deref() == Some(marker)
                || self.prompt.as_deref().is_some_and(|prompt| prompt.contains(marker))
                || [&self.header, &self.result_header].into_iter().flatten().any(|header| header.contains(marker))
        };
        let differ = own != other && !opens(own.trim_start()) && !opens(other.trim_start());
        let through = text.find(other.trim_start()).and_then(|at| text.get(..at + other.trim_start().len()));
        differ.then_some(through.unwrap_or(own))
    }

    /// The text after this one and its repetitions in a render, up to the next one.
    fn after<'r>(&self, render: &'r str, last: &Hit, repeated: usize) -> Option<&'r str> {
        let text = self.texts.get(last.text)?;
        let at = match render.find(&text.needle) {
            Some(at) => at + text.needle.len(),
            None => render.rfind(text.original.trim())? + text.original.trim().len(),
        };
        let rest = render.get(at..)?;
        let needles = self.needles.find(rest);
        let from = repeated.checked_sub(1).map_or(Some(0), |index| needles.get(index).map(|(_, (_, end))| *end))?;
        let next = needles.get(repeated).map_or(rest.len(), |(_, (start, _))| *start);
        rest.get(from..next)
    }

    /// The text after the last answer if a user message follows.
    fn followed(&self, last: &Hit, repeated: usize) -> Option<String> {
        let mut messages = self.replaced.clone();
        messages.push(self.said("user", needle::LATER));
        let render = self.render_with(&messages, Some(false))?;
        let before = render.get(..render.rfind(needle::LATER)?)?;
        self.after(before, last, repeated).map(str::to_owned)
    }

    fn parts(&self, index: usize, own: &[&Hit], span: (usize, usize)) -> Vec<PartSpan> {
        let mut parts: Vec<PartSpan> = Vec::new();
        let part = |part, start, end| PartSpan { message: index, part, start, end };
        let part_of = |hit: &Hit| self.texts.get(hit.text).map(|text| text.part);
        let mut end_of_texts = span.0;
        let mut opening: Option<&str> = None;
        for (at, hit) in own.iter().enumerate() {
            match part_of(hit) {
                Some(MessagePart::Call(call)) => {
                    let begins = at.checked_sub(1).and_then(|before| own.get(before)).and_then(|hit| part_of(hit))
                        != Some(MessagePart::Call(call));
                    if begins {
                        // Overlapping texts have no gap between them.
                        let gap = slice(self.real, end_of_texts.min(hit.real.0)..hit.real.0);
                        let open = match opening {
                            // Between two calls, the close of the first comes before the open of the second.
                            Some(first) => common_end(first, gap),
                            None => gap,
                        };
                        opening.get_or_insert(gap);
                        let start = hit.real.0 - open.trim_start().len();
                        if let Some(PartSpan { part: Part::Call, end, .. }) = parts.last_mut() {
                            *end = start;
                        }
                        parts.push(part(Part::Call, start, hit.real.1));
                    } else if let Some(call) = parts.last_mut() {
                        call.end = hit.real.1;
                    }
                }
                Some(text) => parts.push(part(text.span(), hit.real.0, hit.real.1)),
                None => {}
            }
            end_of_texts = hit.real.1;
        }
        let stop = self.turn_end(index, own, span);
        if let Some(PartSpan { part: Part::Call, end, .. }) = parts.last_mut() {
            *end = stop.max(*end);
        }
        if stop < span.1 {
            parts.push(part(Part::Stop, stop, span.1));
        }
        for call in parts.iter_mut().filter(|part| part.part == Part::Call) {
            call.end = call.start + slice(self.real, call.start..call.end).trim_end().len();
        }
        parts
    }

    /// The start of the marker that ends the turn: after the last text or, after a call, after the text that closes the
    /// call.
    fn turn_end(&self, index: usize, own: &[&Hit], span: (usize, usize)) -> usize {
        let Some(last) = own.last() else { return span.1 };
        let closes_call = self.texts.get(last.text).is_some_and(|text| matches!(text.part, MessagePart::Call(_)));
        if !closes_call {
            return last.real.1;
        }
        // The same turn with plain content shows the marker without the call's close.
        let mut messages: Vec<Value> = self.replaced.iter().take(index).cloned().collect();
        messages.push(self.said("assistant", needle::ANSWER));
        let render = self.render_with(&messages, Some(false));
        let tail = render.as_deref().and_then(|render| render.rsplit_once(needle::ANSWER)).map_or("", |(_, tail)| tail);
        let own_tail = slice(self.real, last.real.1..span.1);
        span.1 - Segmentation::Words.shared_end(own_tail, tail.trim_end()).len()
    }
}

/// The length of the start of a generation prompt that a text begins with: some templates write it in history, but not
/// after a result.
fn header_length(text: &str, prompt: &str) -> usize {
    let shared = common_start(text, prompt);
    let whole = first_marker(prompt).is_some_and(|marker| shared.starts_with(marker));
    if whole { Segmentation::Words.shared_start(text, prompt).len() } else { 0 }
}

/// The first marker of a render, such as `<turn>` or `[turn]`.
fn first_marker(render: &str) -> Option<&str> {
    let open = render.find(['<', '['])?;
    let length = render.get(open..)?.find(['>', ']'])?;
    render.get(open..=open + length)
}

/// The marker that a text begins with, including white space before it.
fn leading_marker(text: &str) -> Option<&str> {
    let blank = text.len() - text.trim_start().len();
    let marker = first_marker(text).filter(|marker| slice(text, blank..).starts_with(marker))?;
    text.get(..blank + marker.len())
}

/// A text without the start of a header at its end.
fn without_header<'s>(stop: &'s str, header: &str) -> &'s str {
    let longest = header.char_indices().map(|(at, character)| at + character.len_utf8());
    let overlap = longest.filter(|length| *length > 1 && *length <= stop.len());
    let cut = overlap.filter(|length| header.get(..*length).is_some_and(|start| stop.ends_with(start))).max();
    match cut {
        Some(length) => slice(stop, ..stop.len() - length),
        None => stop,
    }
}
