// The memory of the module: more of it than a signed number counts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Template, parse } from "backchat";
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
