// Messages from the outputs of transformers.js, with the model's own tokenizer.

import { Parser, Template, Tokens, parse } from "./parser.js";

const prepared = new WeakMap();

/** The response template of a tokenizer, or the given one, and the same for ids. */
function templateOf(tokenizer, given, needsIds) {
  const json = given ?? tokenizer.response_template ?? tokenizer.config?.response_template;
  if (!json) throw new TypeError("the tokenizer has no `response_template`; pass one as the option `template`");
  let known = prepared.get(tokenizer);
  const key = json instanceof Template ? json : JSON.stringify(json);
  if (known?.key !== key) {
    known = { key, text: json instanceof Template ? json : new Template(json) };
    prepared.set(tokenizer, known);
  }
  if (!needsIds) return known.text;
  known.ids ??= known.text.withTokens(new Tokens(tokenizer._tokenizerJSON));
  return known.ids;
}

/** The ids of a list, or of a tensor with one row. */
function listOf(ids) {
  const list = ids.tolist ? ids.tolist() : [...ids];
  const rows = Array.isArray(list[0]) ? list : [list];
  if (rows.length !== 1) throw new TypeError(`there are ${rows.length} rows of ids; pass one`);
  return rows[0];
}

function begin(tokenizer, isIds, { prefix, template, ...options }) {
  const isPromptIds = prefix !== undefined && typeof prefix !== "string";
  const prompt = isPromptIds ? { promptIds: listOf(prefix) } : { prefix };
  return [templateOf(tokenizer, template, isIds || isPromptIds), { ...options, ...prompt }];
}

/**
 * The message of an output: ids that the model generated, or text with special tokens. `prefix` is the prompt, as text or
 * ids; `tools` are those of the request.
 */
export function parseResponse(tokenizer, output, options = {}) {
  const isText = typeof output === "string";
  const [template, others] = begin(tokenizer, !isText, options);
  return parse(template, isText ? output : listOf(output), others).message;
}

/** A parser of the ids that a streamer gets, as they are generated: call `feedIds` and `finish`. */
export function responseParser(tokenizer, options = {}) {
  return new Parser(...begin(tokenizer, true, options));
}
