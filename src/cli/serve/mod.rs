//! `serve`: a chat server in front of an engine's completion endpoint. The address goes to stdout, messages to stderr.

mod exchange;
mod forward;
mod guard;
mod outgoing;
mod probe;
mod recorded;
mod routes;
mod rows;
mod state;
#[cfg_attr(not(feature = "serve-tls"), path = "no_tls.rs")]
mod tls;
mod upload;
mod upstream;

use std::cell::{Cell, RefCell};
use std::env;
use std::fs;
use std::io::{self, Write};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use clap::ArgAction;
use hyper::header::HeaderValue;
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio::task::LocalSet;

use self::guard::Guard;
use self::recorded::Recorded;
use self::rows::Rows;
use self::state::Server;
use self::upload::Uploads;
use self::upstream::{Target, Upstream};
use super::chat_options::Budget;
use super::durations::seconds;
use super::known_values::{Names, known, one_of, policies};
use super::{Failure, Global, input, note, special_tokens};

use backchat_chat::{ChatTemplate, ended, source};
use backchat_chats::mending;
use backchat_core::diagnostic::{Diagnostic, Place, Sources, counted, escape};
use backchat_core::json::Object;
use backchat_derive::derive;
use backchat_parser::deltas::{CallDelivery, ReasoningName};
use backchat_parser::parser::{Policies, RecoveryPolicy};
use backchat_probe::doctor::{self, Problem};
use backchat_probe::probe::NOW;
use backchat_serve::engine::Engine;
use backchat_serve::model::Model;
use backchat_workbench::answers;

/// Serve a model's chat API in front of an engine that only completes text
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  backchat serve ./my-model --upstream http://127.0.0.1:8000
  backchat serve ./my-model --upstream http://127.0.0.1:11434 --engine ollama --record log.jsonl
  backchat serve ORG/NAME --upstream http://127.0.0.1:30000 --host 0.0.0.0 --api-key-file key.txt
  backchat serve ./my-model --upstream http://127.0.0.1:8000 --repair
  backchat serve ./my-model --replay log.jsonl

The server renders the prompt, asks the engine for text, parses it with the model's response
template or a derived one, and answers in three APIs: OpenAI's /v1/chat/completions and
/v1/responses, and Anthropic's /v1/messages. Engines: llama.cpp, vllm, sglang, tgi, ollama, openai
(any server with /v1/completions).

Exit codes: 0 stopped by a signal, 2 could not run.")]
pub struct Serve {
    /// A model folder, .jinja file, tokenizer_config.json, .gguf file, or ORG/NAME in the Hugging Face cache
    model: String,
    /// Send requests to the engine at this address
    #[arg(long, value_name = "URL", required_unless_present = "replay")]
    upstream: Option<String>,
    /// Answer with the outputs of this file, one after another, instead of asking an engine: rows that `--record`
    /// wrote, the rows {"after_ms", "text"} of one output, or an output as text
    #[arg(long, value_name = "FILE", conflicts_with_all = ["upstream", "engine", "upstream_model", "upstream_api_key_env"])]
    replay: Option<String>,
    /// Name the engine instead of detecting it
    #[arg(long, value_name = "ENGINE")]
    #[arg(value_parser = known(engine, engines), hide_possible_values = true)]
    engine: Option<Engine>,
    /// Set the engine's name for the model, instead of the first that it lists
    #[arg(long, value_name = "NAME")]
    upstream_model: Option<String>,
    /// Send the engine the key in this environment variable
    #[arg(long, value_name = "VARIABLE")]
    upstream_api_key_env: Option<String>,
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1")]
    host: IpAddr,
    /// Listen on this port; 0 takes a free one
    #[arg(long, default_value_t = 8080)]
    port: u16,
    /// Set the name under which the model is served; the default is that of its folder or file
    #[arg(long, value_name = "NAME")]
    model_name: Option<String>,
    /// Refuse requests for other models
    #[arg(long)]
    strict_model: bool,
    /// Require this key; `--api-key-file`, or the variable BACKCHAT_API_KEY, hides it from other users of the machine
    #[arg(long, value_name = "KEY")]
    api_key: Option<String>,
    /// Require the key in this file
    #[arg(long, value_name = "FILE", conflicts_with = "api_key")]
    api_key_file: Option<PathBuf>,
    /// Serve other machines without a key
    #[arg(long)]
    no_auth: bool,
    /// Allow requests from pages of this origin
    #[arg(long, value_name = "ORIGIN")]
    cors: Option<String>,
    /// Without a key, also answer under this name; addresses, `localhost` and names without a dot are always allowed;
    /// repeatable
    #[arg(long, value_name = "NAME")]
    allow_host: Vec<String>,
    /// Select whether the prompt keeps its BOS token; by default it does unless the engine adds one
    #[arg(long = "bos", value_name = "WHAT", value_parser = one_of(BOS))]
    keeps_bos: Option<bool>,
    /// Append each exchange to this file, as a line of JSON
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Record the lengths of prompts and messages instead of their text
    #[arg(long, requires = "record")]
    record_redact: bool,
    /// Record token ids if the engine reports them
    #[arg(long, requires = "record")]
    record_tokens: bool,
    /// Append a line of JSON for each request to this file: when, from where, what, the status, and the time to the answer
    #[arg(long, value_name = "FILE")]
    access_log: Option<PathBuf>,
    /// Begin a new record or access log when a file reaches this size; the full one becomes FILE.1, in the place of the
    /// one before
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 30)]
    record_size: u64,
    /// Select the name of the reasoning in answers
    #[arg(long, value_name = "NAME", value_parser = one_of(REASONING_FIELDS), default_value = "reasoning_content")]
    reasoning_field: ReasoningName,
    /// Select whether calls are sent as they grow, or once they are complete
    #[arg(long, value_name = "WHEN", value_parser = one_of(CALLS), default_value = "growing")]
    calls: CallDelivery,
    /// Select what happens to a required call if the engine supports no grammars
    #[arg(long = "unconstrained", value_name = "WHAT", value_parser = one_of(UNCONSTRAINED), default_value = "refuse")]
    #[arg(action = ArgAction::Set)]
    allows_unconstrained: bool,
    /// Repair the chat template first, as `backchat fix` does, so that it takes the conversations that agents send
    #[arg(long)]
    repair: bool,
    /// Recover from problems with these policies: a comma-separated list, or `all`
    #[arg(long, value_name = "LIST", default_value = "", hide_default_value = true)]
    #[arg(value_parser = known(recover, policies), hide_possible_values = true)]
    recover: Policies,
    #[command(flatten)]
    budget: Budget,
    /// Accept request bodies of up to this many bytes
    #[arg(long, value_name = "BYTES", default_value_t = 16 << 20)]
    max_body: u64,
    /// Serve at most this many answers at once
    #[arg(long, value_name = "N", default_value_t = 1024)]
    max_streams: u64,
    /// Wait this long for the engine's first text
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = seconds)]
    timeout_first: Duration,
    /// Wait this long for more text
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds)]
    timeout_idle: Duration,
    /// After a signal, wait this long for running answers to finish
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = seconds)]
    grace: Duration,
}

const REASONING_FIELDS: &Names<ReasoningName> = &[
    ("reasoning_content", ReasoningName::ReasoningContent, ""),
    ("reasoning", ReasoningName::Reasoning, ""),
    ("both", ReasoningName::Both, ""),
];

const CALLS: &Names<CallDelivery> = &[("growing", CallDelivery::Growing, ""), ("whole", CallDelivery::Whole, "")];

const BOS: &Names<bool> = &[("keep", true, ""), ("drop", false, "")];

const UNCONSTRAINED: &Names<bool> = &[("refuse", false, ""), ("allow", true, "")];

fn engine(name: &str) -> Result<Engine, String> {
    Engine::named(name).ok_or_else(|| {
        let names: Vec<&str> = Engine::ALL.into_iter().map(Engine::name).collect();
        format!("expected one of {}", names.join(", "))
    })
}

fn engines() -> Vec<clap::builder::PossibleValue> {
    Engine::ALL.into_iter().map(|engine| clap::builder::PossibleValue::new(engine.name())).collect()
}

fn recover(names: &str) -> Result<Policies, String> {
    Policies::parse(names).map_err(|error| error.to_string())
}

impl Serve {
    pub fn run(&self, global: &Global) -> Result<ExitCode, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        LocalSet::new().block_on(&runtime, self.serve(global))?;
        Ok(ExitCode::SUCCESS)
    }

    async fn serve(&self, global: &Global) -> Result<(), Failure> {
        let api_key = self.api_key()?;
        if !self.host.is_loopback() && api_key.is_none() && !self.no_auth {
            let message = format!("{} can be reached from other machines, and there is no key", self.host);
            return Err(Diagnostic::error("serve-no-key", message)
                .help("pass `--api-key-file FILE`, or `--no-auth` to serve everyone")
                .into());
        }
        let upstream = self.upstream()?;
        let model = self.model(global)?;
        let record = rows(self.record.as_deref(), self.record_size, "record")?;
        let access_log = rows(self.access_log.as_deref(), self.record_size, "access log")?;
        let guard = self.guard(api_key.is_some())?;
        let engine = match (&upstream, self.engine) {
            // Recorded outputs are played in the plain protocol.
            (Upstream::Recorded(_), _) => Engine::OpenAi,
            (_, Some(engine)) => engine,
            (_, None) => match probe::recognize(&upstream).await {
                Some(engine) => engine,
                None => return Err(self.no_engine(upstream.fault(probe::PATIENCE).await).into()),
            },
        };
        if !global.is_quiet() {
            self.announce(engine, &upstream, &model)?;
        }
        let listener = TcpListener::bind((self.host, self.port)).await.map_err(|error| {
            Diagnostic::error("serve-listen", format!("cannot listen on {}, port {}: {error}", self.host, self.port))
                .help("pass another `--port`; 0 takes a free one")
        })?;
        let address = listener.local_addr()?;
        let server = Rc::new(Server {
            options: self.clone(),
            model_name: self.model_name(),
            api_key,
            guard,
            uploads: Uploads::new(self.max_body),
            model: Arc::new(model),
            engine,
            upstream,
            record,
            access_log,
            metrics: RefCell::default(),
            cut: Arc::default(),
            facts: RefCell::default(),
            stopping: Notify::new(),
            is_stopping: Cell::default(),
            connections: Cell::default(),
            began: SystemTime::UNIX_EPOCH.elapsed().map_or(0, |time| time.as_secs()),
        });
        let accepting = tokio::task::spawn_local(Rc::clone(&server).accept(listener));
        let mut signals = Signals::new()?;
        let mut out = io::stdout().lock();
        writeln!(out, "http://{address}/v1")?;
        out.flush()?;
        drop(out);
        signals.next().await;
        // The port can be reused at once.
        accepting.abort();
        tell!(global, "note: stopping after the running answers; a second signal stops at once");
        server.stop(async { signals.next().await }).await;
        Ok(())
    }

    /// The error for an engine that does not answer, with the cause.
    fn no_engine(&self, fault: Option<io::Error>) -> Diagnostic {
        let address = escape(self.upstream.as_deref().unwrap_or_default()).into_owned();
        let help = match fault.as_ref().map(io::Error::kind) {
            Some(io::ErrorKind::InvalidData) => "check the address and its certificate",
            Some(_) => "check the address, and start the engine first",
            None => "name the engine with `--engine`",
        };
        let why = fault.map(|fault| format!(": {}", escape(&fault.to_string()))).unwrap_or_default();
        Diagnostic::error("serve-no-engine", format!("no engine answers at {address}{why}")).help(help)
    }

    fn announce(&self, engine: Engine, upstream: &Upstream, model: &Model) -> Result<(), Failure> {
        let shows_special_tokens = match upstream {
            Upstream::Engine(_) => {
                super::say!("engine: {}", engine.name());
                engine.shows_special_tokens()
            }
            Upstream::Recorded(recorded) => {
                super::say!("engine: none, {}", counted(recorded.count(), "recorded output"));
                true
            }
        };
        if model.was_derived() {
            note("the model has no response template: it is served with the one derived from its chat template");
        }
        super::warn_of(model.doubts());
        if !shows_special_tokens {
            let special = special_tokens::read(None, &self.model)?;
            let lost: Vec<&str> = model
                .markers()
                .iter()
                .map(String::as_str)
                .filter(|marker| special.iter().any(|token| token.text == *marker))
                .collect();
            if !lost.is_empty() {
                note(&escape(&format!(
                    "this engine drops special tokens, and the format is written with some: {}; calls and reasoning \
                     may be missing from answers",
                    lost.join(" ")
                )));
            }
        }
        if self.record.is_some() && !self.record_redact {
            note("the record holds what users write; only its owner can read it");
        }
        Ok(())
    }

    fn api_key(&self) -> Result<Option<String>, Failure> {
        let key = match &self.api_key_file {
            None => self.api_key.clone().or_else(|| env::var("BACKCHAT_API_KEY").ok()),
            Some(file) => {
                let name = file.display().to_string();
                let text = fs::read_to_string(file).map_err(|error| input::cannot_read(&name, &error))?;
                Some(text.trim().to_owned())
            }
        };
        if key.as_deref() == Some("") {
            return Err(Diagnostic::error("serve-empty-key", "the key is empty").into());
        }
        Ok(key)
    }

    fn upstream(&self) -> Result<Upstream, Failure> {
        if let Some(file) = &self.replay {
            return Ok(Upstream::Recorded(Recorded::read(file)?));
        }
        let read = |name: &String| {
            let missing = || format!("the environment has no variable `{}`", escape(name));
            env::var(name).map_err(|_| Diagnostic::error("serve-no-variable", missing()))
        };
        let key = self.upstream_api_key_env.as_ref().map(read).transpose()?;
        let address = self.upstream.as_deref().unwrap_or_default();
        Target::read(address, key.as_deref())
            .map(Upstream::Engine)
            .map_err(|message| Diagnostic::error("serve-upstream", format!("`--upstream`: {message}")).into())
    }

    /// Prepares the model in one examination of its chat template.
    fn model(&self, global: &Global) -> Result<Model, Failure> {
        let source = self.source(global)?;
        self.budget.examine(|| {
            let model = self.prepared(&source, global)?;
            if let Some(why) = ended() {
                tell!(
                    global,
                    "note: the examination of the chat template ended early: {why}; some answers may be read wrongly"
                );
            }
            Ok(model)
        })
    }

    /// The chat template, repaired if that was asked for.
    fn source(&self, global: &Global) -> Result<source::Source, Failure> {
        let source = source::open(&self.model, None)?.with_tokens_beside();
        if self.repair {
            return Ok(source.map_templates(|template, tokens| repaired(template, tokens, self.budget, global)));
        }
        if !global.is_quiet() {
            self.warn_of_agents(&source);
        }
        Ok(source)
    }

    fn prepared(&self, source: &source::Source, global: &Global) -> Result<Model, Failure> {
        let stored = input::template(&self.model).ok().map(|opened| opened.loaded.template);
        if !source.other_names.is_empty() {
            tell!(global, "note: there are other chat templates: {}", escape(&source.other_names.join(", ")));
        }
        let model = Model::new(source, stored).map_err(|mut diagnostics| {
            for diagnostic in &mut diagnostics {
                diagnostic.place.get_or_insert_default().file.get_or_insert_with(|| source.file.clone());
            }
            let sources = Sources::none().with(source.file.clone(), source.template.clone());
            Failure::Diagnostics { diagnostics, sources }
        })?;
        let policies = self.policies(source, &model, global);
        Ok(model.recover(policies))
    }

    /// Names what the chat template does not take of what agents send, and the option that repairs it.
    fn warn_of_agents(&self, source: &source::Source) {
        let source = source.clone().for_tools();
        let Ok(template) = ChatTemplate::compile(&source.template) else { return };
        let options = doctor::Options::default().variables(source.special_tokens.clone()).now(NOW.to_owned());
        if let Some(warning) = answers::agents_warning(&template, &options, &self.model) {
            note(&escape(&format!("{warning}, and `--repair` serves the repaired template")));
        }
    }

    /// The requested policies, except those that change conforming turns.
    fn policies(&self, source: &source::Source, model: &Model, global: &Global) -> Policies {
        if self.recover.is_empty() {
            return self.recover;
        }
        let source = source.clone().for_tools();
        let options = derive::Options::for_source(&source);
        let proven = derive::prove(&source.template, model.template(), &options);
        let refused = proven.verdict.policies.refused_policies();
        let (left, kept): (Vec<_>, Vec<_>) = self.recover.iter().partition(|policy| refused.contains(*policy));
        if !left.is_empty() {
            let names = left.into_iter().map(RecoveryPolicy::as_str).collect::<Vec<_>>().join(", ");
            tell!(global, "note: left out, because they change answers in this model's own format: {names}");
        }
        kept.into_iter().collect()
    }

    fn guard(&self, has_key: bool) -> Result<Guard, Failure> {
        let cors = self.cors.as_deref().map(HeaderValue::from_str).transpose();
        let cors = cors.map_err(|_| Diagnostic::error("serve-cors", "the origin of `--cors` cannot be a header"))?;
        Ok(Guard { cors, hosts: self.allow_host.clone(), has_key })
    }

    fn model_name(&self) -> String {
        match &self.model_name {
            Some(name) => name.clone(),
            None if input::is_cached(&self.model) => self.model.clone(),
            None => input::model_name(&self.model),
        }
    }
}

/// The file of the record or of the access log.
fn rows(file: Option<&Path>, limit: u64, name: &str) -> Result<Option<Rows>, Failure> {
    let Some(file) = file else { return Ok(None) };
    let rows = Rows::open(file, limit).map_err(|error| {
        Diagnostic::error("unwritable-file", format!("cannot write the {name}: {error}"))
            .at(Place::file(file.display().to_string()))
            .help("check that its folder exists and that you may write there")
    })?;
    Ok(Some(rows))
}

/// A repaired chat template, with a note about what was repaired and what was left.
fn repaired(text: &str, tokens: &Object, budget: Budget, global: &Global) -> String {
    let Ok(template) = ChatTemplate::compile(text) else { return text.to_owned() };
    let options = doctor::Options::default().variables(tokens.clone()).now(NOW.to_owned()).budget(budget.work());
    let repair = mending::repair(text, &template, &[], &options);
    let names = |problems: Vec<Problem>| {
        let ids: Vec<&str> = problems.into_iter().map(Problem::id).collect();
        if ids.is_empty() { "nothing".to_owned() } else { ids.join(", ") }
    };
    let cured = names(repair.cured.iter().map(|cured| cured.problem).collect());
    let left = names(repair.left.iter().map(|left| left.problem).collect());
    tell!(global, "note: the chat template runs repaired: {cured}; left as it is: {left}");
    if !repair.cured.is_empty() {
        answers::proved(&repair.proof).iter().for_each(|sentence| tell!(global, "note: {}", escape(sentence)));
    }
    repair.text
}

/// The signals that end the server.
struct Signals {
    #[cfg(unix)]
    streams: [tokio::signal::unix::Signal; 2],
}

impl Signals {
    fn new() -> io::Result<Self> {
        #[cfg(unix)]
        {
            use tokio::signal::unix::{SignalKind, signal};
            Ok(Self { streams: [signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?] })
        }
        #[cfg(not(unix))]
        Ok(Self {})
    }

    async fn next(&mut self) {
        #[cfg(unix)]
        std::future::poll_fn(|context| {
            let mut streams = self.streams.iter_mut();
            let came = streams.any(|stream| stream.poll_recv(context).is_ready());
            if came { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
        })
        .await;
        #[cfg(not(unix))]
        let _ = tokio::signal::ctrl_c().await;
    }
}
