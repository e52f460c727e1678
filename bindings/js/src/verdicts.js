// Which of the calls in the deltas are calls of the message.

/** What becomes of each call that the deltas have, by its number in them: the call of the message, or `null` if it has none. */
export class Verdicts {
  #list = [];
  // How many calls of the open region the parser began, and how many of those the deltas have.
  #begun = 0;
  #sent = 0;
  // Whether the arguments of the last call have not begun.
  #isBare = false;

  constructor(events) {
    this.add(events);
  }

  /** `undefined` if the parser has not read the region to its end. */
  of(part) {
    return this.#list[part?.index];
  }

  add(events, cutOff = false) {
    for (const event of events) {
      if (event.type === "call_start") {
        this.#begun++;
        this.#isBare = true;
      }
      if (event.type === "call_arguments") this.#grow(event.delta);
      if (event.field !== "tool_calls") continue;
      if (event.type === "region_close") this.#decide([event.value].flat());
      // What the engine's limit cut off is no call, even if a policy recovers it.
      else if (event.type === "region_malformed" || (cutOff && event.at_end)) this.#decide([]);
    }
  }

  /** As in the deltas: a call is sent once its arguments begin as an object, unless an earlier one waits. */
  #grow(delta) {
    if (this.#isBare && delta.startsWith("{") && this.#sent === this.#begun - 1) this.#sent++;
    this.#isBare = false;
  }

  /** Decides on the calls of the open region: all of them are calls of the message, or none is. */
  #decide(values) {
    const calls = values.map(callOf);
    const isWhole = !calls.includes(null);
    const fit = isWhole && calls.length === this.#begun;
    // The deltas give the numbers of calls that they did not send to later ones.
    const count = isWhole ? Math.max(calls.length, this.#sent) : this.#sent;
    for (let i = 0; i < count; i++) this.#list.push(fit ? calls[i] : null);
    this.#begun = this.#sent = 0;
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
