//! Conversations with calls and results.

use super::base::Calls;
use super::cases::Cases;
use super::problem::Problem::{
    self, ArgsObject, ArgsText, CallKeys, NoUser, NullContent, NullResult, ResultParts, Results, UserAfterResult,
};
use super::said::{
    LONG_ID, OTHER_RESULT, called, in_part, result, rich_arguments, system, user, with_arguments, with_call, without,
};
use crate::doctor::messages::with;
use crate::probe::needle;
use backchat_core::json::{Object, Value};

const U: &str = needle::USER;
const LATER: &str = needle::LATER;
const S: &str = needle::SYSTEM;
const T: &str = needle::RESULT;
const T2: &str = OTHER_RESULT;
const ID: &str = needle::IDS[0];

impl Cases<'_, '_, '_> {
    pub(super) fn calls(&mut self) {
        let Some(calls) = self.base.calls.clone() else { return };
        self.arguments(&calls);
        self.call_keys(&calls);
        self.null_content(&calls);
        if calls.results {
            self.results();
            self.user_after_result();
            self.tool_loop();
        }
    }

    /// A call, answered if the template shows results.
    fn answered(&self, message: Value) -> Vec<Value> {
        let results = self.base.calls.as_ref().is_some_and(|calls| calls.results);
        [user(U), message].into_iter().chain(results.then(|| result(0, T))).collect()
    }

    /// The render of a conversation with calls.
    fn twin(&self, messages: Vec<Value>) -> Option<String> {
        self.base.with_tools(messages, self.base.calls.as_ref().is_some_and(|calls| calls.results))
    }

    fn add_calling(
        &mut self,
        name: (Problem, &'static str),
        messages: Vec<Value>,
        accepted: impl IntoIterator<Item = Option<String>>,
        needles: &[&'static str],
    ) {
        let results = self.base.calls.as_ref().is_some_and(|calls| calls.results);
        let chat = self.base.conversation(messages, self.base.call_tools(), results);
        self.add(name, chat, accepted, needles);
    }

    /// The texts of a conversation with one call.
    fn needles(calls: &Calls) -> Vec<&'static str> {
        [U, needle::VALUES[0]].into_iter().chain(calls.results.then_some(T)).collect()
    }

    fn arguments(&mut self, calls: &Calls) {
        let needles = Self::needles(calls);
        let usual = self.base.calling("", 1);
        let twin = self.twin(self.answered(usual.clone()));
        let other = if calls.as_text { ArgsObject } else { ArgsText };
        let messages = self.answered(called("", 1, !calls.as_text));
        self.add_calling((other, "plain"), messages, [twin.clone()], &needles);
        if !calls.as_text {
            let (key, value) = (needle::KEYS[0], needle::VALUES[0]);
            let (dense, spaced) = (format!("{{\"{key}\":\"{value}\"}}"), format!("{{\"{key}\": \"{value}\"}}"));
            let compact = twin.as_ref().map(|twin| twin.replace(&spaced, &dense));
            let messages = self.answered(with_arguments(usual.clone(), dense.into()));
            self.add_calling((ArgsText, "compact"), messages, [twin, compact], &needles);
            let rich = rich_arguments();
            let twin = self.twin(self.answered(with_arguments(usual.clone(), rich.clone())));
            let messages = self.answered(with_arguments(usual.clone(), rich.to_string().into()));
            self.add_calling((ArgsText, "rich"), messages, [twin], &needles);
        }
        let none = if calls.as_text { "{}".into() } else { Value::Object(Object::new()) };
        let twin = self.twin(self.answered(with_arguments(usual.clone(), none)));
        let messages = self.answered(with_arguments(usual, "".into()));
        let rest: Vec<_> = needles.into_iter().filter(|needle| *needle != needle::VALUES[0]).collect();
        self.add_calling((ArgsText, "empty"), messages, [twin], &rest);
    }

    fn call_keys(&mut self, calls: &Calls) {
        let needles = Self::needles(calls);
        let usual = self.base.calling("", 1);
        let twin = self.twin(self.answered(usual.clone()));
        for (key, shape, accepted) in
            [("type", "no_type", twin.clone()), ("id", "no_id", twin.as_ref().map(|twin| twin.replace(ID, "")))]
        {
            let message = with_call(usual.clone(), |call| drop(call.shift_remove(key)));
            let messages = self.answered(message);
            self.add_calling((CallKeys, shape), messages, [accepted], &needles);
        }
        let message = with_call(usual, |call| drop(call.insert("id", LONG_ID.into())));
        let mut messages = vec![user(U), message];
        messages.extend(calls.results.then(|| with(result(0, T), [("tool_call_id", LONG_ID.into())])));
        let ends =
            [LONG_ID, LONG_ID.get(LONG_ID.len() - 9..).unwrap_or_default(), LONG_ID.get(..9).unwrap_or_default()];
        let accepted = ends.map(|id| twin.as_ref().map(|twin| twin.replace(ID, id)));
        self.add_calling((CallKeys, "long_id"), messages, accepted, &needles);
    }

    fn null_content(&mut self, calls: &Calls) {
        let usual = self.base.calling("", 1);
        let twin = self.twin(self.answered(usual.clone()));
        let null = with(usual.clone(), [("content", Value::Null)]);
        for (shape, message) in [("null", null), ("missing", without(usual, "content"))] {
            let messages = self.answered(message);
            self.add_calling((NullContent, shape), messages, [twin.clone()], &Self::needles(calls));
        }
    }

    fn results(&mut self) {
        let base = self.base;
        let value = needle::VALUES[0];
        let with_result = |message: Value| vec![user(U), base.calling("", 1), message];
        let twin = self.twin(with_result(result(0, T)));
        let unnamed = with_result(without(result(0, T), "name"));
        self.add_calling((Results, "no_name"), unnamed, [twin.clone()], &[U, value, T]);
        if !base.in_parts {
            self.add_calling((ResultParts, "one"), with_result(in_part(result(0, T))), [twin], &[U, value, T]);
        }
        let empty = self.twin(with_result(result(0, "")));
        let null = with_result(with(result(0, T), [("content", Value::Null)]));
        self.add_calling((NullResult, "null"), null, [empty], &[U, value]);
        let two = || [user(U), base.calling("", 2)];
        let several: Vec<_> = two().into_iter().chain([result(0, T), result(1, T2)]).collect();
        let swapped = two().into_iter().chain([result(1, T2), result(0, T)]).collect();
        let twin = self.twin(several.clone());
        let other = needle::VALUES[1];
        self.add_calling((Results, "several"), several, [], &[U, value, other, T, T2]);
        self.add_calling((Results, "order"), swapped, [twin], &[U, value, other, T2, T]);
    }

    fn user_after_result(&mut self) {
        let (base, frames) = (self.base, &self.base.frames);
        let mut messages = self.answered(base.calling("", 1));
        let answered = base.with_tools(messages.clone(), false).filter(|_| frames.are_known);
        let prompt = frames.prompt.as_deref().unwrap_or_default();
        let accepted = answered.map(|text| format!("{text}{}{prompt}", frames.user_turn(LATER)));
        messages.push(user(LATER));
        self.add_calling((UserAfterResult, "user"), messages, [accepted], &[U, needle::VALUES[0], T, LATER]);
    }

    /// A loop whose beginning was compacted away.
    fn tool_loop(&mut self) {
        let (base, frames) = (self.base, &self.base.frames);
        let head: Vec<_> = base.system.then(|| system(S)).into_iter().collect();
        let mut needles: Vec<&'static str> = base.system.then_some(S).into_iter().collect();
        needles.extend([needle::VALUES[0], T]);
        let body = self.answered(base.calling("", 1));
        let whole = head.iter().chain(&body).cloned().collect();
        let whole = base.with_tools(whole, true).filter(|_| frames.joint().is_none());
        let messages = head.iter().chain(body.iter().skip(1)).cloned().collect();
        self.add_calling((NoUser, "tool_loop"), messages, [frames.without_user(whole, U)], &needles);
    }
}
