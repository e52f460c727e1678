// The panel gives the page the document, and does what the page asks for.

const assert = require("node:assert");
const fs = require("node:fs");
const os = require("node:os");
const path = require("node:path");
const test = require("node:test");
const { buildSync } = require("esbuild");

/** The class, with an object in place of the editor's interface. */
function preview(vscode) {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), "preview-"));
  const outfile = path.join(folder, "preview.js");
  buildSync({ entryPoints: [path.join(__dirname, "../src/preview.ts")], outfile, bundle: true, platform: "node", external: ["vscode"] });
  const module = { exports: {} };
  const code = fs.readFileSync(outfile, "utf8");
  fs.rmSync(folder, { recursive: true });
  new Function("module", "exports", "require", code)(module, module.exports, (name) => (name === "vscode" ? vscode : require(name)));
  return module.exports.Preview;
}

/** An editor with these files, and what was done with it. */
function editor(files) {
  const did = { posted: [], shown: [], saved: {} };
  const uri = (name) => ({ name, toString: () => `file:///${name}` });
  const bytes = (text) => new TextEncoder().encode(text);
  let hear;
  const webview = { postMessage: (message) => did.posted.push(message), onDidReceiveMessage: (act) => (hear = act) };
  const vscode = {
    Uri: { parse: (text) => uri(text.replace("file:///", "")), joinPath: (_base, ...names) => uri(names.at(-1)) },
    ViewColumn: { One: 1, Beside: -2 },
    Range: function (...numbers) { this.numbers = numbers; },
    window: {
      createWebviewPanel: () => ({ webview, onDidDispose: () => {}, reveal: () => {} }),
      showTextDocument: (shown, { selection }) => did.shown.push([shown.name, selection.numbers]),
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
      openTextDocument: async ({ name }) => ({ getText: () => files[name] }),
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
    { chat: "{{ a }}", isOther: false, config, name },
    { chat: "{{ b }}", isOther: false, config: undefined, name },
    { chat: "{{ c }}", isOther: true, config, name },
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

test("places are shown in the editor, and files are saved beside the document", async () => {
  const { did, vscode, uri, hear } = editor({ "page.html": "", "chat.jinja": "x" });
  await new (preview(vscode))(uri("page.html")).open("file:///chat.jinja");
  await hear({ show: { from: { line: 3, character: 1 }, to: { line: 4, character: 0 } } });
  await hear({ save: { name: "response_template.json", text: "{}\n" } });
  assert.deepStrictEqual(did.shown, [["chat.jinja", [3, 1, 4, 0]]]);
  assert.deepStrictEqual(did.saved, { "response_template.json": "{}\n" });
});
