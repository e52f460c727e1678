// The panel gives the page the document, and does what the page asks for.

const assert = require("node:assert");
const test = require("node:test");
const { load } = require("./load");

const preview = (vscode) => load("preview.ts", vscode).Preview;

/** An editor with these files, and what was done with it. */
function editor(files) {
  const did = { posted: [], shown: [], saved: {}, said: 0 };
  const uri = (name) => ({ name, path: `/${name}`, toString: () => `file:///${name}` });
  const bytes = (text) => new TextEncoder().encode(text);
  let hear;
  const webview = { postMessage: (message) => did.posted.push(message), onDidReceiveMessage: (act) => (hear = act) };
  const vscode = {
    Uri: { parse: (text) => uri(text.replace("file:///", "")), joinPath: (_base, ...names) => uri(names.at(-1)) },
    ViewColumn: { One: 1, Beside: -2 },
    Range: function (...numbers) { this.numbers = numbers; },
    window: {
      createWebviewPanel: () => ({ webview, onDidDispose: () => {}, reveal: () => {} }),
      showTextDocument: (shown, { selection }) => did.shown.push([shown.name, selection?.numbers]),
      showInformationMessage: () => did.said++,
      showSaveDialog: ({ defaultUri }) => defaultUri,
    },
    workspace: {
      fs: {
        readFile: async ({ name }) => {
          if (!(name in files)) throw new Error(`no ${name}`);
          return bytes(files[name]);
        },
        writeFile: async ({ name }, content) => (did.saved[name] = new TextDecoder().decode(content)),
      },
      openTextDocument: async (uri) => ({ uri, languageId: "", getText: () => files[uri.name] }),
    },
  };
  return { did, vscode, uri, webview, hear: (message) => hear(message) };
}

test("the page gets the document, and at first the tokens of the file beside it", async () => {
  const files = { "page.html": "<p>", "chat.jinja": "{{ a }}", "tokenizer_config.json": '{"bos_token": "<s>", "chat_template": "old"}' };
  const { did, vscode, uri, webview, hear } = editor(files);
  const panel = new (preview(vscode))(uri("page.html"));
  await panel.open("file:///chat.jinja");
  assert.strictEqual(webview.html, "<p>");
  assert.deepStrictEqual(did.posted, []);
  await hear({ ready: true });
  files["chat.jinja"] = "{{ b }}";
  await panel.refresh(uri("other.jinja"));
  await panel.refresh(uri("chat.jinja"));
  // The same document again is not news; another one is.
  await panel.open("file:///chat.jinja");
  files["other.jinja"] = "{{ c }}";
  await panel.open("file:///other.jinja");
  const [name, config] = ["tokenizer_config.json", '{"bos_token":"<s>"}'];
  assert.deepStrictEqual(did.posted, [
    { chat: "{{ a }}", isOther: false, isEdited: false, config, name },
    { chat: "{{ b }}", isOther: false, isEdited: true, config: undefined, name },
    { chat: "{{ c }}", isOther: true, isEdited: false, config, name },
  ]);
});

test("a file that is missing or no JSON has no tokens", async () => {
  for (const config of [undefined, "{"]) {
    const { did, vscode, uri, hear } = editor({ "page.html": "", "chat.jinja": "x", ...(config && { "tokenizer_config.json": config }) });
    await new (preview(vscode))(uri("page.html")).open("file:///chat.jinja");
    await hear({ ready: true });
    assert.strictEqual(did.posted[0].config, undefined);
  }
});

test("of a tokenizer's file the page gets all, from which it takes a chat template", async () => {
  for (const found of ["{{ a }}\n", ["rag", "default"].map((name) => ({ name, template: `{{ ${name} }}` }))]) {
    const config = JSON.stringify({ chat_template: found, bos_token: "<s>" });
    const files = { "page.html": "", "tokenizer_config.json": config };
    const { did, vscode, uri, hear } = editor(files);
    const panel = new (preview(vscode))(uri("page.html"));
    await panel.open("file:///tokenizer_config.json");
    await hear({ ready: true });
    for (const edited of ["{", `${config}\n`]) {
      files["tokenizer_config.json"] = edited;
      await panel.refresh(uri("tokenizer_config.json"));
    }
    const given = { chat: undefined, isOther: false, name: "tokenizer_config.json" };
    assert.deepStrictEqual(did.posted, [{ ...given, isEdited: false, config }, { ...given, isEdited: true, config: `${config}\n` }]);
    await hear({ show: { from: { line: 0, character: 1 }, to: { line: 0, character: 2 } } });
    assert.deepStrictEqual(did.shown, [["tokenizer_config.json", undefined]]);
  }
});

test("a document without a chat template is not previewed", async () => {
  for (const [name, text] of [["main.rs", "fn main() {}"], ["tokenizer_config.json", '{"bos_token": "<s>"}'], ["a.json", "[]"]]) {
    const { did, vscode, uri, webview } = editor({ "page.html": "<p>", [name]: text });
    await new (preview(vscode))(uri("page.html")).open(`file:///${name}`);
    assert.deepStrictEqual([webview.html, did.said], [undefined, 1], name);
  }
});

test("places are shown in the editor, and files are saved beside the document", async () => {
  const { did, vscode, uri, hear } = editor({ "page.html": "", "chat.jinja": "x" });
  await new (preview(vscode))(uri("page.html")).open("file:///chat.jinja");
  await hear({ show: { from: { line: 3, character: 1 }, to: { line: 4, character: 0 } } });
  await hear({ save: { name: "response_template.json", text: "{}\n" } });
  assert.deepStrictEqual(did.shown, [["chat.jinja", [3, 1, 4, 0]]]);
  assert.deepStrictEqual(did.saved, { "response_template.json": "{}\n" });
});
