//! Infers the structure from renders, part by part in the order of their dependencies.

mod stops;
mod thought;

use super::align;
use super::calls::{self, Around};
use super::encoded;
use super::hidden;
use super::late;
use super::marks::Segmentation;
use super::repeated;
use super::shapes;
use super::structure::{CallPart, Calls, Content, Cut, History, Place, Prompt, Reasoning, WireFormat};
use super::template_usage::TemplateUsage;
use super::trace::{SlotKind, Trace};
use super::turn::{Comparison, Leads, Turns};
use backchat_core::json::Value;
use backchat_core::push_new;
use backchat_core::text::slice;
use backchat_probe::probe::steady::is_varying;
use backchat_probe::probe::{Answer, Call, Message, Offer, Prober, RequestShape, Setting};
use thought::Thought;

/// One reading of what renders leave open about a turn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reading {
    /// How texts are cut into marks.
    pub segmentation: Segmentation,
    /// How prompts are compared with turns.
    pub comparison: Comparison,
}

impl Reading {
    /// The readings in the order to try them, for a template with these literals.
    pub(crate) fn ordered(literals: &[String]) -> impl Iterator<Item = Reading> {
        let segmentations = Segmentation::ordered(literals);
        let exact = segmentations.map(|segmentation| Reading { segmentation, comparison: Comparison::Exact });
        let [first, others @ ..] = exact;
        [first, Reading { comparison: Comparison::Aligned, ..first }].into_iter().chain(others)
    }
}

/// Infers how a chat template writes the model's turn, in one reading; `None` if it shows no content.
pub(crate) fn infer(prober: &Prober, usage: &TemplateUsage, reading: Reading) -> Option<WireFormat> {
    let (plain, offering) = (prober.offering(None), prober.offering(Some(other_tools(prober.request_shape()))));
    let offering = defining(&offering).unwrap_or(offering);
    Inference { plain, offering, usage, segmentation: reading.segmentation, comparison: reading.comparison }.wire()
}

/// The stages of an inference: each is a method that takes the results it needs.
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
        let plain = self.turns(&self.offering).trace(History::User, &shapes::content(), &Setting::new());
        let plain = plain.filter(|trace| trace.shows(SlotKind::Content))?;
        let mut end = self.end_of_turn(&plain);
        let thought = self.thought(&end);
        let mut prompts = self.prompts(thought.as_ref());
        self.end_before_header(&mut end, &prompts);
        let elsewhere = if thought.is_none() { self.reasoning_elsewhere(&mut prompts, &end) } else { None };
        let begin = |trace: &Trace| self.begin_of(trace, &prompts);
        let (mut reasoning, mut content) = self.parts(&plain, thought, elsewhere, &prompts, &end);
        settle(self.segmentation, &mut content, &mut end);
        let trailing = self.trailing(&end);
        // Text that the prompt always writes does not open content.
        if is_in_prompts(&prompts, &content.open) {
            content.open.clear();
        }
        let thinking = self.offering.with_reasoning(reasoning.as_ref().and_then(Reasoning::first_input));
        if let Some(reasoning) = &mut reasoning {
            reasoning.join = repeated::thought(self.turns(&thinking), reasoning);
        }
        encoded::unquote(self.turns(&self.offering), reasoning.as_mut(), &mut content, &mut end);
        if content.is_json {
            // Without its quote, the end may begin with the mark that closes content.
            settle(self.segmentation, &mut content, &mut end);
        }
        content.join = repeated::content(self.turns(&self.offering), &content, &end);
        let before = reasoning.as_ref().filter(|reasoning| !reasoning.is_late);
        let around = Around { header: &begin, end: &end, trailing: &trailing, thought: before };
        let mut calls = calls::find(&thinking, self.segmentation, &self.usage.settings, &around);
        if let Some(calls) = calls.as_mut().filter(|_| content.is_json) {
            encoded::without_empty_content(calls);
        }
        let request_shape = calls.as_ref().map_or(self.plain.request_shape(), |calls| calls.request_shape);
        let called = thinking.with_shape(request_shape);
        if let Some(calls) = &calls {
            self.place(&called, calls, reasoning.as_ref(), &begin, &mut content);
        }
        self.without_open(&mut content);
        let empty = calls.as_ref().and_then(|calls| no_calls(calls, &mut content));
        content.labels =
            self.labels(&prompts, &content, reasoning.as_ref(), calls.as_ref().map(|calls| (&called, calls)));
        content.labels.extend(empty);
        let (stops, given_stops) = self.stops(&called, &prompts, &end, calls.as_ref());
        if let Some(calls) = &mut calls {
            move_separator_to_openings(&mut prompts, calls, &mut content);
        }
        // If a prompt opens content, the turn begins there.
        for prompt in prompts.iter_mut().filter(|prompt| !prompt.header_in_prompt_only) {
            begin_at(prompt, &content.open);
        }
        let message = encoded::message(self.turns(&called), reasoning.as_ref(), calls.as_ref());
        Some(WireFormat {
            request_shape,
            segmentation: self.segmentation,
            prompts,
            reasoning,
            content,
            calls,
            message,
            end,
            stops,
            given_stops,
            trailing,
        })
    }

    fn turns<'p>(&self, prober: &'p Prober<'t>) -> Turns<'p, 't> {
        Turns { prober, segmentation: self.segmentation, trailing: &[] }
    }

    /// The end of a turn with content, up to the stop token and white space after it: other text begins the next turn.
    fn end_of_turn(&self, plain: &Trace) -> String {
        let mut end = self.turns(&self.offering).end(plain.tail(), &Setting::new());
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

    /// Finds how prompts end, with and without tools.
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
        // A prompt without tools, or with more of them, may end differently.
        for prober in [Some(plain), self.offering_more().map(|more| more.with_reasoning(input))].into_iter().flatten() {
            for prompt in self.turns(&prober).prompts(&self.usage.settings, leads, close, self.comparison) {
                if !prompts.iter().any(|known| known.header == prompt.header && known.prefill == prompt.prefill) {
                    prompts.push(prompt);
                }
            }
        }
        let turns = self.turns(&offering);
        for printed in &self.usage.printed {
            let with_value = prompts.iter().filter_map(|prompt| turns.with_value(prompt, printed));
            let with_value: Vec<Prompt> = with_value.collect();
            prompts.extend(with_value);
        }
        prompts
    }

    /// A prober that offers more tools, if a prompt ends differently then.
    fn offering_more(&self) -> Option<Prober<'t>> {
        let more = self.offering.offering(Some(some_tools(self.offering.request_shape(), MANY_TOOLS)));
        let end = |prober: &Prober<'t>| {
            let text = prober.render(&shapes::history(History::User), &Setting::new(), true)?;
            History::User.rest(&text).map(str::to_owned)
        };
        (end(&more)? != end(&self.offering)?).then_some(more)
    }

    /// The plain prober, in a request shape in which the template takes a tool result if there is one.
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

    /// Reasoning after content, or that no render shows.
    fn reasoning_elsewhere(&self, prompts: &mut [Prompt], end: &str) -> Option<Reasoning> {
        let late = late::find(self.turns(&self.offering), self.usage, end);
        let found = late.or_else(|| hidden::find(&self.plain, self.segmentation, self.usage, prompts))?;
        // The opening of reasoning is part of the turn even if every rendered turn begins with it.
        if !found.is_late {
            prompts.iter_mut().for_each(|prompt| begin_before(prompt, self.segmentation, &found.open));
        }
        Some(found)
    }

    /// The text that renders write after the end of a turn, under each setting.
    fn trailing(&self, end: &str) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        if end.trim().is_empty() {
            return found;
        }
        for setting in &self.usage.settings {
            let trace = self.turns(&self.offering).trace(History::User, &shapes::content(), setting);
            let rest = trace.as_ref().and_then(|trace| trace.tail().split_once(end));
            if let Some(rest) = rest.map(|(_, rest)| rest.trim()).filter(|rest| !rest.is_empty()) {
                push_new(&mut found, rest.to_owned());
            }
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

    /// Removes the opening of content if it is only there where tools are offered.
    fn without_open(&self, content: &mut Content) {
        let open = content.open.trim();
        if open.is_empty() {
            return;
        }
        let plain = self.turns(&self.plain).trace(History::User, &shapes::content(), &Setting::new());
        if plain.is_some_and(|trace| trace.shows(SlotKind::Content) && !trace.lead().contains(open)) {
            content.open.clear();
        }
    }

    /// Texts that begin a plain turn after some histories, under some settings or with tools, or content before calls, and
    /// that no prompt writes.
    fn labels(
        &self,
        prompts: &[Prompt],
        content: &Content,
        reasoning: Option<&Reasoning>,
        called: Option<(&Prober<'t>, &Calls)>,
    ) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        if !content.open.trim().is_empty() {
            return found;
        }
        let marks: Vec<&str> = reasoning.iter().flat_map(|found| [found.open.trim(), found.close.trim()]).collect();
        let is_quote = |label: &str| content.is_json && label.trim() == "\"";
        let is_label =
            |label: &String| !is_quote(label) && !marks.iter().any(|mark| !mark.is_empty() && label.contains(mark));
        for prober in [&self.plain, &self.offering] {
            for (after, setting) in
                History::ALL.iter().flat_map(|after| self.usage.settings.iter().map(move |setting| (*after, setting)))
            {
                let label = self.turns(prober).own_lead(after, &shapes::content(), setting, prompts);
                if let Some(label) = label.filter(is_label) {
                    push_new(&mut found, label);
                }
            }
        }
        if let Some((prober, calls)) = called.filter(|_| content.place == Place::Before) {
            let beside = Answer { calls: shapes::calls_with(1, calls.ids_hold_names), ..shapes::content() };
            let label = self.turns(prober).own_lead(History::User, &beside, &calls.setting, prompts);
            // Distinctive marks are those of content next to calls.
            if let Some(label) = label.filter(|label| is_label(label) && !self.segmentation.is_distinctive(label)) {
                push_new(&mut found, label);
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
                let empty = thought.and_then(|thought| thought.empty.as_deref()).unwrap_or_default();
                let open = open.strip_prefix(empty.trim()).map_or(open, str::trim_start);
                let close = trace.get(own.range.end..call.range.start);
                let close = close.strip_prefix('"').filter(|_| content.is_json).unwrap_or(close);
                let close = self.segmentation.first(close);
                let is_thought = thought.is_some_and(|thought| {
                    let marks = [thought.open.trim(), thought.close.trim()];
                    marks.iter().any(|mark| !mark.is_empty() && open.contains(mark))
                });
                if is_thought {
                    // These are the marks of empty reasoning.
                } else if open.is_empty() && !content.open.trim().is_empty() {
                    // Its usual marks surround content only after reasoning.
                    let around = (std::mem::take(&mut content.open), std::mem::take(&mut content.close));
                    content.after_reasoning = Some(around);
                } else if open == content.open.trim() {
                    // The answer and its calls may each be a message, where only the last one ends the turn.
                    let own = close.filter(|mark| self.closes_before_calls(mark, content, calls));
                    content.beside_calls = own.map(|close| (open.to_owned(), close.to_owned()));
                } else if self.segmentation.is_distinctive(open) || !content.open.trim().is_empty() {
                    // If content always has an opening, even a label of plain words is one.
                    content.beside_calls = Some((open.to_owned(), close.map_or_else(String::new, str::to_owned)));
                }
                Place::Before
            }
            (Some(own), _) => {
                let alone = self.turns(prober).trace(History::User, &Answer::calls(shapes::calls(1)), &calls.setting);
                let tail = alone.as_ref().map_or("", Trace::tail);
                let before =
                    trace.range_of(0).map_or("", |call| trace.get(call.end.min(own.range.start)..own.range.start));
                let open = slice(before, self.segmentation.shared_start(before, tail).len()..).trim();
                let is_mark = self.segmentation.is_distinctive(open);
                if is_mark && content.open.trim().is_empty() {
                    let plain = self.turns(prober).trace(History::User, &shapes::content(), &calls.setting);
                    // The text after content alone ends the turn; only the rest closes this mark.
                    let rest = plain.as_ref().map_or("", Trace::tail);
                    let close = trace.tail().strip_suffix(rest).unwrap_or_default().trim();
                    content.beside_calls = Some((open.to_owned(), close.to_owned()));
                }
                Place::After
            }
            (None, _) => Place::Dropped,
        };
    }

    /// Whether a mark after content that has an opening closes it next to calls alone, and is no mark of the calls.
    fn closes_before_calls(&self, mark: &str, content: &Content, calls: &Calls) -> bool {
        let is_calls = |cut: &Cut| cut.section.contains(mark) || cut.open.contains(mark);
        let is_heads = || calls.body.head.iter().filter_map(CallPart::text).any(|text| text.contains(mark));
        let is_known = [&content.open, &content.close].iter().any(|text| text.contains(mark));
        let is_known = is_known || calls.cuts.iter().any(is_calls) || is_heads();
        self.segmentation.is_distinctive(mark) && !content.open.trim().is_empty() && !is_known
    }
}

/// Whether every prompt ends with this opening of content, which turns do not repeat.
fn is_in_prompts(prompts: &[Prompt], open: &str) -> bool {
    prompts.iter().all(|prompt| prompt.header_in_prompt_only && prompt.header.trim_end().ends_with(open.trim()))
}

/// The marks around no calls, if the template writes them in every turn: they do not open content.
fn no_calls(calls: &Calls, content: &mut Content) -> Option<String> {
    let open = content.open.trim();
    let is_section = |cut: &Cut| !cut.section.trim().is_empty() && is_around(&cut.section, &cut.section_close, open);
    calls.cuts.iter().any(is_section).then(|| std::mem::take(&mut content.open))
}

/// Whether a text consists of these two, and white space.
fn is_around(start: &str, end: &str, text: &str) -> bool {
    text.strip_prefix(start.trim()).is_some_and(|rest| rest.trim() == end.trim())
}

/// Separates the close of content from the end of the turn: a closing mark may have been mistaken for a part of the end.
fn settle(segmentation: Segmentation, content: &mut Content, end: &mut String) {
    let open = content.open.trim();
    // Only signs may come before the mark that closes what the opening opens.
    let word = segmentation.placed(end).find(|(_, mark)| mark.contains(char::is_alphanumeric));
    if content.close.is_empty()
        && !open.is_empty()
        && let Some((place, mark)) = word
        && let (before, rest) = (slice(end, ..place.start), slice(end, place.end..).trim())
        && !before.contains(char::is_alphanumeric)
        && !rest.is_empty()
        && segmentation.share_a_word(mark, open, rest)
    {
        content.close = slice(end, ..place.end).to_owned();
    }
    if content.close.is_empty() && !open.is_empty() {
        content.close = counterparts(open, end).to_owned();
    }
    if content.close.is_empty() {
        content.close = before_stops(segmentation, end).to_owned();
    }
    if let Some(rest) = end.strip_prefix(content.close.as_str()) {
        *end = rest.to_owned();
    }
}

/// The varying text before the first fixed mark of an end. It cannot be a stop, so it closes content.
fn before_stops(segmentation: Segmentation, end: &str) -> &str {
    let mut marks = segmentation.placed(end).filter(|(_, mark)| segmentation.is_distinctive(mark));
    let next = marks.find(|(_, mark)| !mark.contains(is_varying)).map_or(0, |(place, _)| place.start);
    Some(slice(end, ..next)).filter(|text| text.contains(is_varying)).unwrap_or_default()
}

/// The signs at the start of a text that close what an opening contains: brackets and quotes.
fn counterparts<'t>(open: &str, end: &'t str) -> &'t str {
    let opening = |c: char| match c {
        '}' => '{',
        ']' => '[',
        ')' => '(',
        other => other,
    };
    let closes = |c: char| "}])\"'`*_".contains(c) && open.contains(opening(c));
    let rest = end.trim_start().trim_start_matches(closes);
    let close = slice(end, ..end.len() - rest.len());
    if close.trim().is_empty() || rest.trim().is_empty() { "" } else { close }
}

/// The prober that also offers the tools which conversations call, if the template writes a call of a tool that it knows in
/// another way, such as texts by the schema of the tool.
fn defining<'t>(offering: &Prober<'t>) -> Option<Prober<'t>> {
    let defining = offering.with_shape(RequestShape { offer: Offer::Called, ..offering.request_shape() });
    let called = Answer::calls(shapes::calls(2));
    let render =
        |prober: &Prober<'t>| prober.render(&shapes::conversation(History::User, &called), &Setting::new(), false);
    let text = render(offering)?;
    // The tools may come after the first message.
    let before = offering.render(&shapes::history(History::User), &Setting::new(), false);
    let turn = before.and_then(|before| text.strip_prefix(before.as_str())).or_else(|| History::User.rest(&text))?;
    (offering.request_shape().offer == Offer::Usual && !render(&defining)?.ends_with(turn)).then_some(defining)
}

/// More tools than a template is likely to take for a few.
const MANY_TOOLS: usize = 12;

/// Tools that no probe calls, so that the list in a prompt contains no needle.
pub(super) fn other_tools(request_shape: RequestShape) -> Value {
    some_tools(request_shape, 1)
}

/// This many of them.
fn some_tools(request_shape: RequestShape, count: usize) -> Value {
    let call = |at: usize| {
        let name = if at == 0 { "another_tool".to_owned() } else { format!("another_tool_{at}") };
        let arguments = [("some_key".to_owned(), "text".into())].into_iter().collect();
        Call { id: String::new(), name, arguments }
    };
    request_shape.tools(&[Message::Assistant(Answer::calls((0..count).map(call).collect()))])
}

/// Moves a mark at the end of the header into the turn.
fn begin_at(prompt: &mut Prompt, mark: &str) {
    let at = prompt.header.trim_end().strip_suffix(mark.trim()).map(str::len);
    if let Some(at) = at.filter(|_| !mark.trim().is_empty()) {
        prompt.prefill.insert_str(0, &prompt.header.split_off(at));
    }
}

/// Moves a mark inside the header, and all text after it, into the turn.
fn begin_before(prompt: &mut Prompt, segmentation: Segmentation, mark: &str) {
    let mark = mark.trim();
    let at = prompt.header.rfind(mark).filter(|_| segmentation.is_distinctive(mark));
    if let Some(at) = at.filter(|at| !slice(&prompt.header, ..*at).trim().is_empty()) {
        prompt.prefill.insert_str(0, &prompt.header.split_off(at));
    }
}

/// If one mark ends every header and separates calls, makes it the opening of each part of a turn. A prompt may leave the
/// header to the model.
fn move_separator_to_openings(prompts: &mut [Prompt], calls: &mut Calls, content: &mut Content) {
    let Some(cut) = calls.cuts.first().filter(|cut| cut.section.trim().is_empty() && cut.open.trim().is_empty()) else {
        return;
    };
    let mark = cut.separator.trim().to_owned();
    let leaves_some = |prompt: &Prompt| {
        prompt.header.trim_end().strip_suffix(mark.as_str()).is_some_and(|rest| !rest.trim().is_empty())
    };
    let lacks = |prompt: &Prompt| !prompt.header.contains(&mark);
    let gives = |prompt: &Prompt| leaves_some(prompt) || lacks(prompt);
    if mark.is_empty() || prompts.iter().all(lacks) || !prompts.iter().all(gives) {
        return;
    }
    let opened = Cut { open: mark.clone(), separator: String::new(), ..cut.clone() };
    calls.cuts.insert(0, opened);
    prompts.iter_mut().for_each(|prompt| begin_at(prompt, &mark));
    content.open.insert_str(0, &mark);
}

#[cfg(test)]
mod tests;
