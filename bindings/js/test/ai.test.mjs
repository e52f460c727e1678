// The middleware inside the AI SDK, with its mock models: reasoning, text and tool calls, whole and streamed, and the loop of
// tools. Skipped if `ai` is not installed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Template } from "backchat";
import { responseTemplate } from "backchat/ai";
import { TEMPLATE } from "./template.mjs";

const ai = await import("ai").catch(() => null);
const skip = ai === null && "the package ai is not installed";
const { MockLanguageModelV4, simulateReadableStream } = skip ? {} : await import("ai/test");

const CALL = 'I ask.</think>Wait.<call>{"name": "weather", "arguments": {"city": "Oslo"}}</call><end>';
const ANSWER = "It is warm.</think>7 degrees.<end>";
const middleware = responseTemplate({ template: new Template(TEMPLATE), prefix: "<bot><think>" });
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const stop = { unified: "stop", raw: "stop" };

/** A model that answers with these texts, one after the other. */
function model(texts, reason = stop) {
  const left = [...texts];
  const mock = new MockLanguageModelV4({
    doGenerate: async () => ({ content: [{ type: "text", text: left.shift() }], finishReason: reason, usage, warnings: [] }),
    doStream: async () => {
      const pieces = left.shift().match(/.{1,3}/gsu);
      const deltas = pieces.map((delta) => ({ type: "text-delta", id: "0", delta }));
      const chunks = [
        { type: "stream-start", warnings: [] },
        { type: "text-start", id: "0" },
        ...deltas,
        { type: "text-end", id: "0" },
        { type: "finish", finishReason: reason, usage },
      ];
      return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
  return ai.wrapLanguageModel({ model: mock, middleware });
}

const tools = () => ({
  weather: ai.tool({
    inputSchema: ai.jsonSchema({ type: "object", properties: { city: { type: "string" } } }),
    execute: async ({ city }) => `${city}: 7`,
  }),
});

test("a whole answer has reasoning, text and a call, and the loop goes on", { skip }, async () => {
  const settings = { prompt: "Is it warm?", tools: tools(), stopWhen: ai.isStepCount?.(3) ?? ai.stepCountIs(3) };
  const result = await ai.generateText({ model: model([CALL, ANSWER]), ...settings });
  assert.equal(result.steps.length, 2);
  const [first, second] = result.steps;
  assert.deepEqual([first.reasoningText, first.text, first.finishReason], ["I ask.", "Wait.", "tool-calls"]);
  assert.deepEqual(first.toolCalls.map(({ toolName, input }) => [toolName, input]), [["weather", { city: "Oslo" }]]);
  assert.deepEqual(first.toolResults.map(({ output }) => output), ["Oslo: 7"]);
  assert.deepEqual([second.reasoningText, second.text, second.finishReason], ["It is warm.", "7 degrees.", "stop"]);
});

test("a stream has them as they are written", { skip }, async () => {
  const settings = { prompt: "Is it warm?", tools: tools(), stopWhen: ai.isStepCount?.(3) ?? ai.stepCountIs(3) };
  const result = ai.streamText({ model: model([CALL, ANSWER]), ...settings });
  const parts = [];
  for await (const part of result.stream ?? result.fullStream) parts.push(part);
  const joined = (type) => parts.filter((part) => part.type === type).map((part) => part.text ?? part.delta).join("");
  assert.equal(joined("reasoning-delta"), "I ask.It is warm.");
  assert.equal(joined("text-delta"), "Wait.7 degrees.");
  assert.equal(joined("tool-input-delta"), '{"city": "Oslo"}');
  assert.ok(parts.filter(({ type }) => type === "tool-input-delta").length > 1, "arguments grow");
  assert.deepEqual(parts.filter(({ type }) => type === "tool-call").map(({ input }) => input), [{ city: "Oslo" }]);
  assert.deepEqual(parts.filter(({ type }) => type === "finish-step").map(({ finishReason }) => finishReason), ["tool-calls", "stop"]);
});

test("a call that was cut off is not made", { skip }, async () => {
  const text = 'I ask.</think><call>{"name": "weather", "arguments": {"city": "Os';
  const reason = { unified: "length", raw: "length" };
  const whole = await ai.generateText({ model: model([text], reason), prompt: "Is it warm?", tools: tools() });
  assert.deepEqual([whole.toolCalls, whole.finishReason, whole.reasoningText], [[], "length", "I ask."]);
});

test("options that are undefined or null are those of the request", async () => {
  const template = new Template(TEMPLATE);
  const text = '<call>{"name": "f", "arguments": {"n": "5"}}</call>';
  const inputSchema = { type: "object", properties: { n: { type: "integer" } } };
  const read = async (absent) => {
    const { wrapGenerate } = responseTemplate({ template, prefix: "<bot>", tools: absent, callIdPrefix: absent });
    const doGenerate = async () => ({ content: [{ type: "text", text }], finishReason: stop });
    const { content } = await wrapGenerate({ doGenerate, params: { tools: [{ type: "function", name: "f", inputSchema }] } });
    return content[0];
  };
  for (const absent of [undefined, null]) {
    const [one, other] = [await read(absent), await read(absent)];
    assert.equal(one.input, '{"n": 5}');
    assert.notEqual(one.toolCallId, other.toolCallId);
  }
});

/** The parts and the finish reason of an answer that is streamed in pieces of this size; 0 is the whole answer at once. */
async function read(text, size, reason) {
  if (size === 0) {
    const { content, finishReason } = await middleware.wrapGenerate({
      doGenerate: async () => ({ content: [{ type: "text", text }], finishReason: reason }),
      params: {},
    });
    return [content, finishReason];
  }
  const deltas = text.match(new RegExp(`.{1,${size}}`, "gsu")).map((delta) => ({ type: "text-delta", id: "0", delta }));
  const answer = ReadableStream.from([...deltas, { type: "finish", finishReason: reason, usage }]);
  const { stream } = await middleware.wrapStream({ doStream: async () => ({ stream: answer }), params: {} });
  const parts = [];
  for await (const part of stream) parts.push(part);
  return [parts, parts.at(-1).finishReason];
}

test("the calls that are made are those of the message", async () => {
  for (const [body, calls, unified = "stop"] of [
    ['{"name": "rm", "arguments": {"n": 1}}</call>', [["rm", '{"n": 1}']]],
    ['{"name": "rm", "arguments": {"n": 1}, oops}</call>', []],
    ['{"name": "rm", "arguments": {"n": 1}} more</call>', []],
    ['{"name": "rm", "arguments": {"n": 1}', []],
    ['{"name": "rm", "arguments": {"n": 1}', [], "length"],
    ['{"name": "rm", "arguments": {"n": 1}, "name": "ls"}</call>', [["ls", '{"n": 1}']]],
    ['{"name": "rm", "arguments": {"n": 1}, "arguments": {"n": 2}}</call>', [["rm", '{"n": 2}']]],
    ['{"name": "rm", "arguments": {"n": 1, "n": 2}}</call>', [["rm", '{"n": 2}']]],
    ['{"name": "rm", "arguments": null}</call>', [["rm", "{}"]]],
    ['{"name": "rm", "arguments": "{\\"n\\": 1}"}</call>', [["rm", '{"n": 1}']]],
    ['{"name": "rm", "arguments": [1]}</call>', []],
    ['{"name": "rm", "arguments": {"n": 1}, oops}</call><call>{"name": "ls", "arguments": {}}</call>', [["ls", "{}"]]],
    ['{"name": "rm", oops}</call><call>{"name": "ls", "arguments": {}}</call><call>{"name": "cat", "arguments": {}}</call>', [["ls", "{}"], ["cat", "{}"]]],
    ['{"name": "rm", "arguments": [1]}</call><call>{"name": "ls", "arguments": {}}</call><call>{"name": "cat", "arguments": {}}</call>', [["ls", "{}"], ["cat", "{}"]]],
    ['{"name": "rm", "arguments": "{\\"n\\": 1}", oops}</call><call>{"name": "ls", "arguments": {}}</call>', [["ls", "{}"]]],
    ['{"name": "rm", "arguments": {"n": 1}, oops}</call><call>{"name": "ls", oops}</call><call>{"name": "cat", "arguments": {}}</call>', [["cat", "{}"]]],
  ]) {
    for (const size of [0, 1, 5, 1000]) {
      const [parts, reason] = await read(`I ask.</think><call>${body}`, size, { unified, raw: unified });
      const made = parts.filter(({ type }) => type === "tool-call").map(({ toolName, input }) => [toolName, JSON.parse(input)]);
      assert.deepEqual(made, calls.map(([name, json]) => [name, JSON.parse(json)]), `${body} in pieces of ${size}`);
      assert.equal(reason.unified, made.length > 0 ? "tool-calls" : unified, body);
    }
  }
});
