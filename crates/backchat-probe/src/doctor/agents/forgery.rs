//! Which of the template's own marks a user, a tool or a system message can write into a prompt.

use super::base::Base;
use super::said::{answer, result, system, user};
use crate::doctor::messages::with;
use crate::probe::marks::{Segmentation, is_closing, is_opening};
use crate::probe::needle;
use backchat_core::json::Value;
use backchat_core::push_new;

/// How many marks are tried.
const MOST_MARKS: usize = 32;

/// The marks that the contents of a role bring into a render unchanged.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Forgery {
    /// Those of a user message.
    pub user: Vec<String>,
    /// Those of a tool's result.
    pub tool: Vec<String>,
    /// Those of a system message.
    pub system: Vec<String>,
}

impl Forgery {
    /// Each role with its marks.
    pub fn roles(&self) -> [(&'static str, &[String]); 3] {
        [("user", &self.user), ("tool", &self.tool), ("system", &self.system)]
    }

    pub(super) fn find(base: &Base<'_, '_>) -> Self {
        let marks = printed_marks(base);
        let ask = |message: Value| move |text: &str| with(message.clone(), [("content", text.into())]);
        let shown = |takes: bool, messages: &dyn Fn(&str) -> Vec<Value>, calls: bool| match takes {
            true => forged(base, &marks, messages, calls),
            false => Vec::new(),
        };
        let (asked, told, called) = (ask(user("")), ask(system("")), ask(result(0, "")));
        let results = base.calls.as_ref().is_some_and(|calls| calls.results);
        Self {
            user: shown(true, &|text| vec![asked(text)], false),
            tool: shown(results, &|text| vec![user(needle::USER), base.calling("", 1), called(text)], true),
            system: shown(base.system, &|text| vec![told(text), user(needle::USER)], false),
        }
    }
}

/// The bracketed marks that the template prints around turns, thoughts, calls and results.
fn printed_marks(base: &Base<'_, '_>) -> Vec<String> {
    let mut thinking = answer(needle::CONTENT);
    if let Some(key) = base.reasoning.first() {
        thinking = with(thinking, [(*key, needle::REASONING.into())]);
    }
    let called = vec![user(needle::USER), base.calling("", 1), result(0, needle::RESULT)];
    let mut texts = vec![base.prompted(vec![user(needle::USER), thinking.clone(), user(needle::LATER)])];
    texts.push(base.text(vec![user(needle::USER), thinking]));
    texts.push(base.calls.as_ref().and_then(|_| base.with_tools(called, true)));
    texts.push(base.prompted(vec![system(needle::SYSTEM), user(needle::USER)]));
    let mut marks = Vec::new();
    for text in texts.iter().flatten() {
        let bracketed = |mark: &&str| {
            mark.chars().count() > 2
                && mark.starts_with(is_opening)
                && mark.ends_with(is_closing)
                && !needle::BEGINNINGS.iter().any(|beginning| mark.contains(beginning))
        };
        for mark in Segmentation::default().marks(text).into_iter().filter(bracketed) {
            push_new(&mut marks, mark.to_owned());
        }
    }
    marks.truncate(MOST_MARKS);
    marks
}

/// The marks that a content brings into the render.
fn forged(base: &Base<'_, '_>, marks: &[String], messages: &dyn Fn(&str) -> Vec<Value>, calls: bool) -> Vec<String> {
    let render = |text: &str| {
        let tools = base.call_tools().filter(|_| calls);
        base.outcome(messages(text), tools, true).ok()
    };
    let content = |marks: &str| format!("{}{marks}{}", needle::BEFORE, needle::AFTER);
    let all = content(&marks.concat());
    if marks.is_empty() || render(&all).is_some_and(|text| text.contains(&all)) {
        return marks.to_vec();
    }
    let is_shown = |mark: &&String| render(&content(mark)).is_some_and(|text| text.contains(&content(mark)));
    marks.iter().filter(is_shown).cloned().collect()
}
