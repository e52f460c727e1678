//! Parts of a turn that are written as JSON: a string in quotes, or the whole turn as one object.

use super::calls;
use super::shapes;
use super::structure::{Calls, Content, History, MessageObject, Reasoning};
use super::trace::SlotKind;
use super::turn::Turns;
use backchat_core::json::{self, Value};
use backchat_probe::probe::needle::{self, ODD};
use backchat_probe::probe::{Answer, Setting};

/// Treats the quotes of a JSON string as part of the value.
pub(crate) fn unquote(
    turns: Turns<'_, '_>,
    reasoning: Option<&mut Reasoning>,
    content: &mut Content,
    end: &mut String,
) {
    if let Some(reasoning) = reasoning
        && let Some(open) = reasoning.open.trim_end().strip_suffix('"')
        && let Some(close) = reasoning.close.trim_start().strip_prefix('"')
    {
        let prober = turns.prober.with_reasoning(reasoning.first_input());
        let answer = Answer::content(needle::CONTENT).with_reasoning(ODD);
        if is_json(Turns { prober: &prober, ..turns }, &answer, &reasoning.setting) {
            (reasoning.open, reasoning.close, reasoning.is_json) = (open.to_owned(), close.to_owned(), true);
        }
    }
    let Some(open) = content.open.trim_end().strip_suffix('"').map(str::to_owned) else { return };
    let close = match content.close.trim() {
        "" => &mut *end,
        _ => &mut content.close,
    };
    if let Some(rest) = close.trim_start().strip_prefix('"')
        && is_json(turns, &Answer::content(ODD), &Setting::new())
    {
        *close = rest.to_owned();
        (content.open, content.is_json) = (open, true);
    }
}

/// Takes the empty JSON string of a turn without content from the text before its calls: it is content.
pub(crate) fn without_empty_content(calls: &mut Calls) {
    for text in calls.cuts.iter_mut().flat_map(|cut| [&mut cut.section, &mut cut.open]) {
        if let Some(rest) = text.trim_start().strip_prefix("\"\"") {
            *text = rest.to_owned();
        }
    }
}

/// Whether text with special characters is escaped as a JSON string.
fn is_json(turns: Turns<'_, '_>, answer: &Answer, setting: &Setting) -> bool {
    let Some(trace) = turns.trace(History::User, answer, setting) else { return false };
    let at = ODD.split('"').next().and_then(|lead| trace.text.find(&format!("\"{lead}")));
    let value = at.and_then(|at| json::value_at(&trace.text, at));
    value.is_some_and(|(value, _)| value.as_str() == Some(ODD))
}

/// The members of a turn that is one JSON object.
pub(crate) fn message(
    turns: Turns<'_, '_>,
    reasoning: Option<&Reasoning>,
    calls: Option<&Calls>,
) -> Option<MessageObject> {
    let setting = calls.map(|calls| calls.setting.clone()).or(reasoning.map(|reasoning| reasoning.setting.clone()));
    let thought = reasoning.filter(|reasoning| reasoning.first_input().is_some()).map(|_| needle::REASONING.to_owned());
    let answer = Answer {
        content: Some(ODD.to_owned()),
        reasoning: thought.clone(),
        calls: calls.map_or_else(Vec::new, |_| shapes::calls(2)),
    };
    let trace = turns.trace(History::User, &answer, &setting.unwrap_or_default())?;
    let plain = turns.trace(History::User, &shapes::content(), &Setting::new())?;
    let own = plain.slot(SlotKind::Content)?.range.start;
    let is_object = plain.text.match_indices('{').take_while(|(at, _)| *at < own).any(|(at, _)| {
        json::value_at(&plain.text, at)
            .is_some_and(|(value, end)| end > own && key_of(&value, needle::CONTENT).is_some())
    });
    let objects = trace.text.match_indices('{').filter_map(|(at, _)| Some(json::value_at(&trace.text, at)?.0));
    let value = objects.filter(|_| is_object).find(|value| key_of(value, ODD).is_some())?;
    let reasoning = match &thought {
        Some(thought) => Some(key_of(&value, thought)?),
        None => None,
    };
    let listed = |call| {
        value.as_object()?.iter().find_map(|(key, value)| {
            let items = value.as_list().filter(|items| items.len() == 2)?;
            Some((key.to_owned(), calls::object(items.first()?, call)?))
        })
    };
    let calls = match answer.calls.first() {
        Some(call) => Some(listed(call).filter(|(_, object)| object.name.is_some())?),
        None => None,
    };
    let keys = value.as_object()?.keys().map(str::to_owned).collect();
    Some(MessageObject { keys, content: key_of(&value, ODD)?, reasoning, calls })
}

fn key_of(value: &Value, text: &str) -> Option<String> {
    value.as_object()?.iter().find(|(_, value)| value.as_str() == Some(text)).map(|(key, _)| key.to_owned())
}

#[cfg(test)]
mod tests {
    use super::super::marks::Segmentation;
    use super::super::support::{chat_template, with_prober};
    use super::*;

    #[test]
    fn the_quotes_of_a_json_string_are_part_of_the_value() {
        let quoted = || Content { open: "<say>\"".to_owned(), close: "\"</say>".to_owned(), ..Content::default() };
        for (answer, is_json) in [
            ("<say>{{ m.content | tojson }}</say>", true),
            // Quotes without escapes are not JSON.
            ("<say>\"{{ m.content }}\"</say>", false),
        ] {
            with_prober(&chat_template(answer), |prober| {
                let turns = Turns { prober, segmentation: Segmentation::Words, trailing: &[] };
                let mut content = quoted();
                unquote(turns, None, &mut content, &mut String::new());
                assert_eq!(content.is_json, is_json, "{answer}");
                let bare = Content { open: "<say>".to_owned(), close: "</say>".to_owned(), is_json, ..quoted() };
                assert_eq!(content, if is_json { bare } else { quoted() });
            });
        }
    }

    #[test]
    fn a_turn_that_is_one_object_has_members() {
        for (answer, found) in [
            ("{{ {'say': m.content, 'size': 1} | tojson }}", Some("say")),
            ("<{{ {'say': m.content} | tojson }}>", Some("say")),
            ("{{ m.content }}", None),
            ("[{{ m.content | tojson }}]", None),
        ] {
            with_prober(&chat_template(answer), |prober| {
                let turns = Turns { prober, segmentation: Segmentation::Words, trailing: &[] };
                let message = message(turns, None, None);
                assert_eq!(message.as_ref().map(|message| message.content.as_str()), found, "{answer}");
            });
        }
    }
}
