//! Infers the structure from renders, in the order in which the parts depend on each other.

use super::align;
use super::calls::{self, Around};
use super::encoded;
use super::hidden;
use super::late;
use super::marks::Segmentation;
use super::repeated;
use super::shapes;
use super::structure::{Calls, Content, Cut, History, Place, Prompt, Reasoning, Source, WireFormat};
use super::template_usage::TemplateUsage;
use super::trace::{SlotKind, Trace};
use super::turn::{Comparison, Leads, Turns};
use backchat_core::json::Value;
use backchat_core::push_new;
use backchat_core::text::slice;
use backchat_probe::probe::steady::is_varying;
use backchat_probe::probe::{Answer, Call, Message, Prober, ReasoningInput, RequestShape, Setting, needle};

/// One reading of what renders leave open about a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// How texts are cut into marks.
    pub segmentation: Segmentation,
    /// How prompts are compared with turns.
    pub comparison: Comparison,
}

impl Reading {
    /// The readings in the order in which to try them, for a template that writes these literals.
    pub(crate) fn ordered(literals: &[String]) -> impl Iterator<Item = Reading> {
        let segmentations = Segmentation::ordered(literals);
        let exact = segmentations.map(|segmentation| Reading { segmentation, comparison: Comparison::Exact });
        let [first, others @ ..] = exact;
        [first, Reading { comparison: Comparison::Aligned, ..first }].into_iter().chain(others)
    }
}

/// Infers how a chat template writes the model's turn in one reading; `None` if it shows no content.
pub(crate) fn infer(prober: &Prober, usage: &TemplateUsage, reading: Reading) -> Option<WireFormat> {
    let (plain, offering) = (prober.offering(None), prober.offering(Some(other_tools(prober.request_shape()))));
    Inference { plain, offering, usage, segmentation: reading.segmentation, comparison: reading.comparison }.wire()
}

/// The stages of an inference: each is a method, whose arguments are the findings that it needs.
struct Inference<'p, 't> {
    /// Offers the tools that a conversation calls.
    plain: Prober<'t>,
    /// Offers tools that no conversation calls.
    offering: Prober<'t>,
    usage: &'p TemplateUsage,
    segmentation: Segmentation,
    comparison: Comparison,
}

impl<'t> Inference<'_, 't> {
    fn wire(&self) -> Option<WireFormat> {
        let plain = self.turns(&self.offering).trace(History::User, &shapes::content(), &Setting::new())?;
        if !plain.shows(SlotKind::Content) {
            return None;
        }
        let mut end = self.end_of_turn(&plain);
        let thought = self.thought(&end);
        let mut prompts = self.prompts(thought.as_ref());
        self.end_before_header(&mut end, &prompts);
        let elsewhere = match thought {
            None => late::find(self.turns(&self.offering), self.usage, &end)
                .or_else(|| hidden::find(&self.plain, self.segmentation, self.usage, &prompts)),
            Some(_) => None,
        };
        // What opens reasoning is part of the turn, though every turn that renders show has it at its beginning.
        if let Some(found) = elsewhere.as_ref().filter(|found| !found.is_late) {
            prompts.iter_mut().for_each(|prompt| begin_before(prompt, self.segmentation, &found.open));
        }
        let begin = |trace: &Trace| self.begin_of(trace, &prompts);
        let (mut reasoning, content) = self.parts(&plain, thought, elsewhere, &prompts, &end, &begin);
        let mut content = settled(self.segmentation, content, &end);
        if let Some(rest) = end.strip_prefix(content.close.as_str()) {
            end = rest.to_owned();
        }
        let trailing = self.trailing(&end);
        // Text that the prompt writes anyway opens nothing.
        let is_written =
            |prompt: &Prompt| prompt.header_in_prompt_only && prompt.header.trim_end().ends_with(content.open.trim());
        if prompts.iter().all(is_written) {
            content.open.clear();
        }
        let thinking = self.offering.with_reasoning(reasoning.as_ref().and_then(Reasoning::first_input));
        if let Some(reasoning) = &mut reasoning {
            reasoning.join = repeated::thought(self.turns(&thinking), reasoning);
        }
        encoded::unquote(self.turns(&self.offering), reasoning.as_mut(), &mut content, &mut end);
        if content.is_json {
            // Without its quote the end may begin with the mark that closes content.
            content = settled(self.segmentation, content, &end);
            end = end.strip_prefix(content.close.as_str()).unwrap_or(&end).to_owned();
        }
        content.join = repeated::content(self.turns(&self.offering), &content, &end);
        let before = reasoning.as_ref().filter(|reasoning| !reasoning.is_late);
        let around = Around { header: &begin, end: &end, trailing: &trailing, thought: before };
        let mut calls = calls::find(&thinking, self.segmentation, &self.usage.settings, &around);
        let request_shape = calls.as_ref().map_or(self.plain.request_shape(), |calls| calls.request_shape);
        let called = thinking.with_shape(request_shape);
        if let Some(calls) = &calls {
            self.place(&called, calls, reasoning.as_ref(), &begin, &mut content);
        }
        if self.lacks_open(&content) {
            content.open.clear();
        }
        content.labels = self.labels(&content, reasoning.as_ref());
        let stops = self.stops(&called, &end, calls.as_ref());
        if let Some(calls) = &mut calls {
            give_back(&mut prompts, calls, &mut content);
        }
        // A prompt that opens content writes of the turn itself.
        prompts
            .iter_mut()
            .filter(|prompt| !prompt.header_in_prompt_only)
            .for_each(|prompt| begin_at(prompt, &content.open));
        let message = encoded::message(self.turns(&called), reasoning.as_ref(), calls.as_ref());
        let segmentation = self.segmentation;
        Some(WireFormat {
            request_shape,
            segmentation,
            prompts,
            reasoning,
            content,
            calls,
            message,
            end,
            stops,
            trailing,
        })
    }

    fn turns<'p>(&self, prober: &'p Prober<'t>) -> Turns<'p, 't> {
        Turns { prober, segmentation: self.segmentation, trailing: &[] }
    }

    /// The end of a turn with content; text after the stop token begins the next turn, except for white space.
    fn end_of_turn(&self, plain: &Trace) -> String {
        let mut end = self.turns(&self.offering).end(plain.tail());
        if let Some(eos) = self.usage.eos_token.as_deref().map(str::trim).filter(|eos| !eos.is_empty())
            && let Some((_, rest)) = end.split_once(eos)
        {
            let next = rest.trim_start().len();
            end.truncate(end.len() - next);
        }
        end
    }

    /// Cuts the end where it begins the next turn.
    fn end_before_header(&self, end: &mut String, prompts: &[Prompt]) {
        let next = prompts.first().and_then(|prompt| self.segmentation.first(&prompt.header));
        let next = next.filter(|mark| self.segmentation.is_distinctive(mark));
        let is_end = |at: &usize| end.get(..*at).is_some_and(|text| self.segmentation.is_distinctive(text));
        if let Some(at) = next.and_then(|mark| end.find(mark)).filter(is_end) {
            end.truncate(at);
        }
    }

    /// Finds how prompts end, with tools offered and without.
    fn prompts(&self, thought: Option<&Thought>) -> Vec<Prompt> {
        let close = thought.and_then(|thought| thought.close.as_deref());
        let input = thought.and_then(|thought| thought.reasoning_inputs.first());
        let (offering, plain) = (self.offering.with_reasoning(input), self.taking_results().with_reasoning(input));
        let called = Answer::calls(shapes::calls(1));
        let shows_calls = self
            .turns(&offering)
            .trace(History::User, &called, &Setting::new())
            .is_some_and(|trace| trace.of_call(0).next().is_some());
        let leads = |turns: &Turns<'_, '_>, after: History, setting: &Setting| -> Leads {
            let lead = |answer: &Answer, kind: Option<SlotKind>| {
                let trace = turns.trace(after, answer, setting)?;
                let first = trace.slots.first()?;
                kind.is_none_or(|kind| first.kind == kind).then(|| trace.lead().to_owned())
            };
            let plain = lead(&shapes::content(), None);
            let called = shows_calls.then(|| lead(&called, None)).flatten();
            let thoughts = || shapes::thoughts().iter().find_map(|answer| lead(answer, Some(SlotKind::Reasoning)));
            let thought = thought.and_then(|_| thoughts());
            Leads { all: plain.into_iter().chain(called).collect(), thought }
        };
        let mut prompts = self.turns(&offering).prompts(&self.usage.settings, leads, close, self.comparison);
        // A prompt without tools may end otherwise.
        for prompt in self.turns(&plain).prompts(&self.usage.settings, leads, close, self.comparison) {
            if !prompts.iter().any(|known| known.header == prompt.header && known.prefill == prompt.prefill) {
                prompts.push(prompt);
            }
        }
        prompts
    }

    /// The prober without other tools, in a request shape in which the template takes a tool's result, if there is one.
    fn taking_results(&self) -> Prober<'t> {
        let (history, setting) = (shapes::history(History::ToolResult), Setting::new());
        if self.plain.render(&history, &setting, true).is_some() {
            return self.plain.clone();
        }
        let called = shapes::conversation(History::User, &Answer::calls(shapes::calls(1)));
        let takes = |shape: &RequestShape| self.plain.render_in(*shape, &history, &setting, true).is_some();
        let taken = self.offering.accepted(&called, &setting).find(takes);
        taken.map_or_else(|| self.plain.clone(), |shape| self.plain.with_shape(shape))
    }

    fn stops(&self, prober: &Prober<'t>, end: &str, calls: Option<&Calls>) -> Vec<String> {
        let mut stops: Vec<String> = Vec::new();
        let ends = [Some(end), calls.and_then(|calls| calls.end.as_deref()), self.usage.eos_token.as_deref()];
        for text in ends.into_iter().flatten() {
            for stop in stops_of(self.segmentation, text.trim()) {
                if !stop.is_empty() {
                    push_new(&mut stops, stop.to_owned());
                }
            }
        }
        if !end.trim().is_empty() {
            for stop in self.other_stops(prober, end, calls) {
                push_new(&mut stops, stop);
            }
        } else {
            // Only the beginning of the next turn ends this one.
            let called = calls.map(|calls| (Answer::calls(shapes::calls(1)), calls.setting.clone()));
            for (answer, setting) in [Some((shapes::content(), Setting::new())), called].into_iter().flatten() {
                let mark = self.turns(prober).next_marks(&answer, &setting);
                stops.extend(mark.filter(|mark| !stops.contains(mark)));
            }
        }
        stops
    }

    /// The marks that end turns in place of the usual end: after some histories, or with an answer next to calls.
    fn other_stops(&self, prober: &Prober<'t>, end: &str, calls: Option<&Calls>) -> Vec<String> {
        let turns = self.turns(prober);
        let ends = [Some(end), calls.and_then(|calls| calls.end.as_deref())];
        let is_known = |tail: &str| ends.into_iter().flatten().any(|end| tail.contains(end.trim()));
        let mut tails: Vec<String> = Vec::new();
        for after in History::ALL {
            tails.extend(turns.trace(after, &shapes::content(), &Setting::new()).map(|trace| trace.tail().to_owned()));
        }
        let beside = |calls: &Calls| {
            let called = Answer::calls(shapes::calls(1));
            let both = Answer { content: shapes::content().content, ..called.clone() };
            let [called, both] = [called, both].map(|answer| turns.trace(History::User, &answer, &calls.setting));
            let (called, both) = (called?, both?);
            let shared = self.segmentation.shared_start(both.tail(), called.tail()).len();
            (both.shows(SlotKind::Content) && is_known(called.tail())).then(|| slice(both.tail(), shared..).to_owned())
        };
        tails.extend(calls.and_then(beside));
        tails.retain(|tail| !tail.trim().is_empty() && !is_known(tail));
        let marks = tails.iter().flat_map(|tail| self.segmentation.marks(tail));
        marks.filter(|mark| self.segmentation.is_distinctive(mark)).map(|mark| mark.trim().to_owned()).collect()
    }

    /// What renders write after the end of a turn, under each setting.
    fn trailing(&self, end: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        if end.trim().is_empty() {
            return found;
        }
        for setting in &self.usage.settings {
            let trace = self.turns(&self.offering).trace(History::User, &shapes::content(), setting);
            let rest = trace.as_ref().and_then(|trace| trace.tail().split_once(end));
            let rest = rest.map(|(_, rest)| rest.trim()).filter(|rest| !rest.is_empty());
            found.extend(rest.filter(|rest| !found.iter().any(|known| known == rest)).map(str::to_owned));
        }
        found
    }

    /// The start of the turn's own text in a render.
    fn begin_of(&self, trace: &Trace, prompts: &[Prompt]) -> usize {
        let lead = trace.lead();
        let headers = prompts.iter().filter(|prompt| prompt.after == History::User).map(|prompt| {
            let header = if prompt.header_in_prompt_only { "" } else { prompt.header.as_str() };
            let whole = format!("{}{header}", prompt.before);
            match self.comparison {
                _ if lead.starts_with(&whole) => whole.len(),
                Comparison::Exact => self.segmentation.shared_start(lead, &whole).len(),
                Comparison::Aligned => {
                    align::last_shared(self.segmentation, lead, &whole).map_or(0, |(own, _)| own.end)
                }
            }
        });
        headers.max().unwrap_or(0)
    }

    /// Finds the keys and blocks that carry reasoning: their text shows, and does not under a name that no template
    /// reads.
    fn thought(&self, end: &str) -> Option<Thought> {
        let mut found: Vec<(ReasoningInput, Setting, Trace)> = Vec::new();
        for reasoning_input in &self.usage.reasoning_inputs {
            let shown = |reasoning_input: &ReasoningInput| {
                let prober = self.offering.with_reasoning(Some(reasoning_input));
                let turns = self.turns(&prober);
                self.usage.settings.iter().find_map(|setting| {
                    let traces = shapes::thoughts()
                        .into_iter()
                        .filter_map(|answer| turns.trace(History::User, &answer, setting));
                    Some((setting.clone(), traces.into_iter().find(|trace| trace.shows(SlotKind::Reasoning))?))
                })
            };
            if shown(&reasoning_input.unread()).is_some() {
                continue;
            }
            if let Some((setting, trace)) = shown(reasoning_input) {
                found.push((reasoning_input.clone(), setting, trace));
            }
        }
        // Text after the answer, or not separated from it, is not reasoning.
        found.retain(|(_, _, trace)| {
            trace.slots.first().is_some_and(|first| first.kind == SlotKind::Reasoning)
                && !between(trace).trim().is_empty()
        });
        found.sort_by_key(|(reasoning_input, ..)| !reasoning_input.is_named_for_reasoning());
        let (_, setting, best) = found.first()?;
        let first = between(best);
        let same = found.iter().filter(|(_, _, trace)| between(trace) == first);
        let marks = self.segmentation.marks(first);
        let close = marks.into_iter().find(|mark| self.segmentation.is_distinctive(mark) && !end.contains(mark));
        Some(Thought {
            reasoning_inputs: same.map(|(reasoning_input, ..)| reasoning_input.clone()).collect(),
            setting: setting.clone(),
            close: close.map(str::to_owned),
        })
    }

    /// Separates the text around reasoning from the text around content.
    fn parts(
        &self,
        plain: &Trace,
        thought: Option<Thought>,
        mut hidden: Option<Reasoning>,
        prompts: &[Prompt],
        end: &str,
        begin: &dyn Fn(&Trace) -> usize,
    ) -> (Option<Reasoning>, Content) {
        let lead = slice(plain.lead(), begin(plain)..).to_owned();
        let tail = before_end(plain.tail(), end).to_owned();
        let Some(thought) = thought else {
            let open = hidden.as_mut().map_or(lead.clone(), |guessed| without_guessed(guessed, &lead));
            let content = Content { open, close: tail, ..Content::default() };
            return (hidden, content);
        };
        let prober = self.offering.with_reasoning(thought.reasoning_inputs.first());
        let shown = |answer: Answer| {
            let trace = self.turns(&prober).trace(History::User, &answer, &thought.setting)?;
            trace.shows(SlotKind::Reasoning).then_some(trace)
        };
        let both = shown(shapes::content().with_reasoning(needle::REASONING));
        let beside = shown(Answer { calls: shapes::calls(1), ..Answer::default().with_reasoning(needle::REASONING) });
        let mut content = Content { close: tail, ..Content::default() };
        let Some(shown) = both.as_ref().or(beside.as_ref()) else {
            return (None, Content { open: lead, ..content });
        };
        let mut open = slice(shown.lead(), begin(shown)..).to_owned();
        let gap = between(shown);
        let mark = thought.close.clone().unwrap_or_else(|| gap.trim().to_owned());
        // A template may show a thought that was not given.
        let (empty, opened) = match emptied(&lead, open.trim(), mark.trim()) {
            Some((empty, rest)) => (Some(empty.to_owned()), rest.to_owned()),
            None => (None, lead.clone()),
        };
        let (own, rest) = closed(gap, mark.trim());
        // Text that is there only before content belongs to content.
        let is_contents = both.is_some()
            && beside.as_ref().is_some_and(|beside| !between(beside).contains(rest.trim()) && opened.trim().is_empty());
        let close = match gap.strip_suffix(opened.as_str()).filter(|_| both.is_some()) {
            Some(whole) if !is_contents && (empty.is_none() || !opened.is_empty()) => whole.to_owned(),
            _ => own.to_owned(),
        };
        content.open = opened;
        let mut answer_marks = Vec::new();
        if both.is_some() && !content.open.trim().is_empty() && !gap.contains(content.open.trim()) {
            // A mark that only an answer without reasoning begins with.
            answer_marks.push(std::mem::take(&mut content.open).trim().to_owned());
        }
        if let Some(both) = &both
            && empty.is_none()
            && content.open.trim().is_empty()
            && !rest.is_empty()
            && close == own
        {
            content.after_reasoning = Some((rest.to_owned(), before_end(both.tail(), end).to_owned()));
        }
        let mut source = Source::Rendered;
        if open.trim().is_empty()
            && let Some(prefill) = prefilled(prompts, mark.trim())
        {
            open = prefill;
            source = Source::OpenedByPrompt;
        }
        // Calls may follow without the mark that closes it before content.
        let lacks_close = |gap: &str| mark.is_empty() || !gap.contains(mark.as_str());
        let calls_close = !close.trim().is_empty() && beside.as_ref().map(between).is_some_and(lacks_close);
        let reasoning = Reasoning {
            open,
            calls_close,
            close,
            empty,
            reasoning_inputs: thought.reasoning_inputs,
            setting: thought.setting,
            source,
            answer_marks,
            ..Reasoning::default()
        };
        (Some(reasoning), content)
    }

    /// Whether the text that opens content is only there if tools are offered.
    fn lacks_open(&self, content: &Content) -> bool {
        let open = content.open.trim();
        let plain = self.turns(&self.plain).trace(History::User, &shapes::content(), &Setting::new());
        !open.is_empty() && plain.is_some_and(|trace| trace.shows(SlotKind::Content) && !trace.lead().contains(open))
    }

    /// The texts that begin a plain turn after some histories, under some settings or if tools are offered, and that no
    /// prompt writes.
    fn labels(&self, content: &Content, reasoning: Option<&Reasoning>) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        if !content.open.trim().is_empty() {
            return found;
        }
        let marks: Vec<&str> = reasoning.iter().flat_map(|found| [found.open.trim(), found.close.trim()]).collect();
        for prober in [&self.plain, &self.offering] {
            for (after, setting) in
                History::ALL.iter().flat_map(|after| self.usage.settings.iter().map(move |setting| (*after, setting)))
            {
                let label = self.turns(prober).own_lead(after, &shapes::content(), setting);
                let label = label.filter(|label| {
                    !found.contains(label) && !marks.iter().any(|mark| !mark.is_empty() && label.contains(mark))
                });
                found.extend(label);
            }
        }
        found
    }

    /// The position of content in a turn with a call, and the text around it there.
    fn place(
        &self,
        prober: &Prober<'t>,
        calls: &Calls,
        thought: Option<&Reasoning>,
        begin: &dyn Fn(&Trace) -> usize,
        content: &mut Content,
    ) {
        let answer = Answer { calls: shapes::calls(1), ..shapes::content() };
        content.place = Place::Dropped;
        let Some(trace) = self.turns(prober).trace(History::User, &answer, &calls.setting) else { return };
        let own = trace.slots.iter().find(|slot| slot.kind == SlotKind::Content);
        let call = trace.slots.iter().find(|slot| slot.kind.call().is_some());
        content.place = match (own, call) {
            (Some(own), Some(call)) if own.range.start < call.range.start => {
                let open = trace.get(begin(&trace)..own.range.start).trim();
                let open = open.strip_suffix('"').filter(|_| content.is_json).unwrap_or(open).trim_end();
                let close = self.segmentation.first(trace.get(own.range.end..call.range.start));
                let is_thought = thought.is_some_and(|thought| {
                    let marks = [thought.open.trim(), thought.close.trim()];
                    marks.iter().any(|mark| !mark.is_empty() && open.contains(mark))
                });
                if is_thought {
                    // The marks of an empty thought are not those of content.
                } else if open.is_empty() && !content.open.trim().is_empty() {
                    // Text that surrounds it elsewhere does not open it.
                    let around = (std::mem::take(&mut content.open), std::mem::take(&mut content.close));
                    content.after_reasoning = Some(around);
                } else if open != content.open.trim() && self.segmentation.is_distinctive(open) {
                    content.beside_calls = Some((open.to_owned(), close.map_or_else(String::new, str::to_owned)));
                }
                Place::Before
            }
            (Some(_), _) => Place::After,
            (None, _) => Place::Dropped,
        };
    }
}

/// The marks of a text that ends turns: an engine may stop at each of them, unless its words vary. A text without a
/// mark is one stop.
fn stops_of(segmentation: Segmentation, text: &str) -> Vec<&str> {
    let mut marks = segmentation.marks(text);
    marks.retain(|mark| segmentation.is_distinctive(mark));
    if marks.iter().any(|mark| !mark.contains(is_varying)) {
        marks.retain(|mark| !mark.contains(is_varying));
    }
    if marks.is_empty() { vec![text] } else { marks }
}

/// Tools that no probe calls, so that the list in a prompt contains no needle.
pub(super) fn other_tools(request_shape: RequestShape) -> Value {
    let arguments = [("some_key".to_owned(), "text".into())].into_iter().collect();
    let call = Call { id: String::new(), name: "another_tool".to_owned(), arguments };
    request_shape.tools(&[Message::Assistant(Answer::calls(vec![call]))])
}

/// Reasoning as renders show it, before the text around it is assigned.
struct Thought {
    reasoning_inputs: Vec<ReasoningInput>,
    setting: Setting,
    /// The first distinctive mark after it.
    close: Option<String>,
}

/// What the text before content is without a thought that no message carries. A template may show one, or open one and
/// never close it: content is inside then.
fn without_guessed(guessed: &mut Reasoning, lead: &str) -> String {
    if let Some((empty, rest)) = emptied(lead, guessed.open.trim(), guessed.close.trim()) {
        guessed.empty = Some(empty.to_owned());
        return rest.to_owned();
    }
    let opened = lead.trim_start().strip_prefix(guessed.open.as_str());
    opened.map_or(lead, str::trim_start).to_owned()
}

/// The opening of a thought that prompts write and renders lack: the shortest text before the mark that closes it.
fn prefilled(prompts: &[Prompt], mark: &str) -> Option<String> {
    let openings = prompts.iter().filter_map(|prompt| prompt.prefill.split(mark).next());
    openings.filter(|opening| !opening.trim().is_empty()).min_by_key(|opening| opening.len()).map(str::to_owned)
}

/// The thought without a text that a lead begins with, and the text after it.
fn emptied<'l>(lead: &'l str, open: &str, mark: &str) -> Option<(&'l str, &'l str)> {
    let at = lead.find(mark).filter(|_| !mark.is_empty())?;
    let before = lead.get(..at)?.trim();
    if !before.is_empty() && before != open {
        return None;
    }
    let after = at + mark.len();
    let rest = lead.get(after..)?;
    Some(lead.split_at(after + rest.len() - rest.trim_start().len()))
}

/// The text after reasoning, split after its closing mark and the white space there.
fn closed<'g>(gap: &'g str, mark: &str) -> (&'g str, &'g str) {
    let after = gap.find(mark).map_or(gap.len(), |at| at + mark.len());
    let rest = slice(gap, after..).trim_start();
    (slice(gap, ..gap.len() - rest.len()), rest)
}

/// The text between the last value of a turn and the end of the turn; none if the turn has another end.
fn before_end<'t>(tail: &'t str, end: &str) -> &'t str {
    let before = tail.strip_suffix(end).unwrap_or("");
    // An end that is written twice ends the turn where it comes first.
    let first = before.find(end).filter(|_| !end.trim().is_empty());
    slice(before, ..first.unwrap_or(before.len()))
}

/// The text between reasoning and the value after it.
fn between(trace: &Trace) -> &str {
    let mut slots = trace.slots.iter().skip_while(|slot| slot.kind != SlotKind::Reasoning);
    let gap = slots.next().zip(slots.next()).map(|(own, next)| trace.get(own.range.end..next.range.start));
    gap.unwrap_or_default()
}

/// Moves a closing mark that was mistaken for the end of the turn back to content.
fn settled(segmentation: Segmentation, mut content: Content, end: &str) -> Content {
    let open = content.open.trim();
    if content.close.is_empty()
        && !open.is_empty()
        && let Some(first) = segmentation.first(end)
        && let Some(rest) = end.trim().strip_prefix(first)
        && !rest.is_empty()
        && segmentation.share_a_word(first, open, rest)
    {
        let space = end.len() - end.trim_start().len();
        content.close = slice(end, ..space + first.len()).to_owned();
    }
    content
}

/// Lets the turn begin at a mark that its header ends with.
fn begin_at(prompt: &mut Prompt, mark: &str) {
    let at = prompt.header.trim_end().strip_suffix(mark.trim()).map(str::len);
    if let Some(at) = at.filter(|_| !mark.trim().is_empty()) {
        prompt.prefill.insert_str(0, &prompt.header.split_off(at));
    }
}

/// Lets the turn begin at a mark inside its header.
fn begin_before(prompt: &mut Prompt, segmentation: Segmentation, mark: &str) {
    let mark = mark.trim();
    let at = prompt.header.rfind(mark).filter(|_| segmentation.is_distinctive(mark));
    if let Some(at) = at.filter(|at| !slice(&prompt.header, ..*at).trim().is_empty()) {
        prompt.prefill.insert_str(0, &prompt.header.split_off(at));
    }
}

/// Makes a mark that ends every header and separates two calls the opening of each part of a turn.
fn give_back(prompts: &mut [Prompt], calls: &mut Calls, content: &mut Content) {
    let Some(cut) = calls.cuts.first().filter(|cut| cut.section.trim().is_empty() && cut.open.trim().is_empty()) else {
        return;
    };
    let mark = cut.separator.trim().to_owned();
    let leaves_some = |prompt: &Prompt| {
        prompt.header.trim_end().strip_suffix(mark.as_str()).is_some_and(|rest| !rest.trim().is_empty())
    };
    if mark.is_empty() || !prompts.iter().all(leaves_some) {
        return;
    }
    let opened = Cut { open: mark.clone(), separator: String::new(), ..cut.clone() };
    calls.cuts.insert(0, opened);
    prompts.iter_mut().for_each(|prompt| begin_at(prompt, &mark));
    content.open.insert_str(0, &mark);
}

#[cfg(test)]
mod tests;
