//! The request: its tools, which of them the model may or must call, and the format of the answer.

use std::borrow::Cow;

use super::answer::AnswerFormat;
use super::calls::Tool;
use super::notes::{Effect, Note};
use super::tools::{self, Fault};
use super::turn::{Presence, Reasoning};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::Value;

/// One request.
#[derive(Clone, Debug, Default)]
pub struct Request<'r> {
    pub(crate) tools: Option<Cow<'r, Value>>,
    pub(crate) choice: Option<Cow<'r, Choice>>,
    pub(crate) parallel: Option<bool>,
    pub(crate) prompt: Option<Cow<'r, str>>,
    pub(crate) reasoning: Reasoning,
    pub(crate) content: Presence,
    pub(crate) format: Option<AnswerFormat<'r>>,
    pub(crate) open_properties: bool,
    pub(crate) wire_space: bool,
    pub(crate) any_order: bool,
    /// Notes from reading the request's body.
    pub(crate) notes: Vec<Note>,
}

impl<'r> Request<'r> {
    /// The tools as OpenAI lists them, or the functions inside.
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Option<&'r Value>>) -> Self {
        self.tools = tools.into().map(Cow::Borrowed);
        self
    }

    /// Which of them the model may or must call; by default `Auto` with tools and `None` without.
    #[must_use]
    pub fn choice(mut self, choice: impl Into<Option<&'r Choice>>) -> Self {
        self.choice = choice.into().map(Cow::Borrowed);
        self
    }

    /// Whether several calls are allowed; by default, unless a tool is named.
    #[must_use]
    pub fn parallel(mut self, parallel: impl Into<Option<bool>>) -> Self {
        self.parallel = parallel.into();
        self
    }

    /// The prompt as it will be sent.
    #[must_use]
    pub fn prompt(mut self, prompt: impl Into<Option<&'r str>>) -> Self {
        self.prompt = prompt.into().map(Cow::Borrowed);
        self
    }

    /// The same with an owned text.
    #[must_use]
    pub fn prompt_text(mut self, prompt: String) -> Self {
        self.prompt = Some(Cow::Owned(prompt));
        self
    }

    /// Whether the request asks for an answer without reasoning.
    pub fn is_without_reasoning(&self) -> bool {
        self.reasoning == Reasoning::Never
    }

    /// Whether the model thinks first.
    #[must_use]
    pub fn reasoning(mut self, reasoning: Reasoning) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// Whether the turn may or must have content next to its calls.
    #[must_use]
    pub fn content(mut self, content: Presence) -> Self {
        self.content = content;
        self
    }

    /// Whether an absent `additionalProperties` allows any member, as in the standard.
    #[must_use]
    pub fn open_properties(mut self, open_properties: bool) -> Self {
        self.open_properties = open_properties;
        self
    }

    /// Whether only the white space of renders is allowed between JSON tokens.
    #[must_use]
    pub fn wire_space(mut self, wire_space: bool) -> Self {
        self.wire_space = wire_space;
        self
    }

    /// Whether the arguments of a call may come in any order, if they are few enough.
    #[must_use]
    pub fn any_order(mut self, any_order: bool) -> Self {
        self.any_order = any_order;
        self
    }
}

/// Which tools the model may or must call.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// Any of them, or none.
    Auto,
    /// At least one.
    Required,
    /// None.
    None,
    /// This one.
    Named(String),
    /// Any of these, or none.
    Allowed(Vec<String>),
    /// At least one of these.
    RequiredOf(Vec<String>),
}

impl Choice {
    /// Reads OpenAI's `tool_choice`: a word or an object.
    ///
    /// # Errors
    ///
    /// The value is neither.
    pub fn read(value: &Value) -> Result<Self, Diagnostic> {
        let wrong = || {
            let message = "invalid `tool_choice`";
            Diagnostic::error("grammar-choice", message)
                .help("`auto`, `required`, `none`, a tool's name, or OpenAI's objects of the types `function`, `custom` and `allowed_tools`")
        };
        match value {
            Value::String(word) => Ok(match word.as_str() {
                "auto" => Self::Auto,
                "required" | "any" => Self::Required,
                "none" => Self::None,
                name => Self::Named(name.to_owned()),
            }),
            Value::Object(entries) => {
                let name = |value: &Value| -> Option<String> {
                    let own = value.get("function").or_else(|| value.get("custom")).unwrap_or(value);
                    own.get("name").and_then(Value::as_str).map(str::to_owned)
                };
                match entries.get("type").and_then(Value::as_str) {
                    Some("allowed_tools") => {
                        let own = entries.get("allowed_tools").unwrap_or(value);
                        let names = own.get("tools").and_then(Value::as_list).ok_or_else(wrong)?;
                        let names: Vec<String> = names.iter().map(name).collect::<Option<_>>().ok_or_else(wrong)?;
                        match own.get("mode").and_then(Value::as_str) {
                            Some("required") => Ok(Self::RequiredOf(names)),
                            _ => Ok(Self::Allowed(names)),
                        }
                    }
                    _ => name(value).map(Self::Named).ok_or_else(wrong),
                }
            }
            _ => Err(wrong()),
        }
    }
}

/// How many calls the request requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Nothing,
    Perhaps,
    Some,
    One,
}

impl Wants {
    /// Whether a call is required.
    pub fn is_forced(self) -> bool {
        matches!(self, Self::Some | Self::One)
    }
}

/// The tools that the model may call, and how many calls are required.
pub(crate) fn tools(request: &Request<'_>, notes: &mut Vec<Note>) -> Result<(Vec<Tool>, Wants), Vec<Diagnostic>> {
    let given = match request.tools.as_deref() {
        None | Some(Value::Null) => &[][..],
        Some(Value::List(items)) => items,
        Some(_) => return Err(vec![Diagnostic::error("grammar-tools", "the tools must be a JSON list")]),
    };
    let (mut tools, mut faults) = tools::read(given, notes);
    let default = if given.is_empty() { Choice::None } else { Choice::Auto };
    let choice = request.choice.as_deref().unwrap_or(&default);
    let (names, wants): (Option<&[String]>, Wants) = match choice {
        Choice::None => (Some(&[]), Wants::Nothing),
        Choice::Auto if given.is_empty() => (None, Wants::Nothing),
        Choice::Auto => (None, Wants::Perhaps),
        Choice::Required => (None, Wants::Some),
        Choice::Named(name) => (Some(std::slice::from_ref(name)), Wants::One),
        Choice::Allowed(names) => (Some(names), Wants::Perhaps),
        Choice::RequiredOf(names) => (Some(names), Wants::Some),
    };
    if let Some(names) = names {
        // An invalid tool that the model may not call is harmless.
        faults.retain(|fault| fault.of_list || fault.name.as_ref().is_some_and(|name| names.contains(name)));
    }
    let mut problems = Vec::new();
    for Fault { name, of_list, message } in faults {
        if wants == Wants::Perhaps && !of_list {
            let message = format!("the tool is dropped: {message}");
            notes.push(Note { tool: name, ..Note::new(Effect::Tighter, message) });
        } else {
            let name = name.map_or(String::new(), |name| format!("tool `{name}`: "));
            problems.push(Diagnostic::error("grammar-tools", format!("{name}{message}")));
        }
    }
    if wants == Wants::Nothing {
        return if problems.is_empty() { Ok((Vec::new(), wants)) } else { Err(problems) };
    }
    if let Some(names) = names {
        let listed = |name: &str| given.iter().filter_map(tools::name).any(|known| known == name);
        for name in names.iter().filter(|name| !listed(name)) {
            let known: Vec<&str> = given.iter().filter_map(tools::name).collect();
            let message = format!("`tool_choice` names `{name}`, which is not among the tools");
            problems
                .push(Diagnostic::error("grammar-choice", message).help(format!("the tools are {}", known.join(", "))));
        }
        tools.retain(|tool| names.contains(&tool.name));
    }
    if wants == Wants::Some && tools.is_empty() && problems.is_empty() {
        problems.push(Diagnostic::error("grammar-tools", "a call is required, but there are no tools"));
    }
    if problems.is_empty() { Ok((tools, wants)) } else { Err(problems) }
}
