//! The model: prompts, grammars and parsers for requests. Everything shared by all requests is computed once.

use std::sync::Arc;

use crate::api_error::ApiError;
use crate::call_ids::IdForm;
use crate::engine::Engine;
use crate::messages::{self, MessageForm};
use crate::request::{ChatRequest, Format};
use backchat_chat::source::Source;
use backchat_chat::{ChatTemplate, RenderError, RenderOptions, render_continued};
use backchat_core::REASONING_KEYS;
use backchat_core::diagnostic::Diagnostic;
use backchat_core::json::{Object, Value};
use backchat_derive::derive;
use backchat_grammar::{Builder, Choice, Grammar, Layout, Request, Written, written};
use backchat_parser::parser::{Options, Parser, Policies, Tools};
use backchat_parser::template::Template;
use backchat_probe::probe::NOW;

/// A model that is served.
#[derive(Debug)]
pub struct Model {
    template: Template,
    /// For conversations without tools, and with them.
    chats: [ChatTemplate; 2],
    form: MessageForm,
    id_form: IdForm,
    special_tokens: Object,
    bos: Option<String>,
    grammars: Builder,
    preserved: Vec<String>,
    was_derived: bool,
    doubts: Vec<String>,
    recover: Policies,
}

/// A request prepared for the engine.
#[derive(Debug)]
pub struct Prepared {
    /// The prompt as the chat template wrote it.
    pub prompt: String,
    /// The grammar, if the request needs one and the engine accepts it.
    pub constraint: Option<Written>,
    /// The format of the whole answer, if the engine enforces it by itself.
    pub format: Format,
    /// The markers whose text must be sent.
    pub preserved: Vec<String>,
    /// Whether what the request requires is not enforced.
    pub unconstrained: bool,
    pub engine: Engine,
    tools: Option<Arc<Tools>>,
    tools_off: bool,
}

/// Where the JSON stands that `response_format` asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JsonAnswer {
    /// No JSON is asked for.
    Free,
    /// It is the whole answer.
    Whole,
    /// It is the whole answer of a model that does not think first, though this one may.
    After,
    /// It is a part of the turn: behind a thought or a marker, or in the place of calls.
    InTurn,
}

impl Prepared {
    /// The hash input of the grammar.
    pub fn grammar_text(&self) -> Option<String> {
        self.constraint.as_ref().map(|constraint| match &constraint.grammar {
            Value::String(text) => text.clone(),
            tag => tag.to_string(),
        })
    }
}

impl Model {
    /// Prepares a model from its chat template and its stored or derived response template. Fails if the chat template
    /// does not compile, or if its renders do not show how a turn is written.
    pub fn new(source: &Source, stored: Option<Template>) -> Result<Self, Vec<Diagnostic>> {
        let was_derived = stored.is_none();
        let with_tools = source.clone().for_tools();
        let compile = |source: &Source| {
            ChatTemplate::compile(&source.template)
                .map_err(|error| vec![error.diagnostic(&source.template, &source.file)])
        };
        let chats = [compile(source)?, compile(&with_tools)?];
        let special_tokens = source.special_tokens.clone();
        let opened = derive::Model::open(&with_tools.template, stored, &derive::Options::for_source(&with_tools))?;
        let doubts = opened.doubts();
        let template = opened.template;
        let grammars = Builder::new(template.clone(), opened.wire);
        let form = form(&chats[1], &special_tokens, &template);
        let id_form = IdForm::of(&chats[1], &special_tokens, form);
        let preserved = preserved(&template, &grammars);
        let bos = source.bos_token().filter(|text| !text.is_empty()).map(str::to_owned);
        Ok(Self {
            template,
            chats,
            form,
            id_form,
            special_tokens,
            bos,
            grammars,
            preserved,
            was_derived,
            doubts,
            recover: Policies::none(),
        })
    }

    /// The model with recovery policies.
    #[must_use]
    pub fn recover(self, policies: Policies) -> Self {
        Self { recover: policies, ..self }
    }

    pub fn template(&self) -> &Template {
        &self.template
    }

    /// The form of new ids of calls.
    pub fn id_form(&self) -> IdForm {
        self.id_form
    }

    pub fn was_derived(&self) -> bool {
        self.was_derived
    }

    /// What is known to be wrong or lost if the derivation of the model is not proved.
    pub fn doubts(&self) -> &[String] {
        &self.doubts
    }

    /// The BOS token, if the prompt starts with it.
    pub fn bos_of(&self, prompt: &str) -> Option<&str> {
        self.bos.as_deref().filter(|bos| prompt.starts_with(bos))
    }

    pub fn markers(&self) -> &[String] {
        &self.preserved
    }

    /// Renders the prompt of a request and makes its grammar. This takes up to milliseconds.
    pub fn prepare(&self, request: &ChatRequest, engine: Engine, may_go_free: bool) -> Result<Prepared, ApiError> {
        let format = engine.grammar_format();
        let is_strict = request.tools.is_some() && request.is_strict();
        let needs_calls = request.wants_calls() || request.limits_calls() || is_strict;
        if format.is_none() && request.wants_calls() && !may_go_free {
            let message = format!(
                "`tool_choice` requires a call, and this engine ({}) takes no grammar that would enforce it: use \"auto\", \
                 or start the server with `--unconstrained allow`",
                engine.name()
            );
            return Err(ApiError::param("tool_choice", message));
        }
        let prompt = self.render(request)?;
        let tools = request.shown_tools().as_ref().map(Tools::new).transpose();
        let tools = tools.map_err(|error| ApiError::param("tools", error.to_string()))?.map(Arc::new);
        let mut prepared = Prepared {
            prompt,
            constraint: None,
            format: Format::Text,
            preserved: self.preserved.clone(),
            unconstrained: false,
            engine,
            tools,
            tools_off: request.refuses_calls(),
        };
        let answer = match request.format {
            Format::Text => JsonAnswer::Free,
            _ => self.json_answer(request, &prepared)?,
        };
        let needs_grammar = needs_calls || matches!(answer, JsonAnswer::InTurn | JsonAnswer::After);
        match format {
            Some(format) if needs_grammar => {
                let grammar = self.grammar(request, &prepared.prompt)?;
                let more = grammar.preserved_tokens().iter().filter(|text| !self.preserved.contains(text));
                prepared.preserved.extend(more.cloned());
                prepared.constraint = Some(written(&grammar, format, Layout::default()));
            }
            // The schema alone leaves the model no room to think, and the answer is what was asked for.
            _ if matches!(answer, JsonAnswer::Whole | JsonAnswer::After) => prepared.format = request.format.clone(),
            None if answer == JsonAnswer::InTurn && !may_go_free => {
                let message = format!(
                    "this engine ({}) enforces a format from the first token on, where this model's turn has something else \
                     than the JSON: leave `response_format` out, or start the server with `--unconstrained allow`",
                    engine.name()
                );
                return Err(ApiError::param("response_format", message));
            }
            _ => prepared.unconstrained = needs_grammar,
        }
        Ok(prepared)
    }

    /// Where the JSON of a request with a format stands in the turn.
    fn json_answer(&self, request: &ChatRequest, prepared: &Prepared) -> Result<JsonAnswer, ApiError> {
        const SAMPLE: &str = r#"{"a": 1}"#;
        let mut parser = self.parser(prepared)?;
        let fed = parser.feed(SAMPLE).map(drop);
        let read = fed.and_then(|()| parser.finish()).ok().filter(|read| read.problems.is_empty());
        let is_content = read.is_some_and(|read| read.message.get("content").and_then(Value::as_str) == Some(SAMPLE));
        let may_call = request.tools.is_some() && !request.refuses_calls();
        let thinks =
            self.template.fields().iter().any(|field| !["content", "tool_calls"].contains(&field.name.as_str()));
        Ok(match (is_content && !may_call, thinks) {
            (false, _) => JsonAnswer::InTurn,
            (true, true) => JsonAnswer::After,
            (true, false) => JsonAnswer::Whole,
        })
    }

    /// A parser of the answer. Fails if parsing the prompt exceeds the step limit.
    pub fn parser(&self, prepared: &Prepared) -> Result<Parser, ApiError> {
        let options = Options::default().tools(prepared.tools.clone()).grow_calls(true);
        let options = options.tools_off(prepared.tools_off).recover(self.recover);
        Parser::new(&self.template, &prepared.prompt, options)
            .map_err(|error| ApiError::new(400, format!("the prompt cannot be read: {error}")))
    }

    fn render(&self, request: &ChatRequest) -> Result<String, ApiError> {
        let messages = messages::for_template(&request.messages, self.form);
        let mut context = Object::new();
        let mut add = |name: &str, value: Value| drop(context.insert(name, value));
        add("messages", Value::List(messages));
        add("tools", request.shown_tools().unwrap_or_default());
        add("documents", Value::Null);
        add("add_generation_prompt", (!request.continues).into());
        context.extend(self.special_tokens.clone());
        context.extend(request.variables.clone());
        let [plain, with_tools] = &self.chats;
        let template = if request.tools.is_some() { with_tools } else { plain };
        let options = RenderOptions::default();
        if !request.continues {
            return template.render(&context, &options).map(|rendered| rendered.text).map_err(refused);
        }
        render_continued(template, &context, &options).map_err(refused)?.ok_or_else(|| {
            let message = "the last message has no content that the chat template writes, so it cannot be continued";
            ApiError::param("continue_final_message", message)
        })
    }

    fn grammar(&self, request: &ChatRequest, prompt: &str) -> Result<Grammar, ApiError> {
        let asked = Request::default()
            .tools(request.tools.as_ref())
            .choice(request.choice.as_ref())
            .parallel(request.parallel)
            .prompt(prompt)
            .response_format(&request.format_value)
            .map_err(|problem| ApiError::param("response_format", problem.message))?;
        self.grammars.build(&asked).map_err(|problems| {
            let one = |problem: &Diagnostic| match &problem.help {
                Some(help) => format!("{}; {help}", problem.message),
                None => problem.message.clone(),
            };
            let param = if request.format == Format::Text { "tools" } else { "response_format" };
            ApiError::param(param, problems.iter().map(one).collect::<Vec<_>>().join("; "))
        })
    }
}

fn refused(error: RenderError) -> ApiError {
    ApiError::param("messages", format!("the chat template refuses the messages: {error}"))
}

/// How the chat template takes messages, from a render with parts, from the roles that it names, and from the response
/// template.
fn form(template: &ChatTemplate, special_tokens: &Object, response: &Template) -> MessageForm {
    let part = |text: &str| Value::from([("type", "text".into()), ("text", text.into())]);
    let content = Value::List(vec![part("Qz1q"), part("Qz2q")]);
    let message = Value::from([("role", "user".into()), ("content", content)]);
    let mut context = special_tokens.clone();
    context.insert("messages", Value::List(vec![message]));
    let options = RenderOptions::default().now(Some(NOW.to_owned()));
    // A template that does not support parts prints the list, or fails.
    let parts = template.render(&context, &options).is_ok_and(|rendered| {
        let texts = rendered.text.find("Qz1q").zip(rendered.text.find("Qz2q"));
        let between = texts.and_then(|(one, two)| rendered.text.get(one..two));
        between.is_some_and(|between| !between.contains("text"))
    });
    let developer = template.literals().iter().any(|literal| literal == "developer");
    // The fields of a response template have the names by which the chat template takes them back.
    let is_field = |key: &&&str| response.fields().iter().any(|field| field.name == **key);
    MessageForm { parts, developer, reasoning: REASONING_KEYS.iter().find(is_field).copied() }
}

/// Every marker that the response template or a grammar names: an engine may drop those that are special tokens.
fn preserved(template: &Template, grammars: &Builder) -> Vec<String> {
    let delimiters = template.fields().iter().flat_map(|field| field.open.iter().chain(&field.close));
    let mut markers: Vec<String> =
        delimiters.filter_map(|delimiter| delimiter.literals()).flatten().map(|text| text.trim().to_owned()).collect();
    let function = Value::from([("name", "f".into())]);
    let tools = Value::List(vec![Value::from([("type", "function".into()), ("function", function)])]);
    for request in [Request::default(), Request::default().tools(&tools).choice(&Choice::Required)] {
        if let Ok(grammar) = grammars.build(&request) {
            markers.extend(grammar.preserved_tokens().iter().cloned());
        }
    }
    markers.retain(|marker| !marker.is_empty());
    markers.sort();
    markers.dedup();
    markers
}
