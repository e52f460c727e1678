//! The language server over standard input and output, as an editor uses it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

const CHAT: &str = "{%- for message in messages -%}\n  {{- '<|' ~ message.role ~ '|>' ~ message.content ~ '<|end|>' -}}\n{%- endfor -%}\n{%- if add_generation_prompt -%}{{- '<|assistant|>' -}}{%- endif -%}\n";
const RESPONSE: &str =
    "{\n  \"start_anchor\": \"<|assistant|>\",\n  \"fields\": {\"content\": {\"close\": \"<|end|>\"}}\n}\n";

/// A server, and what it has sent.
struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: i64,
    notices: Vec<Value>,
}

impl Client {
    fn start() -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_backchat"));
        let mut server = command.arg("lsp").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (input, output) = (server.stdin.take().unwrap(), BufReader::new(server.stdout.take().unwrap()));
        Self { server, input, output, id: 0, notices: Vec::new() }
    }

    fn initialized() -> Self {
        Self::initialized_with(json!({}))
    }

    /// A server that was initialized with these parameters, too.
    fn initialized_with(mut parameters: Value) -> Self {
        let mut client = Self::start();
        parameters["capabilities"]["textDocument"]["publishDiagnostics"] = json!({});
        client.request("initialize", parameters).unwrap();
        client.notify("initialized", json!({}));
        client
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{body}", body.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn receive(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server closed its output");
            match line.trim().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut body = vec![0; length];
        self.output.read_exact(&mut body).unwrap();
        serde_json::from_slice(&body).unwrap()
    }

    /// The result of a request, or the code of its error.
    fn request(&mut self, method: &str, params: Value) -> Result<Value, i64> {
        let id = self.begin(method, params);
        self.result(id)
    }

    fn begin(&mut self, method: &str, params: Value) -> i64 {
        self.id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params}));
        self.id
    }

    /// The parameters of the server's next request of this name, which gets this answer.
    fn asked(&mut self, method: &str, answer: Value) -> Value {
        loop {
            let message = self.receive();
            if message["method"] == method {
                self.send(&json!({"jsonrpc": "2.0", "id": message["id"], "result": answer}));
                return message["params"].clone();
            }
            self.notices.push(message);
        }
    }

    fn result(&mut self, id: i64) -> Result<Value, i64> {
        loop {
            let message = self.receive();
            if message["id"] == id && message.get("method").is_none() {
                return match message.get("error") {
                    Some(error) => Err(error["code"].as_i64().unwrap()),
                    None => Ok(message["result"].clone()),
                };
            }
            self.notices.push(message);
        }
    }

    fn open(&mut self, uri: &str, language: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": language, "version": 1, "text": text});
        self.notify("textDocument/didOpen", json!({"textDocument": document}));
    }

    fn replace(&mut self, uri: &str, version: i64, text: &str) {
        let document = json!({"uri": uri, "version": version});
        self.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [{"text": text}]}));
    }

    /// The status of a version, after its last findings.
    fn done(&mut self, uri: &str, version: i64) -> Value {
        let is_it = |message: &Value| {
            let params = &message["params"];
            message["method"] == "backchat/status"
                && params["uri"] == uri
                && params["version"] == version
                && params["state"] == "done"
        };
        loop {
            if let Some(at) = self.notices.iter().rposition(is_it) {
                return self.notices[at]["params"].clone();
            }
            let message = self.receive();
            self.notices.push(message);
        }
    }

    /// The codes of the findings that were published last.
    fn codes(&self, uri: &str) -> Vec<String> {
        self.found(uri).iter().map(|found| found["code"].as_str().unwrap().to_owned()).collect()
    }

    /// The findings that were published last.
    fn found(&self, uri: &str) -> Vec<Value> {
        let is_it = |message: &&Value| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri
        };
        let last = self.notices.iter().rev().find(is_it).unwrap();
        last["params"]["diagnostics"].as_array().unwrap().clone()
    }

    /// The titles of the lenses, each with the arguments of its command.
    fn lenses(&mut self, uri: &str) -> Vec<(String, Value)> {
        let found = self.request("textDocument/codeLens", json!({"textDocument": {"uri": uri}})).unwrap();
        let lens = |lens: &Value| {
            (lens["command"]["title"].as_str().unwrap().to_owned(), lens["command"]["arguments"].clone())
        };
        found.as_array().unwrap().iter().map(lens).collect()
    }

    fn ends_with(mut self, code: i32) {
        drop(self.input);
        assert_eq!(self.server.wait().unwrap().code(), Some(code));
    }
}

/// A new folder with these files, which is removed with the value, and its address.
fn folder(files: &[(&str, &str)]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    for (file, text) in files {
        std::fs::write(folder.path().join(file), text).unwrap();
    }
    let address = format!("file://{}", folder.path().display());
    (folder, address)
}

#[test]
fn requests_are_refused_before_initialize_and_after_shutdown() {
    let hover = json!({"textDocument": {"uri": "file:///x"}, "position": {"line": 0, "character": 0}});
    let mut client = Client::start();
    assert_eq!(client.request("textDocument/hover", hover.clone()), Err(-32002));
    client.request("initialize", json!({"capabilities": {}})).unwrap();
    assert_eq!(client.request("textDocument/nonsense", json!({})), Err(-32601));
    assert_eq!(client.request("shutdown", Value::Null), Ok(Value::Null));
    assert_eq!(client.request("textDocument/hover", hover), Err(-32600));
    client.notify("exit", Value::Null);
    client.ends_with(0);
    Client::initialized().ends_with(1);
}

#[test]
fn an_unsaved_chat_template_refutes_the_response_template_beside_it() {
    let (_folder, address) = folder(&[("chat_template.jinja", CHAT), ("response_template.json", RESPONSE)]);
    let (chat, response) = (format!("{address}/chat_template.jinja"), format!("{address}/response_template.json"));
    let mut client = Client::initialized();
    client.open(&chat, "jinja", CHAT);
    client.open(&response, "json", RESPONSE);
    assert_eq!(client.done(&chat, 1)["verdict"], "proved");
    assert_eq!(client.done(&response, 1)["verdict"], "proved");
    client.notices.clear();
    client.replace(&chat, 2, &CHAT.replace("<|end|>", "<|stop|>"));
    assert_eq!(client.done(&chat, 2)["verdict"], "proved");
    assert_eq!(client.done(&response, 1)["verdict"], "partial");
    assert!(client.codes(&response).contains(&"refuted".to_owned()));
}

#[test]
fn errors_are_published_with_the_version_they_are_about_and_go_away() {
    let mut client = Client::initialized();
    client.open("untitled:a", "jinja", "{{ messages | tojsn }}{% frob %}");
    client.done("untitled:a", 1);
    assert_eq!(client.codes("untitled:a"), ["template-failed", "template-failed"]);
    client.replace("untitled:a", 2, CHAT);
    client.done("untitled:a", 2);
    assert_eq!(client.codes("untitled:a"), ["CT005"], "a template without tools");
    let text = client.request("backchat/text", json!({"textDocument": {"uri": "untitled:a"}})).unwrap();
    assert_eq!((&text["version"], text["text"].as_str()), (&json!(2), Some(CHAT)));
}

#[test]
fn findings_move_with_their_text_though_the_chat_template_is_the_same() {
    let config = |before: &str| format!("{{{before}\"chat_template\": {}}}", json!(CHAT));
    let (_folder, address) = folder(&[("tokenizer_config.json", &config(""))]);
    let uri = format!("{address}/tokenizer_config.json");
    let mut client = Client::initialized();
    client.open(&uri, "json", &config(""));
    client.done(&uri, 1);
    let column = |client: &Client| client.found(&uri)[0]["range"]["start"]["character"].as_i64().unwrap();
    let before = column(&client);
    client.replace(&uri, 2, &config("\"a\": 1, "));
    client.done(&uri, 2);
    assert_eq!(column(&client), before + 8);
}

#[test]
fn unknown_filters_are_errors_but_for_one_of_other_engines_in_a_branch() {
    let mut client = Client::initialized();
    let branch = |filter: &str| format!("{CHAT}{{% if x %}}{{{{ x | {filter} }}}}{{% endif %}}");
    let looped = format!("{CHAT}{{% for y in x %}}{{{{ y | from_json }}}}{{% endfor %}}");
    let texts = [branch("from_json"), branch("from_yaml"), looped];
    for (version, (text, severity)) in (1..).zip(texts.into_iter().zip([2, 1, 1])) {
        match version {
            1 => client.open("untitled:a", "jinja", &text),
            _ => client.replace("untitled:a", version, &text),
        }
        client.done("untitled:a", version);
        let found = client.found("untitled:a");
        let found = found.iter().find(|found| found["code"] == "template-failed").unwrap();
        assert_eq!(found["severity"], severity, "{text}: {found}");
    }
}

#[test]
fn many_mentions_and_long_lines_are_answered_in_time() {
    let same = "{{ x }}\n".repeat(65_536);
    let line = "{{ ab }}{# é #}".repeat(20_000);
    let mut client = Client::initialized();
    let began = Instant::now();
    for (name, text, tokens) in [("same", same, 65_536), ("line", line, 40_000)] {
        let uri = format!("untitled:{name}");
        client.open(&uri, "jinja", &text);
        client.done(&uri, 1);
        let found = client.request("textDocument/semanticTokens/full", json!({"textDocument": {"uri": uri}})).unwrap();
        assert_eq!(found["data"].as_array().unwrap().len(), 5 * tokens, "{name}");
    }
    assert!(began.elapsed() < Duration::from_secs(40), "{:?}", began.elapsed());
}

#[test]
fn the_playground_is_offered_if_its_address_is_known_and_opens_the_text() {
    let page = "file:///p/index.html";
    let shows = json!({"window": {"showDocument": {"support": true}}});
    for (capabilities, settings, is_offered) in [
        (shows.clone(), json!({"playground": page}), true),
        (shows.clone(), json!({"playground": "/p/index.html"}), true),
        (shows.clone(), json!({"playground": "index.html"}), false),
        (shows.clone(), json!({"playground": "~/index.html"}), false),
        (shows.clone(), json!({"playground": "localhost:8000"}), false),
        (shows.clone(), json!({"playground": "javascript://p"}), false),
        (shows.clone(), json!({"playground": ""}), false),
        (shows, json!({}), false),
        (json!({}), json!({"playground": page}), false),
    ] {
        let parameters = json!({"capabilities": capabilities, "initializationOptions": settings});
        let mut client = Client::initialized_with(parameters);
        client.open("untitled:a", "jinja", CHAT);
        client.done("untitled:a", 1);
        // A setting that names no page is reported.
        let place = settings["playground"].as_str().filter(|place| !place.is_empty() && !place.contains("/p/"));
        let logged = client.notices.iter().filter(|notice| notice["method"] == "window/logMessage");
        let told: Vec<_> = logged.filter_map(|notice| notice["params"]["message"].as_str()).collect();
        assert_eq!(told.len(), usize::from(place.is_some()), "{settings}: {told:?}");
        assert!(place.is_none_or(|place| told[0].ends_with(&format!(", not `{place}`"))), "{settings}: {told:?}");
        let is_lens = client.lenses("untitled:a").iter().any(|(title, _)| title == "Playground");
        assert_eq!(is_lens, is_offered, "{settings}");
        let mut open = |uri: &str, success: bool| {
            let command = json!({"command": "backchat.openPlayground", "arguments": [uri]});
            let id = client.begin("workspace/executeCommand", command);
            let shown = is_offered.then(|| client.asked("window/showDocument", json!({"success": success})));
            (shown, client.result(id))
        };
        let (shown, result) = open("untitled:a", true);
        let Some(shown) = shown else {
            assert_eq!(result, Err(-32803), "{settings}");
            continue;
        };
        assert_eq!((result, &shown["external"]), (Ok(Value::Null), &json!(true)));
        let fragment = shown["uri"].as_str().unwrap().strip_prefix(page).unwrap().strip_prefix('#').unwrap();
        let state = crate::report_links::state(fragment);
        assert_eq!(state.get("chat").and_then(|chat| chat.as_str()), Some(CHAT.trim_end()));
        assert_eq!(open("untitled:a", false).1, Err(-32803), "an editor that could not open it");
    }
}

#[test]
fn a_change_without_a_range_replaces_the_text() {
    for range in [None, Some(Value::Null)] {
        let mut client = Client::initialized();
        client.open("untitled:a", "jinja", "old");
        let mut change = json!({"text": "new"});
        if let Some(range) = range {
            change["range"] = range;
        }
        let document = json!({"uri": "untitled:a", "version": 2});
        client.notify("textDocument/didChange", json!({"textDocument": document, "contentChanges": [change]}));
        let text = client.request("backchat/text", json!({"textDocument": {"uri": "untitled:a"}})).unwrap();
        assert_eq!(text["text"], "new", "{change}");
    }
}

#[test]
fn documents_have_the_settings_of_their_own_folder() {
    // A line break after a call erases `content`, which RT003 warns about.
    let response = r#"{"start_anchor": "<a>", "fields": {"content": {"close": "<e>"}, "tool_calls": {"open": "<c>", "close": "</c>", "repeats": true, "content": "json"}}}"#;
    let off = "[lint.rules]\nRT003 = \"off\"\n";
    let (_one, plain) = folder(&[("response_template.json", response)]);
    let (_other, quiet) = folder(&[("response_template.json", response), ("backchat.toml", off)]);
    let named =
        |folders: &[&String]| json!(folders.iter().map(|uri| json!({"uri": uri, "name": "x"})).collect::<Vec<_>>());
    let has_warning = |client: &mut Client, folder: &str, version| {
        let uri = format!("{folder}/response_template.json");
        client.done(&uri, version);
        client.codes(&uri).contains(&"RT003".to_owned())
    };
    for folders in [[&plain, &quiet], [&quiet, &plain]] {
        let mut client = Client::initialized_with(json!({"workspaceFolders": named(&folders)}));
        for (folder, warns) in [(&plain, true), (&quiet, false)] {
            client.open(&format!("{folder}/response_template.json"), "json", response);
            assert_eq!(has_warning(&mut client, folder, 1), warns, "{folders:?}");
        }
    }
    // A folder that is added later.
    let mut client = Client::initialized_with(json!({"workspaceFolders": named(&[&plain])}));
    client.open(&format!("{quiet}/response_template.json"), "json", response);
    assert!(has_warning(&mut client, &quiet, 1));
    client.notices.clear();
    let event = json!({"added": named(&[&quiet]), "removed": named(&[&plain])});
    client.notify("workspace/didChangeWorkspaceFolders", json!({"event": event}));
    assert!(!has_warning(&mut client, &quiet, 1));
}

#[test]
fn of_several_chat_templates_the_one_for_tools_is_taken() {
    for (names, taken) in
        [(["default", "tool_use"], Some("tool_use")), (["rag", "default"], Some("default")), (["rag", "other"], None)]
    {
        let templates =
            names.map(|name| json!({"name": name, "template": CHAT.replace("<|end|>", &format!("<end_{name}>"))}));
        let config = json!({"chat_template": templates}).to_string();
        let (_folder, address) = folder(&[("tokenizer_config.json", config.as_str())]);
        let uri = format!("{address}/tokenizer_config.json");
        let mut client = Client::initialized();
        client.open(&uri, "json", &config);
        client.done(&uri, 1);
        assert_eq!(client.lenses(&uri).iter().any(|(title, _)| title == "Preview"), taken.is_some(), "{names:?}");
        let command = json!({"command": "backchat.derive", "arguments": [uri]});
        let draft = client.request("workspace/executeCommand", command);
        match taken {
            Some(name) => assert!(draft.unwrap().as_str().unwrap().contains(&format!("<end_{name}>")), "{names:?}"),
            None => assert_eq!(draft, Err(-32803), "{names:?}"),
        }
    }
}

#[test]
fn lenses_of_cases_name_them_only_if_they_can_be_read() {
    let cases = "template: response_template.json\n\n=== case a\n=== prefix\n<|assistant|>\n=== output\nHi<|end|>\n\
                 === message\n{\"content\": \"No\"}\n\n=== case b\n=== output\nHi<|end|>\n=== message\n{}\n";
    let (_folder, address) = folder(&[("response_template.json", RESPONSE)]);
    let uri = format!("{address}/a.fixture");
    let path = uri.strip_prefix("file://").unwrap();
    let mut client = Client::initialized();
    client.open(&uri, "backchat-fixture", cases);
    client.done(&uri, 1);
    let lenses = client.lenses(&uri);
    let of = |title: &str| lenses.iter().filter(|lens| lens.0 == title).map(|lens| lens.1.clone()).collect::<Vec<_>>();
    assert_eq!(of("Bless"), [json!([uri, "a"])]);
    assert_eq!(of("Replay"), [json!([uri, "a"]), json!([uri])]);
    let terminals = of("Replay").into_iter().map(|arguments| {
        let command = json!({"command": "backchat.replay", "arguments": arguments});
        client.request("workspace/executeCommand", command).unwrap()["terminal"].clone()
    });
    let program = backchat_core::diagnostic::shell_word(env!("CARGO_BIN_EXE_backchat"));
    let wanted = [format!("{program} replay {path}#a"), format!("{program} replay {path}")];
    assert_eq!(terminals.collect::<Vec<_>>(), wanted);
}

/// Blocks of a language in docs/editors.md.
fn configurations(language: &str) -> Vec<&'static str> {
    let blocks = include_str!("../../docs/editors.md").split("\n```");
    blocks.filter_map(|block| block.strip_prefix(language)?.strip_prefix('\n')).collect()
}

#[test]
fn the_configurations_of_editors_are_well_formed() {
    let helix = configurations("toml");
    let languages: toml_edit::DocumentMut = helix[0].parse().unwrap();
    assert_eq!(languages["language-server"]["backchat"]["command"].as_str(), Some("backchat"));
    let named: Vec<_> =
        languages["language"].as_array_of_tables().unwrap().iter().map(|one| one["name"].as_str()).collect();
    assert_eq!(named, [Some("jinja"), Some("backchat-fixture"), Some("json")]);
    let settings = configurations("json");
    assert_eq!(settings.len(), 2);
    for settings in settings {
        let settings: Value = serde_json::from_str(settings).unwrap();
        assert!(
            settings.to_string().contains("\"backchat\"") && settings.to_string().contains("\"lsp\""),
            "{settings}"
        );
    }
    let parens = |text: &str, one| text.matches(one).count();
    assert!(configurations("elisp").iter().all(|code| parens(code, '(') == parens(code, ')')));
}

#[test]
fn neovim_starts_one_server_for_the_files_of_a_folder() {
    let version = Command::new("nvim").arg("--version").output().map(|run| run.stdout).unwrap_or_default();
    let version = String::from_utf8_lossy(&version);
    let minor = version.strip_prefix("NVIM v0.").and_then(|rest| rest.split('.').next()?.parse().ok());
    if !minor.is_some_and(|minor: u32| (7..11).contains(&minor)) {
        eprintln!("skipped: there is no Neovim from 0.7 to 0.10");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("chat_template.jinja"), CHAT.replace("endfor", "endfo")).unwrap();
    std::fs::write(folder.path().join("response_template.json"), RESPONSE.replace("fields", "field")).unwrap();
    let older = configurations("lua")[1];
    // Prints how many clients there are, and whether each file has diagnostics.
    let script = format!(
        "{older}
vim.cmd('edit chat_template.jinja')
vim.cmd('edit response_template.json')
local function found(name) return vim.diagnostic.get(vim.fn.bufnr(name)) end
vim.wait(20000, function() return #found('chat_template.jinja') > 0 and #found('response_template.json') > 0 end, 20)
io.stdout:write(#vim.lsp.get_active_clients(), #found('chat_template.jinja') > 0 and ' yes' or ' no')
io.stdout:write(#found('response_template.json') > 0 and ' yes' or ' no')
vim.cmd('qall!')
"
    );
    std::fs::write(folder.path().join("init.lua"), script).unwrap();
    let binaries = std::path::Path::new(env!("CARGO_BIN_EXE_backchat")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap());
    let mut neovim = Command::new("nvim");
    neovim.args(["--headless", "-u", "NONE", "-i", "NONE", "-S", "init.lua"]).current_dir(folder.path());
    let run = neovim.env("PATH", path).stdin(Stdio::null()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&run.stdout), "1 yes yes", "{}", String::from_utf8_lossy(&run.stderr));
}
