//! The prompt that a template lacks: what its answers begin with, whether they think or not, under each of its switches.

use backchat_chat::switches;
use backchat_core::json::Value;
use backchat_core::push_new;
use backchat_core::text::{common_start, slice};
use backchat_probe::doctor::agents::said::{answer, user};
use backchat_probe::doctor::agents::{Base, Case, Problem};
use backchat_probe::doctor::messages::with;
use backchat_probe::doctor::probe::Chat;
use backchat_probe::probe::marks::Segmentation;
use backchat_probe::probe::needle;

const U: &str = needle::USER;
const A: &str = needle::CONTENT;
const LATER: &str = needle::LATER;

/// How many values of switches are tried.
const MOST_SETTINGS: usize = 48;

/// The renders of a template under one setting.
struct Under<'b, 'p, 't> {
    base: &'b Base<'p, 't>,
    setting: Option<(String, Value)>,
}

impl Under<'_, '_, '_> {
    fn chat(&self, messages: &[Value], prompt: bool) -> Chat {
        let chat = self.base.conversation(messages.to_vec(), None, prompt);
        match &self.setting {
            Some((name, value)) => chat.with(name, value.clone()),
            None => chat,
        }
    }

    fn text(&self, messages: &[Value], prompt: bool) -> Option<String> {
        self.base.probe.exactly(&self.chat(messages, prompt)).ok()
    }

    /// An answer with thoughts, if the template reads them.
    fn thinking(&self) -> Option<Value> {
        self.base.reasoning.first().map(|key| with(answer(A), [(*key, needle::REASONING.into())]))
    }

    /// What is written between a user's turn and the first text of the messages after it.
    fn before(&self, after: Vec<Value>, first: &str) -> Option<String> {
        let asked = self.text(&[user(U)], false)?;
        let whole = self.text(&[vec![user(U)], after].concat(), false)?;
        let between = whole.split_once(U)?.1.split_once(first)?.0;
        Some(between.strip_prefix(asked.split_once(U)?.1)?.to_owned())
    }

    /// What a prompt may write, the best first: all that answers with and without thoughts share, what those of earlier
    /// turns share as well, what is before the last mark and, if a switch decides that there are no thoughts, all that is
    /// before an answer.
    fn opens(&self) -> Option<Vec<String>> {
        let plain = self.before(vec![answer(A)], A)?;
        let thinking = self.thinking().and_then(|message| self.before(vec![message], needle::REASONING));
        let shared = thinking.map_or(plain.clone(), |thinking| shared_start(&plain, &thinking));
        let earlier = self.before(vec![answer(A), user(LATER)], A);
        let header = earlier.map_or(shared.clone(), |earlier| shared_start(&shared, &earlier));
        let last = Segmentation::default().from_last(&shared);
        let role = shared.strip_suffix(last).unwrap_or_default();
        let mut opens = vec![shared.clone()];
        for open in [header.as_str(), role, role.trim_end()].into_iter().filter(|open| !open.is_empty()) {
            push_new(&mut opens, open.to_owned());
        }
        if self.setting.is_some() {
            push_new(&mut opens, plain.trim_end().to_owned());
            push_new(&mut opens, plain);
        }
        Some(opens)
    }

    /// Whether a prompt of the template's own begins an answer.
    fn begins_answer(&self, messages: &[Value], asked: &str) -> bool {
        let answers = [Some(answer(A)), self.thinking()];
        answers.into_iter().flatten().any(|message| {
            let text = self.text(&[messages, &[message]].concat(), false);
            text.is_some_and(|text| text.starts_with(asked))
        })
    }

    /// The prompts for the next answer that are right; none if the template needs no prompt.
    fn accepted(&self, messages: &[Value]) -> Option<Vec<String>> {
        let (bare, asked) = (self.text(messages, false)?, self.text(messages, true)?);
        let opens = self.opens();
        if opens.as_ref().and_then(|opens| opens.first()).is_some_and(String::is_empty) {
            return None;
        }
        // A template that has a prompt of its own needs none, unless only a switch writes it.
        if asked != bare && (self.setting.is_none() || self.begins_answer(messages, &asked)) {
            return Some(vec![asked]);
        }
        Some(opens.into_iter().flatten().map(|open| format!("{bare}{open}")).collect())
    }
}

/// The start that two texts share, without a mark that only one of them has.
fn shared_start(one: &str, other: &str) -> String {
    let shared = common_start(one, other).len();
    let is_cut = |place: &std::ops::Range<usize>| place.start < shared && shared < place.end;
    let mut marks = Segmentation::default().placed(one);
    let cut = marks.find(|(place, mark)| is_cut(place) && !mark.trim().is_empty());
    slice(one, ..cut.map_or(shared, |(place, _)| place.start)).to_owned()
}

/// What a prompt may write, the best first.
pub(super) fn opens(base: &Base<'_, '_>) -> Vec<String> {
    let opens = Under { base, setting: None }.opens().unwrap_or_default();
    opens.into_iter().filter(|open| !open.is_empty()).collect()
}

fn case(chat: Chat, accepted: Vec<String>) -> Case {
    Case { problem: Problem::GenerationPrompt, shape: "chat", chat, accepted, needles: Vec::new(), as_assistant: None }
}

/// The conversation of a prompt after these messages; none if the template needs no prompt.
pub(super) fn prompted(base: &Base<'_, '_>, messages: &[Value]) -> Option<Case> {
    let under = Under { base, setting: None };
    let accepted = under.accepted(messages)?;
    Some(case(under.chat(messages, true), accepted))
}

/// The same under each switch: a prompt that one of them writes must not follow another.
pub(super) fn under_switches(base: &Base<'_, '_>, messages: &[Value]) -> Vec<Case> {
    let switches = switches(base.probe.template(), base.probe.variables()).into_iter();
    let settings = switches.flat_map(|(name, values)| values.into_iter().map(move |value| (name.to_owned(), value)));
    let of_setting = |setting| {
        let under = Under { base, setting: Some(setting) };
        let accepted = under.accepted(messages).filter(|accepted| !accepted.is_empty())?;
        Some(case(under.chat(messages, true), accepted))
    };
    settings.take(MOST_SETTINGS).filter_map(of_setting).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_that_only_one_text_has_is_not_shared() {
        for (one, other, shared) in [
            ("<a><think></think>", "<a><think>", "<a><think>"),
            ("<a><think>\n\n</think>", "<a><think>\n", "<a><think>\n"),
            ("<a><answer>", "<a><analysis>", "<a>"),
            ("<a>", "<a><think>", "<a>"),
        ] {
            assert_eq!(shared_start(one, other), shared, "{one} {other}");
        }
    }
}
