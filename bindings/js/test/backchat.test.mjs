// The package, as `npm pack` writes it: messages, events, places, streams and errors.

import assert from "node:assert/strict";
import { test } from "node:test";
import { BackchatError, Parser, Template, Tokens, Tools, chunkStream, eventStream, parse } from "backchat";
import { answer } from "./rows.mjs";
import { TEMPLATE } from "./template.mjs";

const CALL = '<call>{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}</call>';
const template = new Template(TEMPLATE);

test("a text becomes a message", () => {
  const { message, problems } = parse(template, `I ask.</think>Wait.${CALL}<end>`, { prefix: "<bot><think>" });
  const called = { type: "function", function: { name: "weather", arguments: { city: "Oslo", days: 3 } } };
  assert.deepEqual(message, { role: "assistant", thinking: "I ask.", content: "Wait.", tool_calls: [called] });
  assert.deepEqual(problems, []);
});

test("events come as soon as no delimiter can claim the text", () => {
  const parser = new Parser(template, { prefix: "<bot>" });
  assert.deepEqual(parser.feed("Hi <e"), [
    { type: "region_open", field: "content" },
    { type: "region_chunk", field: "content", text: "Hi ", dirty: false },
  ]);
  assert.deepEqual(parser.feed("nd"), []);
  assert.deepEqual(parser.feed(">"), [{ type: "region_close", field: "content", value: "Hi" }]);
  assert.deepEqual(parser.finish().events, []);
});

test("the prompt may begin a region", () => {
  const parser = new Parser(template, { prefix: "<user>Hi<bot><think>" });
  assert.deepEqual(parser.initialEvents, [{ type: "region_open", field: "thinking" }]);
  assert.throws(() => new Parser(template, {}), /prefix/);
});

test("surrogates wait for their other half, and alone are replaced", () => {
  const whole = parse(template, "a🚆b\ufffdc\ufffd<end>", { prefix: "<bot>" }).message;
  const parser = new Parser(template, { prefix: "<bot>" });
  assert.equal(parser.feed("a\ud83d").at(-1).text, "a");
  assert.equal(parser.feed("").length, 0);
  assert.equal(parser.feed("\ude86b\udc00c\ud800").at(-1).text, "🚆b\ufffdc");
  parser.feed("<end>");
  assert.deepEqual(parser.finish().message, whole);
});

test("places count UTF-16 units from the part of the prompt that belongs to the message", () => {
  const text = "é🚆</think>日<x>🚆<end>";
  for (const size of [1, 2, 3, 100]) {
    const parser = new Parser(template, { prefix: "🚆<bot>🚆<think>", spans: true });
    const input = `🚆<think>${text}`;
    assert.equal(parser.prefixLength, 9);
    assert.deepEqual([parser.initialEvents.at(-1).start, parser.initialEvents.at(-1).end], [2, 9]);
    const events = [];
    for (let at = 0; at < text.length; at += size) events.push(...parser.feed(text.slice(at, at + size)));
    events.push(...parser.finish().events);
    for (const event of events.filter(({ type }) => type === "region_chunk")) {
      assert.equal(input.slice(event.start, event.end), event.text);
    }
    const closed = events.filter(({ type, field }) => type === "region_close" && field === "content");
    assert.deepEqual(closed.map(({ body }) => input.slice(...body)), ["日<x>🚆"]);
    assert.deepEqual(closed.map(({ start, end }) => input.slice(start, end)), ["<end>"]);
  }
});

test("problems have their places", () => {
  const { problems } = parse(template, "é<call>{", { prefix: "<bot>", spans: true });
  assert.deepEqual(problems.map(({ kind, span }) => [kind, span]), [["malformed", [7, 8]]]);
});

test("numbers are JavaScript's, and their text is kept on request", () => {
  const numbers = new Template({
    start_anchor: "<bot>",
    fields: { n: { open: "<n>", close: "</n>", content: "json" }, content: { optional: true } },
  });
  const text = '<n>{"a": 1.50, "b": 12345678901234567890, "c": -Infinity, "d": NaN, "e": "NaN", "f": 1e400}</n>';
  const { message, json } = parse(numbers, text, { prefix: "<bot>", json: true });
  assert.deepEqual(message.n, { a: 1.5, b: 12345678901234567000, c: null, d: null, e: "NaN", f: Infinity });
  assert.match(json, /"a": 1.50, "b": 12345678901234567890, .*"f": 1e400/);
});

test("ids are read by their tokens", () => {
  const tokens = new Tokens({
    added_tokens: [
      { id: 2, content: "<think>" },
      { id: 3, content: "</think>" },
    ],
    decoder: { type: "ByteLevel" },
    model: { vocab: { Hm: 0, "</think>": 1, Yes: 4, "<end>": 5 } },
  });
  const forIds = template.withTokens(tokens);
  const { message } = parse(forIds, [2, 0, 1, 3, 4, 5, 0], { prefix: "<bot>", stopIds: [5] });
  assert.deepEqual(message, { role: "assistant", thinking: "Hm</think>", content: "Yes" });
  const after = parse(forIds, [0n, 3n, 4n], { promptIds: [2] });
  assert.deepEqual(after.message, { role: "assistant", content: "Yes", thinking: "Hm" });
  for (const prompt of [{ prefix: "<bot>" }, { promptIds: [2] }]) {
    assert.throws(() => new Parser(forIds, { ...prompt, spans: true }), /`spans`.*ids/);
  }
});

test("a stream of text becomes events, or the chunks of OpenAI's protocol", async () => {
  const pieces = ["I ask.</th", "ink>Wa", 'it.<call>{"name": "f", "argu', 'ments": {"a": "b', '"}}</call>'];
  const all = async (transform) => Array.fromAsync?.(ReadableStream.from(pieces).pipeThrough(transform)) ?? collect(transform);
  async function collect(transform) {
    const list = [];
    for await (const item of ReadableStream.from(pieces).pipeThrough(transform)) list.push(item);
    return list;
  }
  const events = await all(eventStream(template, { prefix: "<bot><think>" }));
  assert.equal(events.at(-1).type, "message");
  assert.equal(events.at(-1).message.content, "Wait.");
  const chunks = await all(chunkStream(template, { prefix: "<bot><think>", model: "m", callIdPrefix: "c" }));
  assert.deepEqual(chunks.map(({ choices: [{ delta }] }) => delta), [
    { role: "assistant", content: "" },
    { reasoning_content: "I ask." },
    { content: "Wa" },
    { content: "it." },
    { tool_calls: [{ index: 0, id: "c0", type: "function", function: { name: "f", arguments: "" } }] },
    { tool_calls: [{ index: 0, function: { arguments: '{"a": "b' } }] },
    { tool_calls: [{ index: 0, function: { arguments: '"}' } }] },
    {},
  ]);
  assert.equal(chunks.at(-1).choices[0].finish_reason, "tool_calls");
});

/** The chunks of a text. */
async function chunksOf(text, options) {
  const chunks = [];
  const stream = ReadableStream.from([text]).pipeThrough(chunkStream(template, { prefix: "<bot>", ...options }));
  for await (const chunk of stream) chunks.push(chunk);
  return chunks;
}

test("the last chunk has the engine's reason, unless the parser knows better", async () => {
  for (const [finishReason, expected, text = CALL] of [
    [undefined, "tool_calls"],
    [null, "tool_calls"],
    [() => null, "tool_calls"],
    [() => "stop", "tool_calls"],
    [() => "stop", "stop", "Hi"],
    [() => "tool_calls", "stop", "Hi"],
    [() => "length", "length"],
    [async () => "length", "length"],
    [() => "content_filter", "content_filter"],
  ]) {
    const chunks = await chunksOf(text, { finishReason });
    assert.equal(chunks.at(-1).choices[0].finish_reason, expected, `${finishReason}`);
  }
});

test("calls of different answers have different ids, and undefined and null are no options", async () => {
  const absent = (value) => ({ chat: value, callIdPrefix: value, tools: value, model: value, id: value, finishReason: value });
  const ids = new Set();
  for (const options of [{}, {}, absent(undefined), absent(null)]) {
    const chunks = await chunksOf(CALL, options);
    assert.match(chunks[0].id, /^chatcmpl-/);
    assert.equal(chunks[0].model, "");
    const { tool_calls: [call] } = chunks[1].choices[0].delta;
    assert.match(call.id, /^call_.+_0$/);
    ids.add(call.id);
  }
  assert.equal(ids.size, 4);
});

test("errors name the problem and its place", () => {
  const failed = (work, part) => assert.throws(work, (error) => error instanceof BackchatError && part(error));
  failed(() => new Template({ start_anchor: "<bot>", fields: { content: { close: 7 } } }), ({ path, code }) => path === "fields.content.close" && code === -5);
  failed(() => new Template("{"), ({ message }) => message.length > 0);
  failed(() => new Parser(template, { prefix: "", recover: ["json-comma"] }), ({ message }) => message.includes("json-comma"));
  for (const [tools, path] of [[7, ""], [{ type: "function" }, ""], ['"abc"', ""], [[1], "[0]"]]) {
    failed(() => new Parser(template, { prefix: "", tools }), (error) => error.code === -5 && error.path === path);
  }
  assert.throws(() => new Parser(template, { prefix: "", mode: "strict" }), /mode/);
  const parser = new Parser(template, { prefix: "<bot>" });
  parser.finish();
  failed(() => parser.feed("x"), ({ code }) => code === -7);
  parser.free();
});

test("arguments of a wrong kind are named", () => {
  const tokens = new Tokens({ model: { vocab: { Yes: 4 } }, decoder: { type: "ByteLevel" } });
  const freed = new Template(TEMPLATE);
  freed.free();
  const parser = new Parser(template, { prefix: "" });
  parser.free();
  for (const [work, message] of [
    [() => new Template(undefined), /JSON.*undefined/],
    [() => new Template(Symbol("it")), /JSON.*Symbol\(it\)/],
    [() => new Tools(() => 1), /JSON/],
    [() => new Parser(undefined, { prefix: "" }), /^`template` must be a Template$/],
    [() => new Parser(freed, { prefix: "" }), /^`template` was freed$/],
    [() => freed.withTokens(tokens), /^the template was freed$/],
    [() => parser.feed("x"), /^the parser was freed$/],
    [() => parser.message, /^the parser was freed$/],
    [() => template.withTokens(), /^`tokens` must be a Tokens$/],
    [() => template.withTokens(tokens, "foo"), /`policy`.*foo.*exact, either/],
    [() => new Parser(template, { prefix: "", chat: "grow" }), /`chat`.*grow.*growing/],
  ]) {
    assert.throws(work, (error) => error instanceof TypeError && message.test(error.message), `${work}`);
  }
  const absent = { tools: null, mode: null, closersInStrings: null, reasoning: null, chat: null, recover: null, stopIds: null };
  assert.equal(parse(template, "Hi", { prefix: "<bot>", ...absent }).message.content, "Hi");
});

test("ids are whole numbers", () => {
  const tokens = new Tokens({ model: { vocab: { Hm: 0, Yes: 4 } }, decoder: { type: "ByteLevel" } });
  const forIds = template.withTokens(tokens, null);
  assert.equal(parse(forIds, new Uint32Array([4, 0]), { prefix: "<bot>" }).message.content, "YesHm");
  for (const [id, shown] of [[NaN, /NaN/], [1.7, /1\.7/], [-1, /-1/], ["4", /"4"/], [2n ** 32n + 4n, /4294967300/], [null, /null/]]) {
    assert.throws(() => parse(forIds, [4, id], { prefix: "<bot>" }), shown);
    assert.throws(() => parse(forIds, [4], { promptIds: [id] }), shown);
    assert.throws(() => parse(forIds, [4], { prefix: "<bot>", stopIds: [id] }), shown);
  }
  assert.throws(() => parse(forIds, 4, { prefix: "<bot>" }), TypeError);
});

test("tools give arguments their types", () => {
  const parameters = { properties: { days: { type: "integer" } } };
  const tools = new Tools([{ type: "function", function: { name: "weather", parameters } }]);
  for (const given of [tools, [{ type: "function", function: { name: "weather", parameters } }]]) {
    const { message } = parse(template, CALL.replace("3", '"3"'), { prefix: "<bot>", tools: given });
    assert.equal(message.tool_calls[0].function.arguments.days, 3);
  }
  tools.free();
  assert.throws(() => parse(template, CALL, { prefix: "<bot>", tools }), /^TypeError: option `tools` was freed$/);
});

test("texts of any length and many parsers fit into memory", () => {
  const long = "日本 text ".repeat(100_000);
  assert.equal(parse(template, long, { prefix: "<bot>" }).message.content, long.trim());
  for (let i = 0; i < 20_000; i++) parse(template, "Hi<end>", { prefix: "<bot>" });
});

test("rows are answered as the command does", () => {
  const row = '{"id": 1, "template": {"start_anchor": "<bot>", "fields": {"n": {"open": "<n>", "close": "</n>", "content": "json"}, "content": {}}}, "prefix": "", "text": "é<n>[1.50]</n>", "tools": null, "chunks": [4, 10]}';
  assert.match(answer({ Parser, Template }, row, "stable"), /"value": \[1.50\]}\]\], "final_events": \[\], "message": {"content": "é", "n": \[1.50\]}}$/);
});
