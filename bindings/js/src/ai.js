// A middleware for the AI SDK: raw text of a model in; reasoning, text and tool calls out, streamed.

import { newCallIdPrefix } from "./options.js";
import { Parser } from "./parser.js";
import { Verdicts, parsed } from "./verdicts.js";

/**
 * Reads the text of a language model with a response template: `wrapLanguageModel({ model, middleware })`. `prefix` is the
 * end of the prompt, or a function of the call's parameters; the other options are those of a parser.
 */
export function responseTemplate({ template, prefix, ...options }) {
  const begin = (params, chat) => {
    const tools = options.tools ?? toolsOf(params);
    const callIdPrefix = options.callIdPrefix ?? newCallIdPrefix();
    const begun = typeof prefix === "function" ? prefix(params) : prefix;
    return new Parser(template, { ...options, prefix: begun, tools, callIdPrefix, chat });
  };
  return {
    specificationVersion: "v4",

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const parser = begin(params, "whole");
      const isText = ({ type }) => type === "text";
      for (const { text } of result.content.filter(isText)) parser.feed(text);
      parser.finish({ cutOff: isCutOff(result.finishReason) });
      const read = contentOf(parser.deltas());
      parser.free();
      const hasCalls = read.some(({ type }) => type === "tool-call");
      // What the provider gave besides text keeps its place before it.
      const content = [...result.content.filter((part) => !isText(part)), ...read];
      return { ...result, content, finishReason: reasonOf(result.finishReason, hasCalls) };
    },

    async wrapStream({ doStream, params }) {
      const result = await doStream();
      const parts = new Parts(begin(params, "growing"));
      const transform = new TransformStream({
        transform(part, controller) {
          const send = (list) => list.forEach((made) => controller.enqueue(made));
          switch (part.type) {
            case "text-start":
            case "text-end":
              return;
            case "text-delta":
              return send(parts.feed(part.delta));
            case "finish":
              send(parts.finish(part.finishReason));
              return controller.enqueue({ ...part, finishReason: parts.reason });
            default:
              controller.enqueue(part);
          }
        },
      });
      return { ...result, stream: result.stream.pipeThrough(transform) };
    },
  };
}

/** The tools of a request, as OpenAI's protocol has them; `null` if there are none. */
function toolsOf({ tools = [] }) {
  const functions = tools.filter((tool) => tool.type === "function");
  const list = functions.map(({ name, inputSchema }) => ({ type: "function", function: { name, parameters: inputSchema } }));
  return list.length > 0 ? list : null;
}

const isCutOff = (reason) => reason?.unified === "length";

/** The model's reason with its calls in mind. */
function reasonOf(reason, hasCalls) {
  return hasCalls && reason?.unified === "stop" ? { ...reason, unified: "tool-calls" } : reason;
}

/** The parts of a stream that the deltas of an answer make. */
class Parts {
  #parser;
  #open = null;
  #count = 0;
  #verdicts;
  // The calls whose `tool-call` is not sent yet: it has to wait until the parser has read the region that they are in.
  #waiting = [];
  #hasCalls = false;

  constructor(parser) {
    this.#parser = parser;
    this.#verdicts = new Verdicts(parser.initialEvents);
  }

  feed(text) {
    this.#verdicts.add(this.#parser.feed(text));
    return this.#take();
  }

  /** Ends the answer; `reason` is the model's with a call in mind. */
  finish(reason) {
    const cutOff = isCutOff(reason);
    this.#verdicts.add(this.#parser.finish({ cutOff }).events, cutOff);
    const parts = this.#take();
    this.#close(parts);
    this.reason = reasonOf(reason, this.#hasCalls);
    this.#parser.free();
    return parts;
  }

  #take() {
    const parts = [];
    for (const { content, reasoning_content: reasoning, tool_calls: calls } of this.#parser.deltas()) {
      if (content !== undefined) this.#text("text", content, parts);
      if (reasoning !== undefined) this.#text("reasoning", reasoning, parts);
      for (const call of calls ?? []) this.#call(call, parts);
    }
    if (this.#verdicts.of(this.#open) !== undefined) this.#close(parts);
    this.#settle(parts);
    return parts;
  }

  #text(type, delta, parts) {
    if (this.#open?.type !== type) {
      this.#close(parts);
      this.#open = { type, id: String(this.#count++) };
      parts.push({ type: `${type}-start`, id: this.#open.id });
    }
    parts.push({ type: `${type}-delta`, id: this.#open.id, delta });
  }

  #call({ index, id, function: { name, arguments: more } }, parts) {
    if (id !== undefined) {
      this.#close(parts);
      this.#open = { type: "call", index, id, input: "" };
      parts.push({ type: "tool-input-start", id, toolName: name });
    }
    if (more !== "") {
      this.#open.input += more;
      parts.push({ type: "tool-input-delta", id: this.#open.id, delta: more });
    }
  }

  #close(parts) {
    const open = this.#open;
    this.#open = null;
    if (open === null) return;
    if (open.type !== "call") {
      parts.push({ type: `${open.type}-end`, id: open.id });
      return;
    }
    parts.push({ type: "tool-input-end", id: open.id });
    this.#waiting.push(open);
    this.#settle(parts);
  }

  /** Sends the calls that the message has, as it has them. */
  #settle(parts) {
    this.#waiting = this.#waiting.filter((call) => {
      const verdict = this.#verdicts.of(call);
      if (verdict) {
        this.#hasCalls = true;
        const json = JSON.stringify(verdict.arguments);
        // The model's own text, if the parser read the same in it.
        const input = JSON.stringify(parsed(call.input)) === json ? call.input : json;
        parts.push({ type: "tool-call", toolCallId: call.id, toolName: verdict.name, input });
      }
      return verdict === undefined;
    });
  }
}

/** The content that the deltas of a whole answer add up to. */
function contentOf(deltas) {
  const content = [];
  const add = (type, text) => {
    if (content.at(-1)?.type !== type) content.push({ type, text: "" });
    content.at(-1).text += text;
  };
  for (const { content: text, reasoning_content: reasoning, tool_calls: calls } of deltas) {
    if (text !== undefined) add("text", text);
    if (reasoning !== undefined) add("reasoning", reasoning);
    for (const { id, function: { name, arguments: input } } of calls ?? []) {
      if (id === undefined) content.at(-1).input += input;
      else content.push({ type: "tool-call", toolCallId: id, toolName: name, input });
    }
  }
  return content;
}
