//! `backchat parse`: model output in, messages and events out.

mod answer;
mod ids;
mod logged;
mod output;
mod row;
mod row_error;
mod schema;
mod show;
mod stream;
mod table;

use std::borrow::Cow;
use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

pub use self::answer::{Answerer, Doubts, ParseOptions};
use self::answer::{IdOptions, Recording};
pub use self::logged::{TextKey, own_row};
use self::output::{Beginning, Piece};
use self::row::RowOptions;
use self::row_error::RowError;
use self::table::Table;
use super::arriving::Arriving;
use super::cache::Tokenizers;
use super::known_values::{Names, one_of, recover};
use super::rows::Tally;
use super::{Failure, Global, input, note, rows, token_ids};
use backchat_core::diagnostic::{Diagnostic, Sources};
use backchat_core::json::Value;
use backchat_legacy::schema::source::{Stored, TemplateOrSchema};
use backchat_parser::content::Mode;
use backchat_parser::parser::{Chunks, ClosersInStrings, Finished, Parser, Policies, Policy, Reasoning, TokenTemplate};
use backchat_parser::template::Template;
use backchat_workbench::replay::{UnreadMarker, unread_marker};

/// Parse model output with a response template
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  backchat parse template.json output.txt --prefix prompt.txt
  backchat parse ./my-model output.txt --prefix prompt.txt --events --chunks 4
  backchat parse template.json --jsonl outputs.jsonl > messages.jsonl

Pass the prompt with --prefix: it often ends with the delimiter that opens the first region.

Exit codes: 0 parsed; 1 parsed, but a region is malformed, a required field is missing, with
--strict there is any other problem or note, or in reference mode transformers would have raised
an error; 2 could not run.
With --jsonl: 0 if every row is answered, even by an error; with --strict, 1 if any row has
`missing`, `malformed`, `problems` or `notes`.")]
pub struct Parse {
    /// The JSON of a response template or response schema, or a tokenizer_config.json, model folder or ORG/NAME in the
    /// Hugging Face cache that contains one, or `-`
    #[arg(required_unless_present = "jsonl")]
    template: Option<String>,
    /// The model's output; stdin if `-` or absent
    #[arg(conflicts_with = "jsonl")]
    output: Option<String>,
    /// Read the output as the continuation of this prompt
    #[arg(long, value_name = "FILE")]
    prefix: Option<String>,
    /// Cast the arguments of calls to the types of these tools, a JSON list
    #[arg(long, value_name = "FILE")]
    tools: Option<String>,
    /// Also print the events, feed by feed; without --jsonl, in stable mode, including calls as they grow
    #[arg(long)]
    events: bool,
    /// Add to each event the start and end of its text, the captures of its delimiter, and with --tokenizer the
    /// range of ids that the text came from
    #[arg(long, requires = "events")]
    spans: bool,
    /// Set how the text is fed: `whole`, a number of code points, or `random:SEED`
    #[arg(long, value_name = "HOW", default_value = "whole")]
    chunks: Chunks,
    /// Select the answer: `stable`, independent of how the text is cut, or `reference`, that of transformers, flaws
    /// included
    #[arg(long, default_value = "stable", value_parser = one_of(MODES))]
    mode: Mode,
    /// Set the effect of a closing marker inside a JSON string: `ends` ends the region, as in transformers; `text`
    /// keeps it in the string
    #[arg(long, value_name = "WHAT", default_value = "ends", value_parser = one_of(CLOSERS), hide_possible_values = true)]
    closers_in_strings: ClosersInStrings,
    /// Keep reasoning as a field of the message, leave it in the content as the model wrote it, or drop it
    #[arg(long, value_name = "WHAT", default_value = "kept", value_parser = one_of(REASONING))]
    reasoning: Reasoning,
    /// Leave calls in the content, as the model wrote them
    #[arg(long)]
    tools_off: bool,
    /// Read the output as token ids, a JSON list or numbers, of this tokenizer.json or model folder
    #[arg(long, value_name = "FILE")]
    tokenizer: Option<String>,
    /// Select how markers match token ids: `exact` by their own token, `either` by their characters in any tokens
    #[arg(long, default_value = "exact", value_parser = one_of(POLICIES))]
    policy: Policy,
    /// Read the token ids as the continuation of these prompt ids
    #[arg(long, value_name = "FILE", conflicts_with_all = ["prefix", "jsonl"], requires = "tokenizer")]
    prompt_ids: Option<String>,
    /// End the output at this token id; repeatable
    #[arg(long = "stop-id", value_name = "ID")]
    stop_ids: Vec<u32>,
    /// Recover from problems with these policies: a comma-separated list, or `all`
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    #[arg(value_parser = recover(), hide_possible_values = true)]
    recover: String,
    /// Check the arguments of calls against the JSON schemas of their tools
    #[arg(long)]
    validate: bool,
    /// Exit with 1 if the answer, or any row, has `missing`, `malformed`, `problems` or `notes`
    #[arg(long)]
    strict: bool,
    /// Parse the rows of a JSON Lines file: {"id", "text", "template"?, "prefix"?, "tools"?, "chunks"?, "reasoning"?,
    /// "tools_off"?, "recover"?, "validate"?}, or with {"token_ids", "prompt_ids"?, "tokenizer"?, "policy"?,
    /// "stop_ids"?} for the text; other keys are passed through
    #[arg(long, value_name = "FILE")]
    jsonl: Option<String>,
    /// With --jsonl, take the output of a row from this key, such as `response.text`; OpenAI's responses and the outputs
    /// of vLLM are read as they are logged
    #[arg(long, value_name = "KEY", requires = "jsonl")]
    text_key: Option<TextKey>,
}

const MODES: &Names<Mode> = &[("stable", Mode::Stable, ""), ("reference", Mode::Reference, "")];

const POLICIES: &Names<Policy> = &[("exact", Policy::Exact, ""), ("either", Policy::Either, "")];

const REASONING: &Names<Reasoning> =
    &[("kept", Reasoning::Kept, ""), ("in-content", Reasoning::InContent, ""), ("dropped", Reasoning::Dropped, "")];

const CLOSERS: &Names<ClosersInStrings> = &[("ends", ClosersInStrings::Ends, ""), ("text", ClosersInStrings::Text, "")];

impl Parse {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        self.check_inputs()?;
        let options = ParseOptions {
            mode: self.mode,
            closers: self.closers_in_strings,
            events: self.events,
            spans: self.spans,
            // Rows have only the events of transformers.
            grows_calls: self.events && self.jsonl.is_none(),
            chunks: self.chunks,
            text_key: self.text_key.clone(),
            template: self.template.as_deref().map(|path| load(path, global)).transpose()?,
            prefix: self.prefix.as_deref().map(input::text).transpose()?,
            tools: self.tools.as_deref().map(input::tools).transpose()?,
            row_options: RowOptions {
                reasoning: self.reasoning,
                tools_off: self.tools_off,
                recover: self.policies()?,
                validate: self.validate,
            },
            ids: IdOptions {
                tokenizer: self.tokenizer.clone(),
                policy: self.policy,
                stop_ids: self.stop_ids.clone(),
                tokenizers: Tokenizers::default(),
            },
        };
        if matches!(options.template, Some(TemplateOrSchema::Schema(_))) {
            schema::check(&options, global)?;
        }
        match &self.jsonl {
            Some(rows) => many(rows, &options, self.strict, global),
            None => self.one(options, global),
        }
    }

    /// The requested policies. Reference mode behaves like transformers and recovers nothing.
    fn policies(&self) -> Result<Policies, Diagnostic> {
        let policies = Policies::parse(&self.recover)
            .map_err(|error| Diagnostic::error("unknown-policy", format!("--recover: {error}")))?;
        match (self.mode, policies.is_empty()) {
            (Mode::Reference, false) => {
                let problem = "--recover needs stable mode: reference mode reads as transformers does";
                Err(Diagnostic::error("policies-in-reference-mode", problem).help("omit `--mode reference`"))
            }
            _ => Ok(policies),
        }
    }

    /// Standard input can be read only once.
    fn check_inputs(&self) -> Result<(), Diagnostic> {
        let output = self.jsonl.as_deref().or(self.output.as_deref()).unwrap_or("-");
        let prompt = self.prefix.as_deref().or(self.prompt_ids.as_deref());
        let inputs = [self.template.as_deref(), Some(output), prompt, self.tools.as_deref(), self.tokenizer.as_deref()];
        let help = "pass a file for all inputs but one; without OUTPUT the output is read from standard input";
        input::stdin_once(inputs, help)
    }

    fn one(&self, options: ParseOptions, global: &Global) -> Result<ExitCode, Failure> {
        let path = self.output.as_deref().unwrap_or("-");
        if !global.is_quiet() {
            self.note_what_is_assumed(&options);
        }
        let template = match &options.template {
            Some(TemplateOrSchema::Template(template)) => template,
            Some(TemplateOrSchema::Schema(schema)) => {
                return schema::one(schema, &Arriving::whole(path)?, path, global);
            }
            None => return Ok(ExitCode::from(2)),
        };
        let given = self.tokenizer.as_ref().map(|name| self.given_ids(template, name, path)).transpose()?;
        let parser = self.begin(&options, template, given.as_ref());
        let mut out = io::stdout().lock();
        let is_table = options.events && out.is_terminal();
        let mut recording = Recording { problems_only: true, spans: options.spans, ..Recording::default() };
        let color = global.colors(&out);
        // If the answer depends on the chunks, or chunks are counted, the whole text is needed first.
        let arrives = given.is_none() && options.mode == Mode::Stable && options.chunks == Chunks::Whole;
        let mut arriving = arrives.then(|| Arriving::open(path)).transpose()?;
        let known = match &given {
            Some(given) => given.text(),
            None if arrives => String::new(),
            None => Arriving::whole(path)?,
        };
        let feeds = feeds(options.chunks, given.as_ref(), &known, arriving.as_mut());
        let mut done = if is_table {
            let mut lines = String::new();
            let prefix = options.prefix.as_deref().unwrap_or("");
            Table::new(template, &options, color, &mut lines).parse(
                (parser, prefix),
                feeds,
                &mut recording,
                &mut out,
            )?
        } else if options.events {
            let mut out = BufWriter::new(&mut out);
            let done = stream::parse(parser, feeds, &options, &mut recording, &mut out)?;
            out.flush()?;
            done
        } else {
            parser.and_then(|parser| answer::parse(parser, feeds, Some(&mut recording)))
        };
        let text = match arriving {
            Some(arriving) => arriving.finish()?,
            None => known.clone(),
        };
        let unread = done.as_ref().ok().and_then(|finished| unread_marker(template, &finished.message));
        if let Ok(finished) = &mut done {
            let message = Value::Object(std::mem::take(&mut finished.message));
            print_message(&mut out, &message, options.events, color)?;
        }
        drop(out);
        let suspect = Suspect { template, unread: unread.as_ref() };
        let is_clean = report(&done, (&recording, suspect), options.mode, (input::name(path), text), global);
        let is_good = done.as_ref().is_ok_and(is_whole) && (is_clean || !self.strict);
        Ok(ExitCode::from(u8::from(!is_good)))
    }

    /// A parser at the beginning of the output.
    fn begin(&self, options: &ParseOptions, template: &Template, given: Option<&GivenIds>) -> Result<Parser, RowError> {
        let prefix = options.prefix.as_deref().unwrap_or("");
        let beginning = match given {
            None => Beginning::Text { template, prefix },
            Some(GivenIds { tokens, prompt_ids: Some(prompt_ids), .. }) => Beginning::Ids { tokens, prompt_ids },
            Some(GivenIds { tokens, .. }) => Beginning::IdsAfterText { tokens, prefix },
        };
        let tools = answer::tools(options.tools.as_ref())?;
        answer::begin(beginning, (options, options.row_options), tools, &self.stop_ids)
    }

    /// The values of `--tokenizer` and the files of ids.
    fn given_ids(&self, template: &Template, tokenizer: &str, path: &str) -> Result<GivenIds, Failure> {
        let tokens = Arc::new(input::tokens(tokenizer)?);
        let tokens = TokenTemplate::new(template, &tokens, self.policy).map_err(|error| {
            Diagnostic::error("marker-in-pattern", error.to_string()).help("use `--policy either` to match text")
        })?;
        let prompt_ids = self.prompt_ids.as_deref().map(token_ids::of_file).transpose()?;
        Ok(GivenIds { tokens, prompt_ids, ids: token_ids::of_file(path)? })
    }

    /// Warns if an input that matters is missing.
    fn note_what_is_assumed(&self, options: &ParseOptions) {
        if self.output.is_none() && io::stdin().is_terminal() {
            note("reading the model's output from standard input, up to its end (Ctrl-D)");
        }
        let is_schema = matches!(options.template, Some(TemplateOrSchema::Schema(_)));
        if !is_schema && options.prefix.is_none() && self.prompt_ids.is_none() {
            note(
                "without --prefix the output is read as if the prompt ended with the start anchor; if the prompt goes \
                 on after it, for example to open reasoning, pass it with --prefix FILE, or an empty file if there is none",
            );
        }
    }
}

/// The feeds of an output: token ids, text as it arrives, or cuts of a text that is known.
fn feeds<'a>(
    chunks: Chunks,
    given: Option<&'a GivenIds>,
    known: &'a str,
    arriving: Option<&'a mut Arriving>,
) -> Box<dyn Iterator<Item = Piece<'a>> + 'a> {
    match (given, arriving) {
        (Some(given), _) => Box::new(chunks.of_ids(&given.ids).map(Piece::Ids)),
        (None, Some(arriving)) => {
            Box::new(std::iter::from_fn(|| arriving.next_piece()).map(|piece| Piece::Text(Cow::Owned(piece))))
        }
        (None, None) => Box::new(chunks.split(known).map(|piece| Piece::Text(Cow::Borrowed(piece)))),
    }
}

fn is_whole(finished: &Finished) -> bool {
    finished.missing.is_empty() && finished.malformed.is_empty()
}

/// Prints the message: for people on a terminal, as JSON elsewhere, unless its events were printed there.
fn print_message(out: &mut io::StdoutLock<'_>, message: &Value, has_events: bool, color: bool) -> io::Result<()> {
    if out.is_terminal() {
        writeln!(out, "{}", show::message(message, color))
    } else if has_events {
        Ok(())
    } else {
        writeln!(out, "{message}")
    }
}

/// What a doubt may be explained by: the template, and text that looks like a marker of it.
#[derive(Clone, Copy)]
struct Suspect<'a> {
    template: &'a Template,
    unread: Option<&'a UnreadMarker>,
}

/// Reports doubts about the answer, with their positions in the file; returns whether there are none.
fn report(
    done: &Result<Finished, RowError>,
    (recording, suspect): (&Recording, Suspect<'_>),
    mode: Mode,
    (file, text): (&str, String),
    global: &Global,
) -> bool {
    let mut diagnostics: Vec<_> = show::malformed(recording, &text, file).collect();
    diagnostics.extend(show::unclosed(recording, suspect.template, &text, file));
    let has_notes = done.as_ref().is_ok_and(|finished| !finished.notes.is_empty());
    diagnostics.extend(show::problems(recording, has_notes, &text, file));
    diagnostics.extend(suspect.unread.map(|unread| show::unread_marker(unread, &text, file)));
    match done {
        Ok(finished) => {
            diagnostics.extend(finished.missing.iter().map(|field| show::missing(field, file)));
            diagnostics.extend(finished.notes.iter().map(|note| show::doubtful(note, file)));
        }
        Err(error) => diagnostics.push(show::failed(error, mode, file)),
    }
    let is_clean = diagnostics.is_empty();
    if !is_clean && !global.is_quiet() {
        Failure::Diagnostics { diagnostics, sources: Sources::none().with(file, text) }.report(global);
    }
    is_clean
}

/// An output of token ids.
struct GivenIds {
    tokens: TokenTemplate,
    prompt_ids: Option<Vec<u32>>,
    ids: Vec<u32>,
}

impl GivenIds {
    /// The text of the ids, for excerpts.
    fn text(&self) -> String {
        let prompt_ids = self.prompt_ids.as_deref().unwrap_or_default();
        let prompt = self.tokens.tokens().decode(prompt_ids);
        let all = self.tokens.tokens().decode(&[prompt_ids, &self.ids].concat());
        // A character that begins in the prompt belongs to the answer.
        all.strip_prefix(prompt.trim_end_matches('\u{fffd}')).unwrap_or(&all).to_owned()
    }
}

fn many(path: &str, options: &ParseOptions, strict: bool, global: &Global) -> Result<ExitCode, Failure> {
    let doubts = Doubts::default();
    let Tally { rows, failed } = rows::answer(path, global, || {
        let mut answerer = Answerer::new(options, &doubts);
        move |line: rows::Line<'_>, out: &mut String| answerer.answer(line, out)
    })?;
    if failed > 0 {
        tell!(global, "note: {failed} of {rows} rows failed");
    }
    let counts = doubts.counts();
    if let Some(counts) = &counts {
        tell!(global, "note: of {rows} rows, {counts}");
    }
    Ok(ExitCode::from(u8::from(strict && counts.is_some())))
}

/// The template or schema at a path. Its warnings are printed.
pub fn load(path: &str, global: &Global) -> Result<TemplateOrSchema, Failure> {
    let mut source = input::template_or_schema(path)?;
    let (diagnostics, sources) = match &mut source {
        Stored::Template(opened) => (std::mem::take(&mut opened.loaded.warnings), &opened.sources),
        Stored::Schema(opened) => (std::mem::take(&mut opened.loaded.warnings), &opened.sources),
    };
    if !diagnostics.is_empty() && !global.is_quiet() {
        Failure::Diagnostics { diagnostics, sources: sources.clone() }.report(global);
    }
    Ok(TemplateOrSchema::from(source))
}
