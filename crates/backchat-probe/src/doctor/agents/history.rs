//! Whether a conversation that goes on keeps its turns, and how a template begins and ends an answer.

use super::base::Base;
use super::said::{answer, result, user};
use crate::doctor::messages::with;
use crate::probe::needle;
use backchat_core::json::Value;

const A: &str = needle::CONTENT;
const R: &str = needle::REASONING;

/// The facts as they may be required; `generation_prompt` and `stop` are problems as well.
pub(super) const NAMES: [&str; 8] = [
    "agents.prefix_generation",
    "agents.prefix_chat",
    "agents.prefix_reasoning",
    "agents.prefix_tool",
    "agents.prefix_tool_reasoning",
    "agents.prefix_loop",
    "agents.generation_prompt",
    "agents.stop",
];

/// The facts that apply to a template.
pub(super) fn facts(base: &Base<'_, '_>) -> Vec<(&'static str, bool)> {
    let mut found: Vec<(&'static str, Option<bool>)> = Vec::new();
    let begins = |shorter: Option<String>, longer: Option<String>| Some(longer?.starts_with(&shorter?));
    let asked = || user(needle::USER);
    let chat = |message: Value| vec![asked(), message, user(needle::LATER)];
    let generated = begins(base.prompted(vec![asked()]), base.text(vec![asked(), answer(A)]));
    found.push(("prefix_generation", generated));
    let continued = begins(base.text(vec![asked(), answer(A)]), base.prompted(chat(answer(A))));
    found.push(("prefix_chat", continued));
    if let Some(key) = base.reasoning.first() {
        let thinking = with(answer(A), [(*key, R.into())]);
        let shorter = base.text(vec![asked(), thinking.clone()]).filter(|text| text.contains(R));
        found.push(("prefix_reasoning", begins(shorter, base.prompted(chat(thinking)))));
    }
    if base.calls.as_ref().is_some_and(|calls| calls.results) {
        found.extend(in_tool_loops(base));
    }
    let (bare, asked_for) = (base.text(vec![asked()]), base.prompted(vec![asked()]));
    let answered = base.text(vec![asked(), answer(A)]);
    found.push((
        "generation_prompt",
        bare.zip(asked_for).map(|(bare, asked_for)| {
            let is_needless = answered.as_ref().is_some_and(|text| text.starts_with(&format!("{bare}{A}")));
            asked_for != bare || is_needless
        }),
    ));
    let end = answered.as_deref().and_then(|text| text.rsplit_once(A));
    found.push(("stop", end.map(|(_, end)| !end.trim().is_empty())));
    found.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()
}

fn in_tool_loops(base: &Base<'_, '_>) -> Vec<(&'static str, Option<bool>)> {
    let begins =
        |shorter: &Option<String>, longer: &Option<String>| Some(longer.as_ref()?.starts_with(shorter.as_ref()?));
    let renders = |message: Value| {
        let called = vec![user(needle::USER), message];
        let answered = called.iter().cloned().chain([result(0, needle::RESULT)]).collect::<Vec<_>>();
        let done = answered.iter().cloned().chain([answer(A)]).collect::<Vec<_>>();
        let later = done.iter().cloned().chain([user(needle::LATER)]).collect::<Vec<_>>();
        [(called, false), (answered, true), (done, false), (later, true)]
            .map(|(messages, prompt)| base.with_tools(messages, prompt))
    };
    let [called, answered, ..] = renders(base.calling("", 1));
    let mut found = vec![("prefix_tool", begins(&called, &answered))];
    if let Some(key) = base.reasoning.first() {
        let [called, answered, done, later] = renders(with(base.calling("", 1), [(*key, R.into())]));
        let thinks = |text: &Option<String>| text.as_ref().is_some_and(|text| text.contains(R));
        found.push(("prefix_tool_reasoning", begins(&called, &answered).filter(|_| thinks(&called))));
        found.push(("prefix_loop", begins(&done, &later).filter(|_| thinks(&done))));
    }
    found
}
