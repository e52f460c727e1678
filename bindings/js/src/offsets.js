// Places in UTF-16 units, which JavaScript counts in, from places in bytes of UTF-8.

/** The places of a text that grows. A text in ASCII needs no memory here. */
export class Offsets {
  #bytes = 0;
  #units = 0;
  // Where each character that is not ASCII ends, in bytes, and how many units fewer than bytes there are until then.
  #ends = [];
  #fewer = [];

  add(text) {
    for (let i = 0; i < text.length; i++) {
      const c = text.charCodeAt(i);
      this.#bytes++;
      this.#units++;
      if (c < 128) continue;
      const isPair = c >= 0xd800 && c < 0xdc00 && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00;
      if (isPair) {
        this.#units++;
        i++;
      }
      this.#bytes += isPair ? 3 : c < 0x800 ? 1 : 2;
      this.#ends.push(this.#bytes);
      this.#fewer.push(this.#bytes - this.#units);
    }
  }

  /** The place in units of a place in bytes. */
  at(place) {
    let [low, high] = [0, this.#ends.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#ends[middle] <= place) low = middle + 1;
      else high = middle;
    }
    return place - (low > 0 ? this.#fewer[low - 1] : 0);
  }
}

/** The end of a text that has so many bytes as UTF-8. */
export function endOfBytes(text, bytes) {
  let start = text.length;
  while (bytes > 0 && start > 0) {
    const c = text.codePointAt(--start);
    const isLow = (c & 0xfc00) === 0xdc00 && start > 0 && (text.charCodeAt(start - 1) & 0xfc00) === 0xd800;
    if (isLow) start--;
    bytes -= isLow ? 4 : c < 128 ? 1 : c < 0x800 ? 2 : 3;
  }
  return text.slice(start);
}
