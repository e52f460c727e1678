//! Commands and actions that render: each is computed by a thread of its own, from the texts at the time of the request.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;

use lsp_server::RequestId;
use serde_json::{Value, json};

use super::super::Event;
use super::super::capabilities::COMMANDS;
use super::super::convert::{Places, to_theirs};
use super::super::prover::{STACK, texts};
use super::super::settings::PLAYGROUND;
use super::actions::workspace_edit;
use super::{CONTENT_MODIFIED, FAILED, INVALID_PARAMS, Known, Refused, Server, Waiting};
use backchat_chat::source::Source;
use backchat_core::diagnostic::{Edit, shell_word};
use backchat_core::files::with_documents;
use backchat_editor::chat_text::ChatText;
use backchat_editor::{Document, Settings, chat_actions, commands, fixtures, folder};
use backchat_workbench::report::Playground;

/// Why a document has no chat template to work on.
pub const NO_CHAT_TEMPLATE: &str = "this file has no chat template, or several, and none is the default";

/// What a computation gives.
pub enum Made {
    /// The result of the request.
    Value(Value),
    /// Edits of the document, which the editor applies.
    Edits(Vec<Edit>),
    /// The text of another file, which the editor creates or replaces.
    File(PathBuf, String),
    /// Edits of the document, as a resolved action.
    Action(Value, Vec<Edit>),
    /// The address of a page, which the editor opens.
    Page(String),
}

/// A finished computation.
pub struct Finished {
    pub id: RequestId,
    uri: String,
    version: i32,
    token: Option<Value>,
    made: Result<Made, Refused>,
}

/// The parameters of a computation.
struct Job {
    name: String,
    document: Document,
    settings: Arc<Settings>,
    playground: Option<Playground>,
    arguments: Vec<Value>,
}

/// Executes a command.
pub fn execute(server: &mut Server, id: RequestId, params: &Value) {
    let name = params.get("command").and_then(Value::as_str).unwrap_or_default().to_owned();
    let arguments = params.get("arguments").and_then(Value::as_array).cloned().unwrap_or_default();
    if !COMMANDS.contains(&name.as_str()) {
        server.answer(id, Err((INVALID_PARAMS, format!("there is no command `{name}`"))));
        return;
    }
    let first = arguments.first().and_then(Value::as_str).unwrap_or_default().to_owned();
    match name.as_str() {
        "backchat.explain" => {
            let found = commands::explain(&first).map(Value::from);
            let missing =
                || (FAILED, format!("`{first}` is no rule and no key: `backchat lint --explain` lists the rules"));
            server.answer(id, found.ok_or_else(missing));
        }
        "backchat.openPlayground" if !server.client.shows_documents => {
            let message =
                "this editor cannot show pages: run `backchat derive FILE --report page.html --playground ADDRESS`";
            server.answer(id, Err((FAILED, message.to_owned())));
        }
        "backchat.replay" => {
            let case = arguments.get(1).and_then(Value::as_str).map(|case| format!("#{case}")).unwrap_or_default();
            let path = super::super::convert::path_of(&first).0;
            let words = own_words().chain(["replay".to_owned(), format!("{}{case}", path.display())]);
            let line = words.map(|word| shell_word(&word)).collect::<Vec<_>>().join(" ");
            server.answer(id, Ok(json!({"terminal": line})));
        }
        _ => compute(server, id, &first, name, arguments, params.get("workDoneToken").cloned()),
    }
}

/// The words before `lsp` with which the client started this program, which need not be on the PATH. In a Python package
/// they are those of the interpreter and its script.
fn own_words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned()).take_while(|word| word != "lsp")
}

/// Computes the edit of an action.
pub fn resolve(server: &mut Server, id: RequestId, action: Value) {
    let text = |path: &str| action.pointer(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (uri, what) = (text("/data/uri"), text("/data/what"));
    if what.is_empty() {
        server.answer(id, Ok(action));
        return;
    }
    compute(server, id, &uri, format!("action.{what}"), vec![action], None);
}

/// Starts a computation.
fn compute(server: &mut Server, id: RequestId, uri: &str, name: String, arguments: Vec<Value>, token: Option<Value>) {
    let Some(document) = document_of(server, uri) else {
        server.answer(
            id,
            Err((INVALID_PARAMS, format!("`{uri}` is neither open nor a file: pass the address of a document"))),
        );
        return;
    };
    if let Some(token) = &token {
        let value = json!({"kind": "begin", "title": name, "cancellable": true});
        server.notify("$/progress", json!({"token": token, "value": value}));
    }
    server.computing.insert(id.clone(), Value::Null);
    let documents = texts(&server.snapshot());
    let events = server.events.clone();
    let (uri, version) = (uri.to_owned(), document.version);
    let settings = server.settings.of(&document.path).clone();
    let playground = server.settings.playground.clone();
    let job = Job { name, document, settings, playground, arguments };
    let work = move || {
        let run = || with_documents(documents, || made(&job));
        let bug = || Err((FAILED, "a bug: this could not be computed".to_owned()));
        let made = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| bug());
        // Without the server nobody waits.
        let _ = events.send(Event::Computed(Box::new(Finished { id, uri, version, token, made })));
    };
    let _ = thread::Builder::new().name("command".to_owned()).stack_size(STACK).spawn(work);
}

/// The document of an address, open or not.
fn document_of(server: &Server, uri: &str) -> Option<Document> {
    if let Some(known) = server.documents.get(uri) {
        return Some(known.document.clone());
    }
    let (path, is_file) = super::super::convert::path_of(uri);
    let text = folder::read(&path).filter(|_| is_file)?;
    Some(Document::new(path, "", 0, &text, true))
}

/// The chat template of a document.
fn chat_of(document: &Document) -> Result<(ChatText, Source), Refused> {
    let texts = ChatText::all(document);
    let text = ChatText::for_tools(&texts).ok_or_else(|| (FAILED, NO_CHAT_TEMPLATE.to_owned()))?.clone();
    let source = folder::source_of(document, &text);
    Ok((text, source))
}

fn made(job: &Job) -> Result<Made, Refused> {
    let Job { name, document, settings, playground, arguments } = job;
    let failed = |message: String| (FAILED, message);
    let edits = |edit: Option<Edit>| Made::Edits(edit.into_iter().collect());
    let chat = || chat_of(document);
    match name.as_str() {
        "backchat.writeResponseTemplate" => {
            let (_, source) = chat()?;
            let path = commands::response_path(document).filter(|_| document.is_file);
            let path = path.ok_or_else(|| {
                failed("save the chat template first: the response template is written next to it".to_owned())
            })?;
            Ok(Made::File(path, commands::draft(&source, settings).map_err(failed)?))
        }
        "backchat.derive" => Ok(Made::Value(commands::draft(&chat()?.1, settings).map_err(failed)?.into())),
        "backchat.prove" => Ok(Made::Value(to_theirs(&commands::report(document, settings).map_err(failed)?))),
        "backchat.openPlayground" => {
            let problem =
                || format!("the setting `playground` {PLAYGROUND}: that of the page that `playground/build` writes");
            let page = playground.as_ref().ok_or_else(|| failed(problem()))?;
            let (_, source) = chat()?;
            let variables = folder::options(&source, settings).variables;
            Ok(Made::Page(page.of_chat(&source.template, &variables)))
        }
        "backchat.repair" => {
            let repairs = commands::repairs(document, settings).map_err(failed)?;
            let index = arguments.get(1).and_then(Value::as_u64).and_then(|index| usize::try_from(index).ok());
            let wanted = index.map_or(0, |index| index + 1);
            let repair = repairs.get(wanted).or(repairs.first().filter(|_| index.is_none()));
            let repair = repair.ok_or_else(|| {
                failed(
                    "there is no proved repair: every conversation parses back, or the draft does not read them either"
                        .to_owned(),
                )
            })?;
            Ok(Made::Edits(repair.edits.clone()))
        }
        "backchat.bless" => {
            let case = arguments.get(1).and_then(Value::as_str);
            Ok(edits(fixtures::bless(document, case).map_err(failed)?))
        }
        "backchat.fixGeneration" => {
            let (text, source) = chat()?;
            Ok(edits(chat_actions::generation_blocks(&text, &source, settings).map_err(failed)?))
        }
        _ => {
            let (text, source) = chat()?;
            let edit = match name.as_str() {
                "action.generation" => chat_actions::generation_blocks(&text, &source, settings),
                _ => chat_actions::repaired(&text, &source, settings),
            };
            let action = arguments.first().cloned().unwrap_or_default();
            Ok(Made::Action(action, edit.map_err(failed)?.into_iter().collect()))
        }
    }
}

/// Answers a request whose computation has finished.
pub fn finish(server: &mut Server, outcome: Finished) {
    let Finished { id, uri, version, token, made } = outcome;
    if let Some(token) = token {
        server.notify("$/progress", json!({"token": token, "value": {"kind": "end"}}));
    }
    let is_current = server.documents.get(&uri).is_none_or(|known| known.document.version == version);
    match made {
        Err(refused) => server.answer(id, Err(refused)),
        Ok(Made::Value(value)) => server.answer(id, Ok(value)),
        Ok(_) if !is_current => {
            server.answer(id, Err((CONTENT_MODIFIED, "the text has changed in the meantime: run it again".to_owned())));
        }
        Ok(Made::Edits(edits)) if edits.is_empty() => server.answer(id, Ok(Value::Null)),
        Ok(Made::Edits(edits)) => {
            let edit = with_known(server, &uri, |server, known| workspace_edit(server, known, &edits));
            apply(server, id, edit, Value::Null);
        }
        Ok(Made::File(path, text)) => {
            let edit = file_edit(server, &path, &text);
            apply(server, id, edit, Value::from(server.uri_of(&path)));
        }
        Ok(Made::Page(address)) => {
            server.ask("window/showDocument", json!({"uri": address, "external": true}), Waiting::Page(id));
        }
        Ok(Made::Action(mut action, edits)) => {
            let edit = with_known(server, &uri, |server, known| workspace_edit(server, known, &edits));
            if let (Some(action), Some(edit)) = (action.as_object_mut(), edit) {
                action.insert("edit".to_owned(), edit);
            }
            server.answer(id, Ok(action));
        }
    }
}

/// Uses what is known about a document, or about a file that is not open.
fn with_known<T>(server: &Server, uri: &str, work: impl FnOnce(&Server, &Known) -> T) -> Option<T> {
    if let Some(known) = server.documents.get(uri) {
        return Some(work(server, known));
    }
    let document = document_of(server, uri)?;
    let (texts, findings) = Default::default();
    Some(work(server, &Known { document, texts, findings, analysis: None }))
}

/// The edit that creates or replaces a file.
fn file_edit(server: &Server, path: &Path, text: &str) -> Option<Value> {
    let uri = server.uri_of(path);
    let open = server.documents.get(&uri);
    let before = open.map(|known| known.document.clone());
    let before = before.or_else(|| Some(Document::new(path.to_owned(), "", 0, &folder::read(path)?, true)));
    let exists = before.is_some();
    let before = before.unwrap_or_else(|| Document::new(path.to_owned(), "", 0, "", true));
    let edit = Edit { span: 0..before.text.len(), text: text.to_owned() };
    let edits = Places::of(&before, server.client.unit).edits(&[edit]);
    if !server.client.has_document_changes {
        return exists.then(|| json!({"changes": {uri: edits}}));
    }
    let version = open.map_or(Value::Null, |known| known.document.version.into());
    let change = json!({"textDocument": {"uri": uri, "version": version}, "edits": edits});
    if exists {
        return Some(json!({"documentChanges": [change]}));
    }
    server.client.creates_files.then(
        || json!({"documentChanges": [{"kind": "create", "uri": uri, "options": {"ignoreIfExists": true}}, change]}),
    )
}

/// Has the editor apply an edit, and answers the request once it has.
fn apply(server: &mut Server, id: RequestId, edit: Option<Value>, result: Value) {
    match edit.filter(|_| server.client.applies_edits) {
        Some(edit) => server.ask("workspace/applyEdit", json!({"edit": edit}), Waiting::Edit(id, result)),
        None => {
            let message = "this editor cannot apply the edit: run `backchat derive`, `fix`, `prove --fix` or `check --bless` in a terminal";
            server.answer(id, Err((FAILED, message.to_owned())));
        }
    }
}
