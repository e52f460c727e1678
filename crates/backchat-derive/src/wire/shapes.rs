//! The probes: answers in which every value is a needle, in enough shapes to tell the parts apart.

use super::structure::History;
use backchat_core::json::Value;
use backchat_core::text::slice;
use backchat_probe::probe::{Answer, Call, Message, call_with, name_in_id, needle};

/// A key of the arguments of call `call`.
pub(crate) fn key(call: usize, argument: usize) -> String {
    format!("qzkey_{}_{}", letter(call), letter(argument))
}

/// The value for that key.
pub(crate) fn value(call: usize, argument: usize) -> String {
    format!("Qzvalue{}{}q", letter(call), letter(argument))
}

fn letter(number: usize) -> char {
    match number {
        0 => 'a',
        1 => 'e',
        _ => 'i',
    }
}

/// Call `index` with this many needle arguments.
pub(crate) fn call(index: usize, arguments: usize) -> Call {
    call_with(index, (0..arguments).map(|at| (key(index, at), Value::from(value(index, at)))).collect())
}

/// This many calls, with two arguments each.
pub(crate) fn calls(count: usize) -> Vec<Call> {
    (0..count).map(|index| call(index, 2)).collect()
}

/// The same, with ids that contain the names if a template writes names only there.
pub(crate) fn calls_with(count: usize, ids_hold_names: bool) -> Vec<Call> {
    let mut made = calls(count);
    for (index, call) in made.iter_mut().enumerate().filter(|_| ids_hold_names) {
        name_in_id(call, index);
    }
    made
}

/// Answers with reasoning: many templates show it only together with a call, or only with content.
pub(crate) fn thoughts() -> [Answer; 3] {
    let bare = Answer::default().with_reasoning(needle::REASONING);
    let called = Answer { calls: calls(1), ..bare.clone() };
    [bare.with_content(needle::CONTENT), called.clone(), called.with_content(needle::CONTENT)]
}

pub(crate) fn conversation(after: History, answer: &Answer) -> Vec<Message> {
    let mut messages = history(after);
    messages.push(Message::Assistant(answer.clone()));
    messages
}

pub(crate) fn content() -> Answer {
    Answer::content(needle::CONTENT)
}

/// How many words a long text has: a template may tell such a one from others.
const LONG: usize = 24;

pub(crate) fn history(kind: History) -> Vec<Message> {
    let user = || Message::User(needle::USER.to_owned());
    let later = || Message::User(needle::LATER.to_owned());
    match kind {
        History::User => vec![user()],
        History::SystemAndUser => vec![Message::System([needle::SYSTEM; LONG].join(" ")), user()],
        History::EarlierTurns => vec![later(), Message::Assistant(Answer::content(needle::EARLIER)), user()],
        History::ToolResult => {
            let [id, name, key, value] = needle::EARLIER_CALL.map(str::to_owned);
            let called = Call { id, name, arguments: [(key, value.into())].into_iter().collect() };
            let result =
                Message::Tool { id: called.id.clone(), name: called.name.clone(), content: needle::RESULT.to_owned() };
            vec![user(), Message::Assistant(Answer::calls(vec![called])), result]
        }
    }
}

/// The text of a conversation after the last words of its history. The turn may repeat them, so its prompt tells where the
/// history ends.
pub(crate) fn after_history<'t>(text: &'t str, words: &str, prompt: Option<&str>) -> Option<&'t str> {
    let end = |text: &str| Some(text.rfind(words)? + words.len());
    let history = prompt.and_then(|prompt| Some(slice(prompt, ..end(prompt)?)));
    match history.and_then(|history| text.strip_prefix(history)) {
        Some(turn) => Some(turn),
        None => Some(slice(text, end(text)?..)),
    }
}

impl History {
    /// Every kind, the plainest first.
    pub(crate) const ALL: [History; 4] =
        [History::User, History::SystemAndUser, History::EarlierTurns, History::ToolResult];

    /// The needle of its last message.
    pub(crate) fn last_needle(self) -> &'static str {
        match self {
            History::ToolResult => needle::RESULT,
            _ => needle::USER,
        }
    }

    /// The text of a prompt after it.
    pub(crate) fn rest(self, text: &str) -> Option<&str> {
        Some(text.rsplit_once(self.last_needle())?.1)
    }

    /// The text of a conversation after it.
    pub(crate) fn turn<'t>(self, text: &'t str, prompt: Option<&str>) -> Option<&'t str> {
        after_history(text, self.last_needle(), prompt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every text of the probes that traces search for.
    fn needles() -> Vec<String> {
        let mut needles = [needle::SYSTEM, needle::USER, needle::LATER, needle::CONTENT, needle::REASONING]
            .map(str::to_owned)
            .to_vec();
        needles.extend([needle::EARLIER, needle::RESULT].map(str::to_owned));
        for call in calls(3) {
            needles.extend([call.id, call.name]);
            needles.extend(
                call.arguments.iter().flat_map(|(key, value)| [key.to_owned(), value.as_str().unwrap().to_owned()]),
            );
        }
        needles
    }

    /// A trace finds values by searching for them, so one inside another would be found twice.
    #[test]
    fn no_needle_occurs_in_another() {
        let needles = needles();
        assert_eq!(needles.len(), 7 + 3 * (2 + 4));
        for (at, one) in needles.iter().enumerate() {
            for (_, other) in needles.iter().enumerate().filter(|(other, _)| *other != at) {
                assert!(!one.contains(other.as_str()), "{one} contains {other}");
            }
        }
    }

    #[test]
    fn all_needles_have_a_known_prefix() {
        for needle in needles() {
            assert!(needle::BEGINNINGS.iter().any(|beginning| needle.starts_with(beginning)), "{needle}");
        }
    }

    #[test]
    fn a_turn_may_repeat_the_last_words_before_it() {
        for (text, prompt, turn) in [
            ("<u>Hm?</u><a>Yes.", Some("<u>Hm?</u><a>"), "</u><a>Yes."),
            ("<u>Hm?</u><a>Re: Hm?\nYes.", Some("<u>Hm?</u><a>"), "</u><a>Re: Hm?\nYes."),
            // So may the prompt, which a model then continues.
            ("<u>Hm?</u><a>Re: Hm?\nYes.", Some("<u>Hm?</u><a>Re: Hm?\n"), "\nYes."),
            ("<sum>Hm?</sum><u>Hm?</u><a>Yes.", Some("<sum>Hm?</sum><u>Hm?</u><a>"), "</u><a>Yes."),
            // What comes before the history may be another text with an answer.
            ("<sum>Hm?</sum><u>Hm?</u><a>Yes.", Some("<u>Hm?</u><a>"), "</u><a>Yes."),
            ("<u>Hm?</u><a>Yes.", None, "</u><a>Yes."),
        ] {
            assert_eq!(after_history(text, "Hm?", prompt), Some(turn), "{text:?} {prompt:?}");
        }
    }

    #[test]
    fn a_history_ends_with_its_last_needle_and_contains_it_once() {
        for kind in History::ALL {
            let messages = history(kind);
            let texts: Vec<&str> = messages
                .iter()
                .filter_map(|message| match message {
                    Message::Assistant(answer) => answer.content.as_deref(),
                    message => message.said(),
                })
                .collect();
            assert_eq!(texts.last(), Some(&kind.last_needle()), "{kind:?}");
            assert_eq!(texts.iter().filter(|text| **text == kind.last_needle()).count(), 1, "{kind:?}");
        }
    }

    #[test]
    fn the_result_of_a_history_answers_its_call() {
        let messages = history(History::ToolResult);
        let [_, Message::Assistant(answer), Message::Tool { id, name, .. }] = messages.as_slice() else {
            panic!("{messages:?}");
        };
        assert_eq!((&answer.calls[0].id, &answer.calls[0].name), (id, name));
        // An answer after it makes other calls.
        assert!(calls(3).iter().all(|call| call.id != *id && call.name != *name));
    }
}
