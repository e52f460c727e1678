//! Renders a message with its chat template and parses it back.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::fixture::{Case, RoundTrip};
use super::reading::Reading;
use super::splits::WHOLE;
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_chats::chats::Unrenderer;
use backchat_core::diagnostic::{Diagnostic, Sources};
use backchat_core::json::{Object, Value};
use backchat_core::text::common_start;
use backchat_derive::derive::{self, Model};
use backchat_diff::messages::differences;
use backchat_parser::content::coerce::Tools;
use backchat_parser::parser::{Options, Parser};
use backchat_parser::template::Template;

/// A chat template from its source.
#[derive(Debug)]
pub struct Chat {
    template: Arc<ChatTemplate>,
    for_tools: Option<Arc<ChatTemplate>>,
    special_tokens: Object,
    /// The models opened so far, by what they were opened with.
    models: Mutex<HashMap<String, Result<Arc<Model>, String>>>,
}

impl Chat {
    /// Reads a chat template from any place that holds one. The error has the texts it is about.
    pub fn open(name: &str) -> Result<Self, (Vec<Diagnostic>, Sources)> {
        let source = backchat_chat::source::open(name, None).map_err(|error| (error.diagnostics, error.sources))?;
        let source = source.with_tokens_beside();
        let compile = |source: &backchat_chat::source::Source| {
            ChatTemplate::compile(&source.template).map(Arc::new).map_err(|error| {
                let text = ChatTemplate::normalize(&source.template);
                (vec![error.diagnostic(&source.template, &source.file)], Sources::none().with(&source.file, text))
            })
        };
        let template = compile(&source)?;
        let special_tokens = source.special_tokens.clone();
        let with_tools = source.clone().for_tools();
        let for_tools = if with_tools == source { None } else { Some(compile(&with_tools)?) };
        Ok(Self { template, for_tools, special_tokens, models: Mutex::default() })
    }

    fn template(&self, has_tools: bool) -> &Arc<ChatTemplate> {
        self.for_tools.as_ref().filter(|_| has_tools).unwrap_or(&self.template)
    }

    /// The special tokens, and other variables.
    fn all(&self, variables: &Object) -> Object {
        let mut all = self.special_tokens.clone();
        all.extend(variables.clone());
        all
    }

    /// Its source and its variables.
    pub(super) fn given(&self, variables: &Object, has_tools: bool) -> (&str, Object) {
        (self.template(has_tools).source(), self.all(variables))
    }

    /// The model of a response template, opened once: its wire and its doubts are those of the chat template.
    pub(super) fn model(&self, template: &Template, case: &Case) -> Result<Arc<Model>, String> {
        let (source, all) = self.given(&case.variables, case.tools.is_some());
        let key = format!("{} {}", case.tools.is_some(), Value::Object(all.clone()));
        let mut models = self.models.lock().unwrap_or_else(PoisonError::into_inner);
        let open = || {
            let opened = Model::open(source, Some(template.clone()), &derive::Options::default().variables(all));
            opened.map(Arc::new).map_err(|problems| joined(&problems))
        };
        models.entry(key).or_insert_with(open).clone()
    }

    /// The reader of the template's renders.
    pub(super) fn unrenderer(&self, variables: &Object, has_tools: bool) -> Unrenderer<Arc<ChatTemplate>> {
        Unrenderer::new(self.template(has_tools).clone(), self.all(variables), RenderOptions::default())
    }
}

/// The messages of problems in one line.
pub(super) fn joined(problems: &[Diagnostic]) -> String {
    problems.iter().map(|problem| problem.message.as_str()).collect::<Vec<_>>().join("; ")
}

/// The input of the chat template: with the message at the end, or with the prompt for it.
fn context(case: &Case, message: Option<&Object>, special_tokens: &Object) -> Object {
    let greeting = || vec![Value::from([("role", "user".into()), ("content", "Hi".into())])];
    let mut messages = case.messages.clone().unwrap_or_else(greeting);
    if let Some(message) = message {
        let mut message = message.clone();
        message.entry("role").or_insert_with(|| "assistant".into());
        // Many templates read the key without testing for it.
        message.entry("content").or_insert_with(|| "".into());
        messages.push(Value::Object(message));
    }
    let mut context = special_tokens.clone();
    context.extend(case.variables.clone());
    context.insert("messages", Value::List(messages));
    context.insert("add_generation_prompt", message.is_none().into());
    if let Some(tools) = &case.tools {
        context.insert("tools", tools.clone());
    }
    // The response template may use another name for reasoning than the chat template reads.
    backchat_chat::alias_reasoning(&mut context);
    context
}

/// The result of rendering a message and parsing it again.
pub enum Returned {
    Same,
    /// It differs in this, and renders to the same bytes: a loss, as in the proof of `derive`.
    Lost(Vec<String>),
    Changed(Vec<String>),
}

/// Renders a message and parses it back, or returns why that fails.
pub fn run(
    case: &Case,
    message: &Object,
    template: &Template,
    chat: &Chat,
    tools: Option<Arc<Tools>>,
) -> Result<Returned, String> {
    let left_out = match &case.round_trip {
        RoundTrip::No => return Ok(Returned::Same),
        RoundTrip::Whole => &[][..],
        RoundTrip::Without(keys) => keys.as_slice(),
    };
    let render = |message: Option<&Object>| {
        let context = context(case, message, &chat.special_tokens);
        let rendered = chat.template(case.tools.is_some()).render(&context, &RenderOptions::default());
        rendered
            .map(|rendered| rendered.text)
            .map_err(|error| format!("the chat template fails on the message: {error}"))
    };
    let (full, prompt) = (render(Some(message))?, render(None)?);
    let (prefix, turn) = cut(&full, &prompt, template);
    let parser = Parser::new(template, prefix, Options::default().tools(tools))
        .map_err(|error| format!("the prompt cannot be parsed: {error}"))?;
    let reading = Reading::new(parser, WHOLE.chunks(turn));
    let found = reading.outcome.as_ref().map(|(message, _)| message.clone());
    let found = found.map_err(|error| format!("the rendered message cannot be parsed: {error}"))?;
    let without = |message: &Object| {
        let kept = message.iter().filter(|(key, _)| !left_out.iter().any(|left| left == key));
        Value::Object(kept.map(|(key, value)| (key, value.clone())).collect())
    };
    let notes = differences(&without(message), &without(&found));
    let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
    if notes.is_empty() {
        return Ok(Returned::Same);
    }
    let again = render(Some(&found));
    let is_lost = has_structure_of(message, &found) && again.is_ok_and(|again| again == full);
    Ok(if is_lost { Returned::Lost(notes) } else { Returned::Changed(notes) })
}

/// Whether a message has every part that another has, and as many calls.
fn has_structure_of(said: &Object, found: &Object) -> bool {
    let calls = |message: &Object| message.get("tool_calls").and_then(Value::as_list).map_or(0, <[Value]>::len);
    let mut parts = said.iter().filter(|(_, value)| !value.is_empty());
    calls(said) == calls(found) && parts.all(|(key, _)| found.get(key).is_some_and(|value| !value.is_empty()))
}

/// Cuts a rendered conversation into the prompt and the assistant's last turn.
///
/// The prompt is the generation prompt, if the conversation begins with it; otherwise their common prefix, up to the
/// next start anchor.
fn cut<'t>(full: &'t str, prompt: &str, template: &Template) -> (&'t str, &'t str) {
    if let Some(turn) = full.strip_prefix(prompt) {
        return full.split_at(full.len() - turn.len());
    }
    let common = common_start(full, prompt);
    let anchor = template.start_anchor().pattern();
    let last_before = anchor.matches(common).flatten().last().map(|found| found.span().1);
    let end = last_before.unwrap_or_else(|| match anchor.find_at(full, common.len()) {
        Ok(Some(found)) => found.span().1,
        _ => common.len(),
    });
    full.split_at_checked(end).unwrap_or((full, ""))
}
