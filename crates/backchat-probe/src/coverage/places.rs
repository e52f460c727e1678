//! The texts of an answer, and answers with another text in the place of one.

use crate::probe::{Answer, Call};
use backchat_core::json::Object;

/// The texts of an answer without white space around them.
pub(super) fn answer_texts(answer: &Answer) -> Vec<&str> {
    places(answer).into_iter().map(|(_, text)| text.trim()).filter(|text| !text.is_empty()).collect()
}

/// A text of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Content,
    Reasoning,
    Name(usize),
    Id(usize),
    /// A value among the arguments of a call, and a key.
    Value(usize, usize),
    Key(usize, usize),
}

/// The texts of an answer, each with its place.
pub fn places(answer: &Answer) -> Vec<(Place, &str)> {
    let mut found: Vec<(Place, &str)> = Vec::new();
    found.extend(answer.content.as_deref().map(|text| (Place::Content, text)));
    found.extend(answer.reasoning.as_deref().map(|text| (Place::Reasoning, text)));
    for (at, call) in answer.calls.iter().enumerate() {
        found.push((Place::Name(at), &call.name));
        found.push((Place::Id(at), &call.id));
        for (index, (key, value)) in call.arguments.iter().enumerate() {
            found.push((Place::Key(at, index), key));
            found.extend(value.as_str().map(|text| (Place::Value(at, index), text)));
        }
    }
    found
}

impl Place {
    pub(super) fn words(self) -> &'static str {
        match self {
            Place::Content => "the answer",
            Place::Reasoning => "the reasoning",
            Place::Name(_) => "a call of",
            Place::Id(_) => "the id",
            Place::Value(..) => "the argument",
            Place::Key(..) => "the argument named",
        }
    }

    /// Whether any text may stand here.
    pub(super) fn is_free(self) -> bool {
        matches!(self, Place::Content | Place::Reasoning | Place::Value(..))
    }

    /// Whether it is a key or a value among the arguments of a call.
    pub fn is_argument(self) -> bool {
        matches!(self, Place::Key(..) | Place::Value(..))
    }

    /// The answer with another text here.
    pub fn replaced(self, answer: &Answer, text: &str) -> Answer {
        let mut answer = answer.clone();
        let call = |answer: &'_ mut Answer, at: usize, edit: &dyn Fn(&mut Call)| {
            if let Some(call) = answer.calls.get_mut(at) {
                edit(call);
            }
        };
        match self {
            Place::Content => answer.content = Some(text.to_owned()),
            Place::Reasoning => answer.reasoning = Some(text.to_owned()),
            Place::Name(at) => call(&mut answer, at, &|call| text.clone_into(&mut call.name)),
            Place::Id(at) => call(&mut answer, at, &|call| text.clone_into(&mut call.id)),
            Place::Value(at, index) => call(&mut answer, at, &|call| {
                let entries = call.arguments.iter().enumerate().map(|(place, (key, value))| {
                    (key.to_owned(), if place == index { text.into() } else { value.clone() })
                });
                call.arguments = entries.collect();
            }),
            Place::Key(at, index) => call(&mut answer, at, &|call| {
                let entries = call.arguments.iter().enumerate().map(|(place, (key, value))| {
                    (if place == index { text.to_owned() } else { key.to_owned() }, value.clone())
                });
                call.arguments = entries.collect::<Object>();
            }),
        }
        answer
    }
}
