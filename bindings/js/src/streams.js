// Streams of text in; events or the chunks of an OpenAI stream out.

import { newCallIdPrefix } from "./options.js";
import { Parser } from "./parser.js";

// How many items may wait on each side: without room, each piece costs a round of promises.
const ROOM = { highWaterMark: 64 };

/** Turns pieces of text into events. The last one is `{ type: "message", message, … }`. */
export function eventStream(template, options = {}) {
  const parser = new Parser(template, options);
  const send = (events, controller) => events.forEach((event) => controller.enqueue(event));
  return new TransformStream({
    start: (controller) => send(parser.initialEvents, controller),
    transform: (text, controller) => send(parser.feed(text), controller),
    flush(controller) {
      const { events, ...finished } = parser.finish();
      send(events, controller);
      controller.enqueue({ type: "message", ...finished });
      parser.free();
    },
  }, ROOM, ROOM);
}

/** Turns pieces of text into the `chat.completion.chunk`s of OpenAI's protocol. `finishReason` returns the engine's. */
export function chunkStream(template, options = {}) {
  const { finishReason } = options;
  const chat = options.chat ?? "growing";
  const callIdPrefix = options.callIdPrefix ?? newCallIdPrefix();
  const parser = new Parser(template, { ...options, chat, callIdPrefix });
  const id = options.id ?? `chatcmpl-${crypto.randomUUID()}`;
  const created = Math.floor(Date.now() / 1000);
  const shared = { id, object: "chat.completion.chunk", created, model: options.model ?? "" };
  const chunk = (delta, reason = null) => ({ ...shared, choices: [{ index: 0, delta, finish_reason: reason }] });
  const send = (controller) => parser.deltas().forEach((delta) => controller.enqueue(chunk(delta)));
  return new TransformStream({
    start(controller) {
      controller.enqueue(chunk({ role: "assistant", content: "" }));
      send(controller);
    },
    transform(text, controller) {
      parser.feed(text);
      send(controller);
    },
    async flush(controller) {
      const given = await finishReason?.();
      const { problems } = parser.finish({ cutOff: given === "length" });
      send(controller);
      // Whether there are calls the parser knows; any other reason, such as `content_filter`, only the engine.
      const isParsers = [undefined, null, "stop", "tool_calls"].includes(given);
      const last = chunk({}, isParsers ? parser.finishReason : given);
      controller.enqueue(problems.length > 0 ? { ...last, backchat: { problems } } : last);
      parser.free();
    },
  }, ROOM, ROOM);
}
