//! `unrender`: text to conversations; exits with 0 only if they render to the same text again.

use std::process::ExitCode;
use std::sync::Arc;

use super::cache::Cache;
use super::chat_options::{Budget, OutputFormat, Selected};
use super::{Failure, Global, chat_rows, input};
use backchat_chat::{ChatTemplate, RenderOptions};
use backchat_chats::chats::{Chat, Unrenderer};
use backchat_core::diagnostic::escape;
use backchat_core::json::Value;
use backchat_workbench::answers::{self, compile};

/// Read a rendered chat back into its messages, proved by rendering them again
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat unrender models/mine prompt.txt
  backchat unrender chat_template.jinja prompt.txt --messages > chat.json
  backchat unrender --jsonl rows.jsonl

A row is {\"id\", \"template\": path, \"text\", \"bos_token\"?, \"eos_token\"?, \"now\"?, \"set\"?: {…}}; the answer is
{\"id\", \"messages\", \"tools\"?, \"tools_text\"?, \"variables\"?, \"offsets\", \"exact\",
\"add_generation_prompt\", …} or {\"id\", \"error\"}.

Exit codes: 0 the messages render to the same text, 1 they do not, or the text is not a render of
this template, 2 could not run.")]
pub struct Unrender {
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, ORG/NAME in the Hugging
    /// Face cache, or `-`
    #[arg(required_unless_present = "jsonl")]
    source: Option<String>,
    /// The rendered chat: a file or `-`
    #[arg(default_value = "-")]
    text: String,
    /// Select the output format
    #[arg(long, value_enum, default_value_t = OutputFormat::Text, conflicts_with = "jsonl")]
    format: OutputFormat,
    /// Print only the list of messages, as input for `backchat render --messages`
    #[arg(long, conflicts_with_all = ["jsonl", "format"])]
    messages: bool,
    /// Read the rows of a JSON Lines file, one text per row
    #[arg(long, value_name = "FILE", conflicts_with = "source")]
    jsonl: Option<String>,
    #[command(flatten)]
    selected: Selected,
    #[command(flatten)]
    budget: Budget,
}

impl Unrender {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        match &self.jsonl {
            Some(file) => self.rows(file, global),
            None => self.one(global),
        }
    }

    fn one(&self, global: &Global) -> Result<ExitCode, Failure> {
        let name = self.source.as_deref().unwrap_or("-");
        input::stdin_once([Some(name), Some(&self.text)], "pass the template or the text as a file")?;
        let source = self.selected.open(name)?;
        let template = compile(&source)?;
        let variables = self.selected.given.variables(&source);
        let text = input::text(&self.text)?;
        let options = RenderOptions::default().now(self.selected.given.clock());
        let read = self
            .budget
            .examine_and_note(&source.file, global, || Unrenderer::new(&template, variables, options).unrender(&text));
        let chat = match read {
            Ok(chat) => chat,
            Err(error) => {
                match self.format {
                    OutputFormat::Json => {
                        super::print_json(&format!("{}\n", Value::Object(answers::not_rendered(&error))))?;
                    }
                    OutputFormat::Text => super::say!("error: {}", escape(&error.to_string())),
                }
                return Ok(ExitCode::from(1));
            }
        };
        let printed = match self.format {
            _ if self.messages => Value::List(chat.messages.clone()).to_pretty("  ") + "\n",
            OutputFormat::Json => Value::Object(answers::unrendered(&chat)).to_string() + "\n",
            OutputFormat::Text => chat.messages.iter().map(|message| format!("{message}\n")).collect(),
        };
        super::print(&printed)?;
        if !global.is_quiet() {
            verdict(&chat);
        }
        Ok(ExitCode::from(u8::from(!chat.exact)))
    }

    fn rows(&self, file: &str, global: &Global) -> Result<ExitCode, Failure> {
        let templates = chat_rows::Templates::default();
        let Selected { given, template_name } = &self.selected;
        let unrenderers: Cache<(usize, String), Arc<Unrenderer<Arc<ChatTemplate>>>> = Cache::default();
        chat_rows::answer(file, global, |row| {
            let text = chat_rows::text(row, "text")?.ok_or("the row has no `text`")?;
            let template = templates.of_row(row, None, template_name.as_deref(), true)?;
            let variables = chat_rows::variables(row, &given.set)?;
            let now = chat_rows::text(row, "now")?.unwrap_or(&given.now).to_owned();
            // The unrenderer keeps its template, so that no other has this address.
            let key = (Arc::as_ptr(&template).addr(), format!("{} {now}", Value::Object(variables.clone())));
            let unrenderer = unrenderers.get(key, || {
                let options = RenderOptions::default().now(Some(now));
                Arc::new(self.budget.examine(|| Unrenderer::new(template, variables, options)))
            });
            let read = self.budget.examine(|| unrenderer.unrender(text));
            Ok(read.map_or_else(|error| answers::not_rendered(&error), |chat| answers::unrendered(&chat)))
        })?;
        Ok(ExitCode::SUCCESS)
    }
}

fn verdict(chat: &Chat) {
    match chat.differs_at {
        None => super::note("these messages render to the same text, byte for byte"),
        Some(at) => super::note(&format!("these messages render to a different text from character {at} on")),
    }
    if let Some((start, end)) = chat.tools_text {
        super::note(&format!("characters {start} to {end} define tools, which cannot be read"));
    }
    if !chat.variables.is_empty() {
        let names = chat.variables.iter().map(|(name, value)| format!("--set {name}={value}"));
        let names = names.collect::<Vec<_>>().join(" ");
        super::note(&escape(&format!("the text was rendered with {names}")));
    }
    if chat.open {
        super::note("the text is cut off in the assistant's turn");
    }
    for ambiguity in &chat.ambiguous {
        super::note(&format!("messages[{}] is ambiguous: {}", ambiguity.message, ambiguity.reason));
    }
}
