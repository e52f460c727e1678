//! Finds the parts of marks that repeat a conversation: what came before the turn, the tools, or the turn's own values.

use super::shapes;
use super::structure::History;
use super::template_usage::TemplateUsage;
use super::trace::{Slot, SlotKind, Trace};
use backchat_core::text::{common_start, slice};
use backchat_probe::probe::steady::{OWN, Varying};
use backchat_probe::probe::{Answer, Call, Message, Prober, Setting, describe, needle};

/// Stands for a value of the turn that is written as it is.
const VALUE: &str = "{Qzownq";

/// Stands for the id of a call.
const ID: &str = "Qzidq";

/// Other texts, ids and names than those of the probes. No two begin alike.
const TEXTS: [&str; 2] = ["Other\nwords of it, all of them.", "Quite 9 of them"];
const IDS: [&str; 2] = ["Xd8yyyyyy", "8zId7xxxx"];
const NAMES: [&str; 2] = ["other_tool.v2", "Find"];
const DESCRIPTIONS: [&str; 2] = ["Other words of it, all of them", "Quite 9 of them"];

/// Finds what the marks of a turn repeat of the history and of the tools.
pub(super) fn of_history(found: &mut Varying, prober: &Prober<'_>) {
    let content = shapes::content();
    for after in History::ALL {
        let usual = turn(prober, shapes::history(after), after, &content);
        compare(found, usual, |at| turn(prober, other_history(after, at)?, after, &content));
    }
    let called = Answer::calls(shapes::calls(1));
    let offer = |at: Option<usize>| {
        let made = Message::Assistant(Answer {
            calls: others(at).iter().chain(&called.calls).cloned().collect(),
            ..called.clone()
        });
        let mut tools = prober.request_shape().tools(&[made]);
        at.and_then(|at| DESCRIPTIONS.get(at)).into_iter().for_each(|text| describe(&mut tools, text));
        prober.offering(Some(tools))
    };
    for answer in [content, called.clone()] {
        let user = History::User;
        let usual = turn(&offer(None), shapes::history(user), user, &answer);
        compare(found, usual, |at| turn(&offer(Some(at)), shapes::history(user), user, &answer));
    }
}

/// Finds what the marks of reasoning repeat of the question.
pub(super) fn of_question(found: &mut Varying, prober: &Prober<'_>, usage: &TemplateUsage) {
    let Some(input) = usage.reasoning_inputs.first() else { return };
    let prober = prober.with_reasoning(Some(input));
    let ([thought, ..], user) = (shapes::thoughts(), History::User);
    let usual = turn(&prober, shapes::history(user), user, &thought);
    compare(found, usual, |at| turn(&prober, other_history(user, at)?, user, &thought));
}

/// The same, plus what they repeat of the turn's own values.
pub(crate) fn of_turn(varying: &Varying, prober: &Prober<'_>, usage: &TemplateUsage) -> Varying {
    let mut found = varying.clone();
    of_call(&mut found, prober);
    of_calls(&mut found, prober);
    of_texts(&mut found, prober, usage);
    found
}

/// Compares a turn with two others, if the first of them differs.
fn compare(found: &mut Varying, usual: Option<String>, other: impl Fn(usize) -> Option<String>) {
    let (Some(usual), Some(first)) = (usual, other(0)) else { return };
    if usual != first {
        let texts: Vec<String> = [usual, first].into_iter().chain(other(1)).collect();
        found.echoes(&texts);
    }
}

/// The text of a turn after its prompt: before that, it may end the last message of the history.
fn turn(prober: &Prober<'_>, mut messages: Vec<Message>, after: History, answer: &Answer) -> Option<String> {
    let prompt = prober.render(&messages, &Setting::new(), true)?;
    messages.push(Message::Assistant(answer.clone()));
    let text = prober.render(&messages, &Setting::new(), false)?;
    let (text, prompt) = (after.turn(&text, Some(&prompt))?, after.rest(&prompt)?);
    Some(slice(text, common_start(prompt, text).len()..).to_owned())
}

/// A history of the same kind with other texts, ids and names.
fn other_history(kind: History, at: usize) -> Option<Vec<Message>> {
    let [text, id, name] = [TEXTS.get(at)?, IDS.get(at)?, NAMES.get(at)?].map(|text| (*text).to_owned());
    let last = kind.last_needle();
    // The needle of the last message tells where the turn begins.
    let said = |known: &str| if known == last { format!("{text} {last}") } else { text.clone() };
    let other = |message| match message {
        Message::System(_) => Message::System(text.clone()),
        Message::User(known) => Message::User(said(&known)),
        Message::Tool { content, .. } => Message::Tool { id: id.clone(), name: name.clone(), content: said(&content) },
        Message::Assistant(mut answer) => {
            answer.content = answer.content.map(|_| text.clone());
            for call in &mut answer.calls {
                (call.id, call.name) = (id.clone(), name.clone());
            }
            Message::Assistant(answer)
        }
        changed @ Message::Changed(..) => changed,
    };
    Some(shapes::history(kind).into_iter().map(other).collect())
}

/// Calls of other tools.
fn others(at: Option<usize>) -> Vec<Call> {
    let name = at.and_then(|at| NAMES.get(at));
    name.map(|name| Call { name: (*name).to_owned(), ..shapes::call(1, 1) }).into_iter().collect()
}

/// The text of a turn around the arguments of its calls; `None` if they are not written as one value each.
fn around_arguments(prober: &Prober<'_>, calls: &[Call]) -> Option<Vec<String>> {
    let answer = Answer::calls(calls.to_vec());
    let text = turn(prober, shapes::history(History::User), History::User, &answer)?;
    let trace = Trace::new(&text, &answer);
    let without_ids = |part: &str| calls.iter().fold(part.to_owned(), |part, call| part.replace(&call.id, ID));
    let mut parts = Vec::new();
    let mut at = 0;
    for call in 0..calls.len() {
        let is_whole = |slot: &&Slot| matches!(slot.kind, SlotKind::Arguments(..));
        let arguments = trace.of_call(call).find(is_whole)?.range.clone();
        parts.push(without_ids(slice(&text, at..arguments.start)));
        at = arguments.end;
    }
    parts.push(without_ids(slice(&text, at..)));
    Some(parts)
}

/// What stands for the name of a call.
fn own_name() -> String {
    OWN.to_string()
}

/// Finds what the marks of one call repeat of its name and its keys.
fn of_call(found: &mut Varying, prober: &Prober<'_>) {
    let text = |(index, arguments): (usize, usize)| {
        let call = shapes::call(index, arguments);
        let parts = around_arguments(prober, std::slice::from_ref(&call))?;
        Some(parts.join(VALUE).replace(&call.name, &own_name()))
    };
    let texts: Option<Vec<String>> = [(0, 2), (1, 1), (2, 0)].into_iter().map(text).collect();
    found.echoes(&texts.unwrap_or_default());
}

/// Finds what the marks of several calls repeat of the names of all calls, before the first one or after each.
fn of_calls(found: &mut Varying, prober: &Prober<'_>) {
    let parts: Option<Vec<_>> = (1..4).map(|count| around_arguments(prober, &shapes::calls(count))).collect();
    let Some([one, two, three]) = parts.as_deref() else { return };
    let ([one, ..], [before, between, ..], [_, second, third, _]) = (one.as_slice(), two.as_slice(), three.as_slice())
    else {
        return;
    };
    let names = shapes::calls(3).into_iter().map(|call| call.name).collect::<Vec<_>>();
    let [first, others @ ..] = names.as_slice() else { return };
    let is_listed = others.iter().any(|name| before.contains(name.as_str()));
    let count = if is_listed { 1 } else { one.matches(first.as_str()).count() };
    let own = |text: &str, call: usize| {
        let mut text = [text, VALUE].concat();
        if let Some(name) = call.checked_sub(1).and_then(|before| names.get(before)) {
            text = text.replace(name, &own_name());
        }
        let places = names
            .get(call)
            .map(|name| text.rmatch_indices(name.as_str()).take(count).map(|(at, _)| at..at + name.len()));
        let places: Vec<_> = places.into_iter().flatten().collect();
        places.into_iter().for_each(|place| text.replace_range(place, &own_name()));
        text
    };
    let firsts = [one, before].into_iter().chain(three.first());
    found.echoes(&firsts.map(|text| own(text, 0)).collect::<Vec<_>>());
    found.echoes(&[own(between, 1), own(second, 1), own(third, 2)]);
}

/// Finds what marks repeat of the answer, and of its reasoning.
fn of_texts(found: &mut Varying, prober: &Prober<'_>, usage: &TemplateUsage) {
    let [other, third] = TEXTS;
    let texts = |known| [known, other, third];
    let render = |prober: &Prober<'_>, answer: &Answer, said: &str| {
        let text = turn(prober, shapes::history(History::User), History::User, answer)?;
        let (before, after) = text.rsplit_once(said)?;
        Some([before, VALUE, after].concat())
    };
    let said = texts(needle::CONTENT).map(|text| render(prober, &Answer::content(text), text));
    found.echoes(&said.into_iter().flatten().collect::<Vec<_>>());
    let Some(input) = usage.reasoning_inputs.first() else { return };
    let prober = prober.with_reasoning(Some(input));
    let thought = |text: &str| render(&prober, &shapes::content().with_reasoning(text), text);
    found.echoes(&texts(needle::REASONING).iter().filter_map(|text| thought(text)).collect::<Vec<_>>());
}

#[cfg(test)]
mod tests {
    use super::super::support::with_prober;
    use super::super::template_usage;
    use super::*;
    use backchat_chat::ChatTemplate;
    use backchat_core::json::Object;
    use backchat_probe::probe::steady::echo;

    /// A text with `E` for each echo that is found in turns with these marks before content and around each call.
    fn steady(before: &str, call: &str, text: &str) -> String {
        let source = format!(
            "{{% for m in messages %}}{{% if m.role == 'assistant' %}}<bot>{before}{{{{ m.content }}}}{{% for c in m.tool_calls %}}\
             {{% set f = c.function %}}{call}{{% endfor %}}{{% else %}}<{{{{ m.role }}}}>{{{{ m.content }}}}{{% endif %}}<end>\
             {{% endfor %}}{{% if add_generation_prompt %}}<bot>{{% endif %}}"
        );
        let template = ChatTemplate::compile(&source).unwrap();
        with_prober(&source, |prober| {
            let usage = template_usage::find(&template, prober, &Object::new());
            let mut found = Varying::default();
            of_history(&mut found, prober);
            of_question(&mut found, prober, &usage);
            of_turn(&found, prober, &usage).steady(text.to_owned()).replace(|c| echo(c).is_some(), "E")
        })
    }

    const JSON: &str = "{{ f.arguments | tojson }}";

    #[test]
    fn what_a_mark_repeats_of_the_history_or_of_the_tools_is_any_text() {
        let result = "{% if loop.previtem.role == 'tool' %}";
        for (before, text, expected) in [
            (format!("{result}<seen {{{{ loop.previtem.tool_call_id }}}}>{{% endif %}}"), "<seen a1>", "<seen E>"),
            (
                format!("{result}<from>{{{{ loop.previtem.name }}}}</from>{{% endif %}}"),
                "<from>f</from>",
                "<from>E</from>",
            ),
            (
                "{% if messages[0].role == 'system' %}<as {{ messages[0].content[:5] }}>{% endif %}".into(),
                "<as Be b>",
                "<as E>",
            ),
            ("{% if tools %}<of {{ tools[0].function.name }}>{% endif %}".into(), "<of f>", "<of E>"),
            // The last message itself, which is then no end of the history.
            (
                "{% if loop.previtem.role == 'user' %}Re: {{ loop.previtem.content.split('\n')[0] }}\n{% endif %}"
                    .into(),
                "Re: me\nHi",
                "Re: E\nHi",
            ),
            (
                format!("{result}[seen]{{{{ loop.previtem.content }}}}[/seen]{{% endif %}}"),
                "[seen]{\"a\":\n[1]}[/seen]",
                "[seen]E[/seen]",
            ),
            ("{% if tools %}# {{ tools[0].function.description }}\n<a>{% endif %}".into(), "# Do.\n<a>", "# E\n<a>"),
            ("{% if tools %}<a> // {{ tools[0].function.description }}\n<b>{% endif %}".into(), "<a> // Do.\n<b>", "<a> // E\n<b>"),
            (
                "{% if tools %}{% for p in tools[0].function.parameters.properties.values() %}<a of=\"{{ p.description }}\">{% endfor %}\
                 {% endif %}".into(),
                "<a of=\"Do.\">",
                "<a of=\"E\">",
            ),
            // In the mark of reasoning alone.
            (
                "{% if m.thinking %}<think about=\"{{ loop.previtem.content }}\">{{ m.thinking }}</think>{% endif %}".into(),
                "<think about=\"me\">",
                "<think about=\"E\">",
            ),
            // A word of the template's own.
            (format!("{result}<seen it>{{% endif %}}"), "<seen it>", "<seen it>"),
        ] {
            assert_eq!(steady(&before, "", text), expected, "{before}");
        }
    }

    #[test]
    fn what_the_mark_of_a_call_repeats_of_it_is_any_text() {
        for (call, text, expected) in [
            (
                "<f {{ f.name }} keys=\"{{ f.arguments | join(',') }}\">{J}</f>",
                "<f g keys=\"a,b\">",
                "<f g keys=\"E\">",
            ),
            ("<f {{ f.name }} {{ f.name | upper }}>{J}</f>", "<f g G>", "<f g E>"),
            (
                "<f {{ f.name }}>{J}</f><next>{{ 'wait' if loop.last else loop.nextitem.function.name }}</next>",
                "<next>wait</next>",
                "<next>E</next>",
            ),
            // The name of the call itself is a value, also if it is written again.
            ("<f {{ f.name }}>{J}</f {{ f.name }}>", "<f g>{}</f g>", "<f g>{}</f g>"),
            ("<f {{ f.name }} {{ c.id }}>{J}</f>", "<f g i>{}</f>", "<f g i>{}</f>"),
        ] {
            assert_eq!(steady("", &call.replace("{J}", JSON), text), expected, "{call}");
        }
    }
}
