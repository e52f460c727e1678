//! Dimensions of conversations: what a conversation has beside a user's message. A set of them is closed under what each
//! needs, and is the kind of a conversation.

use backchat_core::json::Value;

macro_rules! dimensions {
    ($($name:ident $text:literal [$($need:ident)*] $about:literal)*) => {
        /// One thing that a conversation may have.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Dim {
            $($name,)*
        }

        impl Dim {
            /// Every dimension, in the order of the table.
            pub const ALL: &'static [Dim] = &[$(Dim::$name,)*];

            /// Its name in reports.
            pub fn name(self) -> &'static str {
                match self {
                    $(Dim::$name => $text,)*
                }
            }

            /// What it is, in words.
            pub fn about(self) -> &'static str {
                match self {
                    $(Dim::$name => $about,)*
                }
            }

            /// The dimensions that it needs.
            pub fn needs(self) -> &'static [Dim] {
                match self {
                    $(Dim::$name => &[$(Dim::$need,)*],)*
                }
            }
        }
    };
}

dimensions! {
    Prompt "prompt" [] "the prompt for the next turn"
    System "system" [] "a system message at the beginning"
    Developer "developer" [] "a developer message"
    LateSystem "late_system" [] "a system message that is not the first"
    OtherRole "other_role" [] "a message of another role"
    NoUser "no_user" [] "no user message"
    UserTwice "user_twice" [] "two user messages in a row"
    Answer "answer" [] "an answer"
    AssistantFirst "assistant_first" [Answer LaterUser] "an answer before any user message"
    LaterUser "later_user" [Answer] "a user message after an answer"
    SecondAnswer "second_answer" [LaterUser] "an answer to a later user message"
    ThirdTurn "third_turn" [SecondAnswer] "two user messages that each follow an answer"
    Names "names" [] "a user message with a name"
    ReasoningContent "reasoning_content" [Answer] "reasoning under `reasoning_content`"
    Thinking "thinking" [Answer] "reasoning under `thinking`"
    Reasoning "reasoning" [Answer] "reasoning under `reasoning`"
    EmptyReasoning "empty_reasoning" [Answer] "an empty text as reasoning"
    InlineThink "inline_think" [Answer] "reasoning within the content"
    Call "call" [Answer] "a tool call"
    SecondCall "second_call" [Call] "two calls in one message"
    Beside "beside" [Call] "content beside a call"
    NullContent "null_content" [Call] "content null beside a call"
    MissingContent "missing_content" [Call] "no content beside a call"
    Result "result" [Call] "a tool result"
    SecondResult "second_result" [Result] "two tool results in a row"
    AfterResult "after_result" [Result] "an answer after a tool result"
    TextArguments "text_arguments" [Call] "arguments as JSON text"
    EmptyArguments "empty_arguments" [Call] "a call without arguments"
    TwoArguments "two_arguments" [Call] "several arguments"
    NumberArgument "number_argument" [Call] "an argument that is a number"
    BoolArgument "bool_argument" [Call] "an argument that is true, false or null"
    NestedArgument "nested_argument" [Call] "an argument that is an object or a list"
    UnicodeArgument "unicode_argument" [Call] "an argument beyond ASCII"
    SpecialArgument "special_argument" [Call] "an argument with quotes, <, > or &"
    CallId "call_id" [Call] "calls with an id"
    FlatCall "flat_call" [Call] "a call without the function object"
    ResultName "result_name" [Result] "a tool result with a name"
    Tools "tools" [] "offered tools"
    EmptyTools "empty_tools" [] "an empty list of tools"
    UnicodeTools "unicode_tools" [Tools] "tool definitions beyond ASCII"
    NestedTools "nested_tools" [Tools] "a parameter that is an object, a list or an enum"
    ToolNoParameters "tool_no_parameters" [Tools] "a tool without parameters"
    ToolNoDescription "tool_no_description" [Tools] "a tool without a description"
    ToolExtra "tool_extra" [Tools] "a tool with other keys"
    FlatTools "flat_tools" [Tools] "tools without the function object"
    Documents "documents" [] "documents"
    Clock "clock" [] "another date"
    UserEmpty "user_empty" [] "an empty user message"
    UserSpaces "user_spaces" [] "white space around a user message"
    UserLines "user_lines" [] "a user message of several lines"
    UserParts "user_parts" [] "a user message as a list of parts"
    UserTwoParts "user_two_parts" [UserParts] "a user message of two text parts"
    SystemEmpty "system_empty" [System] "an empty system message"
    SystemSpaces "system_spaces" [System] "white space around a system message"
    SystemLines "system_lines" [System] "a system message of several lines"
    SystemParts "system_parts" [System] "a system message as a list of parts"
    SystemTwoParts "system_two_parts" [SystemParts] "a system message of two text parts"
    AssistantEmpty "assistant_empty" [Answer] "an empty answer"
    AssistantSpaces "assistant_spaces" [Answer] "white space around an answer"
    AssistantLines "assistant_lines" [Answer] "an answer of several lines"
    AssistantParts "assistant_parts" [Answer] "an answer as a list of parts"
    AssistantTwoParts "assistant_two_parts" [AssistantParts] "an answer of two text parts"
    ToolEmpty "tool_empty" [Result] "an empty tool result"
    ToolSpaces "tool_spaces" [Result] "white space around a tool result"
    ToolLines "tool_lines" [Result] "a tool result of several lines"
    ToolParts "tool_parts" [Result] "a tool result as a list of parts"
    ToolTwoParts "tool_two_parts" [ToolParts] "a tool result of two text parts"
    UserImage "user_image" [UserParts] "an image part"
    ToolObject "tool_object" [Result] "a tool result that is an object"
}

/// The kinds of values that need an argument each.
pub const VALUES: [Dim; 5] =
    [Dim::NumberArgument, Dim::BoolArgument, Dim::NestedArgument, Dim::UnicodeArgument, Dim::SpecialArgument];

/// How many words of 64 bits a kind has.
const WORDS: usize = 4;

/// How many dimensions, settings included, a kind can tell apart.
const MOST: usize = WORDS * 64;

/// A set of dimensions and settings.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kind([u64; WORDS]);

impl Kind {
    /// The kind of the smallest conversation.
    pub const NONE: Kind = Kind([0; WORDS]);

    pub(crate) fn of(dims: &[Dim]) -> Self {
        dims.iter().fold(Self::NONE, |kind, dim| kind.with(*dim))
    }

    pub(crate) fn with(self, dim: Dim) -> Self {
        self.with_bit(dim as usize)
    }

    pub(crate) fn with_bit(mut self, bit: usize) -> Self {
        if let Some(word) = self.0.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
        self
    }

    pub(crate) fn has(self, dim: Dim) -> bool {
        self.has_bit(dim as usize)
    }

    pub(crate) fn has_any(self, dims: &[Dim]) -> bool {
        dims.iter().any(|dim| self.has(*dim))
    }

    pub(crate) fn has_bit(self, bit: usize) -> bool {
        self.0.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    pub(crate) fn union(self, other: Self) -> Self {
        self.zip(other, |a, b| a | b)
    }

    pub(crate) fn minus(self, other: Self) -> Self {
        self.zip(other, |a, b| a & !b)
    }

    fn zip(mut self, other: Self, join: impl Fn(u64, u64) -> u64) -> Self {
        for (word, other) in self.0.iter_mut().zip(other.0) {
            *word = join(*word, other);
        }
        self
    }

    /// Whether every dimension of it is one of the other kind.
    pub(crate) fn is_within(self, other: Self) -> bool {
        self.minus(other) == Self::NONE
    }

    pub(crate) fn len(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Its bits in order.
    pub(crate) fn bits(self) -> impl Iterator<Item = usize> {
        (0..MOST).filter(move |bit| self.has_bit(*bit))
    }

    /// Its dimensions in the order of the table, without settings.
    pub(crate) fn dims(self) -> impl Iterator<Item = Dim> {
        Dim::ALL.iter().copied().filter(move |dim| self.has(*dim))
    }

    /// With everything that its dimensions need.
    #[must_use]
    pub(crate) fn closed(self) -> Self {
        let mut kind = self;
        loop {
            let needed = kind.dims().flat_map(Dim::needs).fold(kind, |kind, need| kind.with(*need));
            if needed == kind {
                break;
            }
            kind = needed;
        }
        if VALUES.iter().filter(|value| kind.has(**value)).count() > 1 {
            kind = kind.with(Dim::TwoArguments);
        }
        let shaped = [Dim::AssistantSpaces, Dim::AssistantParts, Dim::AssistantLines, Dim::InlineThink];
        if kind.has(Dim::Call) && kind.has_any(&shaped) {
            kind = kind.with(Dim::Beside);
        }
        kind
    }
}

/// Pairs of dimensions that no conversation has together.
fn conflicts() -> Vec<(Dim, Dim)> {
    use Dim::{
        AssistantEmpty, AssistantLines, AssistantParts, AssistantSpaces, Beside, EmptyArguments, EmptyTools, FlatTools,
        InlineThink, LaterUser, MissingContent, Names, NestedArgument, NoUser, NullContent, NumberArgument,
        SpecialArgument, SystemEmpty, SystemLines, SystemParts, SystemSpaces, ToolEmpty, ToolExtra, ToolLines,
        ToolObject, ToolParts, ToolSpaces, Tools, TwoArguments, UnicodeArgument, UserEmpty, UserLines, UserParts,
        UserSpaces, UserTwice,
    };
    let mut pairs = vec![
        (NullContent, Beside),
        (NullContent, MissingContent),
        (MissingContent, Beside),
        (NoUser, LaterUser),
        (NoUser, UserTwice),
        (NoUser, Names),
        (Tools, EmptyTools),
        (FlatTools, ToolExtra),
        (AssistantEmpty, Beside),
        (AssistantEmpty, InlineThink),
        (AssistantParts, InlineThink),
        (NullContent, InlineThink),
        (MissingContent, InlineThink),
    ];
    let pair_with = |pairs: &mut Vec<(Dim, Dim)>, one: Dim, others: &[Dim]| {
        pairs.extend(others.iter().map(|other| (one, *other)));
    };
    pair_with(&mut pairs, ToolObject, &[ToolSpaces, ToolEmpty, ToolParts, ToolLines]);
    pair_with(&mut pairs, NoUser, &[UserEmpty, UserSpaces, UserParts, UserLines]);
    let values = [TwoArguments, NumberArgument, Dim::BoolArgument, NestedArgument, UnicodeArgument, SpecialArgument];
    pair_with(&mut pairs, EmptyArguments, &values);
    for content in [NullContent, MissingContent] {
        pair_with(&mut pairs, content, &[AssistantEmpty, AssistantSpaces, AssistantParts, AssistantLines]);
    }
    for [empty, spaces, parts, lines] in [
        [UserEmpty, UserSpaces, UserParts, UserLines],
        [SystemEmpty, SystemSpaces, SystemParts, SystemLines],
        [AssistantEmpty, AssistantSpaces, AssistantParts, AssistantLines],
        [ToolEmpty, ToolSpaces, ToolParts, ToolLines],
    ] {
        pair_with(&mut pairs, empty, &[spaces, parts, lines]);
        pair_with(&mut pairs, parts, &[spaces, lines]);
    }
    pairs
}

/// The settings that kinds name, and which kinds are possible.
#[derive(Debug)]
pub struct Universe {
    settings: Vec<(String, Value)>,
    conflicts: Vec<(Dim, Dim)>,
    /// The clock that conversations usually see.
    pub(crate) clock: String,
}

impl Universe {
    /// Kinds with these settings of variables, as many as fit.
    pub(crate) fn new(settings: Vec<(String, Value)>, clock: &str) -> Self {
        let mut universe = Self { settings: Vec::new(), conflicts: conflicts(), clock: clock.to_owned() };
        for (name, value) in settings {
            universe.setting(&name, &value);
        }
        universe
    }

    /// The bit of a setting, which is added if it is new; none if there are too many.
    pub(crate) fn setting(&mut self, name: &str, value: &Value) -> Option<usize> {
        let known = self.settings.iter().position(|(known, other)| known == name && other == value);
        let at = match known {
            Some(at) => at,
            None if Dim::ALL.len() + self.settings.len() < MOST => {
                self.settings.push((name.to_owned(), value.clone()));
                self.settings.len() - 1
            }
            None => return None,
        };
        Some(Dim::ALL.len() + at)
    }

    /// The settings, each with its bit.
    pub(crate) fn settings(&self) -> impl Iterator<Item = (usize, &str, &Value)> {
        self.settings.iter().enumerate().map(|(at, (name, value))| (Dim::ALL.len() + at, name.as_str(), value))
    }

    /// The settings of a kind.
    pub(crate) fn settings_of(&self, kind: Kind) -> impl Iterator<Item = (&str, &Value)> {
        self.settings().filter(move |(bit, ..)| kind.has_bit(*bit)).map(|(_, name, value)| (name, value))
    }

    /// Whether a conversation can have all of these.
    pub(crate) fn is_possible(&self, kind: Kind) -> bool {
        let kind = kind.closed();
        let speakers = [Dim::System, Dim::Developer, Dim::LateSystem, Dim::OtherRole, Dim::Answer];
        if kind.has(Dim::NoUser) && !kind.has_any(&speakers) {
            return false;
        }
        let mut names: Vec<&str> = self.settings_of(kind).map(|(name, _)| name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        names.len() == count && !self.conflicts.iter().any(|(one, other)| kind.has(*one) && kind.has(*other))
    }

    /// The name of a bit.
    pub(crate) fn name_of(&self, bit: usize) -> String {
        match Dim::ALL.get(bit) {
            Some(dim) => dim.name().to_owned(),
            None => {
                let setting = self.settings.get(bit - Dim::ALL.len());
                setting.map(|(name, value)| format!("{name}={value}")).unwrap_or_default()
            }
        }
    }

    /// The names of a kind's dimensions.
    pub fn names(&self, kind: Kind) -> Vec<String> {
        kind.bits().map(|bit| self.name_of(bit)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_has_what_its_dimensions_need() {
        for (given, wanted) in [
            (vec![Dim::ThirdTurn], vec![Dim::Answer, Dim::LaterUser, Dim::SecondAnswer, Dim::ThirdTurn]),
            (vec![Dim::UserImage], vec![Dim::UserParts, Dim::UserImage]),
            (
                vec![Dim::NumberArgument, Dim::BoolArgument],
                vec![Dim::Answer, Dim::Call, Dim::TwoArguments, Dim::NumberArgument, Dim::BoolArgument],
            ),
            (vec![Dim::Call, Dim::InlineThink], vec![Dim::Answer, Dim::InlineThink, Dim::Call, Dim::Beside]),
        ] {
            assert_eq!(Kind::of(&given).closed().dims().collect::<Vec<_>>(), wanted, "{given:?}");
        }
    }

    #[test]
    fn a_kind_is_impossible_with_dimensions_that_exclude_each_other_or_two_values_of_a_variable() {
        let universe =
            Universe::new(vec![("a".to_owned(), true.into()), ("a".to_owned(), false.into())], "2026-01-01T00:00:00");
        let both = universe.settings().fold(Kind::NONE, |kind, (bit, ..)| kind.with_bit(bit));
        assert!(!universe.is_possible(both));
        for (dims, possible) in [
            (&[Dim::NoUser][..], false),
            (&[Dim::NoUser, Dim::System], true),
            (&[Dim::NullContent, Dim::Beside], false),
            (&[Dim::EmptyArguments, Dim::BoolArgument], false),
            (&[Dim::UserParts, Dim::UserTwice], true),
        ] {
            assert_eq!(universe.is_possible(Kind::of(dims)), possible, "{dims:?}");
        }
    }
}
