//! The probes: answers whose every value is a needle, in enough shapes to distinguish the parts.

use super::conversation::{Answer, Call, Message};
use super::probe::needle;
use super::structure::History;
use crate::json::{Object, Value};

/// The keys of call `call`'s arguments.
pub(crate) fn key(call: usize, argument: usize) -> String {
    format!("qzkey_{}_{}", letter(call), letter(argument))
}

/// The values that go with them.
pub(crate) fn value(call: usize, argument: usize) -> String {
    format!("Qzvalue{}{}q", letter(call), letter(argument))
}

fn letter(number: usize) -> char {
    ["a", "e", "i", "o", "u"].get(number).and_then(|text| text.chars().next()).unwrap_or('y')
}

/// Call number `index` with as many needle arguments as wanted.
pub(crate) fn call(index: usize, arguments: usize) -> Call {
    call_with(index, (0..arguments).map(|at| (key(index, at), Value::from(value(index, at)))).collect())
}

/// Call number `index` with these arguments.
pub(crate) fn call_with(index: usize, arguments: Object) -> Call {
    let pick = |from: &[&'static str; 3]| from.get(index).copied().unwrap_or_default().to_owned();
    Call { id: pick(&needle::IDS), name: pick(&needle::NAMES), arguments }
}

/// As many calls as wanted, with two arguments each.
pub(crate) fn calls(count: usize) -> Vec<Call> {
    (0..count).map(|index| call(index, 2)).collect()
}

/// The text of content in every shape that has some.
pub(crate) fn content() -> Answer {
    Answer::content(needle::CONTENT)
}

/// The messages of a history.
pub(crate) fn history(kind: History) -> Vec<Message> {
    let user = || Message::User(needle::USER.to_owned());
    let later = || Message::User(needle::LATER.to_owned());
    match kind {
        History::User => vec![user()],
        History::SystemAndUser => vec![Message::System(needle::SYSTEM.to_owned()), user()],
        History::EarlierTurns => vec![later(), Message::Assistant(Answer::content(needle::EARLIER)), user()],
        History::ToolResult => {
            let called = Call {
                id: "qzId9zzzz".to_owned(),
                name: "qzname_nil".to_owned(),
                arguments: [("qzkey_nil".to_owned(), "Qzvaluenilq".into())].into_iter().collect(),
            };
            let result =
                Message::Tool { id: called.id.clone(), name: called.name.clone(), content: needle::RESULT.to_owned() };
            vec![user(), Message::Assistant(Answer::calls(vec![called])), result]
        }
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
}
