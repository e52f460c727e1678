/// <reference lib="esnext.disposable" />

/** What went wrong: `code` is a status of backchat.h, `path` a place in the JSON that was loaded. */
export class BackchatError extends Error {
  readonly code: number;
  readonly path: string;
  /** What the parser was doing, if it failed: `prefix`, `feed` or `finalize`. */
  readonly stage: string;
}

/**
 * Passes the WebAssembly module, compiled or as bytes, where the inlined one cannot be compiled. Call it before anything else.
 */
export function init(module: WebAssembly.Module | BufferSource): void;

declare class Owner {
  /** Frees the memory now; otherwise it is freed with the object. */
  free(): void;
  [Symbol.dispose](): void;
}

/** A response template, from its JSON or an object. One serves any number of parsers. */
export class Template extends Owner {
  constructor(json: string | object);
  /** The template for parsers of ids. A marker is recognized by its token, or by its characters in whatever tokens. */
  withTokens(tokens: Tokens, policy?: "exact" | "either" | null): Template;
}

/** The text of each id of a tokenizer, from its `tokenizer.json`. */
export class Tokens extends Owner {
  constructor(json: string | object);
}

/** The tools of a request, prepared for many parsers. */
export class Tools extends Owner {
  constructor(json: string | object[]);
}

export interface Options {
  /** The prompt up to the model's output, or its end; `""` if the output has the whole message. Required without `promptIds`. */
  prefix?: string;
  /** The prompt as ids. The template is one of `withTokens`. */
  promptIds?: Iterable<number | bigint>;
  /** The tools of the request, whose schemas give the types of arguments. */
  tools?: Tools | object[] | string | null;
  /** `reference` answers as transformers does for the same pieces. */
  mode?: "stable" | "reference" | null;
  /** The meaning of a closing marker inside a JSON string. */
  closersInStrings?: "ends" | "text" | null;
  reasoning?: "kept" | "in-content" | "dropped" | null;
  /** Whether `deltas` has something, and when it delivers calls. */
  chat?: "off" | "growing" | "whole" | null;
  /** Whether events report calls as they grow. */
  growCalls?: boolean;
  /** Whether calls stay in the content. */
  toolsOff?: boolean;
  /** Whether arguments are checked against the schemas of their tools. */
  validate?: boolean;
  /** Recovery policies, as in `["json-commas"]` or `"all"`. */
  recover?: string | string[] | null;
  /** The ids that end the answer of a parser of ids. */
  stopIds?: Iterable<number | bigint> | null;
  /** What precedes the number in new ids. A call gets a new id if the model wrote none, or one that an earlier call has. */
  callIdPrefix?: string | null;
  /**
   * Whether events have their places, in UTF-16 units of the part of the prefix that belongs to the message and the text.
   * Not for a parser of ids.
   */
  spans?: boolean;
  /** Whether values come with their JSON text, which keeps numbers as the model wrote them. */
  json?: boolean;
}

interface Place {
  start?: number;
  end?: number;
}

/** Skip types that you do not know: later versions may have more. */
export type Event =
  | ({ type: "region_open"; field: string; captures?: Record<string, string> } & Place)
  | ({ type: "region_chunk"; field: string; text: string; dirty: boolean } & Place)
  | ({
      type: "region_close";
      field: string;
      value: unknown;
      json?: string;
      body?: [number, number];
      captures?: Record<string, string>;
    } & Place)
  | ({ type: "region_malformed"; field: string; text: string; reason: string; body?: [number, number] } & Place)
  | { type: "call_start"; field: string; index: number; name: string; id?: string }
  | { type: "call_arguments"; field: string; index: number; delta: string }
  | ({ type: "problem" } & Problem & Place);

/** What went wrong in the text. The documentation lists the kinds. */
export interface Problem {
  kind: string;
  field?: string;
  span?: [number, number];
  [key: string]: unknown;
}

export interface Finished {
  message: Record<string, any>;
  /** The message as JSON text, with the option `json`. */
  json?: string;
  events: Event[];
  /** The required fields that are absent. */
  missing: string[];
  malformed: { field: string; text: string; reason: string }[];
  problems: Problem[];
  notes: string[];
}

/** A delta of an OpenAI stream. */
export interface Delta {
  role?: "assistant";
  content?: string;
  reasoning_content?: string;
  tool_calls?: { index: number; id?: string; type?: "function"; function: { name?: string; arguments: string } }[];
}

/** Parses one message. */
export class Parser extends Owner {
  constructor(template: Template, options: Options);
  /** How many units of the prefix belong to the message: the text begins at this place of all events. */
  readonly prefixLength: number;
  /** The events of the prefix itself. */
  readonly initialEvents: Event[];
  /** Feeds more text. Half of a surrogate pair at its end waits for the other half. */
  feed(text: string): Event[];
  feedIds(ids: Iterable<number | bigint>): Event[];
  /** Ends the text. `cutOff`: the engine stopped at its limit of tokens, which deltas take into account. */
  finish(options?: { cutOff?: boolean }): Finished;
  /** The message so far: the regions that have closed. */
  readonly message: Record<string, any>;
  /** The deltas that are ready. Needs the option `chat`. */
  deltas(): Delta[];
  /** The finish reason of the last chunk. Needs the option `chat`. */
  readonly finishReason: "stop" | "tool_calls" | "length";
}

/** Parses a whole text, or all ids of an answer. */
export function parse(template: Template, output: string | Iterable<number | bigint>, options: Options): Finished;

/** Turns pieces of text into events; the last one is the message. */
export function eventStream(
  template: Template,
  options: Options,
): TransformStream<string, Event | ({ type: "message" } & Omit<Finished, "events">)>;

type Reason = string | null | undefined;

export interface Chunk {
  id: string;
  object: "chat.completion.chunk";
  created: number;
  model: string;
  choices: { index: number; delta: Delta; finish_reason: string | null }[];
  backchat?: { problems: Problem[] };
}

/**
 * Turns pieces of text into the chunks of OpenAI's protocol. `finishReason` returns the engine's, or a promise of it, once it
 * has ended. Without `callIdPrefix`, new ids of calls are those of no other answer.
 */
export function chunkStream(
  template: Template,
  options: Omit<Options, "chat"> & {
    chat?: "growing" | "whole" | null;
    model?: string | null;
    id?: string | null;
    finishReason?: (() => Reason | Promise<Reason>) | null;
  },
): TransformStream<string, Chunk>;

// Without this, everything above would be exported.
export {};
