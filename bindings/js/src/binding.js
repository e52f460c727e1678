// The WebAssembly module: its memory, and the functions of backchat.h, which describes them. The layouts are those of
// 32-bit memory.

import inlined from "./module.js";

/** What went wrong: `code` is a status of backchat.h, `path` a place in the JSON that was loaded. */
export class BackchatError extends Error {
  constructor(message, { code, path, stage }) {
    super(message);
    this.name = "BackchatError";
    this.code = code;
    this.path = path;
    this.stage = stage;
  }
}

const TEXT_ABOVE = 48;
// The smallest room for texts in bytes, and the largest that is kept for the next text.
const LEAST_ROOM = 4096;
const KEPT_ROOM = 1 << 20;
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

let given;
let bound;

/** Passes the module, compiled or as bytes, where the inlined one cannot be compiled. Call it before anything else. */
export function init(module) {
  if (bound) throw new Error("backchat has started; call init before anything else");
  given = module;
}

export function binding() {
  bound ??= new Binding(given ?? decoded(inlined));
  return bound;
}

function decoded(base64) {
  if (Uint8Array.fromBase64) return Uint8Array.fromBase64(base64);
  if (globalThis.Buffer) return globalThis.Buffer.from(base64, "base64");
  return Uint8Array.from(atob(base64), (c) => c.charCodeAt(0));
}

/** Ids as the module reads them. */
export function listOfIds(ids) {
  return Uint32Array.from([...ids], (id) => {
    const number = typeof id === "bigint" ? Number(id) : id;
    if (Number.isInteger(number) && number >= 0 && number <= 0xffffffff) return number;
    const shown = typeof id === "string" ? JSON.stringify(id) : String(id);
    throw new TypeError(`${shown} is not a token id: expected an integer from 0 to 4294967295`);
  });
}

class Binding {
  constructor(source) {
    const module = source instanceof WebAssembly.Module ? source : new WebAssembly.Module(source);
    this.calls = new WebAssembly.Instance(module, {}).exports;
    this.memory = this.calls.memory;
    this.words = new Uint32Array(0);
    this.bytes = new Uint8Array(0);
    // Where calls write their results, and where texts are written for them.
    this.results = this.allocate(64);
    this.input = 0;
    this.room = 0;
    this.makeRoom(0);
    this.names = [];
  }

  /** Views of the memory end when it grows. */
  refresh() {
    if (this.bytes.byteLength === 0) {
      this.words = new Uint32Array(this.memory.buffer);
      this.bytes = new Uint8Array(this.memory.buffer);
    }
  }

  allocate(size) {
    // WebAssembly returns i32; an address above 2 GB would be negative.
    const at = this.calls.bc_memory_new(size) >>> 0;
    if (at === 0) throw new RangeError("backchat is out of memory");
    return at;
  }

  word(at) {
    return this.words[at >>> 2];
  }

  setWord(at, value) {
    this.words[at >>> 2] = value;
  }

  /** Writes a text into `input` as UTF-8; returns its length in bytes. A surrogate alone becomes U+FFFD. */
  put(text) {
    const length = text.length;
    this.makeRoom(3 * length);
    if (length <= TEXT_ABOVE) {
      const { bytes, input } = this;
      let i = 0;
      for (let c; i < length && (c = text.charCodeAt(i)) < 128; i++) bytes[input + i] = c;
      if (i === length) return length;
    }
    return encoder.encodeInto(text, this.bytes.subarray(this.input, this.input + this.room)).written;
  }

  /** Writes ids into `input`; returns how many there are. */
  putIds(ids) {
    const list = listOfIds(ids);
    this.makeRoom(4 * list.length);
    this.words.set(list, this.input >>> 2);
    return list.length;
  }

  /** Ensures `size` bytes in `input`. The old room is freed first, so both never exist at once. */
  makeRoom(size) {
    if (size >= this.room || this.room > KEPT_ROOM) {
      this.calls.bc_memory_free(this.input, this.room);
      [this.input, this.room] = [0, 0];
      const room = Math.max(size, LEAST_ROOM);
      this.input = this.allocate(room);
      this.room = room;
    }
    this.refresh();
  }

  text(at, length) {
    const { bytes } = this;
    if (length <= TEXT_ABOVE) {
      let text = "";
      let i = at;
      const end = at + length;
      for (let c; i < end && (c = bytes[i]) < 128; i++) text += String.fromCharCode(c);
      if (i === end) return text;
    }
    return decoder.decode(bytes.subarray(at, at + length));
  }

  /** A text that has been seen before, most likely: the name of a field. */
  name(at, length) {
    const { bytes, names } = this;
    search: for (const name of names) {
      if (name.length !== length) continue;
      for (let i = 0; i < length; i++) if (bytes[at + i] !== name.charCodeAt(i)) continue search;
      return name;
    }
    const name = this.text(at, length);
    // A name that is not ASCII never matches its bytes.
    if (name.length === length) {
      if (names.length >= 16) names.length = 0;
      names.push(name);
    }
    return name;
  }

  textAt(at) {
    return this.text(this.word(at), this.word(at + 4));
  }

  /** Throws the error of a call that failed. */
  check(status) {
    this.refresh();
    if (status < 0) {
      this.calls.bc_last_error(this.results);
      this.refresh();
      const [message, path, stage] = [4, 12, 20].map((offset) => this.textAt(this.results + offset));
      throw new BackchatError(message, { code: status, path, stage });
    }
  }

  /** A handle that a call makes. The call gets the place for it. */
  make(call) {
    this.check(call(this.results));
    return this.word(this.results);
  }

  /** A text that a call gives. */
  answer(call, handle) {
    this.check(call(handle, this.results));
    return this.textAt(this.results);
  }
}
