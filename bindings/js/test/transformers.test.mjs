// Messages from ids with the tokenizer of transformers.js. Skipped if it is not installed.

import assert from "node:assert/strict";
import { test } from "node:test";
import { parseResponse, responseParser } from "backchat/transformers";
import { TEMPLATE } from "./template.mjs";

const transformers = await import("@huggingface/transformers").catch(() => null);
const skip = transformers === null && "the package @huggingface/transformers is not installed";

const added = ["<bot>", "<think>", "</think>", "<end>"].map((content, i) => ({
  id: 10 + i, content, special: true, single_word: false, lstrip: false, rstrip: false, normalized: false,
}));
const TOKENIZER = {
  version: "1.0",
  added_tokens: added,
  normalizer: null,
  pre_tokenizer: { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true },
  post_processor: null,
  decoder: { type: "ByteLevel", add_prefix_space: true, trim_offsets: true, use_regex: true },
  model: { type: "BPE", vocab: { Hm: 0, "</": 1, think: 2, ">": 3, Yes: 4, "Ã": 5, "©": 6 }, merges: [] },
};
const IDS = [0, 1, 2, 3, 12, 4, 5, 6, 13];
const MESSAGE = { role: "assistant", thinking: "Hm</think>", content: "Yesé" };

test("ids, a tensor and text become messages", { skip }, () => {
  const { PreTrainedTokenizer, Tensor } = transformers;
  const tokenizer = new PreTrainedTokenizer(TOKENIZER, { response_template: TEMPLATE });
  const tensor = new Tensor("int64", BigInt64Array.from(IDS, BigInt), [1, IDS.length]);
  assert.deepEqual(parseResponse(tokenizer, IDS, { prefix: "<bot><think>" }), MESSAGE);
  assert.deepEqual(parseResponse(tokenizer, tensor, { prefix: [10, 11] }), MESSAGE);
  const text = tokenizer.decode([0, ...IDS.slice(4)], { skip_special_tokens: false });
  assert.deepEqual(parseResponse(tokenizer, text, { prefix: "<bot><think>" }), { ...MESSAGE, thinking: "Hm" });
});

test("ids may come one by one, and the template from elsewhere", { skip }, () => {
  const tokenizer = new transformers.PreTrainedTokenizer(TOKENIZER, {});
  assert.throws(() => parseResponse(tokenizer, IDS, { prefix: "" }), /response_template/);
  const parser = responseParser(tokenizer, { prefix: "<bot><think>", template: TEMPLATE });
  const texts = IDS.flatMap((id) => parser.feedIds([id])).filter(({ type }) => type === "region_chunk");
  assert.equal(texts.map(({ text }) => text).join("|"), "Hm|</|think|>|Yes|é");
  assert.deepEqual(parser.finish().message, MESSAGE);
});
