// Tests the page in a browser: `node --test playground/test`, after `playground/build`.
// PLAYGROUND_PICTURES=FOLDER writes screenshots.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import { runInNewContext } from "node:vm";
import { deflateRawSync, gzipSync } from "node:zlib";

import { Browser } from "./browser.mjs";

const file = fileURLToPath(new URL("../../target/playground/index.html", import.meta.url));
const address = pathToFileURL(file).href;
const PROVED = "document.getElementById('badge').textContent === 'proved'";
const REFUTED = "document.getElementById('badge').textContent === 'not proved'";
const text = (id) => `document.querySelector('#${id} textarea').value`;

const linkTo = (state) => `${address}#${deflateRawSync(JSON.stringify(state)).toString("base64url")}`;

let browser;
before(async () => {
  browser = await Browser.start();
  assert.ok(browser, "Chromium is needed");
});
after(() => browser?.close());

// Opens a fresh page; at the end, checks that it loaded nothing and logged no error.
const onPage = (name, where, options, act) =>
  test(name, { timeout: 300_000 }, async () => {
    const page = await browser.page(where(), options);
    await act(page);
    assert.deepEqual(page.complaints, []);
    const foreign = page.requests.filter((url) => !/^(file|blob|data):/.test(url));
    assert.deepEqual(foreign, []);
    await page.close();
  });

test("the page is at most 990 KB of gzip", () => {
  assert.ok(gzipSync(readFileSync(file)).length <= 990 * 1024);
});

// A browser would notice a wrong byte only when it runs the function that contains it.
test("the page unpacks the module of the package", () => {
  const script = (name) => readFileSync(new URL(`../page/${name}`, import.meta.url), "utf8");
  const unpack = runInNewContext(`${script("lzma.js")}; unpackLzma`);
  const packed = readFileSync(file, "utf8").match(/id="module">([^<]+)</)[1];
  const module = Buffer.from(unpack(new Uint8Array(Buffer.from(packed, "base64"))));
  assert.ok(module.equals(readFileSync(new URL("../../target/playground/package/backchat_bg.wasm", import.meta.url))));
});

onPage("the example is derived, proved and parsed", () => address, {}, async (page) => {
  await page.until(PROVED);
  await page.until("document.querySelectorAll('#grid .mark').length > 20");
  assert.match(await page.value(text("template")), /"start_anchor"/);
  assert.match(await page.value("document.getElementById('message').textContent"), /"tool_calls"/);
  assert.ok((await page.value("document.querySelectorAll('#readers tbody tr').length")) > 2);
});

// The file that a click on a button saves.
const download = async (page, selector, name) => {
  const folder = mkdtempSync(join(tmpdir(), "playground-downloads-"));
  await page.browser.send("Browser.setDownloadBehavior", { behavior: "allow", downloadPath: folder });
  await page.click(selector);
  for (let round = 0; !readdirSync(folder).includes(name) && round < 200; round++) {
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const saved = readFileSync(join(folder, name), "utf8");
  rmSync(folder, { recursive: true });
  return saved;
};

let derived;
onPage("a wrong delimiter is seen from a link, repaired by a click, and the fixture taken home", () => address, {}, async (page) => {
  await page.until(PROVED);
  derived = await page.value(text("template"));
  const wrong = derived.replace('"</think>"', '"</thinking>"');
  assert.notEqual(wrong, derived);
  const other = await browser.page(linkTo({ source: "example", template: wrong }));
  const start = Date.now();
  await other.until(REFUTED);
  assert.match(await other.value("document.getElementById('failures').textContent"), /should end at byte/);
  await other.until("document.querySelector('#repairs .fix button')?.textContent === 'Repair'");
  assert.match(await other.value("document.getElementById('repairs').textContent"), /fixes \d+ conversations?, breaks none/);
  await other.click("#repairs .fix button");
  await other.until(PROVED);
  assert.equal(await other.value(text("template")), derived);
  const fixture = await download(other, "#take-fixture", "output.fixture");
  assert.ok(Date.now() - start < 60_000);
  assert.match(fixture, /^template: response_template.json\n/);
  assert.match(fixture, /"reasoning_content"|"thinking"/);
  assert.deepEqual(other.complaints, []);
  await other.close();
});

onPage("all of it is in the address", () => address, {}, async (page) => {
  await page.until(PROVED);
  await page.paste("#output textarea", "<think>1 < 2 🚆</think>Yes.<end>");
  await page.until("document.getElementById('message').textContent.includes('1 < 2 🚆')");
  await page.until("location.hash.length > 20");
  await new Promise((resolve) => setTimeout(resolve, 600));
  const link = await page.value("location.href");
  const other = await browser.page(link);
  await other.until(PROVED);
  assert.equal(await other.value(text("output")), "<think>1 < 2 🚆</think>Yes.<end>");
  await other.until("document.getElementById('message').textContent.includes('1 < 2 🚆')");
  await other.close();
  // Chromium opens no longer one.
  const share = async () => {
    await page.value("document.getElementById('share').click()");
    await page.until("document.getElementById('share').textContent !== 'Copy link'");
    return page.value("document.getElementById('share').textContent");
  };
  assert.match(await share(), /^Cop/);
  await page.until("document.getElementById('share').textContent === 'Copy link'");
  await page.value(`(() => {
    const noise = Array.from({ length: 40 }, () => String.fromCharCode(...crypto.getRandomValues(new Uint8Array(65536)).map((byte) => 32 + (byte & 63))));
    Object.defineProperty(conversation, "kept", { value: { messages: noise.join("") } });
  })()`);
  assert.equal(await share(), "Too long for a link");
  const damaged = await browser.page(`${address}#damaged`);
  await damaged.until(PROVED);
  await damaged.close();
});

onPage("the link to the content moves the focus, and a damaged link discards nothing", () => address, {}, async (page) => {
  await page.until(PROVED);
  await page.paste("#chat textarea", SWITCHED);
  await page.until("location.hash.length > 20");
  await page.value("document.querySelector('.skip').focus()");
  await page.press("Enter", "\r");
  await page.until("document.activeElement.id === 'main'");
  await page.value("location.hash = 'damaged'");
  await page.until("location.hash.length > 20");
  assert.equal(await page.value(text("chat")), SWITCHED);
  assert.match(await page.value(TAKEN), /can't be read/);
  // The bare address is no link: it is the example, even where the input was kept before the page learned of it.
  await page.value("{ const { href } = location; location.hash = ''; history.replaceState(null, '', href); }");
  await page.until("chat.text === ours.example");
  assert.equal(await page.value(TAKEN), false);
});

onPage("what a link or a conversation lacks is named", () => `${address}#damaged`, {}, async (page) => {
  const chat = "{{ messages[0].content }}";
  await page.until(`${PROVED} && /can't be read/.test(${TAKEN})`);
  for (const [state, told] of [
    [{ source: "constructor" }, /chat template that this page lacks: constructor/],
    ...["no JSON", "[1]", "5", "null"].map((variables) => [{ source: "", chat: variables, variables }, /not a JSON object/]),
    [{ source: "", chat, variables: "{}" }, /^false$/],
  ]) {
    await page.value(`location.hash = ${JSON.stringify(new URL(linkTo(state)).hash)}`);
    await page.until(`chat.text === ${JSON.stringify(state.chat ?? "")}`);
    assert.match(String(await page.value(TAKEN)), told);
  }
  await page.until(`${RENDERED} === 'You are a helpful assistant.'`);
  const deep = `[{"role": "user", "content": ${"[".repeat(1200)}${"]".repeat(1200)}}]`;
  await page.value(`location.hash = ${JSON.stringify(new URL(linkTo({ source: "", chat, messages: deep })).hash)}`);
  await page.until("document.getElementById('prompt-notes').textContent.includes('can\\'t be read')");
});

onPage("every mark is colored as the field that it opens, and leads to its line", () => address, {}, async (page) => {
  await page.until(PROVED);
  await page.paste("#output textarea", "<think>Hm.</think>Yes.<end>");
  await page.until("document.querySelector('#output .d')?.textContent === '<think>'");
  await page.value("document.querySelector('#output textarea').setSelectionRange(2, 2)");
  await page.until("document.getElementById('mark').textContent.includes('chat template')");
  assert.match(await page.value("document.getElementById('mark').textContent"), /^<think> is a delimiter of/);
  assert.match(await page.value("document.getElementById('mark').textContent"), /chat template, line 10/);
  await page.click("#mark .go");
  const selected = "(() => { const a = document.querySelector('#template textarea'); return a.value.slice(a.selectionStart, a.selectionEnd); })()";
  assert.match(await page.value(selected), /^"\w+"$/);
});

onPage("what the user wrote can be restored once it is replaced", () => address, {}, async (page) => {
  await page.until(PROVED);
  const own = '{"start_anchor": "<assistant>", "fields": {"content": {"close": "<eot>"}}}';
  const chat = SWITCHED.replace("{{ eos_token }}", "<eot>");
  await page.paste("#chat textarea", chat);
  await page.until(`${PROVED} && ${text("template")}.includes("<eot>")`);
  await page.paste("#template textarea", own);
  await page.click("#derived");
  await page.until(`${text("template")} !== ${JSON.stringify(own)}`);
  await page.value("document.querySelector('#template textarea').focus(); document.execCommand('undo')");
  assert.equal(await page.value(text("template")), own);
  await page.paste("#output textarea", "Yes.<eot>");
  // What takes nothing is not gone back to.
  const visits = await page.value("history.length");
  for (const nothing of [paste('{"answer": 1}'), drop()]) await page.value(nothing);
  await page.value("new Promise((resolve) => setTimeout(resolve, 600))");
  assert.equal(await page.value("history.length"), visits);
  const PICK = "(() => { const pick = document.getElementById('pick'); pick.value = 'example'; pick.dispatchEvent(new Event('change')); })()";
  for (const replace of [PICK, drop(["chat_template.jinja", "{{ messages }}"]), paste(CONFIG)]) {
    await page.value(replace);
    await page.until(`${text("output")} !== 'Yes.<eot>'`);
    await page.value("new Promise((resolve) => setTimeout(resolve, 600)).then(() => history.back())");
    await page.until(`${text("output")} === 'Yes.<eot>'`);
    assert.deepEqual(await page.value(`[${text("chat")}, ${text("template")}]`), [chat, own]);
  }
});

onPage("a chat template of ours is picked, and a conversation of its proof opened", () => address, {}, async (page) => {
  await page.until(PROVED);
  const names = await page.value("[...document.getElementById('pick').options].map(option => option.value)");
  assert.ok(names.length > 30);
  await page.value(`(() => { const pick = document.getElementById('pick'); pick.value = ${JSON.stringify(names[3])};
    pick.dispatchEvent(new Event('change')); })()`);
  await page.until(`${PROVED} && document.querySelectorAll('#grid .mark').length > 20`);
  await page.click("#grid .mark");
  await page.until("document.querySelector('#grid .mark[aria-pressed=true]')");
  assert.ok((await page.value(text("output"))).length > 0);
});

onPage("findings of the linter are repaired by a click", () => address, {}, async (page) => {
  await page.until(PROVED);
  const worse = (await page.value(text("template"))).replace('"fields"', '"feilds"');
  await page.paste("#template textarea", worse);
  await page.until("document.getElementById('badge').textContent === 'does not load'");
  assert.match(await page.value("document.getElementById('template-notes').textContent"), /fields/);
  await page.paste("#template textarea", "");
  await page.click("#derived");
  await page.until(PROVED);
});

onPage("an output is stepped through with keys", () => address, {}, async (page) => {
  await page.until(PROVED);
  await page.paste("#output textarea", "<think>Hm.</think>Yes.<end>");
  await page.click("#steps-part summary");
  await page.until("document.querySelector('#steps [data-step] .controls')");
  await page.click("#steps .controls button");
  await page.press("l");
  await page.press("l");
  assert.equal(await page.value("document.querySelector('#steps [data-step]').dataset.at"), "2");
  assert.match(await page.value("document.querySelector('#steps .now').textContent"), /could become the opening of thinking/);
  // Typing into a field does not step.
  await page.value("document.querySelector('#output textarea').focus()");
  const typed = await page.value(text("output"));
  await page.press("l");
  assert.equal((await page.value(text("output"))).length, typed.length + 1);
});

onPage("hostile text is text", () => address, {}, async (page) => {
  await page.until(PROVED);
  const hostile = "</script><img src=x onerror=\"document.title='run'\"><script>document.title='run'</script>\u202e";
  await page.paste("#output textarea", hostile);
  await page.paste("#chat textarea", `${hostile}{% if`);
  await page.until("document.querySelector('#chat-notes li')");
  await page.click("#steps-part summary");
  assert.equal(await page.value("document.title"), "Backchat playground");
});

// The contrast of every visible text with its background.
const CONTRAST = `(() => {
  const parts = (color) => color.match(/[\\d.]+/g).map(Number);
  const light = (c) => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
  const luminance = ([r, g, b]) => 0.2126 * light(r) + 0.7152 * light(g) + 0.0722 * light(b);
  const background = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const color = parts(getComputedStyle(at).backgroundColor);
      if (color[3] !== 0) return color;
    }
    return matchMedia("(prefers-color-scheme: dark)").matches ? [0, 0, 0] : [255, 255, 255];
  };
  const low = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || !element.checkVisibility() || element.closest("script, :disabled, .skip")) continue;
    const color = parts(getComputedStyle(element).color);
    if (color[3] === 0) continue;
    const [high, least] = [luminance(color), luminance(background(element))].sort((one, other) => other - one);
    const contrast = (high + 0.05) / (least + 0.05);
    if (contrast < 4.5) low.push(element.className + ": " + walker.currentNode.data.trim().slice(0, 30) + " " + contrast.toFixed(2));
  }
  return low;
})()`;

// The links of the pages of `--report --playground`.
const stored = {
  source: "",
  chat: "{% for m in messages %}<{{ m.role }}>{{ m.content }}{{ stop }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}",
  template: '{"start_anchor": "<assistant>", "fields": {"content": {"close": "<end>"}}}',
  variables: '{"stop": "<end>"}',
  prefix: "<user>Hi<end><assistant>",
  output: "Hello.<end>",
};
const storedLink = () => `${address}#${deflateRawSync(JSON.stringify(stored), { level: 0 }).toString("base64url")}`;
onPage("a link of a report, which stores its state uncompressed, opens all of it", storedLink, {}, async (page) => {
  await page.until("['proved', 'partial'].includes(document.getElementById('badge').textContent)");
  assert.equal(await page.value(text("chat")), stored.chat);
  assert.equal(await page.value(text("template")), stored.template);
  assert.equal(await page.value(text("output")), stored.output);
  await page.until("document.getElementById('message').textContent.includes('Hello.')");
});

const returned = () => linkTo({ ...stored, output: "a\r\nb\rc␍<end>" });
onPage("carriage returns of an output are kept, and shown by a sign that it lacks", returned, {}, async (page) => {
  await page.until("document.getElementById('message').textContent.includes('\"a\\\\r\\\\nb\\\\rc␍\"')");
  assert.equal(await page.value(text("output")), "a␎\nb␎c␍<end>");
  await page.value("document.querySelector('#output textarea').focus()");
  await page.until("document.querySelector('#output .d')?.textContent === '<end>'");
  await page.send("Input.insertText", { text: "x" });
  await page.until("location.hash.length > 20");
  await page.until("unpacked(location.hash.slice(1)).then(({ output }) => output.includes('x') && output.includes('a\\r\\nb\\rc␍'))");
  assert.match(await download(page, "#take-fixture", "output.fixture"), /\r/);
});

// The link of a page of `check` to a case with tools.
const TYPED = {
  source: "qwen3_coder",
  template: null,
  tools: JSON.stringify([{ type: "function", function: { name: "dose", parameters: { type: "object", properties: { n: { type: "integer" } } } } }]),
  prefix: "<|im_start|>assistant\n",
  output: "<tool_call>\n<function=dose>\n<parameter=n>\n5\n</parameter>\n</function>\n</tool_call><|im_end|>\n",
};

onPage("outputs are read with the tools that they may call", () => linkTo(TYPED), {}, async (page) => {
  const message = "document.getElementById('message').textContent";
  await page.until(`${RENDERED}.includes('dose') && !document.getElementById('main').classList.contains('stale')`);
  await page.until(`${message}.includes('"n": 5')`);
  assert.match(await download(page, "#take-fixture", "output.fixture"), /=== tools[^=]*"dose"/);
  await page.value("document.getElementById('steps-part').open = true");
  await page.until("document.querySelector('#steps').textContent.includes('\"n\": 5')");
  // The tools are kept, and the messages are those of the example.
  await page.until("location.hash.length > 20");
  const kept = await page.value("unpacked(location.hash.slice(1))");
  assert.deepEqual([kept.tools, kept.messages], [TYPED.tools, undefined]);
  await page.value("document.getElementById('tools-part').open = true");
  await page.paste("#tools textarea", TYPED.tools.replace("integer", "string"));
  await page.until(`${message}.includes('"n": "5"')`);
  // The turns of the page call its own tools.
  await page.value("(() => { const turn = document.getElementById('turn'); turn.value = 'a call'; turn.dispatchEvent(new Event('change')); })()");
  await page.until(`${message}.includes('get_weather') && /: \\d/.test(${message})`);
  await page.click("#own");
  await page.until(`${RENDERED}.includes('get_weather')`);
});

// A chat template without its special token, and with a switch.
const SWITCHED = `{%- for message in messages -%}
<{{ message.role }}>{{ message.content }}{{ eos_token }}
{%- endfor -%}
{%- if add_generation_prompt -%}<assistant>{%- if style == 'brief' %}<brief>{% endif -%}{%- endif -%}`;
const CONFIG = JSON.stringify({ add_bos_token: true, eos_token: { content: "<eot>" }, pad_token: null, chat_template: SWITCHED });
const RENDERED = "document.getElementById('rendered').textContent";
const field = (name) => `#variables input[name=${name}]`;

onPage("special tokens and variables are fields, and no advice is about options of the command", () => address, {}, async (page) => {
  await page.until(PROVED);
  await page.paste("#chat textarea", SWITCHED);
  await page.until("document.getElementById('chat-notes').textContent.includes('eos_token')");
  await page.until("document.getElementById('badge').textContent !== '…'");
  const advice = await page.value("document.getElementById('main').textContent");
  assert.match(advice, /set eos_token under Variables/);
  assert.doesNotMatch(advice, /--set/);
  const names = "[...document.querySelectorAll('#variables input')].map(({ name }) => name)";
  assert.deepEqual(await page.value(names), ["eos_token", "style"]);
  assert.equal(await page.value("document.querySelector('#variables datalist option').value"), "brief");
  await page.paste(field("eos_token"), "<eot>");
  await page.until(PROVED);
  assert.match(await page.value(text("template")), /<eot>/);
  await page.paste(field("style"), "brief");
  await page.until(`${RENDERED}.endsWith('<assistant><brief>')`);
  await page.until("location.hash.length > 20");
  await new Promise((resolve) => setTimeout(resolve, 600));
  const other = await browser.page(await page.value("location.href"));
  await other.until(`${RENDERED}.endsWith('<assistant><brief>')`);
  assert.equal(await other.value(`document.querySelector('${field("eos_token")}').value`), "<eot>");
  await other.close();
  // Numbers are what `--set` makes of them.
  await page.paste("#chat textarea", "{{ a }}|{{ b }}|{{ c }}|{{ messages[0].role }}");
  await page.until(`document.querySelector('${field("c")}')`);
  for (const [name, value] of [["a", "1.0"], ["b", "[12345678901234567890123]"], ["c", "1e999"]]) await page.paste(field(name), value);
  await page.until(`${RENDERED} === "1.0|[12345678901234567890123]|inf|system"`);
  await page.value("document.activeElement.blur()");
  await page.paste("#chat textarea", "{{ a }}{{ b }}{{ c }}");
  await page.until(`${RENDERED} === "1.0[12345678901234567890123]inf"`);
  assert.deepEqual(await page.value("[...document.querySelectorAll('#variables input')].map(({ value }) => value)"), [
    "1.0", "[12345678901234567890123]", "1e999",
  ]);
});

// Hands a text to the page as the user's clipboard or mouse does.
const paste = (content) => `(() => { const data = new DataTransfer(); data.setData('text', ${JSON.stringify(content)});
  document.querySelector('#chat textarea').dispatchEvent(new ClipboardEvent('paste', { clipboardData: data, cancelable: true })); })()`;
const drop = (...files) => `(() => { const data = new DataTransfer();
  for (const [name, content] of ${JSON.stringify(files)}) data.items.add(new File([content], name));
  dispatchEvent(new DragEvent('drop', { dataTransfer: data, cancelable: true })); })()`;
const TAKEN = "document.getElementById('taken').checkVisibility() && document.getElementById('taken').textContent";

onPage("a tokenizer_config.json is recognized when it is pasted or dropped", () => address, {}, async (page) => {
  await page.until(PROVED);
  await page.value(paste(CONFIG));
  await page.until(`${PROVED} && ${RENDERED}.includes('<eot>')`);
  assert.equal(await page.value(text("chat")), SWITCHED);
  assert.equal(await page.value(TAKEN), "Taken from the pasted config: the chat template, eos_token");
  // A config beside a chat template has the tokens only.
  const tokens = JSON.stringify({ eos_token: "<fin>", model_max_length: 1 });
  await page.value(drop(["chat_template.jinja", SWITCHED.trim()], ["tokenizer_config.json", tokens]));
  await page.until(`${PROVED} && ${RENDERED}.includes('<fin>')`);
  assert.equal(await page.value(text("chat")), SWITCHED);
  assert.equal(await page.value(TAKEN), "Taken from tokenizer_config.json: eos_token");
  // The only chat template is taken whatever its name, and one of several without a default is not.
  const rag = { name: "rag", template: SWITCHED.replace("assistant", "rag") };
  for (const [templates, chat, told] of [
    [[rag], rag.template, "the chat template, eos_token"],
    [[{ ...rag, name: "default", template: "x" }, { ...rag, name: "tool_use" }], rag.template, "the chat template, eos_token"],
    [[rag, { ...rag, name: "other" }], SWITCHED, "eos_token; there are several chat templates, and none is the default"],
    [{ default: SWITCHED }, SWITCHED, "eos_token; its chat template is not a text"],
  ]) {
    await page.value(`chat.text = ${JSON.stringify(SWITCHED)}`);
    await page.value(paste(JSON.stringify({ eos_token: "<fin>", chat_template: templates })));
    assert.equal(await page.value(text("chat")), chat);
    assert.equal(await page.value(TAKEN), `Taken from the pasted config: ${told}`);
  }
  const ofModel = { extra_special_tokens: { boi: "<b>", eos_token: "<e>" }, model_specific_special_tokens: { x: "<x>" } };
  await page.value(paste(JSON.stringify({ eos_token: "</s>", ...ofModel, chat_template: "{{ boi }}{{ eos_token }}{{ x }}" })));
  await page.until(`${RENDERED} === '<b><e>'`);
  await page.value(paste(CONFIG));
  // Other JSON is an output.
  await page.value(drop(["output.txt", '{"answer": 1}']));
  await page.until(`${text("output")} === '{"answer": 1}'`);
  assert.equal(await page.value(text("chat")), SWITCHED);
});

onPage("a piece of the prompt leads to what printed it", () => address, {}, async (page) => {
  await page.until(`${RENDERED}.length > 100`);
  const click = (author) => `document.querySelector('#rendered .by-${author}[data-start]').click()`;
  const selected = "(({ value, selectionStart, selectionEnd }) => value.slice(selectionStart, selectionEnd))(document.querySelector('#chat textarea'))";
  await page.value(click("user"));
  assert.match(await page.value(selected), /content/);
  await page.value(click("template"));
  assert.doesNotMatch(await page.value(selected), /content/);
});

// What an editor gives the page; what the page tells it is in `said`.
const HOST = `globalThis.said = []; let kept;
  globalThis.acquireVsCodeApi = () => ({ postMessage: (message) => said.push(message), setState: (state) => { kept = state; }, getState: () => kept });`;
const fromHost = (message) => `postMessage(${JSON.stringify(message)}, "*")`;

onPage("an editor is the host of the page", () => address, { before: HOST }, async (page) => {
  await page.until("said.some(({ ready }) => ready)");
  assert.equal(await page.value("document.getElementById('chat').checkVisibility()"), false);
  assert.equal(await page.value("document.getElementById('share').checkVisibility()"), false);
  const config = JSON.stringify({ bos_token: "<s>" });
  const source = "{{ bos_token }}\n{% for m in messages %}<{{ m.role }}>{{ m.content }}<end>{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}";
  await page.value(fromHost({ chat: source, config, name: "tokenizer_config.json" }));
  await page.until(`${RENDERED}.startsWith('<s>\\n<')`);
  await page.until(PROVED);
  await page.value("document.querySelector('#rendered .by-user[data-start]').click()");
  const { show } = await page.value("said.at(-1)");
  const { line, character } = show.from;
  assert.equal(line, 1);
  assert.equal(source.split("\n")[line].slice(character, show.to.character), "m.content");
  await page.value("document.getElementById('take-template').click()");
  const { save } = await page.value("said.at(-1)");
  assert.equal(save.name, "response_template.json");
  assert.match(save.text, /"start_anchor": "<assistant>"/);
  // The next edit keeps the tokens.
  await page.value(fromHost({ chat: source.replaceAll("<end>", "<stop>") }));
  await page.until(`${RENDERED}.startsWith('<s>\\n<') && ${RENDERED}.includes('<stop>')`);
  // Another document has others.
  await page.value(fromHost({ chat: source, isOther: true }));
  await page.until(`${RENDERED}.startsWith('\\n<') && ${RENDERED}.includes('<end>')`);
  // Of a tokenizer's file the page takes the chat template for calls; an edit keeps what the user made of the draft.
  const own = '{"fields": {"content": {}}}';
  const tokenizer = (stop) =>
    JSON.stringify({ chat_template: [{ name: "default", template: "x" }, { name: "tool_use", template: source.replaceAll("<end>", stop) }], response_template: {} });
  await page.value(fromHost({ config: tokenizer("<a>"), isOther: true, name: "tokenizer_config.json" }));
  await page.until(`${RENDERED}.includes('<a>')`);
  await page.paste("#template textarea", own);
  await page.value(fromHost({ config: tokenizer("<b>"), isEdited: true, name: "tokenizer_config.json" }));
  await page.until(`${RENDERED}.includes('<b>')`);
  assert.equal(await page.value(text("template")), own);
});

onPage("messages and tools are edited, and the prompt beside them shows who wrote what", () => address, {}, async (page) => {
  await page.until(`${RENDERED}.length > 100`);
  const by = (author) => `[...document.querySelectorAll('#rendered .by-${author}')].map((span) => span.textContent)`;
  assert.deepEqual(await page.value(by("user")), ["Do I need a coat in Oslo?", "Thanks! And tomorrow?"]);
  assert.ok((await page.value(by("model"))).includes('"get_weather"'));
  assert.match((await page.value(by("tools")))[0], /^\{"type": "function"/);
  const legend = "[...document.querySelectorAll('#authors li')].map((item) => item.textContent)";
  assert.deepEqual(await page.value(legend), ["template", "system", "user", "model", "tools"]);
  await page.value("document.getElementById('messages-part').open = document.getElementById('tools-part').open = true");
  const width = (part) => `document.querySelector('#messages${part}').getBoundingClientRect().width`;
  assert.ok((await page.value(width(" textarea"))) > 0.95 * (await page.value(width(""))));
  await page.paste("#messages textarea", '[{"role": "user", "content": "<user>Hi"}]');
  await page.paste("#tools textarea", "");
  await page.until(`${RENDERED} === '<user><user>Hi<end><bot>'`);
  assert.deepEqual(await page.value(by("user")), ["<user>Hi"]);
  await page.click("#add-prompt");
  await page.until(`${RENDERED} === '<user><user>Hi<end>'`);
  await page.paste("#messages textarea", '[{"role"');
  await page.until("document.getElementById('prompt-notes').textContent.includes('Messages: not valid JSON')");
  assert.equal(await page.value("document.getElementById('rendered').checkVisibility()"), false);
  await page.click("#own");
  await page.until(`${RENDERED}.includes('And tomorrow?')`);
  // A template that takes no tools shows a conversation without them.
  await page.paste("#chat textarea", "{% if tools %}{{ raise_exception('no tools') }}{% endif %}{% for m in messages %}[{{ m.content }}]{% endfor %}");
  await page.until(`${RENDERED} === '[Do I need a coat in Oslo?][Yes: it is 3 °C, and it rains.][Thanks! And tomorrow?]'`);
  assert.equal(await page.value(text("tools")), "");
  await page.paste("#chat textarea", "{{ raise_exception('never') }}");
  await page.until("document.getElementById('prompt-notes').textContent.includes('never')");
});

onPage("results of the previous chat template disappear", () => address, {}, async (page) => {
  await page.until(`${PROVED} && document.querySelectorAll('#grid .mark').length > 20`);
  for (const broken of ["{% for m in messages %}{% if m %}\n{% endfor %}", "no template", ""]) {
    await page.paste("#chat textarea", broken);
    await page.until("!document.getElementById('main').classList.contains('stale')");
    await page.until("!['…', 'proved'].includes(document.getElementById('badge').textContent)");
    await page.until("reading === null");
    assert.equal(await page.value(text("template")), "");
    assert.equal(await page.value(text("output")), "");
    for (const id of ["grid", "readers", "failures", "repairs"]) {
      const shown = await page.value(`document.getElementById('${id}').textContent.trim()`);
      assert.ok(shown === "" || id === "readers", `${id}: ${shown}`);
    }
    if (broken.includes("endfor")) {
      assert.match(await page.value("document.getElementById('chat-notes').textContent"), /'if' at 1:27 is still open/);
    }
  }
  // While the next one is derived, nothing of the last one can be seen or taken home, nor of one that was replaced meanwhile.
  const ended = (stop) => SWITCHED.replace("{{ eos_token }}", stop);
  await page.paste("#chat textarea", ended("<end>"));
  await page.until(PROVED);
  await page.value(`(() => {
    const ask = slow.ask.bind(slow);
    seen = [];
    slow.ask = async (call, ...input) => {
      const answer = await ask(call, ...input);
      // Typed while the answer was under way.
      if (call === "derive" && seen.push(document.getElementById("take-template").disabled) === 1) {
        document.querySelector("#chat textarea").value = ${JSON.stringify(ended("<fin>"))};
        document.querySelector("#chat textarea").dispatchEvent(new Event("input"));
      }
      return answer;
    };
    new MutationObserver(() => {
      if (!document.getElementById("main").classList.contains("stale")) seen.push(template.text.includes("<fin>"));
    }).observe(document.getElementById("main"), { attributes: true });
  })()`);
  await page.paste("#chat textarea", ended("<stop>"));
  assert.ok(await page.value("document.getElementById('main').classList.contains('stale')"));
  await page.until(`${PROVED} && template.text.includes("<fin>")`);
  assert.deepEqual(await page.value("seen"), [true, true, true]);
});

onPage("Jinja and JSON are colored, and the letters of the colors are those that are seen", () => address, {}, async (page) => {
  await page.until(PROVED);
  const colored = (id, name) => `[...document.querySelectorAll('#${id} .back .${name}')].map((span) => span.textContent)`;
  await page.paste("#chat textarea", "{#- a {{ b }} -#}x{%- if call == '%}' and {'b': {}}.b or 1.5 %}{% raw %}{{ c }}{% endraw %}{{ {'d': {}} }}y{{ '");
  await page.until("document.querySelector('#chat .s-comment')?.textContent.includes('{{ b }}')");
  assert.deepEqual(await page.value(colored("chat", "s-comment")), ["{#- a {{ b }} -#}"]);
  assert.deepEqual(await page.value(colored("chat", "s-word")), ["if", "and", "or"]);
  assert.deepEqual(await page.value(colored("chat", "s-string")), ["'%}'", "'b'", "'d'", "'"]);
  assert.deepEqual(await page.value(colored("chat", "s-constant")), ["1.5"]);
  assert.equal((await page.value(colored("chat", "s-tag"))).join(" "), "{%- %} {% raw %} {% endraw %} {{ }} {{");
  assert.equal(await page.value("document.querySelector('#chat .back').textContent.trim()"), await page.value(`${text("chat")}.trim()`));
  assert.equal(await page.value("getComputedStyle(document.querySelector('#chat textarea')).color"), "rgba(0, 0, 0, 0)");
  // The page clears the draft once it has examined this chat template, and colors text in the next frame.
  await page.until(`!document.getElementById('main').classList.contains('stale') && ${text("template")} === ''`);
  await page.paste("#template textarea", '{"a": ["b", 1, true]}');
  await page.until("document.querySelector('#template .s-word')?.textContent === '\"a\"'");
  assert.deepEqual(await page.value(colored("template", "s-word")), ['"a"']);
  assert.deepEqual(await page.value(colored("template", "s-constant")), ["1", "true"]);
});

for (const [width, height, share] of [[1280, 800, 0.8], [390, 844, 0.55]]) {
  onPage(`the editor is as tall as the window at ${width}x${height}`, () => address, { width, height }, async (page) => {
    await page.until(PROVED);
    const tall = await page.value("document.querySelector('#chat textarea').getBoundingClientRect().height");
    assert.ok(tall >= share * height && tall < height, `${tall} of ${height}`);
    if (pictures) await keep(page, width === 1280 ? "playground-authors" : `authors-${width}`);
  });
}

const pictures = process.env.PLAYGROUND_PICTURES;
const keep = async (page, name, part = "main") => {
  mkdirSync(pictures, { recursive: true });
  const top = part === "main" ? "scrollTo(0, 0)" : `document.getElementById('${part}').closest('section').scrollIntoView()`;
  await page.value(`document.activeElement.blur(); ${top}`);
  await new Promise((resolve) => setTimeout(resolve, 200));
  writeFileSync(join(pictures, `${name}.png`), await page.picture());
};

// The screenshots of docs/playground.md.
for (const width of pictures ? [390, 1280] : []) {
  for (const shade of ["light", "dark"]) {
    const wrong = () => linkTo({ source: "example", template: derived.replace('"</think>"', '"</thinking>"') });
    onPage(`a picture of a repair at ${width} in ${shade} colors`, wrong, { width, dark: shade === "dark" }, async (page) => {
      await page.until("document.querySelector('#repairs .fix button')?.textContent === 'Repair'");
      await page.until("document.getElementById('turn').value !== ''");
      await keep(page, `playground-${width}-${shade}`, "template-title");
    });
  }
}

for (const width of [390, 768, 1280, 1600]) {
  for (const dark of [false, true]) {
    const name = `${width}-${dark ? "dark" : "light"}`;
    onPage(`nothing is cut off and all can be read at ${name}`, () => address, { width, dark }, async (page) => {
      await page.until(`${PROVED} && document.querySelectorAll('#grid .mark').length > 20`);
      await page.value("document.getElementById('steps-part').open = true");
      await page.until("document.querySelector('#steps .controls')");
      assert.ok(await page.value("document.documentElement.scrollWidth <= innerWidth"));
      assert.deepEqual(await page.value(CONTRAST), []);
      if (pictures) {
        await page.value("document.getElementById('steps-part').open = false");
        await keep(page, name);
        writeFileSync(join(pictures, `${name}-whole.png`), await page.picture(true));
      }
    });
  }
}

// A long output in the field, scrolled to a fraction of its height.
const fillOutput = async (page, output, share = 0) => {
  await page.value(`(() => { const area = document.querySelector('#output textarea');
    area.scrollIntoView({ block: "center" });
    area.value = ${JSON.stringify(output)}; area.dispatchEvent(new Event('input')); })()`);
  await page.until(`reading?.text.length === ${output.length}`);
  await page.value(`(() => { const area = document.querySelector('#output textarea');
    area.scrollTop = ${share} * area.scrollHeight; })()`);
  await page.value("new Promise((resolve) => setTimeout(resolve, 200))");
};

const PART = '<think>Two cities, so I compare them.</think>Take a coat to Oslo, please.<call>{"name": "a"}</call>\n';

onPage("however long the output is, only what is in view becomes nodes", () => address, {}, async (page) => {
  await page.until(PROVED);
  const nodes = "[document.querySelectorAll('#output .back span').length, document.querySelectorAll('*').length]";
  const counts = [];
  for (const kilobytes of [8, 64, 512]) {
    for (const separator of ["\n", " "]) {
      const output = PART.replace("\n", separator).repeat(Math.ceil((1024 * kilobytes) / PART.length));
      await fillOutput(page, output, 0.5);
      await page.until("document.querySelectorAll('#output .back span').length > 20");
      counts.push(await page.value(nodes));
    }
  }
  for (const [spans, all] of counts) {
    assert.ok(spans > 20 && spans < 1000, `${counts}`);
    assert.ok(all < counts[0][1] + 1000, `${counts}`);
  }
  assert.ok((await page.value("document.getElementById('message').textContent.length")) < 10_000);
});

onPage("a letter that is typed leaves the colors around it in place", () => address, {}, async (page) => {
  await page.until(PROVED);
  await fillOutput(page, PART.repeat(30));
  await page.value("document.querySelector('#output textarea').focus()");
  await page.until("document.querySelectorAll('#output .back span').length > 20");
  await page.value(`(() => { document.querySelector('#output textarea').setSelectionRange(20, 20);
    before = [...document.querySelectorAll('#output .back span')]; })()`);
  await page.send("Input.insertText", { text: "xy" });
  await page.until("reading?.text.includes('xy')");
  await page.until("[...document.querySelectorAll('#output .back span')].some((span) => span.textContent.includes('xy'))");
  assert.equal(await page.value("before.filter((span) => !span.isConnected).length"), 0);
});

onPage("colors lie behind their text wherever it is scrolled to", () => address, {}, async (page) => {
  await page.until(PROVED);
  const rows = ["\tIt rains.", "日本語 and 🚆🚆 in one line, which is long enough to wrap, " + "word ".repeat(40), "שלום עולם"];
  const lines = rows.map((row) => PART.replace("Take a coat", row)).join("").repeat(40);
  // In one long line, rows far from its start are colored alone, except if it has letters written from right to left.
  const line = lines.replaceAll("\n", " ");
  const outputs = [lines, line, line.replaceAll("שלום עולם", "\t1.  and   more")];
  for (const [output, share] of outputs.flatMap((output) => [0, 0.31, 0.62, 1].map((share) => [output, share]))) {
    await fillOutput(page, output, share);
    const strays = await page.value(`(() => {
      const area = document.querySelector('#output textarea');
      const seen = area.getBoundingClientRect();
      const wrong = [];
      let looked = 0;
      for (const span of document.querySelectorAll('#output .back span.d')) {
        const [rect] = span.getClientRects();
        const y = rect.top + rect.height / 2;
        if (y < seen.top + 2 || y > Math.min(seen.bottom, innerHeight) - 2 || rect.width < 10) continue;
        const { offset } = document.caretPositionFromPoint(rect.left + 2, y);
        looked++;
        if (!area.value.startsWith(span.textContent, offset) && !area.value.startsWith(span.textContent, offset - 1)) {
          wrong.push([span.textContent, area.value.slice(offset - 5, offset + 20)]);
        }
      }
      return looked > 3 ? wrong : ["only " + looked];
    })()`);
    assert.deepEqual(strays, [], `at ${share} of ${outputs.indexOf(output)}`);
  }
});
