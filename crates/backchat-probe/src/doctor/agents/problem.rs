//! The problems that a chat template may have with the conversations of agents, each with its id and its words.

/// One problem: conversations of a kind that templates refuse, drop or misprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Problem {
    /// A system message anywhere but first and alone.
    LateSystem,
    /// Messages of the role `developer`.
    Developer,
    /// A conversation without a user message.
    NoUser,
    /// Roles that do not alternate.
    Alternation,
    /// Content as a list of text parts.
    Parts,
    /// Content as text, where the template takes only parts.
    Text,
    /// The result of a tool as a list of text parts.
    ResultParts,
    /// A call whose content is null or absent.
    NullContent,
    /// A result whose content is null.
    NullResult,
    /// Arguments as JSON text.
    ArgsText,
    /// Arguments as an object, where the template takes JSON text.
    ArgsObject,
    /// Calls without a type or an id, or with a long id.
    CallKeys,
    /// A list of calls that is empty or null.
    EmptyCalls,
    /// Tools with fewer keys than usual, or richer schemas.
    Tools,
    /// Results without a name, or in another order than their calls.
    Results,
    /// A user message directly after a result.
    UserAfterResult,
    /// Reasoning under another key.
    ReasoningKey,
    /// Reasoning without content.
    ReasoningOnly,
    /// Turns that change once the conversation continues.
    Prefix,
    /// A template without a generation prompt.
    GenerationPrompt,
    /// A last answer that no marker ends.
    Stop,
}

impl Problem {
    /// Every problem, those of calls and tools last.
    pub const ALL: [Problem; 21] = [
        Problem::LateSystem,
        Problem::Developer,
        Problem::NoUser,
        Problem::Alternation,
        Problem::Parts,
        Problem::Text,
        Problem::ResultParts,
        Problem::NullContent,
        Problem::NullResult,
        Problem::ArgsText,
        Problem::ArgsObject,
        Problem::CallKeys,
        Problem::EmptyCalls,
        Problem::Tools,
        Problem::Results,
        Problem::UserAfterResult,
        Problem::ReasoningKey,
        Problem::ReasoningOnly,
        Problem::Prefix,
        Problem::GenerationPrompt,
        Problem::Stop,
    ];

    /// Its name in options and reports.
    pub fn id(self) -> &'static str {
        let fact = self.fact();
        fact.strip_prefix("agents.").unwrap_or(fact)
    }

    /// The name of the fact that it does not occur.
    pub fn fact(self) -> &'static str {
        self.described().0
    }

    /// What the conversations hold, in words.
    pub fn words(self) -> &'static str {
        self.described().1
    }

    /// The names of its conversations.
    pub(crate) fn shapes(self) -> &'static [&'static str] {
        match self {
            Self::LateSystem => &["after_system", "alone", "head"],
            Self::Developer => &["first"],
            Self::NoUser => &["system_only", "tool_loop"],
            Self::Alternation => &["assistant_first", "assistant_after_system", "two_users", "two_assistants"],
            Self::Parts => &["system", "user", "assistant"],
            Self::Text => &["chat"],
            Self::ResultParts => &["one"],
            Self::NullContent | Self::ReasoningOnly => &["null", "missing"],
            Self::NullResult => &["null"],
            Self::ArgsText => &["plain", "compact", "rich", "empty"],
            Self::ArgsObject => &["plain"],
            Self::CallKeys => &["no_type", "no_id", "long_id"],
            Self::EmptyCalls => &["list", "null"],
            Self::Tools => &["empty", "no_description", "no_parameters", "refs", "any_of"],
            Self::Results => &["no_name", "several", "order"],
            Self::UserAfterResult => &["user"],
            Self::ReasoningKey => &["reasoning_content", "reasoning", "thinking"],
            Self::Prefix | Self::GenerationPrompt | Self::Stop => &[],
        }
    }

    /// The problem of this id.
    pub fn named(id: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|problem| problem.id() == id)
    }

    /// Whether it changes what conversations that render well become, so that it is repaired only if it is named.
    pub fn is_by_name_only(self) -> bool {
        matches!(self, Self::Prefix | Self::GenerationPrompt | Self::Stop)
    }

    /// Whether it concerns calls, their results or tools.
    pub fn is_about_calls(self) -> bool {
        use Problem::{ArgsObject, ArgsText, CallKeys, NullContent, NullResult, ResultParts, Results, Tools};
        matches!(self, ArgsObject | ArgsText | CallKeys | NullContent | NullResult | ResultParts | Results | Tools)
            || self == Self::UserAfterResult
    }

    /// Whether the order of the conversation's texts is part of what a render must show.
    pub(crate) fn is_about_order(self) -> bool {
        matches!(self, Self::LateSystem | Self::Alternation | Self::Results | Self::NoUser | Self::UserAfterResult)
    }

    fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::LateSystem => ("agents.late_system", "system messages in the middle, or several"),
            Self::Developer => ("agents.developer", "messages of the role developer"),
            Self::NoUser => ("agents.no_user", "conversations without a user message"),
            Self::Alternation => ("agents.alternation", "roles that do not alternate"),
            Self::Parts => ("agents.parts", "content as a list of text parts"),
            Self::Text => ("agents.text", "content as text"),
            Self::ResultParts => ("agents.result_parts", "results as a list of text parts"),
            Self::NullContent => ("agents.null_content", "calls whose content is null or absent"),
            Self::NullResult => ("agents.null_result", "results whose content is null"),
            Self::ArgsText => ("agents.args_text", "arguments as JSON text"),
            Self::ArgsObject => ("agents.args_object", "arguments as an object"),
            Self::CallKeys => ("agents.call_keys", "calls without a type or an id, or with a long id"),
            Self::EmptyCalls => ("agents.empty_calls", "an empty list of calls, or null"),
            Self::Tools => ("agents.tools", "tools with fewer keys, or with richer schemas"),
            Self::Results => ("agents.results", "results without a name, or in another order"),
            Self::UserAfterResult => ("agents.user_after_result", "a user message directly after a result"),
            Self::ReasoningKey => ("agents.reasoning_key", "reasoning under another key"),
            Self::ReasoningOnly => ("agents.reasoning_only", "reasoning without content"),
            Self::Prefix => ("agents.prefix", "turns that change once the conversation continues"),
            Self::GenerationPrompt => ("agents.generation_prompt", "a prompt for the answer"),
            Self::Stop => ("agents.stop", "a marker that ends the last answer"),
        }
    }
}
