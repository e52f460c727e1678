//! From renders to the structure, in the order in which one part settles the next.

use super::calls::{self, Around};
use super::conversation::{Answer, Message, ReasoningInput, RequestShape};
use super::hidden;
use super::marks;
use super::probe::{Prober, Setting, needle};
use super::shapes;
use super::structure::{Calls, Content, Cut, History, Place, Prompt, Reasoning, Source, WireFormat};
use super::template_usage::TemplateUsage;
use super::trace::{Kind, Trace};
use super::turn::{self, Leads, trace};
use crate::text::slice;

/// Infers how a chat template writes the model's turn; nothing if it shows no content.
pub(crate) fn infer(prober: &mut Prober, usage: &TemplateUsage) -> Option<WireFormat> {
    let request_shape = prober.request_shape;
    prober.offered = Some(other_tools(request_shape));
    let base = Setting::new();
    let plain = trace(prober, History::User, &shapes::content(), &base)?;
    if !plain.shows(Kind::Content) {
        return None;
    }
    let mut end = turn::end(prober, plain.tail());
    if let Some(eos) = usage.eos_token.as_deref().map(str::trim).filter(|eos| !eos.is_empty())
        && let Some((_, rest)) = end.split_once(eos)
    {
        // The text after the stop token begins the next turn, except for white space.
        let next = rest.trim_start().len();
        end.truncate(end.len() - next);
    }
    let thought = thought(prober, usage, &end);
    if let Some(thought) = &thought {
        prober.reasoning_input = Some(thought.reasoning_inputs.first()?.clone());
    }
    let close = thought.as_ref().and_then(|thought| thought.close.clone());
    let call_shape = shape_of_calls(prober, &base);
    let leads = |prober: &Prober, after: History, setting: &Setting| -> Leads {
        let lead = |answer: &Answer, kind: Option<Kind>| {
            let trace = trace(prober, after, answer, setting)?;
            let first = trace.slots.first()?;
            kind.is_none_or(|kind| first.kind == kind).then(|| trace.lead().to_owned())
        };
        let plain = lead(&shapes::content(), None);
        let called = call_shape.and_then(|()| lead(&Answer::calls(shapes::calls(1)), None));
        let thoughts = thoughts();
        let thought =
            thought.as_ref().and_then(|_| thoughts.iter().find_map(|answer| lead(answer, Some(Kind::Reasoning))));
        Leads { all: plain.into_iter().chain(called).collect(), thought }
    };
    let mut prompts = turn::prompts(prober, &usage.settings, leads, close.as_deref());
    // A prompt without tools may end otherwise.
    prober.offered = None;
    for prompt in turn::prompts(prober, &usage.settings, leads, close.as_deref()) {
        if !prompts.iter().any(|known| known.header == prompt.header && known.prefill == prompt.prefill) {
            prompts.push(prompt);
        }
    }
    // Text that begins turns does not end one.
    let next =
        prompts.first().and_then(|prompt| marks::first(&prompt.header)).filter(|mark| marks::is_distinctive(mark));
    if let Some(at) =
        next.and_then(|mark| end.find(mark)).filter(|at| end.get(..*at).is_some_and(marks::is_distinctive))
    {
        end.truncate(at);
    }
    let hidden = if thought.is_none() { hidden::find(prober, usage, &prompts) } else { None };
    prober.offered = Some(other_tools(request_shape));
    let begin = |trace: &Trace| begin_of(trace, &prompts);
    let (reasoning, mut content) = parts(prober, &plain, thought, hidden, &prompts, &end, &begin);
    if let Some(rest) = end.strip_prefix(content.close.as_str()) {
        end = rest.to_owned();
    }
    // Text that the prompt writes anyway opens nothing.
    let is_written =
        |prompt: &Prompt| prompt.header_in_prompt_only && prompt.header.trim_end().ends_with(content.open.trim());
    if prompts.iter().all(is_written) {
        content.open.clear();
    }
    prober.reasoning_input = reasoning.as_ref().and_then(|reasoning| reasoning.reasoning_inputs.first().cloned());
    let mut calls =
        calls::find(prober, &usage.settings, &Around { header: &begin, end: &end, thought: reasoning.as_ref() });
    prober.request_shape = calls.as_ref().map_or(request_shape, |calls| calls.request_shape);
    if let Some(calls) = &calls {
        place(prober, calls, reasoning.as_ref(), &begin, &mut content);
    }
    let mut stops: Vec<String> = Vec::new();
    let ends = [Some(end.trim()), calls.as_ref().and_then(|calls| calls.end.as_deref()), usage.eos_token.as_deref()];
    for text in ends.into_iter().flatten() {
        if !text.trim().is_empty() && !stops.iter().any(|known| known == text.trim()) {
            stops.push(text.trim().to_owned());
        }
    }
    if end.trim().is_empty() {
        // Only the beginning of the next turn ends this one.
        let called = calls.as_ref().map(|calls| (Answer::calls(shapes::calls(1)), calls.setting.clone()));
        for (answer, setting) in [Some((shapes::content(), base.clone())), called].into_iter().flatten() {
            let mark = turn::next_marks(prober, &answer, &setting);
            stops.extend(mark.filter(|mark| !stops.contains(mark)));
        }
    }
    if let Some(calls) = &mut calls {
        give_back(&mut prompts, calls, &mut content);
    }
    // A prompt that opens content writes of the turn itself.
    prompts
        .iter_mut()
        .filter(|prompt| !prompt.header_in_prompt_only)
        .for_each(|prompt| begin_at(prompt, &content.open));
    Some(WireFormat { request_shape: prober.request_shape, prompts, reasoning, content, calls, end, stops })
}

/// Tools that no probe calls, so that the list in a prompt contains no needle.
fn other_tools(request_shape: RequestShape) -> crate::json::Value {
    let call = super::conversation::Call {
        id: String::new(),
        name: "another_tool".to_owned(),
        arguments: [("some_key".to_owned(), "text".into())].into_iter().collect(),
    };
    request_shape.tools(&[Message::Assistant(Answer::calls(vec![call]))])
}

/// The first request shape in which a call shows.
fn shape_of_calls(prober: &Prober, setting: &Setting) -> Option<()> {
    let trace = trace(prober, History::User, &Answer::calls(shapes::calls(1)), setting)?;
    trace.of_call(0).next().map(|_| ())
}

/// The start of the turn's own text in a render.
fn begin_of(trace: &Trace, prompts: &[Prompt]) -> usize {
    let lead = trace.lead();
    let headers = prompts.iter().filter(|prompt| prompt.after == History::User).map(|prompt| {
        let header = if prompt.header_in_prompt_only { "" } else { prompt.header.as_str() };
        let whole = format!("{}{header}", prompt.before);
        if lead.starts_with(&whole) { whole.len() } else { marks::shared_start(lead, &whole).len() }
    });
    headers.max().unwrap_or(0)
}

/// Reasoning as renders show it, before the text around it is assigned.
struct Thought {
    reasoning_inputs: Vec<ReasoningInput>,
    setting: Setting,
    /// The first distinctive mark after it.
    close: Option<String>,
}

/// Finds the keys and blocks that carry reasoning: their text shows, and does not under a name that no template reads.
fn thought(prober: &mut Prober, usage: &TemplateUsage, end: &str) -> Option<Thought> {
    let mut found: Vec<(ReasoningInput, Setting, Trace)> = Vec::new();
    for reasoning_input in &usage.reasoning_inputs {
        let mut shown = |reasoning_input: ReasoningInput| {
            prober.reasoning_input = Some(reasoning_input);
            usage.settings.iter().find_map(|setting| {
                let traces = thoughts().into_iter().filter_map(|answer| trace(prober, History::User, &answer, setting));
                Some((setting.clone(), traces.into_iter().find(|trace| trace.shows(Kind::Reasoning))?))
            })
        };
        if shown(reasoning_input.unread()).is_some() {
            continue;
        }
        if let Some((setting, trace)) = shown(reasoning_input.clone()) {
            found.push((reasoning_input.clone(), setting, trace));
        }
    }
    prober.reasoning_input = None;
    // Text after the answer, or not separated from it, is not reasoning.
    found.retain(|(_, _, trace)| {
        let Some(at) = trace.slots.iter().position(|slot| slot.kind == Kind::Reasoning) else { return false };
        at == 0
            && trace.slots.get(1).is_some_and(|next| {
                trace.slots.first().is_some_and(|own| !trace.get(own.range.end..next.range.start).trim().is_empty())
            })
    });
    found.sort_by_key(|(reasoning_input, ..)| !reasoning_input.is_named_for_reasoning());
    let (_, setting, best) = found.first()?;
    let gap = |trace: &Trace| {
        let [own, next, ..] = trace.slots.as_slice() else { return String::new() };
        trace.get(own.range.end..next.range.start).to_owned()
    };
    let first = gap(best);
    let reasoning_inputs =
        found.iter().filter(|(_, _, trace)| gap(trace) == first).map(|(reasoning_input, ..)| reasoning_input.clone());
    let close = marks::marks(&first).into_iter().find(|mark| marks::is_distinctive(mark) && !end.contains(mark));
    let close = close.map(str::to_owned);
    Some(Thought { reasoning_inputs: reasoning_inputs.collect(), setting: setting.clone(), close })
}

/// The answers that reasoning is tried with: many templates show it only beside a call, or only beside content.
fn thoughts() -> [Answer; 3] {
    let bare = Answer::default().with_reasoning(needle::REASONING);
    [
        bare.clone().with_content(needle::CONTENT),
        Answer { calls: shapes::calls(1), ..bare.clone() },
        Answer { calls: shapes::calls(1), ..bare }.with_content(needle::CONTENT),
    ]
}

/// Separates the text around reasoning from the text around content.
fn parts(
    prober: &Prober,
    plain: &Trace,
    thought: Option<Thought>,
    hidden: Option<Reasoning>,
    prompts: &[Prompt],
    end: &str,
    begin: &dyn Fn(&Trace) -> usize,
) -> (Option<Reasoning>, Content) {
    let mut lead = slice(plain.lead(), begin(plain)..).to_owned();
    let tail = before_end(plain.tail(), end).to_owned();
    let Some(thought) = thought else {
        // A template that opens reasoning and never closes it shows content inside.
        let open = hidden.as_ref().map_or("", |guessed| guessed.open.as_str());
        if let Some(rest) = lead.trim_start().strip_prefix(open) {
            lead = rest.trim_start().to_owned();
        }
        return (hidden, settled(Content { open: lead, close: tail, ..Content::default() }, end));
    };
    let both = shapes::content().with_reasoning(needle::REASONING);
    let both = trace(prober, History::User, &both, &thought.setting).filter(|both| both.shows(Kind::Reasoning));
    let alone = Answer { calls: shapes::calls(1), ..Answer::default().with_reasoning(needle::REASONING) };
    let beside = trace(prober, History::User, &alone, &thought.setting).filter(|beside| beside.shows(Kind::Reasoning));
    let mut content = Content { close: tail, ..Content::default() };
    let Some(shown) = both.as_ref().or(beside.as_ref()) else {
        return (None, settled(Content { open: lead, ..content }, end));
    };
    let mut open = slice(shown.lead(), begin(shown)..).to_owned();
    let gap = between(shown);
    let mark = thought.close.clone().unwrap_or_else(|| gap.trim().to_owned());
    // A template may show a thought that was not given.
    let (empty, opened) = match emptied(&lead, open.trim(), mark.trim()) {
        Some((empty, rest)) => (Some(empty.to_owned()), rest.to_owned()),
        None => (None, lead.clone()),
    };
    let (own, rest) = closed(&gap, mark.trim());
    // Text that is there only before content belongs to content.
    let is_contents = both.is_some()
        && beside.as_ref().is_some_and(|beside| !between(beside).contains(rest.trim()) && opened.trim().is_empty());
    let close = match gap.strip_suffix(opened.as_str()).filter(|_| both.is_some()) {
        Some(whole) if !is_contents && (empty.is_none() || !opened.is_empty()) => whole.to_owned(),
        _ => own.to_owned(),
    };
    content.open = opened;
    if let Some(both) = &both
        && empty.is_none()
        && content.open.trim().is_empty()
        && !rest.is_empty()
        && close == own
    {
        content.after_reasoning = Some((rest.to_owned(), before_end(both.tail(), end).to_owned()));
    }
    let mut source = Source::Rendered;
    if open.trim().is_empty() {
        // The prompt writes the opening that renders lack.
        let opened = prompts.iter().filter_map(|prompt| {
            let own = prompt.prefill.split(mark.trim()).next()?;
            (!own.trim().is_empty()).then(|| own.to_owned())
        });
        if let Some(prefill) = opened.min_by_key(String::len) {
            open = prefill;
            source = Source::OpenedByPrompt;
        }
    }
    let before_calls = beside.as_ref().map(between).map(|gap| {
        let after = gap.find(mark.as_str()).map_or(0, |at| at + mark.len());
        slice(&gap, ..after).to_owned()
    });
    let reasoning = Reasoning {
        open,
        close_before_calls: before_calls.filter(|text| text.trim() != close.trim() && text.is_empty()),
        close,
        empty,
        reasoning_inputs: thought.reasoning_inputs,
        setting: thought.setting,
        source,
        answer_marks: Vec::new(),
    };
    (Some(reasoning), settled(content, end))
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
    tail.strip_suffix(end).unwrap_or("")
}

/// The text between reasoning and the value after it.
fn between(trace: &Trace) -> String {
    let at = trace.slots.iter().position(|slot| slot.kind == Kind::Reasoning).unwrap_or(0);
    match (trace.slots.get(at), trace.slots.get(at + 1)) {
        (Some(own), Some(next)) => trace.get(own.range.end..next.range.start).to_owned(),
        _ => String::new(),
    }
}

/// Content whose closing mark was taken for the end of the turn gets it back.
fn settled(mut content: Content, end: &str) -> Content {
    let open = content.open.trim();
    if content.close.is_empty()
        && !open.is_empty()
        && let Some(first) = marks::first(end)
        && end.trim() != first
        && marks::share_a_word(first, open)
    {
        let rest = end.trim_start().len() - first.len();
        content.close = slice(end, ..end.len() - rest).to_owned();
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

/// A mark that every header ends with and that parts two calls opens each part of a turn.
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

/// The position of content in a turn with a call, and the text around it there.
fn place(
    prober: &Prober,
    calls: &Calls,
    thought: Option<&Reasoning>,
    begin: &dyn Fn(&Trace) -> usize,
    content: &mut Content,
) {
    let answer = Answer { calls: shapes::calls(1), ..shapes::content() };
    content.place = Place::Dropped;
    let Some(trace) = trace(prober, History::User, &answer, &calls.setting) else { return };
    let own = trace.slots.iter().find(|slot| slot.kind == Kind::Content);
    let call = trace.slots.iter().find(|slot| slot.kind.call().is_some());
    content.place = match (own, call) {
        (Some(own), Some(call)) if own.range.start < call.range.start => {
            let open = trace.get(begin(&trace)..own.range.start).trim();
            let close = marks::first(trace.get(own.range.end..call.range.start));
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
            } else if open != content.open.trim() && marks::is_distinctive(open) {
                content.beside_calls = Some((open.to_owned(), close.map_or_else(String::new, str::to_owned)));
            }
            Place::Before
        }
        (Some(_), _) => Place::After,
        (None, _) => Place::Dropped,
    };
}

#[cfg(test)]
mod tests;
