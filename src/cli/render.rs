//! `render`: conversations to text, byte for byte as transformers renders them; a row of `--jsonl` gets one answer.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use super::cache::Tokenizers;
use super::chat_options::{announce, assignment, failed, time};
use super::known_values::{Names, named_in_row, one_of};
use super::rendered_ids::{Encoders, Encoding, NotEncoded, add_defaults, entries};
use super::token_ids;
use super::{Failure, Global, chat_rows, colored_chat, input, origins};
use backchat_chat::source::{self, Source, SourceError};
use backchat_chat::{ChatTemplate, RenderError, RenderOptions};
use backchat_chats::chats::{MaskPart, MaskRule, authors};
use backchat_core::diagnostic::{Diagnostic, Place, escape};
use backchat_core::json::{Object, Value};
use backchat_parser::tokens::Tokens;
use backchat_probe::coverage;
use backchat_workbench::answers::{self, Tokenized};

/// Render conversations with a chat template, byte for byte as transformers does
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat render models/mine --messages chat.json --add-generation-prompt
  backchat render models/mine --messages chat.json --set enable_thinking=false
  backchat render chat_template.jinja --messages chat.json --tools tools.json
  backchat render models/mine --messages chat.json --tokenizer models/mine --sanitize-control-tokens
  backchat render chat_template.jinja --jsonl rows.jsonl
  backchat render chat_template.jinja --jsonl rows.jsonl --coverage

A row is {\"id\", \"template\"?: path, \"context\": {\"messages\", \"tools\", …}, \"now\"?}; the answer
is {\"id\", \"text\", \"assistant_spans\"} or {\"id\", \"error\"}. With --origins it also has
\"origins\": [start, end, line, column] of each piece. With \"tokenizer\": path in the row, or
--tokenizer, it also has \"token_ids\". With --mask a row may have \"offsets\", or \"tokenizer\",
\"mask_rule\" and \"token_ids\", for \"token_ids\" and \"token_mask\". A row's context gets no default
variables unless an option asks for them. With --sanitize-control-tokens the context is the
user's, and \"bos_token\" and \"eos_token\" of the row are the model's.

Exit codes: 0 rendered, 2 could not run.
With --jsonl: 0 if every row is answered, even by an error.")]
#[command(group(clap::ArgGroup::new("encodes").args(["tokenizer", "jsonl"]).multiple(true)))]
pub struct Render {
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the Hugging
    /// Face cache, or `-`
    #[arg(required_unless_present = "jsonl")]
    source: Option<String>,
    /// Render these messages: a JSON list, or an object with `messages` and other variables
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl", conflicts_with = "jsonl")]
    messages: Option<String>,
    /// Pass these tools to the template: a JSON list
    #[arg(long, value_name = "FILE", requires = "messages", conflicts_with = "jsonl")]
    tools: Option<String>,
    /// Render the rows of a JSON Lines file
    #[arg(long, value_name = "FILE")]
    jsonl: Option<String>,
    /// Set a template variable; the value is JSON, or else text
    #[arg(long, value_name = "NAME=VALUE", value_parser = assignment)]
    set: Vec<(String, Value)>,
    /// Append the start of the assistant's turn
    #[arg(long)]
    add_generation_prompt: bool,
    /// Set the clock that `strftime_now` reads, such as 2026-11-20T08:00:00
    #[arg(long, value_name = "TIME", value_parser = time)]
    now: Option<String>,
    /// Copy a message's reasoning to its other names, as transformers does
    #[arg(long)]
    aliases: bool,
    /// Select one of several chat templates
    #[arg(long, value_name = "NAME")]
    template_name: Option<String>,
    /// Locate the assistant's text, with or without generation blocks: all of it, or these parts
    #[arg(long, value_name = "PART", num_args = 0..=1, require_equals = true, default_missing_value = "assistant")]
    #[arg(value_parser = one_of(answers::MASK_PARTS))]
    mask: Vec<MaskPart>,
    /// Read the offsets of the render's tokens, [[start, end], …] in code points, and add a mask for them
    #[arg(long, value_name = "FILE", requires_all = ["mask", "messages"])]
    offsets: Option<String>,
    /// Encode the render with this tokenizer.json, or the one in a model folder, and add its ids, and a mask for them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["offsets", "origins", "show_spans"])]
    tokenizer: Option<String>,
    /// Encode control tokens in messages, tools and variables as plain text, so that only the template writes them
    #[arg(long, requires = "encodes", conflicts_with_all = ["mask", "origins"])]
    sanitize_control_tokens: bool,
    /// Select the tokens that a span covers: each that overlaps with it, or those that transformers selected before 5.24
    #[arg(long, value_name = "RULE", default_value = "overlap", hide_possible_values = true)]
    #[arg(value_parser = one_of(MASK_RULES))]
    mask_rule: MaskRule,
    /// Show who wrote what: in colors on a terminal, else as the assistant's spans on stderr
    #[arg(long, conflicts_with = "jsonl")]
    show_spans: bool,
    /// Show each piece of the render with the position in the template that printed it
    #[arg(long, conflicts_with_all = ["mask", "show_spans"])]
    origins: bool,
    /// Show the template instead: how many of the conversations run each line, what it prints, and the sides of its
    /// conditions that none takes
    #[arg(long, requires = "source", conflicts_with_all = ["mask", "show_spans", "origins", "tokenizer"])]
    coverage: bool,
}

const MASK_RULES: &Names<MaskRule> = &[
    ("overlap", MaskRule::Overlap, "Those that overlap with the span"),
    ("reference", MaskRule::Reference, "Those that transformers before 5.24 takes"),
];

impl Render {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let inputs = [&self.source, &self.messages, &self.tools, &self.jsonl].map(Option::as_deref);
        input::stdin_once(inputs, "pass one of the inputs as a file")?;
        match &self.jsonl {
            _ if self.coverage => self.print_coverage(global),
            Some(file) => self.render_rows(file, global),
            None => self.render_messages(global),
        }
    }

    fn open(&self, name: &str) -> Result<Source, SourceError> {
        source::open(name, self.template_name.as_deref())
    }

    fn announce(&self, source: &Source, global: &Global) {
        announce("rendering with", source, self.template_name.as_deref(), global);
    }

    fn render_messages(&self, global: &Global) -> Result<ExitCode, Failure> {
        let name = self.source.as_deref().unwrap_or("-");
        let mut context = self.context()?;
        let mut source = self.open(name)?;
        if context.get("tools").is_some_and(|tools| !matches!(tools, Value::Null)) {
            source = source.for_tools();
        }
        self.announce(&source, global);
        let failed = |error: RenderError| failed(vec![error.diagnostic(&source.template, "")], &source);
        let template = ChatTemplate::compile(&source.template).map_err(failed)?;
        let options = RenderOptions::default().now(self.now.clone()).origins(self.origins);
        if let Some(tokenizer) = self.tokenizer.as_deref().filter(|_| self.mask.is_empty()) {
            let encoding = Encoding::open(tokenizer, self.sanitize_control_tokens)?;
            let answer = encoding.answer(&template, context, &source.special_tokens, &options);
            let answer = answer.map_err(|error| match error {
                NotEncoded::Render(error) => failed(error),
                NotEncoded::Tokenizer(error) => Diagnostic::error("cannot-encode", error.to_string()).into(),
            })?;
            super::print(&format!("{}\n", Value::Object(answer)))?;
            return Ok(ExitCode::SUCCESS);
        }
        add_defaults(&mut context, &source.special_tokens);
        let rendered = template.render(&context, &options).map_err(failed)?;
        if !self.mask.is_empty() {
            return self.print_mask(&template, &context, &options, global);
        }
        let mut out = io::stdout().lock();
        if self.origins {
            out.write_all(origins::lines(&rendered, template.source()).as_bytes())?;
            out.flush()?;
            return Ok(ExitCode::SUCCESS);
        }
        if self.show_spans && global.colors(&out) {
            let written = authors(&template, &context, &rendered.text, &options);
            out.write_all(colored_chat::conversation(&rendered, &written, &context).as_bytes())?;
        } else {
            super::print(&rendered.text)?;
            if self.show_spans {
                tell!(global, "assistant spans: {}", colored_chat::spans(&rendered.assistant_spans));
            }
        }
        // The shell's prompt should begin on its own line.
        if io::stdout().is_terminal() && !rendered.text.ends_with('\n') {
            out.write_all(b"\n")?;
        }
        out.flush()?;
        Ok(ExitCode::SUCCESS)
    }

    /// Prints the template with what the conversations do with each line.
    fn print_coverage(&self, global: &Global) -> Result<ExitCode, Failure> {
        let source = self.open(self.source.as_deref().unwrap_or("-"))?;
        self.announce(&source, global);
        let failed = |error: RenderError| failed(vec![error.diagnostic(&source.template, "")], &source);
        let template = ChatTemplate::compile(&source.template).map_err(failed)?;
        let mut contexts = match &self.jsonl {
            Some(file) => self.contexts(file)?,
            None => vec![self.context()?],
        };
        contexts.iter_mut().for_each(|context| add_defaults(context, &source.special_tokens));
        let contexts: Vec<&Object> = contexts.iter().collect();
        let options = RenderOptions::default().now(self.now.clone());
        let lines = coverage::lines(&template, &contexts, &options);
        let summary = coverage::summary(&lines, contexts.len());
        super::print(&format!("{summary}\n\n{}", coverage::listing(&lines)))?;
        Ok(ExitCode::SUCCESS)
    }

    /// The contexts of the rows of a file.
    fn contexts(&self, file: &str) -> Result<Vec<Object>, Failure> {
        let text = input::text(file)?;
        let rows = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let context = |(at, line): (usize, &str)| {
            let place = format!("{}:{}", input::name(file), at + 1);
            let row = input::json_of(&place, line.to_owned())?;
            let Some(Value::Object(context)) = row.get("context") else {
                let message = "the row has no `context`, or it is not an object";
                return Err(Diagnostic::error("wrong-type", message).at(Place::file(&place)).into());
            };
            let mut context = context.clone();
            self.vary(&mut context);
            Ok(context)
        };
        rows.map(context).collect()
    }

    /// Prints a render with its masks.
    fn print_mask(
        &self,
        template: &ChatTemplate,
        context: &Object,
        options: &RenderOptions,
        global: &Global,
    ) -> Result<ExitCode, Failure> {
        let offsets = self.offsets.as_deref().map(input::json).transpose()?;
        let tokenizer = self.tokenizer.as_deref().map(input::tokenizer).transpose()?;
        let tokenized = match (tokenizer, &offsets) {
            (Some(tokenizer), _) => Tokenized::By(Arc::new(tokenizer), self.mask_rule),
            (None, Some(offsets)) => Tokenized::Offsets(offsets),
            (None, None) => Tokenized::None,
        };
        let answer = answers::mask(template, context, options, &self.mask, tokenized);
        let answer = answer.map_err(|message| Diagnostic::error("cannot-mask", message))?;
        if let Some(Value::List(problems)) = answer.get("problems").filter(|_| !global.is_quiet()) {
            for problem in problems.iter().filter_map(Value::as_str) {
                super::note(&escape(problem));
            }
        }
        super::print(&format!("{}\n", Value::Object(answer)))?;
        Ok(ExitCode::SUCCESS)
    }

    /// The variables of the command line, and those that transformers always passes.
    fn context(&self) -> Result<Object, Failure> {
        let mut context = Object::new();
        let file = self.messages.as_deref().unwrap_or("-");
        match input::json(file)? {
            Value::List(messages) => drop(context.insert("messages", Value::List(messages))),
            Value::Object(variables) if variables.contains_key("messages") => context = variables,
            other => {
                let found = if other.as_object().is_some() { "an object without them" } else { other.kind() };
                let message = format!("expected a list of messages, or an object with `messages`, not {found}");
                return Err(Diagnostic::error("wrong-type", message).at(Place::file(input::name(file))).into());
            }
        }
        if let Some(file) = &self.tools {
            context.insert("tools", input::tools(file)?);
        }
        for name in ["tools", "documents"] {
            context.entry(name).or_default();
        }
        context.entry("add_generation_prompt").or_insert(Value::Bool(false));
        self.vary(&mut context);
        Ok(context)
    }

    /// The values that the options fill in.
    fn vary(&self, context: &mut Object) {
        if self.add_generation_prompt {
            context.insert("add_generation_prompt", Value::Bool(true));
        }
        for (name, value) in &self.set {
            context.insert(name.clone(), value.clone());
        }
        if self.aliases {
            backchat_chat::alias_reasoning(context);
        }
    }

    fn render_rows(&self, file: &str, global: &Global) -> Result<ExitCode, Failure> {
        if let Some(source) = &self.source {
            self.announce(&self.open(source)?, global);
        }
        let templates = chat_rows::Templates::default();
        let tokenizers = RowTokenizers::default();
        chat_rows::answer(file, global, |row| self.answer(row, &templates, &tokenizers))?;
        Ok(ExitCode::SUCCESS)
    }

    fn answer(
        &self,
        row: &Object,
        templates: &chat_rows::Templates,
        tokenizers: &RowTokenizers,
    ) -> Result<Object, String> {
        let Some(Value::Object(context)) = row.get("context") else {
            return Err("the row has no `context`, or it is not an object".to_owned());
        };
        let mut context = context.clone();
        self.vary(&mut context);
        let for_tools = context.get("tools").is_some_and(|tools| !matches!(tools, Value::Null));
        let template = templates.of_row(row, self.source.as_deref(), self.template_name.as_deref(), for_tools)?;
        let now = chat_rows::text(row, "now")?.map(str::to_owned).or_else(|| self.now.clone());
        let options = RenderOptions::default().now(now).origins(self.origins);
        if !self.mask.is_empty() {
            let tokenized = self.tokenized(row, tokenizers)?;
            return answers::mask(&template, &context, &options, &self.mask, tokenized);
        }
        match chat_rows::text(row, "tokenizer")?.or(self.tokenizer.as_deref()) {
            Some(name) if !self.origins => {
                let encoding = tokenizers.encoders.encoding(name, self.sanitize_control_tokens)?;
                let model = if self.sanitize_control_tokens { chat_rows::special_tokens(row)? } else { Object::new() };
                let answer = encoding.answer(&template, context, &model, &options);
                return answer.map_err(|error| match error {
                    NotEncoded::Render(error) => error.to_string(),
                    NotEncoded::Tokenizer(error) => error.to_string(),
                });
            }
            None if self.sanitize_control_tokens => {
                return Err(
                    "there is no `tokenizer` to encode with; add one to the row, or pass --tokenizer".to_owned()
                );
            }
            _ => {}
        }
        let rendered = template.render(&context, &options).map_err(|error| error.to_string())?;
        let origins = self.origins.then(|| ("origins".to_owned(), origins::row(&rendered, template.source())));
        let text = entries(rendered.text, &rendered.assistant_spans);
        Ok(text.into_iter().chain(origins).collect())
    }

    /// The tokens of a row to mask.
    fn tokenized<'r>(&self, row: &'r Object, tokenizers: &RowTokenizers) -> Result<Tokenized<'r>, String> {
        let name = chat_rows::text(row, "tokenizer")?.or(self.tokenizer.as_deref());
        let rule = match row.get("mask_rule").filter(|rule| !rule.is_null()) {
            None => self.mask_rule,
            Some(rule) => named_in_row(MASK_RULES, "mask_rule", rule)?,
        };
        let ids = row.get("token_ids").map(|ids| token_ids::of_value("token_ids", ids)).transpose()?;
        Ok(match (name, ids, row.get("offsets")) {
            (Some(name), Some(ids), None) => Tokenized::Ids(tokenizers.decoders.read(name, input::tokens)?, ids, rule),
            (Some(name), None, None) => Tokenized::By(tokenizers.encoders.tokenizer(name)?, rule),
            (None, None, Some(offsets)) => Tokenized::Offsets(offsets),
            (None, None, None) => Tokenized::None,
            (None, Some(_), _) => {
                return Err("`token_ids` need a `tokenizer`; add one to the row, or pass --tokenizer".to_owned());
            }
            (Some(_), _, Some(_)) => {
                return Err("the row has both `tokenizer` and `offsets`; give one of them".to_owned());
            }
        })
    }
}

/// The tokenizers that rows name.
#[derive(Default)]
struct RowTokenizers {
    /// For rows with token ids: nothing is encoded.
    decoders: Tokenizers<Tokens>,
    encoders: Encoders,
}
