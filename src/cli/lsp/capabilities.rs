//! What the server can do, and what the client can.

use serde_json::{Value, json};

use backchat_core::text::Unit;
use backchat_editor::chat_outline::TOKEN_TYPES;

/// The commands of `workspace/executeCommand`.
pub const COMMANDS: [&str; 9] = [
    "backchat.writeResponseTemplate",
    "backchat.derive",
    "backchat.prove",
    "backchat.repair",
    "backchat.bless",
    "backchat.fixGeneration",
    "backchat.explain",
    "backchat.openPlayground",
    "backchat.replay",
];

/// What a client can do.
#[derive(Clone, Debug, Default)]
pub struct Client {
    pub unit: Unit,
    pub applies_edits: bool,
    pub has_document_changes: bool,
    pub creates_files: bool,
    pub registers_watchers: bool,
    pub has_configuration: bool,
    pub shows_documents: bool,
    pub takes_pushes: bool,
    pub has_hierarchy: bool,
    pub refreshes_lenses: bool,
    pub refreshes_hints: bool,
}

impl Client {
    /// Reads the parameters of `initialize`.
    pub fn of(parameters: &Value) -> Self {
        let at = |path: &str| parameters.pointer(&format!("/capabilities/{path}"));
        let is = |path: &str| at(path).and_then(Value::as_bool) == Some(true);
        let lists = |path: &str, word: &str| {
            at(path).and_then(Value::as_array).is_some_and(|list| list.iter().any(|item| item == word))
        };
        let unit = if lists("general/positionEncodings", "utf-8") { Unit::Utf8 } else { Unit::Utf16 };
        let pulls = at("textDocument/diagnostic").is_some_and(Value::is_object);
        Self {
            unit,
            applies_edits: is("workspace/applyEdit"),
            has_document_changes: is("workspace/workspaceEdit/documentChanges"),
            creates_files: lists("workspace/workspaceEdit/resourceOperations", "create"),
            registers_watchers: is("workspace/didChangeWatchedFiles/dynamicRegistration"),
            has_configuration: is("workspace/configuration"),
            shows_documents: is("window/showDocument/support"),
            takes_pushes: !pulls || at("textDocument/publishDiagnostics").is_some_and(Value::is_object),
            has_hierarchy: is("textDocument/documentSymbol/hierarchicalDocumentSymbolSupport"),
            refreshes_lenses: is("workspace/codeLens/refreshSupport"),
            refreshes_hints: is("workspace/inlayHint/refreshSupport"),
        }
    }
}

/// The answer to `initialize`.
pub fn server(client: &Client) -> Value {
    let encoding = if client.unit == Unit::Utf8 { "utf-8" } else { "utf-16" };
    json!({
        "capabilities": {
            "positionEncoding": encoding,
            "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": false}},
            "hoverProvider": true,
            "completionProvider": {"triggerCharacters": [".", "|", "'", "\"", "%", "=", "{"], "resolveProvider": false},
            "definitionProvider": true,
            "referencesProvider": true,
            "documentHighlightProvider": true,
            "documentSymbolProvider": true,
            "foldingRangeProvider": true,
            "selectionRangeProvider": true,
            "renameProvider": {"prepareProvider": true},
            "codeActionProvider": {"codeActionKinds": ["quickfix", "refactor", "source.fixAll"], "resolveProvider": true},
            "codeLensProvider": {"resolveProvider": false},
            "inlayHintProvider": {"resolveProvider": false},
            "semanticTokensProvider": {
                "legend": {"tokenTypes": TOKEN_TYPES, "tokenModifiers": []},
                "full": true,
                "range": true,
            },
            "diagnosticProvider": {"identifier": "backchat", "interFileDependencies": true, "workspaceDiagnostics": false},
            "workspace": {"workspaceFolders": {"supported": true, "changeNotifications": true}},
            "executeCommandProvider": {"commands": COMMANDS},
        },
        "serverInfo": {"name": "backchat", "version": env!("CARGO_PKG_VERSION")},
    })
}
