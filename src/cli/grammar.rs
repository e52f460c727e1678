//! `grammar`: the grammar goes to stdout, notes about it to stderr; a row of `--jsonl` gets one answer.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use clap::ValueEnum;

use super::chat_options::{NOW, assignment, source_failure, template_name, time};
use super::{Failure, Global, input, rows, special_tokens};
use backchat_chat::source::{self, Source};
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_core::diagnostic::{Diagnostic, Place, Sources, escape};
use backchat_core::json::{self, Object, Value};
use backchat_core::text::slice;
use backchat_derive::derive;
use backchat_derive::wire::Wire;
use backchat_grammar::{
    Builder, Choice, Effect, Fed, Grammar, Note, Presence, Reasoning, Request, SpecialToken, answer,
};
use backchat_parser::template::Template;

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
    #[arg(long, value_enum)]
    reasoning: Option<Thinking>,
    /// Select whether the model writes content beside calls
    #[arg(long, value_enum, default_value_t = PresenceArgument::Auto)]
    content: PresenceArgument,
    /// Select the engine: llama.cpp (gbnf), xgrammar (ebnf, structural-tag), llguidance (lark), any other (json)
    #[arg(long, value_enum, default_value_t = Format::Gbnf)]
    format: Format,
    /// Select the formats of a structural tag: xgrammar's own where they are equivalent, or one `grammar` format
    #[arg(long, value_enum, default_value_t = Tags::Native, value_name = "HOW")]
    tags: Tags,
    /// Start at the first call and leave the text before it unconstrained (the default with `auto`)
    #[arg(long, conflicts_with = "full")]
    lazy: bool,
    /// Constrain the output from its first character
    #[arg(long)]
    full: bool,
    /// Select the order of a call's arguments: that of the schema, or any (for up to six arguments per tool)
    #[arg(long, value_enum, default_value_t = Arguments::Schema, value_name = "HOW")]
    order: Arguments,
    /// Select how an absent `additionalProperties` is read
    #[arg(long, value_enum, default_value_t = Properties::Closed, value_name = "HOW")]
    additional_properties: Properties,
    /// Select the white space allowed between JSON tokens: as in renders, or a few blanks anywhere
    #[arg(long, value_enum, default_value_t = Space::Flexible, value_name = "HOW")]
    whitespace: Space,
    /// List the markers that are single special tokens, which `lark` must name: a tokenizer.json or
    /// tokenizer_config.json, a comma-separated list, or `none`; the default is what the model folder lists
    #[arg(long, value_name = "FILE|LIST|none")]
    special_tokens: Option<String>,
    /// Fail if a keyword of a schema cannot be enforced
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
    /// Set a template variable; the value is JSON, or else text
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, Value)>,
    /// Set the clock that `strftime_now` reads, such as 2026-11-20T08:00:00
    #[arg(long, value_name = "TIME", value_parser = time, default_value = NOW)]
    now: String,
    /// Select one of several chat templates
    #[arg(long, value_name = "NAME")]
    template_name: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PresenceArgument {
    Auto,
    Always,
    Never,
}

/// Whether the model reasons, and whether the engine waits for the end of reasoning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Thinking {
    Auto,
    Always,
    Never,
    Outside,
}

impl Thinking {
    fn reasoning(self) -> Reasoning {
        match self {
            Self::Auto => Reasoning::Auto,
            Self::Always => Reasoning::Always,
            Self::Never => Reasoning::Never,
            Self::Outside => Reasoning::Outside,
        }
    }
}

impl PresenceArgument {
    fn presence(self) -> Presence {
        match self {
            Self::Auto => Presence::Auto,
            Self::Always => Presence::Always,
            Self::Never => Presence::Never,
        }
    }
}

/// How the grammar is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Gbnf,
    Ebnf,
    Lark,
    StructuralTag,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Tags {
    Native,
    Grammar,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Arguments {
    Schema,
    Any,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Properties {
    Closed,
    Open,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Space {
    Wire,
    Flexible,
}

/// The input shared by all requests.
struct Model {
    template: Template,
    wire: Wire,
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
        let Model { template, wire, special, prompts } = self.model()?;
        let builder = Builder::new(template, wire);
        let prompts = prompts.as_ref();
        if let Some(file) = &self.jsonl {
            return self.rows(&builder, &special, prompts, file, global);
        }
        let body = self.request.as_deref().map(input::json).transpose()?;
        let tools = self.tools.as_deref().map(input::tools).transpose()?;
        let prompt = self.prefix.as_deref().map(input::text).transpose()?;
        let choice = self.tool_choice.as_deref().map(choice).transpose()?;
        let refused = |diagnostics| Failure::Diagnostics { diagnostics, sources: Sources::none() };
        let (request, rendered) = match &body {
            Some(body) => {
                let own = self.reasoning.map(Thinking::reasoning);
                self.of_body(body, prompt.as_deref(), own, prompts).map_err(|mut diagnostics| {
                    let file = self.request.as_deref().map(input::name).unwrap_or_default();
                    diagnostics.iter_mut().for_each(|own| own.place = Some(Place::file(file)));
                    refused(diagnostics)
                })?
            }
            None => {
                let request = self.shared(Request::default().tools(tools.as_ref()).choice(choice.as_ref()));
                let request = request.parallel(self.no_parallel.then_some(false)).prompt(prompt.as_deref());
                (request.reasoning(self.reasoning.map_or(Reasoning::Auto, Thinking::reasoning)), None)
            }
        };
        let grammar = builder.build(&request).map_err(refused)?.with_special_tokens(&special);
        if !global.is_quiet() {
            grammar.notes().iter().for_each(|note| super::say!("{}", note_line(note)));
        }
        let is_violated = self.strict && grammar.notes().iter().any(|note| note.effect == Effect::Looser);
        if let Some(file) = &self.check {
            return check(&grammar, &input::text(file)?);
        }
        if self.lazy && grammar.to_lazy_gbnf().is_none() {
            let message =
                "this grammar cannot start at a call: calls begin without a marker, or only calls are allowed";
            return Err(Diagnostic::error("grammar-not-lazy", message).help("leave out `--lazy`").into());
        }
        let result = self.result(&grammar, rendered);
        let text = match (&result, self.json) {
            (Value::Object(entries), false) => match entries.get("grammar") {
                Some(Value::String(text)) => text.clone(),
                Some(other) => format!("{}\n", other.to_pretty("  ")),
                None => String::new(),
            },
            (result, _) => format!("{}\n", result.to_pretty("  ")),
        };
        match &self.output {
            Some(file) => super::signals::uninterrupted(|| {
                backchat_parser::template::source::replace_file(Path::new(file), text.as_bytes())
            })
            .map_err(|error| input::cannot_write(file, &error))?,
            None => {
                let mut out = io::stdout().lock();
                out.write_all(Global::printable(&text, &out).as_bytes())?;
                out.flush()?;
            }
        }
        Ok(ExitCode::from(u8::from(is_violated)))
    }

    /// Adds the options that all requests of this command line share.
    fn shared<'r>(&self, request: Request<'r>) -> Request<'r> {
        request
            .content(self.content.presence())
            .open_properties(self.additional_properties == Properties::Open)
            .wire_space(self.whitespace == Space::Wire)
            .any_order(self.order == Arguments::Any)
    }

    /// The request of a chat completion's body, and its prompt if it had to be rendered.
    fn of_body<'r>(
        &self,
        body: &'r Value,
        prefix: Option<&'r str>,
        reasoning: Option<Reasoning>,
        prompts: Option<&Prompts>,
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
        if let Some((name, _)) = self.set.iter().find(|(name, _)| own.is_some_and(|own| own.contains_key(name))) {
            return Err(repeated(&format!("--set {name}"), &format!("chat_template_kwargs/{name}")));
        }
        if prefix.is_some() {
            return Ok((request.prompt(prefix), None));
        }
        let Some(Prompts { template, variables, options }) = prompts else { return Ok((request, None)) };
        let rendered =
            backchat_grammar::render_prompt(template, body, variables, options).map_err(|problem| vec![problem])?;
        let request = match &rendered {
            Some(prompt) => request.prompt_text(prompt.clone()),
            None => request,
        };
        Ok((request, rendered))
    }

    /// Finds the wire and the response template: the source's own, or else a derived one. For a response template
    /// alone, the wire is assumed.
    fn model(&self) -> Result<Model, Failure> {
        // Standard input cannot be read twice.
        let carried = match self.source.as_str() {
            "-" => None,
            name => input::template(name).ok().map(|opened| opened.loaded.template),
        };
        let source = match (source::open(&self.source, self.template_name.as_deref()), &carried) {
            (Ok(source), _) => source.for_tools(),
            (Err(_), Some(template)) => {
                let wire = backchat_grammar::assume(template)
                    .map_err(|diagnostic| diagnostic.at(Place::file(self.source.clone())))?;
                return Ok(Model { template: template.clone(), wire, special: self.special()?, prompts: None });
            }
            (Err(error), None) => return Err(source_failure(error)),
        };
        let mut variables: Object = source.special_tokens.clone();
        variables.extend(self.set.iter().cloned());
        let (template, wire) = match carried {
            Some(template) => (template, self.found(&source, &variables)?),
            None => self.derived(&source, &variables)?,
        };
        let prompts = Prompts {
            template: self.compiled(&source)?,
            variables,
            options: RenderOptions::default().now(self.now.clone()),
        };
        Ok(Model { template, wire, special: self.special()?, prompts: Some(prompts) })
    }

    /// The wire of a chat template, for an existing response template.
    fn found(&self, source: &Source, variables: &Object) -> Result<Wire, Failure> {
        let chat = self.compiled(source)?;
        let wire = Wire::find(&chat, variables, Some(self.now.clone()));
        wire.ok_or_else(|| {
            let message = "the renders of this chat template do not show how a turn is written";
            Diagnostic::error("grammar-no-wire", message).at(Place::file(template_name(source))).into()
        })
    }

    fn compiled(&self, source: &Source) -> Result<ChatTemplate, Failure> {
        ChatTemplate::compile(&source.template)
            .map_err(|error| failed(vec![error.diagnostic(&source.template, "")], source))
    }

    /// The response template of a chat template, and the wire that it was derived from.
    fn derived(&self, source: &Source, variables: &Object) -> Result<(Template, Wire), Failure> {
        let options = derive::Options::default()
            .variables(variables.clone())
            .now(Some(self.now.clone()))
            .special_tokens(variables.values().filter_map(Value::as_str).map(str::to_owned).collect());
        let (draft, wire) = derive::draft_with_wire(&source.template, &options)
            .map_err(|diagnostic| failed(vec![diagnostic], source))?;
        let loaded = Template::from_value(&draft).map_err(|error| failed(error.diagnostics, source))?;
        Ok((loaded.template, wire))
    }

    /// The marks that are single tokens. Only one format names them, and a tokenizer's file may be large.
    fn special(&self) -> Result<Vec<SpecialToken>, Failure> {
        match self.format {
            Format::Lark => special_tokens::read(self.special_tokens.as_deref(), &self.source),
            _ => Ok(Vec::new()),
        }
    }

    fn result(&self, grammar: &Grammar, rendered: Option<String>) -> Value {
        let mut result = self.written(grammar);
        if let (Value::Object(entries), Some(prompt)) = (&mut result, rendered) {
            entries.insert("prompt", prompt.into());
        }
        result
    }

    fn written(&self, grammar: &Grammar) -> Value {
        let lazy = match self.format {
            Format::Gbnf if !self.full => grammar.to_lazy_gbnf(),
            _ => None,
        };
        if let Some((text, triggers)) = lazy {
            return answer(grammar, "gbnf", text.into(), Some(triggers));
        }
        let (name, written) = match self.format {
            Format::Gbnf => ("gbnf", grammar.to_gbnf().into()),
            Format::Ebnf => ("ebnf", grammar.to_ebnf().into()),
            Format::Lark => ("lark", grammar.to_lark().into()),
            Format::StructuralTag => match self.tags {
                Tags::Native => ("structural-tag", grammar.to_structural_tag()),
                Tags::Grammar => ("structural-tag", grammar.to_grammar_tag()),
            },
            Format::Json => ("json", grammar.to_json()),
        };
        answer(grammar, name, written, None)
    }

    fn rows(
        &self,
        builder: &Builder,
        special: &[SpecialToken],
        prompts: Option<&Prompts>,
        file: &str,
        global: &Global,
    ) -> Result<ExitCode, Failure> {
        let tally = rows::answer(file, global, || {
            |line: rows::Line, out: &mut String| {
                let (id, answer) = self.row(builder, special, prompts, &line.bytes);
                let mut entries = Object::from([("id".to_owned(), id)]);
                let outcome = match answer {
                    Ok(Value::Object(result)) => {
                        entries.extend(result);
                        rows::Outcome::Answered
                    }
                    Ok(_) => rows::Outcome::Answered,
                    Err(message) => {
                        entries.insert("error", message.into());
                        rows::Outcome::Failed
                    }
                };
                Value::Object(entries).write_to(out);
                out.push('\n');
                outcome
            }
        })?;
        if tally.failed > 0 && !global.is_quiet() {
            super::say!("{} of {} rows have no grammar", tally.failed, tally.rows);
        }
        Ok(ExitCode::SUCCESS)
    }

    fn row(
        &self,
        builder: &Builder,
        special: &[SpecialToken],
        prompts: Option<&Prompts>,
        line: &[u8],
    ) -> (Value, Result<Value, String>) {
        let read = std::str::from_utf8(line).map_err(|_| "the row is not UTF-8".to_owned());
        let read =
            read.and_then(|text| json::read(text).map_err(|error| format!("not valid JSON: {}", error.message())));
        let row = match read {
            Ok(Value::Object(row)) => row,
            Ok(_) => return (Value::Null, Err("the row is not an object".to_owned())),
            Err(message) => return (Value::Null, Err(message)),
        };
        let id = row.get("id").map_or(Value::Null, Value::clone);
        (id, self.answer(builder, special, prompts, &row))
    }

    fn answer(
        &self,
        builder: &Builder,
        special: &[SpecialToken],
        prompts: Option<&Prompts>,
        row: &Object,
    ) -> Result<Value, String> {
        let joined = |problems: Vec<Diagnostic>| problems.iter().map(in_a_line).collect::<Vec<_>>().join("; ");
        let reasoning = match row.get("reasoning").and_then(Value::as_str) {
            None => None,
            Some("auto") => Some(Reasoning::Auto),
            Some("always") => Some(Reasoning::Always),
            Some("never") => Some(Reasoning::Never),
            Some("outside") => Some(Reasoning::Outside),
            Some(_) => return Err("`reasoning` is `auto`, `always`, `never` or `outside`".to_owned()),
        };
        let reasoning = reasoning.or(self.reasoning.map(Thinking::reasoning));
        let prefix = row.get("prefix").and_then(Value::as_str);
        let choice = match row.get("tool_choice") {
            None | Some(Value::Null) => None,
            Some(value) => Some(Choice::read(value).map_err(|error| in_a_line(&error))?),
        };
        let (request, rendered) = match row.get("request") {
            Some(body) => {
                if let Some(name) = OF_BODY.iter().find(|name| row.contains_key(name)) {
                    return Err(format!("`{name}` is part of `request`: the row has both"));
                }
                self.of_body(body, prefix, reasoning, prompts).map_err(joined)?
            }
            None => {
                let several = row.get("parallel_tool_calls").and_then(Value::as_bool);
                let request = self.shared(Request::default().tools(row.get("tools")).choice(choice.as_ref()));
                let request = request.parallel(several.or(self.no_parallel.then_some(false))).prompt(prefix);
                (request.reasoning(reasoning.unwrap_or_default()), None)
            }
        };
        let grammar = builder.build(&request).map_err(joined)?;
        let grammar = grammar.with_special_tokens(special);
        if self.strict
            && let Some(note) = grammar.notes().iter().find(|note| note.effect == Effect::Looser)
        {
            return Err(note_line(note));
        }
        Ok(self.result(&grammar, rendered))
    }
}

/// The request of a row without a body.
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

/// A note as one line.
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
    let mut out = io::stdout().lock();
    let accepted = match grammar.matcher().feed(text) {
        Fed::Ok { may_end: true } => {
            writeln!(out, "accepted")?;
            true
        }
        Fed::Ok { may_end: false } => {
            writeln!(out, "incomplete: more text may make it acceptable")?;
            false
        }
        Fed::Broken { at, expected } => {
            let before = slice(text, ..at);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count()) + 1;
            let expected = if expected.is_empty() { "the end".to_owned() } else { expected.join(", ") };
            writeln!(out, "line {line}, column {column}: expected {}", escape(&expected))?;
            false
        }
    };
    out.flush()?;
    Ok(ExitCode::from(u8::from(!accepted)))
}

/// Why there is no response template, with the lines of the chat template it is about.
fn failed(mut diagnostics: Vec<Diagnostic>, source: &Source) -> Failure {
    let file = template_name(source);
    for diagnostic in &mut diagnostics {
        diagnostic.place.get_or_insert_default().file = Some(file.clone());
    }
    Failure::Diagnostics { diagnostics, sources: Sources::none().with(file, ChatTemplate::normalize(&source.template)) }
}
