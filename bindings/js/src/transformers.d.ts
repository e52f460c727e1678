import type { Options, Parser, Template } from "backchat";

/** A tokenizer of transformers.js. */
interface Tokenizer {
  response_template?: object;
  config?: { response_template?: object };
}

/** Ids: a list, or a tensor with one row. */
type Ids = Iterable<number | bigint> | { tolist(): unknown };

type Settings = Omit<Options, "prefix" | "promptIds"> & {
  /** The prompt, as text or ids. */
  prefix: string | Ids;
  /** The response template; that of the tokenizer's config if absent. */
  template?: Template | object;
};

/** The message of an output: ids that the model generated, or text with special tokens. */
export function parseResponse(tokenizer: Tokenizer, output: string | Ids, options: Settings): Record<string, any>;

/** A parser of the ids that a streamer gets, as they are generated: call `feedIds` and `finish`. */
export function responseParser(tokenizer: Tokenizer, options: Settings): Parser;

// Without this, everything above would be exported.
export {};
