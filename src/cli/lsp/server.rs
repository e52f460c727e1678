//! The life of the server: documents, what is known about them, and what is sent when.

mod actions;
pub(super) mod commands;
mod features;
mod links;

use std::collections::{BTreeMap, HashMap};
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender};
use std::time::Duration;

use lsp_server::{Message, Notification, Request, RequestId, Response};
use serde_json::{Value, json};

use super::capabilities::{self, Client};
use super::convert::{Places, path_of, uri_of};
use super::prover::{self, Prover, Snapshot};
use super::settings::{FILE, Workspace};
use super::{Event, refusal, write};
use backchat_core::files::with_documents;
use backchat_editor::analysis::{Analysis, at_once};
use backchat_editor::chat_hints::verdict_line;
use backchat_editor::chat_text::ChatText;
use backchat_editor::{Document, Finding, Kind, ProofMode};
use commands::Finished;

const NOT_INITIALIZED: i32 = -32002;
const INVALID_REQUEST: i32 = -32600;
pub const METHOD_NOT_FOUND: i32 = -32601;
pub const INVALID_PARAMS: i32 = -32602;
const INTERNAL: i32 = -32603;
pub const CANCELLED: i32 = -32800;
pub const CONTENT_MODIFIED: i32 = -32801;
/// A request that is fine and cannot be met.
pub const FAILED: i32 = -32803;

/// An error of a request: its code and its message.
pub type Refused = (i32, String);

/// An open document and what is known about it.
pub struct Known {
    pub document: Document,
    pub texts: Arc<Vec<ChatText>>,
    /// What its text alone says.
    pub findings: Vec<Finding>,
    /// What the last proof says, and the version that it is about.
    pub analysis: Option<(i32, Arc<Analysis>)>,
}

impl Known {
    /// All findings of the current version that are known.
    pub fn current(&self) -> &[Finding] {
        match &self.analysis {
            Some((version, analysis)) if *version == self.document.version => &analysis.findings,
            _ => &self.findings,
        }
    }
}

/// A request of the client that waits for an answer to one of ours.
pub enum Waiting {
    /// An edit was sent for it.
    Edit(RequestId, Value),
    /// A page was sent for it.
    Page(RequestId),
    Configuration,
    Nothing,
}

/// A request that waits for renders.
struct Parked {
    id: RequestId,
    uri: String,
    method: String,
    params: Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Life {
    New,
    Running,
    ShutDown,
}

pub struct Server {
    pub documents: BTreeMap<String, Known>,
    pub client: Client,
    pub settings: Arc<Workspace>,
    pub events: Sender<Event>,
    pub waiting: HashMap<RequestId, Waiting>,
    /// Requests that another thread computes.
    pub computing: HashMap<RequestId, Value>,
    /// Hovers and lenses of texts that are not rendered yet: they are answered when that is done, or when the text
    /// changes.
    parked: Vec<Parked>,
    folders: Vec<PathBuf>,
    client_settings: Value,
    prover: Prover,
    life: Life,
    next_id: i32,
    out: Vec<Message>,
    log: Box<dyn Write>,
}

impl Server {
    pub fn new(events: Sender<Event>, log: Box<dyn Write>) -> Self {
        Self {
            documents: BTreeMap::new(),
            client: Client::default(),
            settings: Arc::default(),
            prover: Prover::start(events.clone()),
            events,
            waiting: HashMap::new(),
            computing: HashMap::new(),
            parked: Vec::new(),
            folders: Vec::new(),
            client_settings: Value::Null,
            life: Life::New,
            next_id: 0,
            out: Vec::new(),
            log,
        }
    }

    /// Serves until the client says `exit` or is gone; returns the exit code.
    pub fn serve(&mut self, events: &Receiver<Event>, out: &mut impl Write) -> u8 {
        for event in events {
            match event {
                Event::Closed => return u8::from(self.life != Life::ShutDown),
                Event::Client(Message::Notification(note)) if note.method == "exit" => {
                    return u8::from(self.life != Life::ShutDown);
                }
                Event::Client(Message::Request(request)) => self.request(request),
                Event::Client(Message::Notification(note)) => self.guarded(|server| server.notification(note)),
                Event::Client(Message::Response(response)) => self.guarded(|server| server.response(response)),
                Event::Working(uri, version) => self.working(&uri, version),
                Event::Proved(uri, version, analysis) => self.proved(&uri, version, *analysis),
                Event::Computed(outcome) => self.guarded(|server| server.computed(*outcome)),
            }
            for message in self.out.drain(..) {
                write(out, &message);
            }
        }
        1
    }

    /// Runs something that must not end the server, whatever is in the texts.
    fn guarded(&mut self, work: impl FnOnce(&mut Self)) {
        if catch_unwind(AssertUnwindSafe(|| work(self))).is_err() {
            let _ = writeln!(self.log, "backchat lsp: a bug: a message could not be handled");
        }
    }

    pub fn send(&mut self, message: Message) {
        self.out.push(message);
    }

    pub fn notify(&mut self, method: &str, parameters: Value) {
        self.send(Message::Notification(Notification { method: method.to_owned(), params: parameters }));
    }

    /// Sends a request of ours.
    pub fn ask(&mut self, method: &str, parameters: Value, waiting: Waiting) {
        self.next_id += 1;
        let id = RequestId::from(self.next_id);
        self.waiting.insert(id.clone(), waiting);
        self.send(Message::Request(Request { id, method: method.to_owned(), params: parameters }));
    }

    pub fn answer(&mut self, id: RequestId, result: Result<Value, Refused>) {
        let message = match result {
            Ok(value) => Message::Response(Response::new_ok(id, value)),
            Err((code, message)) => refusal(id, code, message),
        };
        self.send(message);
    }

    fn request(&mut self, request: Request) {
        let Request { id, method, params } = request;
        match (self.life, method.as_str()) {
            (Life::New, "initialize") => {
                let result = self.initialize(&params);
                self.answer(id, Ok(result));
            }
            (Life::New, _) => self.answer(id, Err((NOT_INITIALIZED, "the server is not initialized".to_owned()))),
            (Life::ShutDown, _) => self.answer(id, Err((INVALID_REQUEST, "the server was shut down".to_owned()))),
            (_, "initialize") => {
                self.answer(id, Err((INVALID_REQUEST, "the server is already initialized".to_owned())))
            }
            (_, "shutdown") => {
                self.life = Life::ShutDown;
                self.answer(id, Ok(Value::Null));
            }
            (_, "workspace/executeCommand") => commands::execute(self, id, &params),
            (_, "codeAction/resolve") => commands::resolve(self, id, params),
            (_, "textDocument/hover" | "textDocument/codeLens") if self.waits(&params) => {
                let uri = params.pointer("/textDocument/uri").and_then(Value::as_str).unwrap_or_default().to_owned();
                self.parked.push(Parked { id, uri, method, params });
            }
            _ => self.feature(id, &method, &params),
        }
    }

    /// Whether a hover or a lens is about something that the renders of this text will say.
    fn waits(&self, params: &Value) -> bool {
        let uri = params.pointer("/textDocument/uri").and_then(Value::as_str).unwrap_or_default();
        let Some(known) = self.documents.get(uri) else { return false };
        let rendered = known.analysis.as_ref().map(|(version, _)| *version);
        let is_pending = rendered != Some(known.document.version) && self.settings.client.proof == ProofMode::OnType;
        is_pending && features::needs_renders(self, known, params)
    }

    /// Answers the requests about a document that were waiting.
    fn unpark(&mut self, uri: &str) {
        let (of_document, others) = std::mem::take(&mut self.parked).into_iter().partition(|parked| parked.uri == uri);
        self.parked = others;
        for Parked { id, method, params, .. } in Vec::into_iter(of_document) {
            self.feature(id, &method, &params);
        }
    }

    fn feature(&mut self, id: RequestId, method: &str, params: &Value) {
        let documents = prover::texts(&self.snapshot());
        let work = || with_documents(documents, || features::answer(self, method, params));
        let result = catch_unwind(AssertUnwindSafe(work));
        let result = result.unwrap_or_else(|_| Err((INTERNAL, "a bug: this request could not be answered".to_owned())));
        self.answer(id, result);
    }

    fn initialize(&mut self, parameters: &Value) -> Value {
        self.client = Client::of(parameters);
        self.folders = folders_in(parameters.get("workspaceFolders"));
        if self.folders.is_empty() {
            self.folders.extend(parameters.get("rootUri").and_then(Value::as_str).map(|uri| path_of(uri).0));
        }
        self.client_settings = parameters.get("initializationOptions").cloned().unwrap_or_default();
        self.load_settings();
        self.life = Life::Running;
        capabilities::server(&self.client)
    }

    fn load_settings(&mut self) {
        let (settings, problems) = Workspace::read(&self.folders, &self.client_settings);
        self.settings = Arc::new(settings);
        for problem in problems {
            self.notify("window/logMessage", json!({"type": 2, "message": problem}));
        }
    }

    fn notification(&mut self, note: Notification) {
        if self.life != Life::Running {
            return;
        }
        let params = note.params;
        let uri = params.pointer("/textDocument/uri").and_then(Value::as_str).unwrap_or_default().to_owned();
        match note.method.as_str() {
            "initialized" => self.initialized(),
            "textDocument/didOpen" => self.opened(uri, &params),
            "textDocument/didChange" => self.changed(&uri, &params),
            "textDocument/didSave" => self.saved(&uri),
            "textDocument/didClose" => self.closed(&uri),
            "workspace/didChangeConfiguration" => self.configured(&params),
            "workspace/didChangeWorkspaceFolders" => self.folders_changed(&params),
            "workspace/didChangeWatchedFiles" => self.files_changed(&params),
            "$/cancelRequest" => self.cancelled(&params),
            _ => {}
        }
    }

    fn initialized(&mut self) {
        if self.client.registers_watchers {
            let globs = ["**/*.jinja", "**/*.json", "**/*.fixture", "**/backchat.toml"];
            let watchers: Vec<Value> = globs.iter().map(|glob| json!({"globPattern": glob})).collect();
            let options = json!({"watchers": watchers});
            let registration =
                json!({"id": "watch", "method": "workspace/didChangeWatchedFiles", "registerOptions": options});
            self.ask("client/registerCapability", json!({"registrations": [registration]}), Waiting::Nothing);
        }
        if self.client.has_configuration {
            self.ask_for_settings();
        }
    }

    fn ask_for_settings(&mut self) {
        self.ask("workspace/configuration", json!({"items": [{"section": "backchat"}]}), Waiting::Configuration);
    }

    fn configured(&mut self, params: &Value) {
        match params.get("settings").filter(|settings| settings.as_object().is_some_and(|found| !found.is_empty())) {
            Some(settings) => self.take_settings(settings.clone()),
            None if self.client.has_configuration => self.ask_for_settings(),
            None => {}
        }
    }

    fn take_settings(&mut self, settings: Value) {
        if settings.as_object().is_none() || settings == self.client_settings {
            return;
        }
        self.client_settings = settings;
        self.load_settings();
        self.refresh_all();
    }

    fn folders_changed(&mut self, params: &Value) {
        let removed = folders_in(params.pointer("/event/removed"));
        self.folders.retain(|folder| !removed.contains(folder));
        self.folders.extend(folders_in(params.pointer("/event/added")));
        self.load_settings();
        self.refresh_all();
    }

    /// Everything anew, for other settings.
    fn refresh_all(&mut self) {
        let all: Vec<String> = self.documents.keys().cloned().collect();
        for uri in &all {
            self.read_again(uri);
        }
        self.prove(&all);
    }

    fn response(&mut self, response: Response) {
        let answered = response.response_result.ok();
        let says =
            |key: &str| answered.as_ref().and_then(|answer| answer.get(key)).and_then(Value::as_bool) == Some(true);
        let done =
            |is_done: bool, result, problem: &str| if is_done { Ok(result) } else { Err((FAILED, problem.to_owned())) };
        match self.waiting.remove(&response.id) {
            Some(Waiting::Edit(id, result)) => {
                let problem = "the editor did not apply the edit: run the command again";
                self.answer(id, done(says("applied"), result, problem));
            }
            Some(Waiting::Page(id)) => {
                let problem = "the editor did not open the page: check the address in the setting `playground`";
                self.answer(id, done(says("success"), Value::Null, problem));
            }
            Some(Waiting::Configuration) => {
                let settings = answered.and_then(|answer| answer.get(0).cloned());
                self.take_settings(settings.unwrap_or_default());
            }
            Some(Waiting::Nothing) | None => {}
        }
    }

    fn cancelled(&mut self, params: &Value) {
        let id = match params.get("id") {
            Some(Value::Number(id)) => id.as_i64().and_then(|id| i32::try_from(id).ok()).map(RequestId::from),
            Some(Value::String(id)) => Some(RequestId::from(id.clone())),
            _ => None,
        };
        let parked = self.parked.len();
        self.parked.retain(|parked| Some(&parked.id) != id.as_ref());
        let was_parked = self.parked.len() < parked;
        if let Some(id) = id.filter(|id| was_parked || self.computing.remove(id).is_some()) {
            self.answer(id, Err((CANCELLED, "cancelled".to_owned())));
        }
    }

    fn opened(&mut self, uri: String, params: &Value) {
        let text =
            |key: &str| params.pointer(&format!("/textDocument/{key}")).and_then(Value::as_str).unwrap_or_default();
        let version = version_of(params);
        let (path, is_file) = path_of(&uri);
        let document = Document::new(path, text("languageId"), version, text("text"), is_file);
        let (texts, findings) = Default::default();
        self.documents.insert(uri.clone(), Known { document, texts, findings, analysis: None });
        self.read_again(&uri);
        self.prove_with_dependents(&uri);
    }

    fn changed(&mut self, uri: &str, params: &Value) {
        let unit = self.client.unit;
        let Some(known) = self.documents.get_mut(uri) else { return };
        for change in params.get("contentChanges").and_then(Value::as_array).into_iter().flatten() {
            let new = change.get("text").and_then(Value::as_str).unwrap_or_default();
            let range = change.get("range").filter(|range| !range.is_null());
            let span = range.map(|range| Places::of(&known.document, unit).span(range));
            known.document.replace(span, new);
        }
        known.document.version = version_of(params);
        self.unpark(uri);
        self.read_again(uri);
        if self.settings.client.proof == ProofMode::OnSave {
            return;
        }
        self.prove_with_dependents(uri);
    }

    fn saved(&mut self, uri: &str) {
        if self.settings.client.proof == ProofMode::OnSave && self.documents.contains_key(uri) {
            self.prove_with_dependents(uri);
        }
    }

    fn closed(&mut self, uri: &str) {
        let Some(known) = self.documents.remove(uri) else { return };
        self.unpark(uri);
        self.publish_nothing(uri);
        let dependents = self.dependents(&known.document.path);
        self.prove(&dependents);
    }

    fn files_changed(&mut self, params: &Value) {
        let changes = params.get("changes").and_then(Value::as_array).cloned().unwrap_or_default();
        let paths: Vec<PathBuf> =
            changes.iter().filter_map(|change| Some(path_of(change.get("uri")?.as_str()?).0)).collect();
        if paths.iter().any(|path| path.ends_with(FILE)) {
            self.load_settings();
            self.refresh_all();
            return;
        }
        let mut dirty = Vec::new();
        for path in &paths {
            for uri in self.dependents(path) {
                backchat_core::push_new(&mut dirty, uri);
            }
        }
        self.prove(&dirty);
    }

    /// Reads the text of a document again, and publishes what it says.
    fn read_again(&mut self, uri: &str) {
        let documents = prover::texts(&self.snapshot());
        let Some(known) = self.documents.get_mut(uri) else { return };
        let settings = self.settings.of(&known.document.path);
        let texts = ChatText::all(&known.document);
        known.findings = with_documents(documents, || at_once(&known.document, &texts, settings));
        known.texts = Arc::new(texts);
        self.publish(uri);
    }

    /// The addresses of the documents that depend on a file.
    fn dependents(&self, path: &Path) -> Vec<String> {
        let folder = |path: &Path| {
            let folder = path.parent().map(Path::to_owned).unwrap_or_default();
            if folder.ends_with("additional_chat_templates") {
                folder.parent().map(Path::to_owned).unwrap_or_default()
            } else {
                folder
            }
        };
        let (is_fixture, here) = (path.extension().is_some_and(|end| end == "fixture"), folder(path));
        let depends = |known: &&Known| match known.document.kind() {
            Kind::Fixture => !is_fixture || path.ends_with("defaults.fixture"),
            _ => !is_fixture && known.document.is_file && folder(&known.document.path) == here,
        };
        let found = self.documents.iter().filter(|(_, known)| known.document.path != path && depends(known));
        found.map(|(uri, _)| uri.clone()).collect()
    }

    fn prove_with_dependents(&mut self, uri: &str) {
        let Some(known) = self.documents.get(uri) else { return };
        let mut jobs = vec![uri.to_owned()];
        jobs.extend(self.dependents(&known.document.path.clone()));
        self.prove(&jobs);
    }

    pub fn snapshot(&self) -> Snapshot {
        Arc::new(self.documents.iter().map(|(uri, known)| (uri.clone(), known.document.clone())).collect())
    }

    fn prove(&mut self, jobs: &[String]) {
        let delay = Duration::from_millis(self.settings.client.delay);
        self.prover.ask(jobs, self.snapshot(), self.settings.clone(), delay);
    }

    fn publish(&mut self, uri: &str) {
        let Some(known) = self.documents.get(uri).filter(|_| self.client.takes_pushes) else { return };
        let items = self.diagnostics(known);
        let version = known.document.version;
        self.notify("textDocument/publishDiagnostics", json!({"uri": uri, "version": version, "diagnostics": items}));
    }

    fn publish_nothing(&mut self, uri: &str) {
        if self.client.takes_pushes {
            self.notify("textDocument/publishDiagnostics", json!({"uri": uri, "diagnostics": []}));
        }
    }

    /// The findings of a document as the protocol writes them.
    pub fn diagnostics(&self, known: &Known) -> Vec<Value> {
        let places = Places::of(&known.document, self.client.unit);
        let related = |path: &Path, span: &std::ops::Range<usize>| self.location(path, span);
        known.current().iter().map(|finding| places.diagnostic(finding, &related)).collect()
    }

    /// The address of an open document's path, or of a file.
    pub fn uri_of(&self, path: &Path) -> String {
        let open = self.documents.iter().find(|(_, known)| known.document.path == path);
        open.map_or_else(|| uri_of(path), |(uri, _)| uri.clone())
    }

    /// A place in a file or its document.
    pub fn location(&self, path: &Path, span: &std::ops::Range<usize>) -> Option<Value> {
        let open = self.documents.values().find(|known| known.document.path == path);
        let range = match open {
            Some(known) => Places::of(&known.document, self.client.unit).range(span),
            None => {
                let text = backchat_editor::folder::read(path)?;
                let document = Document::new(path.to_owned(), "", 0, &text, true);
                Places::of(&document, self.client.unit).range(span)
            }
        };
        Some(json!({"uri": self.uri_of(path), "range": range}))
    }

    fn working(&mut self, uri: &str, version: i32) {
        if self.documents.get(uri).is_some_and(|known| known.document.version == version) {
            self.notify("backchat/status", json!({"uri": uri, "version": version, "state": "working"}));
        }
    }

    fn proved(&mut self, uri: &str, version: i32, analysis: Analysis) {
        let Some(known) = self.documents.get_mut(uri).filter(|known| known.document.version == version) else { return };
        let verdict = analysis.verdict.clone();
        known.analysis = Some((version, Arc::new(analysis)));
        self.publish(uri);
        let mut status = json!({"uri": uri, "version": version, "state": "done"});
        if let (Some(verdict), Some(status)) = (verdict, status.as_object_mut()) {
            status.insert("verdict".to_owned(), verdict.status.into());
            status.insert("passed".to_owned(), verdict.passed.into());
            status.insert("cases".to_owned(), verdict.cases.into());
            status.insert("message".to_owned(), verdict_line(&verdict).into());
        }
        self.notify("backchat/status", status);
        self.unpark(uri);
        if self.client.refreshes_lenses {
            self.ask("workspace/codeLens/refresh", Value::Null, Waiting::Nothing);
        }
        if self.client.refreshes_hints {
            self.ask("workspace/inlayHint/refresh", Value::Null, Waiting::Nothing);
        }
    }

    fn computed(&mut self, outcome: Finished) {
        if self.computing.remove(&outcome.id).is_some() {
            commands::finish(self, outcome);
        }
    }
}

/// The paths of workspace folders.
fn folders_in(folders: Option<&Value>) -> Vec<PathBuf> {
    let folders = folders.and_then(Value::as_array).into_iter().flatten();
    folders.filter_map(|folder| Some(path_of(folder.get("uri")?.as_str()?).0)).collect()
}

fn version_of(params: &Value) -> i32 {
    let version = params.pointer("/textDocument/version").and_then(Value::as_i64).unwrap_or(0);
    i32::try_from(version).unwrap_or(0)
}
