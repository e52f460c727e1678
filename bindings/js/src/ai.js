// A middleware for the AI SDK: raw text of a model in; reasoning, text and tool calls out, streamed.

import { Parser } from "./parser.js";

/**
 * Reads the text of a language model with a response template: `wrapLanguageModel({ model, middleware })`. `prefix` is the
 * end of the prompt, or a function of the call's parameters; the other options are those of a parser.
 */
export function responseTemplate({ template, prefix, ...options }) {
  const begin = (params) => {
    const functions = (params.tools ?? []).filter((tool) => tool.type === "function");
    const tools = functions.map(({ name, inputSchema }) => ({ type: "function", function: { name, parameters: inputSchema } }));
    const parserOptions = {
      callIdPrefix: `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}_`,
      ...options,
      chat: "growing",
      prefix: typeof prefix === "function" ? prefix(params) : prefix,
    };
    return new Parts(new Parser(template, tools.length > 0 ? { tools, ...parserOptions } : parserOptions));
  };
  return {
    specificationVersion: "v4",

    async wrapGenerate({ doGenerate, params }) {
      const result = await doGenerate();
      const parts = begin(params);
      const isText = ({ type }) => type === "text";
      const stream = result.content.filter(isText).flatMap(({ text }) => parts.feed(text));
      stream.push(...parts.finish(result.finishReason));
      const read = contentOf(stream);
      // What the provider gave besides text keeps its place before it.
      return { ...result, content: [...result.content.filter((part) => !isText(part)), ...read], finishReason: parts.reason };
    },

    async wrapStream({ doStream, params }) {
      const result = await doStream();
      const parts = begin(params);
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

/** The parts of a stream that the deltas of an answer make. */
class Parts {
  #parser;
  #open = null;
  #count = 0;
  #calls = 0;

  constructor(parser) {
    this.#parser = parser;
  }

  feed(text) {
    this.#parser.feed(text);
    return this.#take();
  }

  /** Ends the answer; `reason` is the model's with a call in mind. */
  finish(reason) {
    this.#parser.finish({ cutOff: reason?.unified === "length" });
    const parts = this.#take();
    this.#close(parts);
    this.reason = this.#calls > 0 && reason?.unified === "stop" ? { ...reason, unified: "tool-calls" } : reason;
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

  #call({ id, function: { name, arguments: more } }, parts) {
    if (id !== undefined) {
      this.#close(parts);
      this.#open = { type: "call", id, name, input: "" };
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
    // A call that was cut off is not one.
    if (isJson(open.input)) {
      this.#calls++;
      parts.push({ type: "tool-call", toolCallId: open.id, toolName: open.name, input: open.input });
    }
  }
}

function isJson(text) {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** The content that the parts of a stream add up to. */
function contentOf(parts) {
  const content = [];
  for (const part of parts) {
    const [type, what] = part.type.split("-");
    if (part.type === "tool-call") content.push(part);
    else if (type !== "tool" && what === "start") content.push({ type, text: "" });
    else if (type !== "tool" && what === "delta") content.at(-1).text += part.delta;
  }
  return content;
}
