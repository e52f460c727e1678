//! What wraps content, where anything does.

use super::calls::{Beside, Calls};
use super::conversation::Answer;
use super::marks;
use super::probe::{Prober, Setting, call, needle};
use super::reasoning::{Reasoning, counterparts, without_empty};
use super::turn::Turn;

/// How content is set off.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Content {
    /// The marks that open it; none where it is what stands outside every other mark.
    pub opens: Vec<String>,
    /// The marks that close it, where any stand before the turn's own end.
    pub closes: Vec<String>,
    /// Whether a call follows it with no mark between that would close it.
    pub ends_at_calls: bool,
    /// Marks that stand around it only beside reasoning or calls.
    pub wraps: Vec<String>,
    /// Whether an answer without reasoning starts with reasoning's closing mark.
    pub closes_reasoning: bool,
}

/// What stands on both sides of content in one render.
struct Sides {
    lead: String,
    tail: String,
}

/// Finds what stands around content in a plain answer, beside reasoning and beside calls.
pub(super) fn find(prober: &Prober, turn: &Turn, reasoning: Option<&Reasoning>, calls: Option<&Calls>) -> Content {
    let wraps = reasoning.map(|reasoning| reasoning.answer_marks.clone()).unwrap_or_default();
    let mut content = Content { wraps, ..Content::default() };
    let plain = Answer::content(needle::CONTENT);
    let Some(alone) = sides(prober, turn, reasoning, &plain, &Setting::new()) else { return content };
    let closed = |lead: &str| {
        let rest = lead.strip_prefix(&reasoning?.close)?;
        Some(rest.trim().to_owned())
    };
    content.closes_reasoning = closed(&alone.lead).is_some();
    let lead = closed(&alone.lead).unwrap_or_else(|| alone.lead.clone());
    let opens_calls = calls.map(Calls::opening).unwrap_or_default();
    let mut others = Vec::new();
    if let Some(reasoning) = reasoning {
        let answer = plain.clone().with_reasoning(needle::REASONING);
        others.extend(sides(prober, turn, Some(reasoning), &answer, &reasoning.setting));
    }
    if let Some(calls) = calls.filter(|calls| calls.content == Beside::Before) {
        let answer = Answer { calls: vec![call(0, 1)], ..plain };
        if let Some(mut beside) = sides(prober, turn, reasoning, &answer, &calls.setting) {
            let tail = beside.tail.trim();
            content.ends_at_calls = tail == opens_calls || !opens_calls.is_empty() && tail.starts_with(&opens_calls);
            // A mark that opens calls closes no content, unless it closes what opened it.
            let shuts = |mark: &&str| counterparts(&beside.lead).iter().any(|close| close == mark);
            if content.ends_at_calls && marks::split(&beside.tail).first().filter(|mark| shuts(mark)).is_none() {
                beside.tail.clear();
            }
            beside.lead = closed(&beside.lead).unwrap_or(beside.lead);
            others.push(beside);
        }
    }
    // Where content stands bare beside calls, what is around it elsewhere does not open it.
    let is_bare = others.iter().any(|other| other.lead.is_empty()) && !lead.is_empty();
    if is_bare {
        others.insert(0, Sides { lead: lead.clone(), tail: alone.tail.clone() });
    }
    if lead.is_empty() || is_bare {
        let stop = marks::split(&turn.end).first().copied().unwrap_or("");
        for other in others.iter().filter(|other| !other.lead.is_empty()) {
            let tail = marks::split(&other.tail).first().copied().filter(|mark| *mark != stop);
            for mark in [Some(other.lead.as_str()), tail].into_iter().flatten() {
                note(&mut content.wraps, mark);
            }
        }
        return content;
    }
    note(&mut content.opens, &lead);
    let end = turn.end.trim();
    // What the end of a call shares is the turn's own end; the rest is content's.
    let own = calls.map_or(end, |calls| {
        let shared = marks::shared_end(end, calls.section_close.trim()).len();
        end.get(..end.len() - shared).unwrap_or(end)
    });
    let close = marks::split(own).first().or(marks::split(end).first()).copied();
    close.into_iter().for_each(|mark| note(&mut content.closes, mark));
    for other in others {
        if !other.lead.is_empty() {
            note(&mut content.opens, &other.lead);
        }
        let tail = marks::split(&other.tail).first().copied();
        if !content.ends_at_calls {
            tail.into_iter().for_each(|mark| note(&mut content.closes, mark));
        }
    }
    content
}

fn note(marks: &mut Vec<String>, mark: &str) {
    if !marks.iter().any(|known| known == mark) {
        marks.push(mark.to_owned());
    }
}

/// What stands between reasoning, or the header, and content, and between content and a call, or the end.
fn sides(
    prober: &Prober,
    turn: &Turn,
    reasoning: Option<&Reasoning>,
    answer: &Answer,
    setting: &Setting,
) -> Option<Sides> {
    let body = turn.body(prober, answer, setting)?;
    let at = body.find(needle::CONTENT)?;
    let mut lead = body.get(..at)?;
    if answer.reasoning.is_some() {
        let thought = lead.find(needle::REASONING)?;
        let rest = lead.get(thought + needle::REASONING.len()..)?;
        let close = &reasoning?.close;
        lead = rest.get(rest.find(close)? + close.len()..)?;
    }
    let after = body.get(at + needle::CONTENT.len()..)?;
    let first = answer.calls.first();
    let end = first.and_then(|call| [after.find(&call.name), after.find(&call.id)].into_iter().flatten().min());
    let lead = without_empty(lead, reasoning);
    // What leads from one part to the next may open the turn once more.
    let mut lead = match lead.rfind(turn.header().trim()) {
        Some(at) if !turn.header().trim().is_empty() => lead.get(at + turn.header().trim().len()..)?,
        _ => lead.as_str(),
    };
    // A template that opens reasoning and never closes it shows content inside.
    if let Some(rest) = reasoning.and_then(|reasoning| lead.trim_start().strip_prefix(&reasoning.open)) {
        lead = rest;
    }
    let tail = after.get(..end.unwrap_or(after.len()))?;
    Some(Sides { lead: lead.trim().to_owned(), tail: tail.to_owned() })
}
