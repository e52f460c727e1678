//! `grammar`: the grammar goes to stdout, notes about it to stderr; each row of `--jsonl` gets one answer.

use std::path::Path;
use std::process::ExitCode;

use clap::ArgAction::Set;

use super::chat_options::{Budget, Selected, failed};
use super::known_values::{Names, named_in_row, one_of, one_of_all};
use super::{Failure, Global, chat_rows, input, special_tokens};
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::diagnostic::{Diagnostic, Place, Sources, escape, line_column};
use backchat_core::json::{self, Object, Value};
use backchat_derive::derive;
use backchat_grammar::{
    Builder, Choice, Effect, Fed, Format, Grammar, Layout, Note, Presence, Reasoning, Request, SpecialToken,
};
use backchat_workbench::answers::compile;

/// Write the grammar of a model's valid outputs, for an engine that constrains sampling
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat grammar models/mine --tools tools.json > grammar.gbnf
  backchat grammar models/mine --tools tools.json --tool-choice required --prefix prompt.txt --json
  backchat grammar models/mine --request request.json --json
  backchat grammar chat_template.jinja --tools tools.json --format ebnf
  backchat grammar chat_template.jinja --tools tools.json --check output.txt
  backchat grammar models/mine --jsonl requests.jsonl

A row is {\"id\", \"tools\"?, \"tool_choice\"?, \"parallel_tool_calls\"?, \"prefix\"?, \"reasoning\"?}, or
{\"id\", \"request\", \"prefix\"?, \"reasoning\"?} with the body of a chat completion; the answer is {\"id\",
\"grammar\", \"lazy\", \"triggers\", \"preserved_tokens\", \"stop\", \"start\", \"reasoning\", \"notes\", …} or
{\"id\", \"error\"}.

A derivation that is not proved is a warning, because its grammar is the best that is known, and most turns follow it.

Exit codes: 0 written, 1 `--strict` was violated or `--check` rejected the text, 2 could not run.")]
pub struct Grammars {
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the Hugging
    /// Face cache, `-`, or a response template alone
    #[arg(value_name = "SOURCE")]
    source: String,
    /// Read the request from this file: the body of a chat completion as a client sends it, or `-`
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tools", "tool_choice", "no_parallel", "jsonl"])]
    request: Option<String>,
    /// Read the tools of the request from this file, a JSON list
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// Select the tools that the model may or must call: `auto`, `required`, `none`, a name, or OpenAI's object
    #[arg(long, value_name = "CHOICE")]
    tool_choice: Option<String>,
    /// Allow one call at most
    #[arg(long)]
    no_parallel: bool,
    /// Continue this prompt, exactly as it will be sent
    #[arg(long, value_name = "FILE")]
    prefix: Option<String>,
    /// Select whether the model writes reasoning first (`auto` if the prompt allows it), or, with `outside`, start the
    /// grammar after the reasoning, for an engine that applies it only from there
    #[arg(long, value_parser = one_of_all(&Reasoning::ALL, Reasoning::name))]
    reasoning: Option<Reasoning>,
    /// Select whether the model writes content beside calls
    #[arg(long, default_value = "auto", value_parser = one_of_all(&Presence::ALL, Presence::name))]
    content: Presence,
    #[arg(long, default_value = "gbnf", value_parser = one_of_all(&Format::ALL, Format::name))]
    #[arg(help = format!("Select the engine: {}", backchat_grammar::engines()))]
    format: Format,
    /// Select the formats of a structural tag: xgrammar's own where they are equivalent, or one `grammar` format
    #[arg(long = "tags", value_name = "HOW", value_parser = one_of(TAGS), default_value = "native", action = Set)]
    has_native_tags: bool,
    /// Start at the first call and leave the text before it unconstrained (the default with `auto`)
    #[arg(long, conflicts_with = "full")]
    lazy: bool,
    /// Constrain the output from its first character
    #[arg(long)]
    full: bool,
    /// Select the order of a call's arguments: that of the schema, or any (for up to six arguments per tool)
    #[arg(long = "order", value_name = "HOW", value_parser = one_of(ORDERS), default_value = "schema", action = Set)]
    any_order: bool,
    /// Select how an absent `additionalProperties` is read
    #[arg(long = "additional-properties", value_name = "HOW", value_parser = one_of(PROPERTIES))]
    #[arg(default_value = "closed", action = Set)]
    open_properties: bool,
    /// Select the white space allowed between JSON tokens: as in renders, or a few blanks anywhere
    #[arg(long = "whitespace", value_name = "HOW", value_parser = one_of(SPACES), default_value = "flexible", action = Set)]
    wire_space: bool,
    /// List the markers that are single special tokens, which `lark` must name: a tokenizer.json or
    /// tokenizer_config.json, a comma-separated list, or `none`; the default is what the model folder lists
    #[arg(long, value_name = "FILE|LIST|none")]
    special_tokens: Option<String>,
    /// Fail if a keyword of a schema cannot be enforced, or if the model's derivation is not proved
    #[arg(long)]
    strict: bool,
    /// Print the whole result as JSON instead of the grammar alone
    #[arg(long)]
    json: bool,
    /// Check whether the grammar accepts this text
    #[arg(long, value_name = "FILE", conflicts_with_all = ["json", "output"])]
    check: Option<String>,
    /// Write a grammar for each row of a JSON Lines file; a row is a request
    #[arg(long, value_name = "FILE", conflicts_with_all = ["tools", "tool_choice", "prefix", "check", "output"])]
    jsonl: Option<String>,
    /// Write the result to a file
    #[arg(short, long, value_name = "FILE")]
    output: Option<String>,
    #[command(flatten)]
    budget: Budget,
    #[command(flatten)]
    selected: Selected,
}

const TAGS: &Names<bool> = &[("native", true, ""), ("grammar", false, "")];
const ORDERS: &Names<bool> = &[("schema", false, ""), ("any", true, "")];
const PROPERTIES: &Names<bool> = &[("closed", false, ""), ("open", true, "")];
const SPACES: &Names<bool> = &[("wire", true, ""), ("flexible", false, "")];

/// The input shared by all requests.
struct Model {
    builder: Builder,
    /// What is known to be wrong or lost if the derivation of the model is not proved.
    doubts: Vec<String>,
    special: Vec<SpecialToken>,
    /// The renderer of the requests' prompts, if there is a chat template.
    prompts: Option<Prompts>,
}

/// A chat template and its variables.
struct Prompts {
    template: ChatTemplate,
    variables: Object,
    options: RenderOptions,
}

impl Grammars {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let model = self.model()?;
        if !global.is_quiet() {
            super::warn_of(&model.doubts);
        }
        let is_doubtful = self.strict && !model.doubts.is_empty();
        if let Some(file) = &self.jsonl {
            chat_rows::answer(file, global, |row| self.answer(&model, row))?;
            return Ok(ExitCode::from(u8::from(is_doubtful)));
        }
        let body = self.request.as_deref().map(input::json).transpose()?;
        let tools = self.tools.as_deref().map(input::tools).transpose()?;
        let prompt = self.prefix.as_deref().map(input::text).transpose()?;
        let choice = self.tool_choice.as_deref().map(choice).transpose()?;
        let refused = |diagnostics| Failure::Diagnostics { diagnostics, sources: Sources::none() };
        let (request, rendered) = match &body {
            Some(body) => {
                self.of_body(body, prompt.as_deref(), self.reasoning, &model).map_err(|mut diagnostics| {
                    let file = self.request.as_deref().map(input::name).unwrap_or_default();
                    diagnostics.iter_mut().for_each(|own| own.place = Some(Place::file(file)));
                    refused(diagnostics)
                })?
            }
            None => {
                let request = self.shared(Request::default().tools(tools.as_ref()).choice(choice.as_ref()));
                let request = request.parallel(self.no_parallel.then_some(false)).prompt(prompt.as_deref());
                (request.reasoning(self.reasoning.unwrap_or_default()), None)
            }
        };
        let request = with_prompt(request, rendered.as_deref());
        let grammar = model.builder.build(&request).map_err(refused)?.with_special_tokens(&model.special);
        if !global.is_quiet() {
            grammar.notes().iter().for_each(|note| super::say!("{}", note_line(note)));
        }
        let is_violated =
            is_doubtful || self.strict && grammar.notes().iter().any(|note| note.effect == Effect::Looser);
        if let Some(file) = &self.check {
            return check(&grammar, &input::text(file)?);
        }
        if self.lazy && grammar.to_lazy_gbnf().is_none() {
            let message =
                "this grammar cannot start at a call: calls begin without a marker, or only calls are allowed";
            return Err(Diagnostic::error("grammar-not-lazy", message).help("leave out `--lazy`").into());
        }
        let mut result = self.result(&grammar, rendered);
        let printed =
            if self.json { Value::Object(result) } else { result.shift_remove("grammar").unwrap_or_default() };
        let text = match printed {
            Value::String(text) => text,
            other => format!("{}\n", other.to_pretty("  ")),
        };
        match &self.output {
            Some(file) => super::signals::write(Path::new(file), text)?,
            None => super::print(&text)?,
        }
        Ok(ExitCode::from(u8::from(is_violated)))
    }

    /// Adds the options that all requests of this command line share.
    fn shared<'r>(&self, request: Request<'r>) -> Request<'r> {
        request
            .content(self.content)
            .open_properties(self.open_properties)
            .wire_space(self.wire_space)
            .any_order(self.any_order)
    }

    /// The request of a chat completion's body, and its prompt if it had to be rendered.
    fn of_body<'r>(
        &self,
        body: &'r Value,
        prefix: Option<&'r str>,
        reasoning: Option<Reasoning>,
        model: &Model,
    ) -> Result<(Request<'r>, Option<String>), Vec<Diagnostic>> {
        let mut request = self.shared(Request::from_body(body)?);
        let repeated = |option: &str, field: &str| {
            let message = format!("`{option}` repeats `/{field}` of the request");
            vec![Diagnostic::error("grammar-request", message).help("set it in one place")]
        };
        if let Some(reasoning) = reasoning {
            if request.is_without_reasoning() {
                return Err(repeated("--reasoning", "reasoning_effort"));
            }
            request = request.reasoning(reasoning);
        }
        let own = body.get("chat_template_kwargs").and_then(Value::as_object);
        if let Some((name, _)) =
            self.selected.given.set.iter().find(|(name, _)| own.is_some_and(|own| own.contains_key(name)))
        {
            return Err(repeated(&format!("--set {name}"), &format!("chat_template_kwargs/{name}")));
        }
        if prefix.is_some() {
            return Ok((request.prompt(prefix), None));
        }
        let Some(Prompts { template, variables, options }) = &model.prompts else { return Ok((request, None)) };
        let rendered =
            backchat_grammar::render_prompt(template, body, variables, options).map_err(|problem| vec![problem])?;
        Ok((request, rendered))
    }

    /// Opens the model with the source's own response template, if it has one. For a response template alone, the wire is
    /// assumed.
    fn model(&self) -> Result<Model, Failure> {
        // Standard input cannot be read twice.
        let carried = match self.source.as_str() {
            "-" => None,
            name => input::template(name).ok().map(|opened| opened.loaded.template),
        };
        let source = match (self.selected.open(&self.source), &carried) {
            (Ok(source), _) => source.with_tokens_beside(),
            (Err(_), Some(template)) => {
                let wire = backchat_grammar::assume(template)
                    .map_err(|diagnostic| diagnostic.at(Place::file(self.source.clone())))?;
                let builder = Builder::new(template.clone(), wire);
                return Ok(Model { builder, doubts: Vec::new(), special: self.special()?, prompts: None });
            }
            (Err(error), None) => return Err(error),
        };
        let variables = self.selected.given.variables(&source);
        let options =
            derive::Options::for_source(&source).variables(variables.clone()).now(self.selected.given.clock());
        let open = || derive::Model::open(&source.template, carried, &options);
        let opened = self.budget.examine(open).map_err(|diagnostics| failed(diagnostics, &source))?;
        let prompts = Prompts {
            template: compile(&source)?,
            variables,
            options: RenderOptions::default().now(self.selected.given.clock()),
        };
        let doubts = opened.doubts();
        let builder = Builder::new(opened.template, opened.wire);
        Ok(Model { builder, doubts, special: self.special()?, prompts: Some(prompts) })
    }

    /// The markers that are single tokens. Not every format names them, and a tokenizer's file may be large.
    fn special(&self) -> Result<Vec<SpecialToken>, Failure> {
        match backchat_grammar::names_special_tokens(self.format) {
            true => special_tokens::read(self.special_tokens.as_deref(), &self.source),
            false => Ok(Vec::new()),
        }
    }

    fn result(&self, grammar: &Grammar, rendered: Option<String>) -> Object {
        let layout = Layout { is_full: self.full, is_text: !self.has_native_tags };
        let result = backchat_grammar::result(grammar, self.format, layout);
        let Value::Object(mut result) = result else { return Object::new() };
        if let Some(prompt) = rendered {
            result.insert("prompt", prompt.into());
        }
        result
    }

    fn answer(&self, model: &Model, row: &Object) -> Result<Object, String> {
        let joined = |problems: Vec<Diagnostic>| problems.iter().map(in_a_line).collect::<Vec<_>>().join("; ");
        let reasoning = match row.get("reasoning").filter(|reasoning| !reasoning.is_null()) {
            Some(name) => {
                let names = Reasoning::ALL.map(|value| (value.name(), value, ""));
                Some(named_in_row(&names, "reasoning", name)?)
            }
            None => self.reasoning,
        };
        let prefix = chat_rows::text(row, "prefix")?;
        let choice = row.get("tool_choice").filter(|choice| !choice.is_null());
        let choice = choice.map(Choice::read).transpose().map_err(|error| in_a_line(&error))?;
        let (request, rendered) = match row.get("request") {
            Some(body) => {
                if let Some(name) = OF_BODY.iter().find(|name| row.contains_key(name)) {
                    return Err(format!("`{name}` is part of `request`: the row has both"));
                }
                self.of_body(body, prefix, reasoning, model).map_err(joined)?
            }
            None => {
                let several = row.get("parallel_tool_calls").and_then(Value::as_bool);
                let request = self.shared(Request::default().tools(row.get("tools")).choice(choice.as_ref()));
                let request = request.parallel(several.or(self.no_parallel.then_some(false))).prompt(prefix);
                (request.reasoning(reasoning.unwrap_or_default()), None)
            }
        };
        let request = with_prompt(request, rendered.as_deref());
        let grammar = model.builder.build(&request).map_err(joined)?.with_special_tokens(&model.special);
        if self.strict
            && let Some(note) = grammar.notes().iter().find(|note| note.effect == Effect::Looser)
        {
            return Err(note_line(note));
        }
        Ok(self.result(&grammar, rendered))
    }
}

/// The request with the prompt that was rendered for it.
fn with_prompt<'r>(request: Request<'r>, rendered: Option<&'r str>) -> Request<'r> {
    if rendered.is_some() { request.prompt(rendered) } else { request }
}

/// The keys of a row that repeat members of a request's body.
const OF_BODY: [&str; 3] = ["tools", "tool_choice", "parallel_tool_calls"];

fn choice(text: &str) -> Result<Choice, Diagnostic> {
    let value = if text.trim_start().starts_with('{') { json::read(text).ok() } else { None };
    Choice::read(&value.unwrap_or_else(|| text.into()))
}

fn in_a_line(diagnostic: &Diagnostic) -> String {
    match &diagnostic.help {
        Some(help) => format!("{}; {help}", diagnostic.message),
        None => diagnostic.message.clone(),
    }
}

fn note_line(note: &Note) -> String {
    let mut place = String::new();
    if let Some(tool) = &note.tool {
        place = format!(" tool `{tool}`");
    }
    if let Some(path) = note.path.as_ref().filter(|path| !path.is_empty()) {
        place.push_str(&format!(" at `{path}`"));
    }
    if let Some(keyword) = &note.keyword {
        place.push_str(&format!(", `{keyword}`"));
    }
    escape(&format!("{}:{place}{} {}", note.effect.name(), if place.is_empty() { "" } else { ":" }, note.message))
        .into_owned()
}

/// Matches a text against a grammar and reports how far it got.
fn check(grammar: &Grammar, text: &str) -> Result<ExitCode, Failure> {
    let fed = grammar.matcher().feed(text);
    let verdict = match &fed {
        Fed::Ok { may_end: true } => "accepted".to_owned(),
        Fed::Ok { may_end: false } => "incomplete: more text may make it acceptable".to_owned(),
        Fed::Broken { at, expected } => {
            let (line, column) = line_column(text, *at);
            let expected = if expected.is_empty() { "the end".to_owned() } else { expected.join(", ") };
            format!("line {line}, column {column}: expected {}", escape(&expected))
        }
    };
    super::print(&format!("{verdict}\n"))?;
    Ok(ExitCode::from(u8::from(!matches!(fed, Fed::Ok { may_end: true }))))
}
