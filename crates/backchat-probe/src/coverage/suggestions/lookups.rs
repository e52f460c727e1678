//! Conversations whose calls have the arguments that a chat template looks up by name.

use super::{Likeness, Made, Suggested, constants, quoted};
use crate::coverage::places::{Place, places};
use crate::probe::{Answer, Call};
use backchat_core::json::Value;
use backchat_core::{distinct, push_new};

/// How many names are taken from one expression.
const MOST_NAMES: usize = 6;

/// The names that an expression looks up in the arguments of calls, or in a variable that it sets to them.
pub fn argument_keys(source: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let set = source.split("set ").skip(1).filter_map(|rest| {
        let (name, rest) = rest.split_once('=')?;
        let value = rest.split("%}").next()?.trim_end_matches(['-', '+', ' ']);
        let is_set = value.ends_with("arguments") || value.ends_with("arguments']") || value.ends_with("arguments\"]");
        Some(name.trim()).filter(|name| is_set && !name.is_empty() && name.chars().all(is_word))
    });
    for name in ["arguments"].into_iter().chain(distinct(set)) {
        for (at, _) in source.match_indices(name) {
            let rest = source.get(at + name.len()..).unwrap_or_default();
            let rest = rest.strip_prefix("']").or_else(|| rest.strip_prefix("\"]")).unwrap_or(rest);
            let is_whole = name == "arguments" || !source.get(..at).unwrap_or_default().ends_with(is_word);
            let rest = rest.strip_prefix(".get('").map_or_else(|| rest.to_owned(), |rest| format!(".{rest}"));
            if let Some(key) = key_at(&rest).filter(|_| is_whole) {
                push_new(&mut keys, key);
            }
        }
    }
    keys.truncate(MOST_NAMES);
    keys
}

/// The name at the beginning of `.name` or `['name']`.
fn key_at(rest: &str) -> Option<String> {
    const METHODS: [&str; 5] = ["items", "keys", "values", "get", "pop"];
    let rest = rest.strip_prefix('.').or_else(|| rest.strip_prefix("['")).or_else(|| rest.strip_prefix("[\""))?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    rest.get(..end).filter(|key| !key.is_empty() && !METHODS.contains(key)).map(str::to_owned)
}

/// The names that a condition looks up in something, which may be the arguments of a call under another name.
pub(super) fn looked_up_keys(condition: &str) -> Vec<String> {
    let dots = condition.match_indices(['.', '[']);
    dots.filter_map(|(at, _)| key_at(condition.get(at..)?)).collect()
}

impl Made<'_> {
    /// An argument with the name that is sought among those of a call.
    pub(super) fn by_key(&mut self, name: &Value, keys: &Value) {
        let keys = constants(keys);
        let is_key =
            |(place, text): &(Place, &str)| matches!(place, Place::Key(..)) && keys.iter().any(|key| key == text);
        let known = places(self.answer).into_iter().find(is_key);
        if let Some((place, _)) = known.filter(|_| self.goal.wanted) {
            constants(name).iter().for_each(|name| self.text(place, name));
        }
    }

    /// A call of just the arguments with which a condition compares those of one.
    pub(super) fn by_keys(&mut self, seen: &Value, wanted: &Value) {
        let (seen, wanted) = (constants(seen), constants(wanted));
        let has_seen = |call: &&Call| !seen.is_empty() && call.arguments.keys().eq(seen.iter().map(String::as_str));
        let Some(at) = self.answer.calls.iter().position(|call| has_seen(&call)).filter(|_| !wanted.is_empty()) else {
            return;
        };
        let mut answer = self.answer.clone();
        let words = format!("just the arguments {}", wanted.join(", "));
        if let Some(call) = answer.calls.get_mut(at) {
            call.arguments = wanted.into_iter().map(|key| (key, "Ghent".into())).collect();
        }
        self.push(Suggested { place: Some(Place::Key(at, 0)), ..Suggested::of(answer, words) });
    }

    /// A call in which a list has objects for items, if a condition asks about that.
    pub(super) fn by_items(&mut self) {
        if !self.goal.wanted || !self.condition.ends_with(" is mapping") {
            return;
        }
        let mut answer = self.answer.clone();
        let values = answer.calls.iter_mut().flat_map(|call| call.arguments.values_mut());
        let mut lists = values.filter(|value| value.as_list().is_some_and(|items| !items.is_empty())).peekable();
        if lists.peek().is_none() {
            return;
        }
        let objects = [1, 2].map(|id| Value::from([("id", id.into())]));
        lists.for_each(|list| *list = Value::List(objects.clone().into()));
        self.part(answer, "a list of objects".to_owned());
    }

    /// An argument with a name at which a condition found nothing, in a call of the answer or one like an earlier call.
    pub(super) fn by_lookup(&mut self, found: &Value) {
        let Some(answer) = self.with_call().filter(|_| found.is_null() && self.goal.wanted) else { return };
        let (mut names, mut likeness) = (argument_keys(self.condition), Likeness::Part);
        if names.is_empty() {
            names = looked_up_keys(self.condition);
            likeness = Likeness::Guess;
        }
        for name in names {
            let place = Place::Key(0, 0);
            self.push(Suggested { likeness, ..Suggested::again(place.replaced(&answer, &name), place, &name) });
        }
    }

    /// An argument that is looked up by name, with the value that a condition compares it with.
    pub(super) fn by_argument(&mut self, value: &Value) {
        let is_plain = matches!(value, Value::Bool(_) | Value::Number(_));
        let Some(answer) = self.with_call().filter(|_| is_plain && self.goal.wanted) else { return };
        for name in looked_up_keys(self.condition) {
            let mut answer = Place::Key(0, 0).replaced(&answer, &name);
            if let Some(call) = answer.calls.first_mut() {
                call.arguments.insert(name.as_str(), value.clone());
            }
            let words = format!("the argument {} set to {value}", quoted(&name));
            self.push(Suggested { likeness: Likeness::Mentioned, ..Suggested::of(answer, words) });
        }
    }

    /// The answer, if its first call has an argument, or a call of the history.
    fn with_call(&self) -> Option<Answer> {
        let has_argument = |answer: &&Answer| answer.calls.first().is_some_and(|call| !call.arguments.is_empty());
        let found = self.answers().find(has_argument)?;
        Some(Answer::calls(found.calls.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_that_a_template_looks_up_in_arguments_are_found() {
        let set = "{% set args = c.arguments %}{{ args.code }}{{ args.get('sql') }}{{ largs.x }}{% set b = c.arguments.n %}{{ b.m }}";
        assert_eq!(argument_keys(set), ["n", "code", "sql"]);
        let source =
            "{{ c.arguments.code }}{{ c['arguments']['sql'] }}{% for k, v in c.arguments.items() %}{{ arguments }}";
        assert_eq!(argument_keys(source), ["code", "sql"]);
        assert_eq!(argument_keys("{{ c.arguments['sql'] }}"), ["sql"]);
    }
}
