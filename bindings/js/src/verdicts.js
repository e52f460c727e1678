// Which of the calls that a parser began are calls of the message.

/** What the parser says of each call that it began: the call of the message, or `null` if the message has none. */
export class Verdicts {
  #list = [];
  // Where the calls of the open region begin.
  #region = 0;

  constructor(events) {
    this.add(events);
  }

  /** `undefined` if the parser has not read the region to its end. */
  of(part) {
    return this.#list[part?.index];
  }

  add(events, cutOff = false) {
    for (const event of events) {
      if (event.type === "region_open") this.#region = this.#list.length;
      if (event.type === "call_start") this.#list[event.index] = undefined;
      if (event.field !== "tool_calls") continue;
      if (event.type === "region_close") this.#decide([event.value].flat());
      // What the engine's limit cut off is no call, even if a policy recovers it.
      else if (event.type === "region_malformed" || (cutOff && event.at_end)) this.#decide([]);
    }
  }

  /** Decides on the calls of the open region: all of them are calls of the message, or none is. */
  #decide(values) {
    const calls = values.map(callOf);
    const fit = calls.length === this.#list.length - this.#region && !calls.includes(null);
    for (let i = this.#region; i < this.#list.length; i++) this.#list[i] = fit ? calls[i - this.#region] : null;
    this.#region = this.#list.length;
  }
}

/** A call of the message, with its arguments as an object; `null` if it has none. Null stands for no arguments. */
function callOf(value) {
  const { name, arguments: given } = value?.function ?? {};
  const read = typeof given === "string" ? parsed(given) : given === null ? {} : given;
  const isObject = typeof read === "object" && read !== null && !Array.isArray(read);
  return typeof name === "string" && name !== "" && isObject ? { name, arguments: read } : null;
}

/** The value of a JSON text; `undefined` if it is not one. */
export function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
