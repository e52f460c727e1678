//! Conversations, independent of how a chat template takes them.

use std::hash::{Hash, Hasher};

use super::key::Entries;
use super::needle;
use backchat_core::json::{Object, Value};

/// Ends one part of a text that is passed in parts, in any request shape.
pub const PART_BREAK: char = '\u{1e}';

/// One message of a conversation, independent of the chat template's input format.
#[derive(Clone, Debug, PartialEq, Hash)]
pub enum Message {
    System(String),
    User(String),
    Assistant(Answer),
    Tool {
        id: String,
        name: String,
        content: String,
    },
    /// A message with other values at some keys: another role, content in parts, an image.
    Changed(Box<Message>, Changes),
}

/// Keys of a message, with the values that they have instead of the usual ones.
#[derive(Clone, Debug)]
pub struct Changes(pub Object);

impl Hash for Changes {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        Entries(&self.0).hash(hasher);
    }
}

impl PartialEq for Changes {
    fn eq(&self, other: &Self) -> bool {
        Entries(&self.0) == Entries(&other.0)
    }
}

impl Message {
    /// The message with this value at a key.
    #[must_use]
    pub fn with(self, key: &str, value: Value) -> Self {
        let (message, mut changes) = match self {
            Self::Changed(message, Changes(changes)) => (message, changes),
            message => (Box::new(message), Object::new()),
        };
        changes.insert(key, value);
        Self::Changed(message, Changes(changes))
    }

    /// The message without changes.
    pub fn usual(&self) -> &Self {
        match self {
            Self::Changed(message, _) => message.usual(),
            message => message,
        }
    }

    /// What a user, a system message or a result says.
    pub fn said(&self) -> Option<&str> {
        match self.usual() {
            Self::System(text) | Self::User(text) | Self::Tool { content: text, .. } => Some(text),
            Self::Assistant(_) | Self::Changed(..) => None,
        }
    }

    /// Gives it another text, in whatever role.
    pub fn say(&mut self, text: &str) {
        match self {
            Self::System(said) | Self::User(said) | Self::Tool { content: said, .. } => text.clone_into(said),
            Self::Assistant(answer) => answer.content = Some(text.to_owned()),
            Self::Changed(message, _) => message.say(text),
        }
    }

    /// Whether it is the result of a call.
    pub fn is_result(&self) -> bool {
        matches!(self.usual(), Self::Tool { .. })
    }
}

#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Answer {
    pub content: Option<String>,
    pub reasoning: Option<String>,
    pub calls: Vec<Call>,
}

#[derive(Clone, Debug)]
pub struct Call {
    pub id: String,
    pub name: String,
    pub arguments: Object,
}

impl Hash for Call {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        (&self.id, &self.name).hash(hasher);
        Entries(&self.arguments).hash(hasher);
    }
}

impl PartialEq for Call {
    fn eq(&self, other: &Self) -> bool {
        (&self.id, &self.name) == (&other.id, &other.name) && Entries(&self.arguments) == Entries(&other.arguments)
    }
}

impl Answer {
    pub fn content(text: &str) -> Self {
        Self { content: Some(text.to_owned()), ..Self::default() }
    }

    pub fn calls(calls: Vec<Call>) -> Self {
        Self { calls, ..Self::default() }
    }

    pub fn with_content(mut self, text: &str) -> Self {
        self.content = Some(text.to_owned());
        self
    }

    pub fn with_reasoning(mut self, text: &str) -> Self {
        self.reasoning = Some(text.to_owned());
        self
    }
}

/// How reasoning is passed to a chat template.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ReasoningInput {
    /// Under a key of the message.
    Key(String),
    /// As a block of a content list, of this `type` and under this key.
    Block { kind: String, key: String },
}

/// Words in the usual names of message keys and block types for reasoning.
const REASONING_WORDS: [&str; 4] = ["reason", "think", "thought", "analysis"];

/// Whether a name or a mark refers to reasoning.
pub fn mentions_reasoning(name: &str) -> bool {
    REASONING_WORDS.iter().any(|word| name.to_ascii_lowercase().contains(word))
}

impl ReasoningInput {
    /// Whether its name refers to reasoning.
    pub fn is_named_for_reasoning(&self) -> bool {
        let (Self::Key(name) | Self::Block { kind: name, .. }) = self;
        mentions_reasoning(name)
    }

    /// The same with a key that no template reads.
    pub fn unread(&self) -> Self {
        let key = needle::UNREAD.to_owned();
        match self {
            Self::Key(_) => Self::Key(key),
            Self::Block { kind, .. } => Self::Block { kind: kind.clone(), key },
        }
    }
}

/// Probe call `index` with this many needle arguments.
pub fn call(index: usize, arguments: usize) -> Call {
    let argument = |at: usize| {
        (needle::pick(needle::KEYS, index + at).to_owned(), Value::from(needle::pick(needle::VALUES, index + at)))
    };
    call_with(index, (0..arguments).map(argument).collect())
}

/// Probe call `index` with these arguments.
pub fn call_with(index: usize, arguments: Object) -> Call {
    let (id, name) = (needle::pick(needle::IDS, index), needle::pick(needle::NAMES, index));
    Call { id: id.to_owned(), name: name.to_owned(), arguments }
}

/// Gives a call an id that contains its name and punctuation.
pub fn name_in_id(call: &mut Call, index: usize) {
    call.id = format!("qzspace.{}:{index}", call.name);
}

/// A history that ends with a tool result.
pub fn after_tool() -> Vec<Message> {
    let called = call(2, 1);
    vec![
        Message::User(needle::USER.to_owned()),
        Message::Assistant(Answer::calls(vec![called.clone()])),
        Message::Tool { id: called.id, name: called.name, content: needle::RESULT.to_owned() },
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reasoning_is_recognized_by_its_name() {
        for (name, is_reasoning) in [
            ("reasoning_content", true),
            ("Thinking", true),
            ("<|begin_of_thought|>", true),
            ("analysis", true),
            ("content", false),
            ("<tool_call>", false),
            ("", false),
        ] {
            assert_eq!(mentions_reasoning(name), is_reasoning, "{name}");
            assert_eq!(ReasoningInput::Key(name.to_owned()).is_named_for_reasoning(), is_reasoning, "{name}");
        }
        // A block's name is its type, not the key of its text.
        let block = ReasoningInput::Block { kind: "text".to_owned(), key: "thinking".to_owned() };
        assert!(!block.is_named_for_reasoning());
    }

    #[test]
    fn the_unread_variant_differs_only_in_the_key() {
        let key = ReasoningInput::Key("thinking".to_owned());
        assert_eq!(key.unread(), ReasoningInput::Key("qzunread".to_owned()));
        let block = ReasoningInput::Block { kind: "thought".to_owned(), key: "text".to_owned() };
        let unread = ReasoningInput::Block { kind: "thought".to_owned(), key: "qzunread".to_owned() };
        assert_eq!(block.unread(), unread);
    }

    #[test]
    fn each_call_has_its_own_needles_as_arguments() {
        let (first, second) = (call(0, 2), call(1, 2));
        assert_eq!(first.arguments.keys().collect::<Vec<_>>(), ["qzkey_one", "qzkey_two"]);
        assert_eq!(second.arguments.keys().collect::<Vec<_>>(), ["qzkey_two", "qzkey_tre"]);
        assert_ne!((&first.id, &first.name), (&second.id, &second.name));
    }

    #[test]
    fn the_history_ends_with_the_result_of_its_call() {
        let messages = after_tool();
        let [Message::User(_), Message::Assistant(answer), Message::Tool { id, name, content }] = messages.as_slice()
        else {
            panic!("{messages:?}");
        };
        assert_eq!((&answer.calls[0].id, &answer.calls[0].name, content.as_str()), (id, name, needle::RESULT));
    }
}
