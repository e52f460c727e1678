//! Reasoning that comes after the answer or the calls.

use super::shapes;
use super::structure::{History, Reasoning};
use super::template_usage::TemplateUsage;
use super::trace::{SlotKind, Trace};
use super::turn::Turns;
use backchat_probe::probe::{ReasoningInput, Setting};

/// Finds reasoning that renders show after another part of the turn. Its key must mention reasoning: a note or a list of
/// sources may come there as well.
pub(crate) fn find(turns: Turns<'_, '_>, usage: &TemplateUsage, end: &str) -> Option<Reasoning> {
    let inputs = usage.reasoning_inputs.iter().filter(|input| input.is_named_for_reasoning());
    inputs.flat_map(|input| usage.settings.iter().map(move |setting| (input, setting))).find_map(|(input, setting)| {
        let around = around(turns, input, setting, end)?;
        self::around(turns, &input.unread(), setting, end).is_none().then(|| Reasoning {
            open: around.0,
            close: around.1,
            reasoning_inputs: vec![input.clone()],
            setting: setting.clone(),
            is_late: true,
            ..Reasoning::default()
        })
    })
}

/// The text before and after reasoning that all renders with reasoning share.
fn around(turns: Turns<'_, '_>, input: &ReasoningInput, setting: &Setting, end: &str) -> Option<(String, String)> {
    let prober = turns.prober.with_reasoning(Some(input));
    let shown = Turns { prober: &prober, ..turns };
    let traces: Vec<Trace> =
        shapes::thoughts().iter().filter_map(|answer| shown.trace(History::User, answer, setting)).collect();
    let is_late = |trace: &Trace| trace.slots.first().is_some_and(|slot| slot.kind != SlotKind::Reasoning);
    if !traces.iter().any(is_late) {
        return None;
    }
    let found = traces.iter().filter_map(|trace| around_reasoning(trace, end));
    let found = found.map(|(before, after)| (before.to_owned(), after.to_owned()));
    let marks = turns.segmentation;
    let (mut open, close) = found.reduce(|(open, close), (before, after)| {
        (marks.shared_end(&open, &before).to_owned(), marks.shared_start(&close, &after).to_owned())
    })?;
    // What closes an answer, even an empty one, also follows one without reasoning.
    if let Some(plain) = shown.trace(History::User, &shapes::content(), setting) {
        let closing = marks.shared_start(&open, plain.tail());
        if !closing.trim().is_empty() {
            open.drain(..closing.len());
        }
    }
    (open.trim().chars().count() > 1).then_some((open, close))
}

/// The text on both sides of reasoning, up to the other values or the ends of the turn. Alone it is first: then the text
/// before it has its opening mark without what closes another part.
fn around_reasoning<'t>(trace: &'t Trace, end: &str) -> Option<(&'t str, &'t str)> {
    let at = trace.slots.iter().position(|slot| slot.kind == SlotKind::Reasoning)?;
    let own = trace.slots.get(at)?.range.clone();
    let before = at.checked_sub(1).and_then(|at| trace.slots.get(at)).map_or(0, |slot| slot.range.end);
    let after = match trace.slots.get(at + 1) {
        Some(next) => trace.get(own.end..next.range.start),
        None => {
            let rest = trace.rest(own.end);
            rest.find(end.trim()).filter(|_| !end.trim().is_empty()).and_then(|at| rest.get(..at)).unwrap_or(rest)
        }
    };
    Some((trace.get(before..own.start), after))
}

#[cfg(test)]
mod tests {
    use super::super::marks::Segmentation;
    use super::super::support::{chat_template, with_prober};
    use super::super::template_usage;
    use super::*;
    use backchat_chat::ChatTemplate;
    use backchat_core::json::Object;

    #[test]
    fn reasoning_after_another_part_has_its_own_marks() {
        let why = "{% if m.reasoning %}<why>{{ m.reasoning }}</why>{% endif %}";
        let calls = "{% for c in m.tool_calls %}<do>{{ c.function.name }}</do>{% endfor %}";
        for (answer, found) in [
            (format!("{{{{ m.content }}}}{calls}{why}"), Some(("<why>", "</why>"))),
            (format!("{{{{ m.content }}}}{why}{calls}"), Some(("<why>", "</why>"))),
            // What closes the answer does not open reasoning.
            (
                format!("{{% if m.content %}}<say>{{{{ m.content }}}}</say>{{% endif %}}{why}{calls}"),
                Some(("<why>", "</why>")),
            ),
            (format!("<say>{{{{ m.content or '' }}}}</say>{why}{calls}"), Some(("<why>", "</why>"))),
            // Reasoning that comes first is found elsewhere.
            (format!("{why}{{{{ m.content }}}}"), None),
            // A note is not reasoning.
            (format!("{{{{ m.content }}}}{}", why.replace("reasoning", "sources")), None),
            // Nothing marks where it begins.
            ("{{ m.content }}{{ m.reasoning }}".to_owned(), None),
        ] {
            let source = chat_template(&answer);
            let template = ChatTemplate::compile(&source).unwrap();
            with_prober(&source, |prober| {
                let usage = template_usage::find(&template, prober, &Object::new());
                let turns = Turns { prober, segmentation: Segmentation::Words, trailing: &[] };
                let late = find(turns, &usage, "<|end|>");
                let marks = late.as_ref().map(|late| (late.open.as_str(), late.close.as_str()));
                assert_eq!(marks, found, "{answer}");
                assert!(late.is_none_or(|late| late.is_late));
            });
        }
    }
}
