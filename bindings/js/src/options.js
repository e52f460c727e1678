// The options of a parser, as backchat.h has them.

import { listOfIds } from "./binding.js";

const SIZE = 64;
const MODES = ["stable", "reference"];
const CLOSERS = ["ends", "text"];
const REASONING = ["kept", "in-content", "dropped"];
const CHAT = ["off", "growing", "whole"];

/** What the ids of one answer's calls begin with: clients keep calls of many answers apart by their ids. */
export function newCallIdPrefix() {
  return `call_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}_`;
}

/** The number of a choice. */
export function choice(name, value, choices) {
  const found = choices.indexOf(value);
  if (found < 0) throw new TypeError(`option \`${name}\`: ${String(value)} is not one of ${choices.join(", ")}`);
  return found;
}

/** Calls with the address of the options. */
export function withOptions(binding, options, tools, call) {
  const recover = options.recover ?? [];
  const texts = [Array.isArray(recover) ? recover.join(",") : recover, options.callIdPrefix ?? ""];
  const encoded = texts.map((text) => new TextEncoder().encode(text));
  const ids = listOfIds(options.stopIds ?? []);
  const size = SIZE + 4 * ids.length + encoded[0].length + encoded[1].length;
  const words = [
    SIZE,
    choice("mode", options.mode ?? "stable", MODES),
    choice("closersInStrings", options.closersInStrings ?? "ends", CLOSERS),
    choice("reasoning", options.reasoning ?? "kept", REASONING),
    choice("chat", options.chat ?? "off", CHAT),
    Number(options.growCalls ?? false),
    Number(options.toolsOff ?? false),
    Number(options.validate ?? false),
    0,
    tools,
  ];
  const at = binding.allocate(size);
  try {
    binding.refresh();
    let rest = at + SIZE + 4 * ids.length;
    const [recoverAt, prefixAt] = encoded.map((bytes) => {
      binding.bytes.set(bytes, rest);
      rest += bytes.length;
      return rest - bytes.length;
    });
    binding.words.set(ids, (at + SIZE) >>> 2);
    words.push(recoverAt, encoded[0].length, at + SIZE, ids.length, prefixAt, encoded[1].length);
    binding.words.set(words, at >>> 2);
    return call(at);
  } finally {
    binding.calls.bc_memory_free(at, size);
  }
}
