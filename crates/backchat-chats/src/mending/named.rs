//! Conversations for what is repaired only by name: prompts, stops, and turns that stay as a conversation goes on.

use super::prompts;
use super::trial::{Chain, Endings, Trial};
use backchat_core::json::{Object, Value};
use backchat_core::text::common_end;
use backchat_probe::doctor::agents::said::{answer, result, system, user};
use backchat_probe::doctor::agents::{Base, Case, Problem};
use backchat_probe::doctor::messages::with;
use backchat_probe::probe::marks::Segmentation;
use backchat_probe::probe::{context, needle};

const U: &str = needle::USER;
const A: &str = needle::CONTENT;
const LATER: &str = needle::LATER;
const THOUGHTS: [&str; 2] = [needle::REASONING, needle::BEFORE];

/// The conversations of a prompt and of a stop; `turns_change` if a repair may change turns that are not the last.
pub(super) fn cases(base: &Base<'_, '_>, turns_change: bool) -> Vec<Case> {
    let chats = [vec![user(U)], vec![user(U), answer(A), user(LATER)]];
    let chats = chats.iter().take(if turns_change { 1 } else { 2 });
    chats.filter_map(|messages| prompts::prompted(base, messages)).chain(stop(base)).collect()
}

/// What a stop and a prompt that are missing should write.
pub(super) fn endings(base: &Base<'_, '_>) -> Endings {
    let stop = ends(base).map(|ends| ends.close.trim().to_owned());
    Endings { stop: stop.unwrap_or_default(), prompts: prompts::opens(base) }
}

/// How answers end.
struct Ends {
    /// A conversation whose answer is the last message.
    last: String,
    /// What is after that answer.
    end: String,
    /// What ends an answer that others follow.
    close: String,
}

fn ends(base: &Base<'_, '_>) -> Option<Ends> {
    let chat = vec![user(U), answer(A), user(LATER)];
    let last = base.text(chat.get(..2)?.to_vec())?;
    let end = last.rsplit_once(A)?.1.to_owned();
    let (before, rest) = base.text(chat).and_then(|text| {
        let (before, rest) = text.split_once(U)?;
        Some((before.to_owned(), rest.split_once(A)?.1.split_once(LATER)?.0.to_owned()))
    })?;
    let close = match rest.strip_suffix(common_end(&before, &rest)) {
        Some(close) if !close.trim().is_empty() => close.to_owned(),
        // A turn before the user's ends as the answer does: the first mark ends it.
        _ => {
            let mut marks = Segmentation::default().marks(&rest).into_iter();
            let first = marks.by_ref().find(|mark| !mark.trim().is_empty())?;
            marks
                .next()
                .filter(|mark| mark.trim().is_empty())
                .map_or(first.to_owned(), |blank| format!("{first}{blank}"))
        }
    };
    Some(Ends { last, end, close })
}

/// The end of earlier answers, which the last one should have as well.
fn stop(base: &Base<'_, '_>) -> Option<Case> {
    let Ends { last, end, close } = ends(base)?;
    let ended = |close: &str| {
        let before = last.strip_suffix(end.as_str()).and_then(|text| text.strip_suffix(A)).unwrap_or_default();
        format!("{before}{A}{close}")
    };
    let accepted =
        if end.trim().is_empty() { vec![ended(&close), ended(close.trim_end())] } else { vec![last.clone()] };
    let chat = base.conversation(vec![user(U), answer(A)], None, false);
    let (problem, needles, as_assistant) = (Problem::Stop, Vec::new(), None);
    Some(Case { problem, shape: "chat", chat, accepted, needles, as_assistant })
}

/// The variables that keep every turn as it was first rendered without an edit, each with its value.
pub(super) fn settings(base: &Base<'_, '_>, trial: &Trial) -> Vec<String> {
    const MOST: usize = 12;
    let template = base.probe.template();
    let given = |name: &&String| trial.tests.first().is_some_and(|test| test.context.contains_key(name.as_str()));
    let names = template.variables().iter().filter(|name| !given(name) && !name.ends_with("_token")).take(MOST);
    let tries = names.flat_map(|name| [true, false].map(|value| (name, value)));
    let keeps = |(name, value): &(&String, bool)| trial.all_hold_with(template, name, &(*value).into());
    tries.filter(keeps).map(|(name, value)| format!("{name}={value}")).collect()
}

/// Conversations that go on after an answer, a call or a result, each with the place where its beginning ends.
pub(super) fn chains(base: &Base<'_, '_>, variables: &Object) -> Vec<Chain> {
    let key = base.reasoning.first();
    let think = |message: Value, thought: &str| match key {
        Some(key) => with(message, [(*key, thought.into())]),
        None => message,
    };
    let mut found = Vec::new();
    let mut add = |messages: Vec<Value>, at: usize, tools: Option<&Value>| {
        let render = |messages: Vec<Value>, prompt: bool| {
            let chat = base.conversation(messages, tools, prompt);
            let mut variables = variables.clone();
            variables.extend(chat.variables.iter().map(|(name, value)| (name.to_owned(), value.clone())));
            context(&variables, &chat.messages, &Value::Null, chat.prompt)
        };
        let text = Value::List(messages.clone()).to_string();
        let thoughts = THOUGHTS.into_iter().filter(|thought| text.contains(thought)).collect();
        let shorter = messages.get(..at).unwrap_or_default().to_vec();
        found.push(Chain { shorter: render(shorter, false), longer: render(messages, true), thoughts });
    };
    let plain = [user(U), answer(A), user(LATER), answer(needle::ANSWER), user(needle::AFTER)];
    let [asked, one, later, other, last] = plain.clone();
    let thinking = [asked, think(one, THOUGHTS[0]), later, think(other, THOUGHTS[1]), last];
    let offered = base.call_tools();
    let calls = base.calls.as_ref().is_some_and(|calls| calls.results);
    for (turns, thinks) in [(&plain, false), (&thinking, true)] {
        if thinks && key.is_none() {
            continue;
        }
        let shown = turns.get(..2).and_then(|turns| base.text(turns.to_vec()));
        if shown.is_some_and(|text| !thinks || text.contains(THOUGHTS[0])) {
            for head in [vec![], vec![system(needle::SYSTEM)]].into_iter().take(1 + usize::from(base.system)) {
                let all: Vec<Value> = head.iter().chain(turns).cloned().collect();
                let first = head.len() + 2;
                add(all.get(..=first).unwrap_or_default().to_vec(), first, None);
                add(all.clone(), first + 2, None);
                add(all, first, None);
            }
        }
        if calls {
            let call = if thinks { think(base.calling("", 1), THOUGHTS[0]) } else { base.calling("", 1) };
            let done = if thinks { think(answer(A), THOUGHTS[1]) } else { answer(A) };
            let all = vec![user(U), call, result(0, needle::RESULT), done, user(LATER)];
            add(all.get(..3).unwrap_or_default().to_vec(), 2, offered);
            add(all.clone(), 4, offered);
            if thinks {
                add(all, 2, offered);
            }
        }
    }
    found
}
