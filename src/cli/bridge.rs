//! `bridge`: sampled ids and new messages in, the ids to append out; exits with 1 if they are refused.

use std::process::ExitCode;
use std::sync::Arc;

use super::cache::{Cache, Tokenizers};
use super::chat_options::Given;
use super::{Failure, Global, chat_rows, input, token_ids};
use backchat_chat::{RenderOptions, source};
use backchat_chats::bridge::{Bridge, Sample};
use backchat_core::diagnostic::{Diagnostic, escape};
use backchat_core::json::{Object, Value};
use backchat_parser::template::Template;
use backchat_parser::tokens::Tokenizer;
use backchat_workbench::answers::{self, compile};

/// Continue sampled token ids with new messages, without changing a sampled id
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  backchat bridge models/mine --tokenizer models/mine --template models/mine --messages chat.json \\
    --prompt-ids prompt.json --sampled-ids sampled.json --new results.json
  backchat bridge --jsonl rows.jsonl

The answer is {\"append_ids\", \"text\", \"exact\", \"edits\", \"closed\", \"message\"}: the ids between the
sample and the place where the model continues, their text, whether all ids match the template's
render, and where they do not. If that cannot be proved, it is {\"refused\": {\"kind\", \"reason\"}}.

A row is {\"id\", \"chat_template\": path, \"tokenizer\": path, \"template\": path, \"messages\",
\"prompt_ids\", \"sampled_ids\", \"new_messages\", \"tools\"?, \"set\"?: {…}, \"stop_ids\"?, \"edits\"?:
\"refuse\", \"now\"?}.

Exit codes: 0 continued, 1 refused, 2 could not run.
With --jsonl: 0 if every row is answered, even by an error or a refusal.")]
pub struct Bridging {
    /// A .jinja file, tokenizer_config.json, chat_template.json, model folder, .gguf file, or ORG/NAME in the Hugging
    /// Face cache
    #[arg(required_unless_present = "jsonl")]
    source: Option<String>,
    /// Encode and decode with this tokenizer.json, or the one in a model folder
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    tokenizer: Option<String>,
    /// Read the sample with this response template
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    template: Option<String>,
    /// Read the conversation up to the prompt: a list of messages, or an object with `messages` and `tools`
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    messages: Option<String>,
    /// Read the ids that the model was given
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    prompt_ids: Option<String>,
    /// Read the ids that it wrote
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    sampled_ids: Option<String>,
    /// Read the new messages: a list
    #[arg(long, value_name = "FILE", required_unless_present = "jsonl")]
    new: Option<String>,
    /// Read the tools of the prompt
    #[arg(long, value_name = "FILE", conflicts_with = "jsonl")]
    tools: Option<String>,
    /// Name an id at which the engine stops; repeatable
    #[arg(long = "stop-id", value_name = "ID", conflicts_with = "jsonl")]
    stop_ids: Vec<u32>,
    /// Refuse if the template would write the history differently
    #[arg(long, conflicts_with = "jsonl")]
    exact: bool,
    /// Read the rows of a JSON Lines file, one sample per row
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = ["source", "tokenizer", "template", "messages", "prompt_ids", "sampled_ids", "new"]
    )]
    jsonl: Option<String>,
    #[command(flatten)]
    given: Given,
}

impl Bridging {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let Some(file) = &self.jsonl else { return self.one(global) };
        let files = Files::default();
        chat_rows::answer(file, global, |row| self.answer(row, &files))?;
        Ok(ExitCode::SUCCESS)
    }

    fn one(&self, global: &Global) -> Result<ExitCode, Failure> {
        let name = |given: &Option<String>| given.clone().unwrap_or_default();
        let source = source::open(&name(&self.source), None)?.for_tools();
        let template = input::template(&name(&self.template))?.loaded.template;
        let tokenizer = input::tokenizer(&name(&self.tokenizer))?;
        let options = RenderOptions::default().now(self.given.now.clone());
        let variables = self.given.variables(&source);
        let bridge = Bridge::new(Arc::new(compile(&source)?), variables, options, &tokenizer, &template);
        let bridge = bridge.map_err(|error| Diagnostic::error("marker-in-pattern", error.to_string()))?;
        let given = input::json(&name(&self.messages))?;
        let list = |key: &str, value: &Value| {
            let listed = value.as_list().map(<[Value]>::to_vec);
            listed.ok_or_else(|| Diagnostic::error("invalid-messages", format!("`{key}` must be a list of messages")))
        };
        let messages = list("messages", given.get("messages").unwrap_or(&given))?;
        let tools = self.tools.as_deref().map(input::tools).transpose()?;
        let new = list("new", &input::json(&name(&self.new))?)?;
        let (prompt_ids, sampled_ids) =
            (token_ids::of_file(&name(&self.prompt_ids))?, token_ids::of_file(&name(&self.sampled_ids))?);
        let answer = bridge.next(&Sample {
            messages: &messages,
            tools: tools.as_ref().or_else(|| given.get("tools").filter(|tools| !tools.is_null())),
            prompt_ids: &prompt_ids,
            sampled_ids: &sampled_ids,
            new_messages: &new,
            stop_ids: &self.stop_ids,
            refuses_edits: self.exact,
        });
        super::print_json(&format!("{}\n", Value::Object(answers::bridge(&answer))))?;
        if let Err(refused) = &answer {
            tell!(global, "refused: {}", escape(&refused.to_string()));
        }
        Ok(ExitCode::from(u8::from(answer.is_err())))
    }

    fn answer(&self, row: &Object, files: &Files) -> Result<Object, String> {
        let needed = |key: &str| chat_rows::file(row, key)?.ok_or_else(|| format!("the row has no `{key}`"));
        let list = |key: &str| {
            let value = row.get(key).and_then(Value::as_list);
            value.ok_or_else(|| format!("`{key}` must be a list of messages"))
        };
        let ids = |key: &str| match row.get(key).filter(|ids| !ids.is_null()) {
            Some(ids) => token_ids::of_value(key, ids),
            None => Ok(Vec::new()),
        };
        for key in ["prompt_ids", "sampled_ids"] {
            if !row.contains_key(key) {
                return Err(format!("the row has no `{key}`"));
            }
        }
        let refuses_edits = match chat_rows::text(row, "edits")? {
            None | Some("report") => false,
            Some("refuse") => true,
            Some(other) => return Err(format!("`edits` must be `report` or `refuse`, not `{other}`")),
        };
        let tools = row.get("tools").filter(|tools| !tools.is_null());
        let bridge = Bridge::new(
            files.chats.named(needed("chat_template")?, None, tools.is_some())?,
            chat_rows::variables(row, &self.given.set)?,
            RenderOptions::default().now(chat_rows::text(row, "now")?.unwrap_or(&self.given.now).to_owned()),
            files.tokenizers.read(needed("tokenizer")?, input::tokenizer)?.as_ref(),
            &files.template(needed("template")?)?,
        );
        let bridge = bridge.map_err(|error| error.to_string())?;
        let (prompt_ids, sampled_ids, stop_ids) = (ids("prompt_ids")?, ids("sampled_ids")?, ids("stop_ids")?);
        Ok(answers::bridge(&bridge.next(&Sample {
            messages: list("messages")?,
            tools,
            prompt_ids: &prompt_ids,
            sampled_ids: &sampled_ids,
            new_messages: list("new_messages")?,
            stop_ids: &stop_ids,
            refuses_edits,
        })))
    }
}

/// The files that rows name, each read once.
#[derive(Default)]
struct Files {
    chats: chat_rows::Templates,
    tokenizers: Tokenizers<Tokenizer>,
    templates: Cache<String, Result<Template, String>>,
}

impl Files {
    fn template(&self, name: &str) -> Result<Template, String> {
        self.templates.get(name.to_owned(), || {
            input::template(name).map(|opened| opened.loaded.template).map_err(|error| error.to_string())
        })
    }
}
