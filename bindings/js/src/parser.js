// Response templates, and the streaming parser that reads a model's output with them.

import { binding } from "./binding.js";
import { Offsets, endOfBytes } from "./offsets.js";
import { choice, withOptions } from "./options.js";

const FREED = new FinalizationRegistry((handle) => binding().calls.bc_free(handle));
const POLICIES = ["exact", "either"];
const HANDLE = Symbol("handle");
const FOR_IDS = Symbol("for ids");

/** What has memory in the module, which is freed with it, or by `free`. */
class Owner {
  constructor(handle) {
    this[HANDLE] = handle;
    FREED.register(this, handle, this);
  }

  free() {
    FREED.unregister(this);
    binding().calls.bc_free(this[HANDLE]);
    this[HANDLE] = 0;
  }

  [Symbol.dispose ?? Symbol("dispose")]() {
    this.free();
  }
}

/** The handle of an argument, which has to be an object of this class that was not freed. */
function handleOf(given, kind, name) {
  if (!(given instanceof kind)) throw new TypeError(`${name} must be a ${kind.name}`);
  if (given[HANDLE] === 0) throw new TypeError(`${name} was freed`);
  return given[HANDLE];
}

function loaded(json, load) {
  const module = binding();
  const text = typeof json === "string" ? json : JSON.stringify(json);
  if (text === undefined) throw new TypeError(`pass JSON, as a text or as an object, instead of ${String(json)}`);
  const length = module.put(text);
  return module.make((place) => module.calls[load](module.input, length, place));
}

/** A response template, from its JSON or an object. */
export class Template extends Owner {
  constructor(json) {
    super(json?.[FOR_IDS] ?? loaded(json, "bc_template_load"));
    this[FOR_IDS] = json?.[FOR_IDS] !== undefined;
  }

  /** The template for parsers of ids. `policy` is "exact" or "either". */
  withTokens(tokens, policy) {
    const module = binding();
    const number = choice("policy", policy ?? "exact", POLICIES);
    const template = handleOf(this, Template, "the template");
    const handle = handleOf(tokens, Tokens, "`tokens`");
    const call = (place) => module.calls.bc_template_with_tokens(template, handle, number, place);
    return new Template({ [FOR_IDS]: module.make(call) });
  }
}

/** The text of each id of a tokenizer, from its `tokenizer.json`. */
export class Tokens extends Owner {
  constructor(json) {
    super(loaded(json, "bc_tokens_load"));
  }
}

/** The tools of a request, prepared for many parsers. */
export class Tools extends Owner {
  constructor(json) {
    super(loaded(json, "bc_tools_load"));
  }
}

/** Parses one message. */
export class Parser extends Owner {
  #module = binding();
  #keepsJson;
  #offsets = null;
  // A surrogate at the end of the text so far, which waits for its other half.
  #surrogate = "";
  // How many bytes were fed, with the part of the prefix that belongs to the message.
  #fed;

  constructor(template, options = {}) {
    const { prefix, promptIds, tools, spans = false, json = false } = options;
    if (spans && template?.[FOR_IDS]) throw new TypeError("option `spans`: a parser of ids has no places in text");
    super(begin(template, prefix, promptIds, tools, options));
    this.#keepsJson = json;
    const module = this.#module;
    module.check(module.calls.bc_parser_prefix_length(this.#handle, module.results));
    this.#fed = module.word(module.results);
    if (spans) {
      this.#offsets = new Offsets();
      this.#offsets.add(endOfBytes(prefix.toWellFormed?.() ?? prefix, this.#fed));
    }
    /** How many units of the prefix belong to the message: the text begins at this place of all events. */
    this.prefixLength = this.#place(this.#fed);
    /** The events of the prefix itself. */
    this.initialEvents = this.#events("", -1);
  }

  get #handle() {
    return handleOf(this, Parser, "the parser");
  }

  /** Feeds more text; returns its events. */
  feed(text) {
    if (this.#surrogate !== "") {
      text = this.#surrogate + text;
      this.#surrogate = "";
    }
    const last = text.charCodeAt(text.length - 1);
    if (last >= 0xd800 && last < 0xdc00) {
      this.#surrogate = text[text.length - 1];
      text = text.slice(0, -1);
    }
    return this.#feed(text);
  }

  #feed(text) {
    const module = this.#module;
    const length = module.put(text);
    this.#offsets?.add(text);
    module.check(module.calls.bc_parser_feed(this.#handle, module.input, length, 0, 0));
    const start = this.#fed;
    this.#fed += length;
    return this.#events(text, length === text.length ? start : -1);
  }

  /** Feeds more ids; returns their events. */
  feedIds(ids) {
    const module = this.#module;
    const count = module.putIds(ids);
    module.check(module.calls.bc_parser_feed_ids(this.#handle, module.input, count, 0, 0));
    return this.#events("", -1);
  }

  /** Ends the text; returns the message, the last events, and what makes the message doubtful. */
  finish({ cutOff = false } = {}) {
    const events = [];
    if (this.#surrogate !== "") {
      this.#surrogate = "";
      events.push(...this.#feed("\ufffd"));
    }
    const module = this.#module;
    module.check(module.calls.bc_parser_finish(this.#handle, Number(cutOff), 0, 0));
    events.push(...this.#events("", -1));
    const json = module.answer(module.calls.bc_parser_message, this.#handle);
    const report = JSON.parse(module.answer(module.calls.bc_parser_report, this.#handle));
    const { missing = [], malformed = [], problems = [], notes = [] } = report;
    for (const problem of problems) this.#locate(problem);
    const finished = { message: JSON.parse(json), events, missing, malformed, problems, notes };
    return this.#keepsJson ? { ...finished, json } : finished;
  }

  /** The message so far: the regions that have closed. */
  get message() {
    return JSON.parse(this.#module.answer(this.#module.calls.bc_parser_message, this.#handle));
  }

  /** The deltas of an OpenAI stream that are ready. Needs the option `chat`. */
  deltas() {
    const module = this.#module;
    const deltas = [];
    for (;;) {
      const delta = module.answer(module.calls.bc_parser_chat_delta, this.#handle);
      if (delta === "") return deltas;
      deltas.push(JSON.parse(delta));
    }
  }

  /** The finish reason of the last chunk. Needs the option `chat`. */
  get finishReason() {
    return this.#module.answer(this.#module.calls.bc_parser_finish_reason, this.#handle);
  }

  #place(bytes) {
    return this.#offsets === null ? bytes : this.#offsets.at(bytes);
  }

  /** Turns the bytes of a problem's span into units; without `spans` they are unknown. */
  #locate(problem) {
    if (this.#offsets === null) delete problem.span;
    else problem.span = problem.span.map((place) => this.#place(place));
  }

  /** The events of the last call. A chunk that is the whole text at this place needs no copy. */
  #events(fed, place) {
    const module = this.#module;
    const { results } = module;
    module.check(module.calls.bc_parser_events(this.#handle, results, results + 4));
    const count = module.word(results + 4);
    if (count === 0) return [];
    const list = module.word(results);
    const events = new Array(count);
    for (let i = 0; i < count; i++) events[i] = this.#event(module.word(list + 4 * i), fed, place);
    return events;
  }

  #event(at, fed, place) {
    const module = this.#module;
    const field = module.name(module.word(at + 8), module.word(at + 12));
    const kind = module.word(at);
    let event;
    if (kind === 1) {
      const length = module.word(at + 20);
      const isWhole = length === fed.length && module.word(at + 44) === place;
      const text = isWhole ? fed : module.text(module.word(at + 16), length);
      event = { type: "region_chunk", field, text, dirty: module.word(at + 4) === 1 };
    } else {
      event = this.#other(kind, field, at);
    }
    if (this.#offsets !== null && kind !== 4 && kind !== 5) this.#addPlaces(event, kind, at);
    return event;
  }

  #other(kind, field, at) {
    const module = this.#module;
    const [text, detail, value] = [16, 24, 32].map((offset) => module.textAt(at + offset));
    const index = module.word(at + 40);
    switch (kind) {
      case 0:
        return { type: "region_open", field };
      case 2: {
        const event = { type: "region_close", field, value: JSON.parse(value) };
        return this.#keepsJson ? { ...event, json: value } : event;
      }
      case 3:
        return { type: "region_malformed", field, text, reason: detail };
      case 4:
        return detail === ""
          ? { type: "call_start", field, index, name: text }
          : { type: "call_start", field, index, name: text, id: detail };
      case 5:
        return { type: "call_arguments", field, index, delta: text };
      default:
        return { type: "problem", ...JSON.parse(value) };
    }
  }

  #addPlaces(event, kind, at) {
    const module = this.#module;
    const [start, end, from, to] = [44, 48, 52, 56].map((offset) => this.#place(module.word(at + offset)));
    event.start = start;
    event.end = end;
    if (kind === 2 || kind === 3) event.body = [from, to];
    if (kind === 0 || kind === 2) {
      event.captures = {};
      const list = module.word(at + 60);
      for (let i = 0; i < module.word(at + 64); i++) {
        event.captures[module.textAt(list + 16 * i)] = module.textAt(list + 16 * i + 8);
      }
    }
  }
}

function begin(template, prefix, promptIds, tools, options) {
  if (!promptIds && typeof prefix !== "string") {
    throw new TypeError('pass the end of the prompt as the option `prefix`, or "" if the output has the whole message');
  }
  const module = binding();
  const handle = handleOf(template, Template, "`template`");
  const ownTools = tools === undefined || tools === null || tools instanceof Tools ? null : new Tools(tools);
  const toolsHandle = tools === undefined || tools === null ? 0 : handleOf(ownTools ?? tools, Tools, "option `tools`");
  try {
    return withOptions(module, options, toolsHandle, (at) => {
      if (!promptIds) {
        const length = module.put(prefix);
        return module.make((to) => module.calls.bc_parser_new(handle, module.input, length, at, to));
      }
      const count = module.putIds(promptIds);
      return module.make((to) => module.calls.bc_parser_new_after_ids(handle, module.input, count, at, to));
    });
  } finally {
    ownTools?.free();
  }
}

/** Parses a whole text, or all ids of an answer. */
export function parse(template, output, options = {}) {
  const parser = new Parser(template, options);
  try {
    const events = [...parser.initialEvents, ...(typeof output === "string" ? parser.feed(output) : parser.feedIds(output))];
    const finished = parser.finish();
    return { ...finished, events: [...events, ...finished.events] };
  } finally {
    parser.free();
  }
}
