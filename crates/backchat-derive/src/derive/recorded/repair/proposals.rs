//! The repairs that one sample suggests: variants for reasoning, content and calls in every combination.

use super::super::{Sample, read};
use super::align;
use super::edits::{self, Edit, Sighting};
use super::{Search, load, words};
use crate::derive::compile::Topic;
use crate::derive::recorded::compare;
use crate::derive::{may_be_reasoning, reasoning_field};
use crate::wire::marks::Segmentation;
use backchat_core::json::{Object, Value};
use backchat_core::text::slice;
use backchat_parser::parser::Event;
use backchat_parser::template::Template;
use backchat_probe::probe::Answer;

/// How many candidates one sample may suggest.
const MOST_EDITS: usize = 96;

/// How many intermediate templates are tried.
const MOST_STEPS: usize = 4 * MOST_EDITS;

/// The templates that one of the samples suggests, or why it suggests none.
pub(super) fn proposals(search: &Search<'_>, known: &Edit, sample: &Sample) -> Result<Vec<Edit>, String> {
    let Search { samples, trial, replaces } = *search;
    let message = sample.message.as_ref().and_then(Value::as_object);
    let message = message.ok_or("it has no expected message")?;
    let prefix = trial.prompt(sample);
    let mut found = reworded(known, sample, message, prefix);
    let mut unread = Vec::new();
    let mut waiting: Vec<(Edit, Vec<Topic>)> = vec![(known.clone(), Vec::new())];
    for _ in 0..MOST_STEPS {
        let Some((edit, repaired)) = waiting.pop().filter(|_| found.len() < MOST_EDITS) else { break };
        let Some(template) = load(&edit.template) else { continue };
        let own = reasoning_field(&template).map(str::to_owned);
        let said = align::read(message, own.as_deref());
        let impossible = |part: String| format!("its message is impossible: its text does not contain {part}");
        let alignment = align::align(&sample.text, &said).map_err(impossible)?;
        let read = read(sample, &template, prefix);
        // A template that gives up on the sample reads nothing of it.
        let (got, events, offset) =
            read.map_or_else(|_| Default::default(), |(read, offset)| (read.message, read.events, offset));
        let wrong = wrong_parts(&said, &got, own.as_deref());
        // Calls that the template reads need not be found in another way.
        if let Some(missing) = alignment.missing.clone().filter(|_| wrong.contains(&Topic::Calls)) {
            return Err(impossible(missing));
        }
        if wrong.is_empty() {
            found.extend(Some(edit).filter(|_| !repaired.is_empty()));
            continue;
        }
        // A part is repaired at most once: a second attempt would fail as well.
        let Some(&part) = wrong.iter().find(|part| !repaired.contains(part)) else { continue };
        let thought_end = match part {
            Topic::Reasoning if alignment.reasoning.is_some() => mark_end(&sample.text, &alignment),
            Topic::Reasoning => closed_at(&events, offset),
            Topic::Calls | Topic::Content => closed_at(&events, offset).max(left_out_at_start(&sample.text, &template)),
        };
        let thought_end = thought_end.min(sample.text.len());
        let unsaid = slice(&sample.text, ..thought_end);
        let seen = Sighting {
            text: &sample.text,
            alignment: &alignment,
            thought_end,
            is_repeated: samples.iter().filter(|other| other.text.starts_with(unsaid)).count() > 1,
            stop: stop_at(&sample.text, &template),
            own_reasoning: own.as_deref(),
            prompt_end: Segmentation::Words.last(slice(prefix, prefix.len().saturating_sub(offset)..)),
            prompt: prefix,
            replaces,
        };
        let edits = repairs(part, &edit, &seen);
        if edits.is_empty() && !unread.contains(&part) {
            unread.push(part);
        }
        let repaired = [repaired, vec![part]].concat();
        waiting.extend(edits.into_iter().rev().map(|edit| (edit, repaired.clone())));
    }
    if found.is_empty() {
        let parts: Vec<&str> = unread.iter().map(|part| name(*part)).collect();
        return Err(match parts.is_empty() {
            true => "every rule that its text suggests was tried, and none reads it".to_owned(),
            false => format!("no rule for the text around {} could be made from it", parts.join(" and ")),
        });
    }
    Ok(found)
}

/// The templates that read the sample because another word in a mark is read like a known one.
fn reworded(known: &Edit, sample: &Sample, message: &Object, prefix: &str) -> Vec<Edit> {
    let Some(template) = load(&known.template) else { return Vec::new() };
    let own = reasoning_field(&template);
    let said = align::read(message, own);
    let Ok(alignment) = align::align(&sample.text, &said) else { return Vec::new() };
    let reads = |text: &str| {
        let other = Sample { text: text.to_owned(), ..sample.clone() };
        read(&other, &template, prefix).is_ok_and(|(read, _)| wrong_parts(&said, &read.message, own).is_empty())
    };
    words::exchanged(known, &sample.text, &alignment, reads).collect()
}

/// The edits that may mend the reading of a part.
fn repairs(part: Topic, edit: &Edit, seen: &Sighting<'_>) -> Vec<Edit> {
    match part {
        Topic::Reasoning => edits::reasoning(edit, seen),
        Topic::Calls => edits::calls(edit, seen),
        Topic::Content if !seen.alignment.has_calls() => edits::content(edit, seen),
        // Text left over next to calls belongs to the marks of the calls, or to those of an answer that has others there.
        Topic::Content => {
            let others = [edits::around_calls(edit, seen), edits::outside(edit, seen)];
            let around = edits::calls(edit, seen).into_iter().chain(others.into_iter().flatten());
            around.chain(edits::content(edit, seen)).collect()
        }
    }
}

fn name(part: Topic) -> &'static str {
    match part {
        Topic::Reasoning => "the reasoning",
        Topic::Content => "`content`",
        Topic::Calls => "the calls",
    }
}

/// The parts that a template misreads, in the order to fix them: text that calls leave over is read as content.
fn wrong_parts(said: &Answer, got: &Object, own: Option<&str>) -> Vec<Topic> {
    let got = align::read(got, own);
    let same_calls = said.calls.len() == got.calls.len()
        && said.calls.iter().zip(&got.calls).all(|(said, got)| {
            let same = |a: &Object, b: &Object| compare::same(&Value::Object(a.clone()), &Value::Object(b.clone()));
            let is_same_id = said.id.is_empty() || said.id == got.id;
            said.name == got.name && same(&said.arguments, &got.arguments) && is_same_id
        });
    let is_wrong = [
        (Topic::Reasoning, said.reasoning != got.reasoning),
        (Topic::Calls, !same_calls),
        (Topic::Content, said.content != got.content),
    ];
    is_wrong.into_iter().filter_map(|(part, is_wrong)| is_wrong.then_some(part)).collect()
}

/// The end of the last reasoning region with its mark, in bytes of the text.
fn closed_at(events: &[Event], offset: usize) -> usize {
    let mut ends = events.iter().filter_map(|event| match event {
        Event::Close { field, span, .. } if may_be_reasoning(field) => Some(span.end),
        _ => None,
    });
    ends.next_back().unwrap_or(0).saturating_sub(offset)
}

/// The end of the mark after the reasoning of a sample.
fn mark_end(text: &str, alignment: &align::Alignment) -> usize {
    let Some(place) = &alignment.reasoning else { return 0 };
    let rest = slice(text, place.end..);
    let space = rest.len() - rest.trim_start().len();
    place.end + space + Segmentation::Words.first(rest).map_or(0, str::len)
}

/// The end of the marks that the template leaves out at the start of a text.
fn left_out_at_start(text: &str, template: &Template) -> usize {
    let close = template.field("content").and_then(|field| field.close.as_ref());
    let left_out = close.and_then(|close| close.pattern().find_at(text, 0).ok()?).map(|found| found.span());
    let is_before_all = |(start, end): &(usize, usize)| slice(text, ..*start).trim().is_empty() && *end < text.len();
    left_out.filter(is_before_all).map_or(0, |(_, end)| end)
}

/// The start of the stop: the last text that ends content, if the output ends with it.
fn stop_at(text: &str, template: &Template) -> usize {
    let close = template.field("content").and_then(|field| field.close.as_ref());
    let ends = close.into_iter().flat_map(|close| close.pattern().matches(text)).filter_map(Result::ok);
    let last = ends.last().filter(|found| found.span().1 == text.len());
    last.map_or(text.trim_end().len(), |found| found.span().0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::by_hand::{ANSWER, object, template};

    const CALLED: &str = r#"{"tool_calls": [{"function": {"name": "f", "arguments": {"a": "x"}}}]}"#;

    #[test]
    fn reasoning_is_repaired_before_calls_and_calls_before_content() {
        let said =
            align::read(&object(&CALLED.replace("{\"tool", r#"{"thinking": "Hm.", "content": "Yes.", "tool"#)), None);
        for (got, first) in [
            ("{}".to_owned(), Some(Topic::Reasoning)),
            (r#"{"thinking": "Hm."}"#.to_owned(), Some(Topic::Calls)),
            (CALLED.replace("{\"tool", r#"{"thinking": "Hm.", "tool"#), Some(Topic::Content)),
            (CALLED.replace("{\"tool", r#"{"reasoning": "Hm.", "content": "Yes.", "tool"#), None),
        ] {
            assert_eq!(wrong_parts(&said, &object(&got), None).first().copied(), first, "{got}");
        }
    }

    #[test]
    fn the_stop_and_the_end_of_reasoning_are_found_in_the_text() {
        let answer = template(ANSWER);
        assert_eq!(stop_at("Yes.<end>", &answer), 4);
        assert_eq!(stop_at("<end> of it \n", &answer), 11, "it does not end the text");
        let alignment = align::Alignment { reasoning: Some(3..6), ..align::Alignment::default() };
        assert_eq!(mark_end("<t>Hm.\n</t> Yes.", &alignment), 11);
        assert_eq!(mark_end("Yes.", &align::Alignment::default()), 0);
    }

    #[test]
    fn marks_that_content_leaves_out_at_the_start_are_no_part_of_a_call() {
        let marked = template(&ANSWER.replace(r#""close": "<end>""#, r#""close_pattern": "<say>|<end>""#));
        for (text, end) in [("<say><call>f", 5), ("\n<say>Yes.<end>", 6), ("Yes.<say>No.<end>", 0), ("<end>", 0)] {
            assert_eq!(left_out_at_start(text, &marked), end, "{text:?}");
        }
    }
}
