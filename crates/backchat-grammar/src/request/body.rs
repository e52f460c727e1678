//! Reads requests as clients send them: the body of a chat completion.

use std::borrow::Cow;

use super::answer_format::AnswerFormat;
use super::choice::Choice;
use super::options::Reasoning;
use super::{Request, tools};
use crate::notes::{Effect, Note};
use backchat_chat::{ChatTemplate, RenderOptions, render_continued};
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::{Object, Value};

/// Fields that already constrain the whole output.
const OWN_GRAMMARS: [&str; 6] = ["structured_outputs", "grammar", "json_schema", "regex", "ebnf", "structural_tag"];

fn wrong(message: impl Into<String>) -> Diagnostic {
    Diagnostic::error("grammar-request", message)
}

impl<'r> Request<'r> {
    /// Reads the body of a chat completion: its tools, the choice among them, and the format of the answer. Fields that
    /// do not affect the form of the output are ignored. The prompt is not rendered; see [`render_prompt`].
    ///
    /// # Errors
    ///
    /// One for each field that is invalid or cannot be enforced, with its JSON pointer.
    pub fn from_body(body: &'r Value) -> Result<Self, Vec<Diagnostic>> {
        let Value::Object(entries) = body else {
            return Err(vec![wrong(format!("the request must be a JSON object, not {}", body.kind()))]);
        };
        let mut request = Self::default();
        let mut problems = Vec::new();
        let given = |name: &str| entries.get(name).filter(|value| !value.is_null());
        for name in entries.keys() {
            let is_own = OWN_GRAMMARS.contains(&name) || name.starts_with("guided_");
            if is_own && given(name).is_some() {
                let message = format!("`/{name}` is a grammar of its own for the whole output");
                problems.push(wrong(message).help("leave it out: it cannot be combined with this one"));
            }
        }
        request.read_tools(entries, &mut problems);
        match given("parallel_tool_calls") {
            None => {}
            Some(Value::Bool(several)) => request.parallel = Some(*several),
            Some(other) => {
                problems.push(wrong(format!("`/parallel_tool_calls` must be true or false, not {}", other.kind())));
            }
        }
        let of_text = given("text").and_then(|text| text.get("format"));
        let format = match (given("response_format"), of_text) {
            (Some(format), _) => AnswerFormat::read(format, "/response_format"),
            (None, Some(format)) => AnswerFormat::read(format, "/text/format"),
            (None, None) => Ok(None),
        };
        match format {
            Ok(format) => request.format = format,
            Err(problem) => problems.push(problem),
        }
        if effort(entries) == Some("none") {
            request.reasoning = Reasoning::Never;
        }
        if problems.is_empty() { Ok(request) } else { Err(problems) }
    }

    /// Reads the tools and the choice, under their current or former names.
    fn read_tools(&mut self, entries: &'r Object, problems: &mut Vec<Diagnostic>) {
        let given = |name: &str| entries.get(name).filter(|value| !value.is_null());
        let old = |name: &str| Note {
            path: Some(format!("/{name}")),
            ..Note::new(Effect::Assumed, format!("`{name}` is read as its successor"))
        };
        self.tools = given("tools").map(Cow::Borrowed);
        if let (None, Some(functions)) = (&self.tools, given("functions")) {
            self.tools = Some(Cow::Borrowed(functions));
            self.notes.push(old("functions"));
        }
        let choice = match (given("tool_choice"), given("function_call")) {
            (Some(choice), _) => Some(("tool_choice", choice)),
            (None, Some(choice)) => {
                self.notes.push(old("function_call"));
                Some(("function_call", choice))
            }
            (None, None) => None,
        };
        match choice.map(|(name, choice)| (name, Choice::read(choice))) {
            None => {}
            Some((_, Ok(choice))) => self.choice = Some(Cow::Owned(choice)),
            Some((name, Err(problem))) => {
                let help = problem.help.unwrap_or_default();
                problems.push(Diagnostic::error("grammar-choice", format!("invalid `/{name}`")).help(help));
            }
        }
    }
}

/// The reasoning effort, from either API's field.
fn effort(body: &Object) -> Option<&str> {
    let own = body.get("reasoning_effort").and_then(Value::as_str);
    own.or_else(|| body.get("reasoning")?.get("effort")?.as_str())
}

/// Renders the prompt of a request's body with the model's chat template; `None` if the body has no messages.
/// `variables` are those that the body does not set, such as the special tokens.
///
/// # Errors
///
/// The chat template fails on these messages, or they are not a list.
pub fn render_prompt(
    template: &ChatTemplate,
    body: &Value,
    variables: &Object,
    options: &RenderOptions,
) -> Result<Option<String>, Diagnostic> {
    let Value::Object(entries) = body else { return Ok(None) };
    let messages = match entries.get("messages") {
        None | Some(Value::Null) => return Ok(None),
        Some(Value::List(messages)) => messages,
        Some(other) => return Err(wrong(format!("`/messages` must be a list, not {}", other.kind()))),
    };
    let flag = |name: &str| entries.get(name).and_then(Value::as_bool);
    let continued = flag("continue_final_message") == Some(true);
    let mut context = variables.clone();
    let mut set = |name: &str, value: Value| drop(context.insert(name, value));
    set("messages", Value::List(messages.clone()));
    let tools = entries.get("tools").or_else(|| entries.get("functions"));
    let has_tools = tools.is_some_and(|tools| !tools.is_empty());
    set("tools", tools.filter(|_| has_tools).map_or(Value::Null, tools::shown));
    set("documents", entries.get("documents").cloned().unwrap_or_default());
    set("add_generation_prompt", (flag("add_generation_prompt").unwrap_or(true) && !continued).into());
    if let Some(effort) = effort(entries).filter(|effort| *effort != "none") {
        set("reasoning_effort", effort.into());
    }
    for (name, value) in entries.get("chat_template_kwargs").and_then(Value::as_object).into_iter().flatten() {
        set(name, value.clone());
    }
    let rendered = match continued {
        true => render_continued(template, &context, options),
        false => template.render(&context, options).map(|rendered| Some(rendered.text)),
    };
    let prompt = rendered.map_err(|error| {
        wrong(format!("the chat template does not render these messages: {error}")).help("pass the prompt itself")
    })?;
    match prompt {
        Some(text) => Ok(Some(text)),
        None => {
            let message =
                "`/continue_final_message`: the chat template does not show the content of the last message as it is";
            Err(wrong(message).help("pass the prompt itself"))
        }
    }
}
