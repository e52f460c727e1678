//! The request: its tools, and which of them the model may or must call.

use super::calls::Tool;
use super::notes::{Effect, Note};
use super::turn::Presence;
use crate::diagnostic::Diagnostic;
use crate::json::{Object, Value};

/// One request.
#[derive(Clone, Copy, Debug, Default)]
pub struct Request<'r> {
    pub(crate) tools: Option<&'r Value>,
    pub(crate) choice: Option<&'r Choice>,
    pub(crate) parallel: Option<bool>,
    pub(crate) prompt: Option<&'r str>,
    pub(crate) reasoning: Presence,
    pub(crate) content: Presence,
    pub(crate) open_properties: bool,
    pub(crate) wire_space: bool,
    pub(crate) any_order: bool,
}

impl<'r> Request<'r> {
    /// The tools as OpenAI lists them, or the functions inside.
    #[must_use]
    pub fn tools(mut self, tools: impl Into<Option<&'r Value>>) -> Self {
        self.tools = tools.into();
        self
    }

    /// Which of them the model may or must call; by default `Auto` with tools and `None` without.
    #[must_use]
    pub fn choice(mut self, choice: impl Into<Option<&'r Choice>>) -> Self {
        self.choice = choice.into();
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
        self.prompt = prompt.into();
        self
    }

    /// Whether the model thinks first.
    #[must_use]
    pub fn reasoning(mut self, reasoning: Presence) -> Self {
        self.reasoning = reasoning;
        self
    }

    /// Whether it may say something beside its calls.
    #[must_use]
    pub fn content(mut self, content: Presence) -> Self {
        self.content = content;
        self
    }

    /// Read absent `additionalProperties` as the standard does: any are allowed.
    #[must_use]
    pub fn open_properties(mut self, open_properties: bool) -> Self {
        self.open_properties = open_properties;
        self
    }

    /// White space between JSON tokens only as renders have it.
    #[must_use]
    pub fn wire_space(mut self, wire_space: bool) -> Self {
        self.wire_space = wire_space;
        self
    }

    /// The arguments of a call in any order, if they are few enough.
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
                .help("`auto`, `required`, `none`, a tool's name, or OpenAI's objects of the types `function` and `allowed_tools`")
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
                    let own = value.get("function").unwrap_or(value);
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

/// How many calls the request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wants {
    Nothing,
    Perhaps,
    Some,
    One,
}

/// The tools the model may call, and how many calls it has to make.
pub(crate) fn tools(request: &Request<'_>, notes: &mut Vec<Note>) -> Result<(Vec<Tool>, Wants), Vec<Diagnostic>> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut problems = Vec::new();
    let given = match request.tools {
        None | Some(Value::Null) => &[][..],
        Some(Value::List(items)) => items,
        Some(_) => return Err(vec![Diagnostic::error("grammar-tools", "the tools must be a JSON list")]),
    };
    for (at, item) in given.iter().enumerate() {
        let own = item.get("function").unwrap_or(item);
        let Some(name) = own.get("name").and_then(Value::as_str).filter(|name| !name.is_empty()) else {
            problems.push(Diagnostic::error("grammar-tools", format!("the tool at `/{at}` has no name")));
            continue;
        };
        if tools.iter().any(|known| known.name == name) {
            problems.push(Diagnostic::error(
                "grammar-tools",
                format!("the tool at `/{at}` has the same name as another: `{name}`"),
            ));
            continue;
        }
        let parameters = match own.get("parameters").or_else(|| own.get("input_schema")) {
            None | Some(Value::Null) => {
                notes.push(Note {
                    tool: Some(name.to_owned()),
                    ..Note::new(
                        Effect::Assumed,
                        "the tool has no parameters: its only valid argument is an empty object",
                    )
                });
                let none = [("type", "object".into()), ("properties", Value::Object(Object::new()))];
                Value::from(none)
            }
            Some(parameters) => parameters.clone(),
        };
        tools.push(Tool { name: name.to_owned(), parameters });
    }
    let default = if tools.is_empty() { Choice::None } else { Choice::Auto };
    let choice = request.choice.unwrap_or(&default);
    let (names, wants): (Option<&[String]>, Wants) = match choice {
        Choice::None => return if problems.is_empty() { Ok((Vec::new(), Wants::Nothing)) } else { Err(problems) },
        Choice::Auto if tools.is_empty() => (None, Wants::Nothing),
        Choice::Auto => (None, Wants::Perhaps),
        Choice::Required => (None, Wants::Some),
        Choice::Named(name) => (Some(std::slice::from_ref(name)), Wants::One),
        Choice::Allowed(names) => (Some(names), Wants::Perhaps),
        Choice::RequiredOf(names) => (Some(names), Wants::Some),
    };
    if let Some(names) = names {
        for name in names {
            if !tools.iter().any(|tool| tool.name == *name) {
                let known: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
                let message = format!("`tool_choice` names `{name}`, which is not among the tools");
                problems.push(
                    Diagnostic::error("grammar-choice", message).help(format!("the tools are {}", known.join(", "))),
                );
            }
        }
        tools.retain(|tool| names.contains(&tool.name));
    }
    if wants == Wants::Some && tools.is_empty() && problems.is_empty() {
        problems.push(Diagnostic::error("grammar-tools", "a call is required, but there are no tools"));
    }
    if problems.is_empty() { Ok((tools, wants)) } else { Err(problems) }
}
