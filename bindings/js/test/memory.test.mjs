// The memory of the module: more of it than a signed number counts, and none left.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Parser, Template, parse } from "backchat";
import { TEMPLATE } from "./template.mjs";

const { binding } = await import(new URL("binding.js", import.meta.resolve("backchat")));
const template = new Template(TEMPLATE);
const { calls } = binding();

/** Works while blocks of this size take up memory: so many, or all that there is. */
function without(size, most, work) {
  const blocks = [];
  for (let at; blocks.length < most && (at = calls.bc_memory_new(size)) !== 0; ) blocks.push(at);
  try {
    work();
  } finally {
    for (const at of blocks) calls.bc_memory_free(at, size);
  }
}

test("texts may be above 2 GB", () => {
  const long = "日本 text ".repeat(10_000);
  without(1 << 28, 8, () => {
    assert.ok(calls.memory.buffer.byteLength > 2 ** 31);
    assert.ok(parse(template, long, { prefix: "<bot>" }).message.content === long.trim(), "a long text");
    assert.equal(parse(template, "Hi<end>", { prefix: "<bot>" }).message.content, "Hi");
  });
});

test("a text for which there is no memory changes nothing", () => {
  const parser = new Parser(template, { prefix: "<bot>" });
  parser.feed("Hi");
  without(1 << 28, Infinity, () => {
    assert.throws(() => parser.feed("x".repeat(1 << 27)), RangeError);
    const other = calls.bc_memory_new(4096) >>> 0;
    assert.ok(other !== binding().input, "the memory of another would be written to");
    calls.bc_memory_free(other, 4096);
    parser.feed(" there");
  });
  assert.equal(parser.finish().message.content, "Hi there");
});

test("room for a long text is not kept", () => {
  parse(template, "x".repeat(1 << 22), { prefix: "<bot>" });
  parse(template, "Hi", { prefix: "<bot>" });
  assert.ok(binding().room <= 1 << 20);
});
