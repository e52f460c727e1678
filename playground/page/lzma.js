// Unpacks a file in LZMA's own format, `.lzma`, with its length in the header. The module is a quarter smaller in it than in
// any format that all browsers unpack natively.
const unpackLzma = (packed) => {
  const head = new DataView(packed.buffer, packed.byteOffset);
  const contextBits = packed[0] % 9;
  const placeMask = (1 << (Math.floor(packed[0] / 9) % 5)) - 1;
  const positionMask = (1 << Math.floor(packed[0] / 45)) - 1;
  const size = head.getUint32(5, true);
  const out = new Uint8Array(size);

  // The range coder: its range, its code, and the position of the next byte. Each bit is read with an adaptive probability of
  // being 0, in 2048ths. Numbers above 2^31 would be heap objects in closures, but not in a typed array.
  const now = Uint32Array.of(0xffffffff, head.getUint32(14), 18);
  const even = (count) => new Uint16Array(count).fill(1024);
  const bit = (chances, at) => {
    const chance = chances[at];
    let range = now[0];
    let code = now[1];
    const bound = Math.imul(range >>> 11, chance) >>> 0;
    let value = 0;
    if (code < bound) {
      range = bound;
      chances[at] = chance + ((2048 - chance) >> 5);
    } else {
      range = (range - bound) >>> 0;
      code = (code - bound) >>> 0;
      chances[at] = chance - (chance >> 5);
      value = 1;
    }
    if (range < 0x1000000) {
      range <<= 8;
      code = (code << 8) | packed[now[2]++];
    }
    now[0] = range;
    now[1] = code;
    return value;
  };
  // Reads bits, the highest first, each with a separate probability for every value of the bits before it.
  const tree = (chances, base, bits) => {
    let node = 1;
    for (let i = 0; i < bits; i++) node = (node << 1) | bit(chances, base + node);
    return node - (1 << bits);
  };
  // Reads bits, the lowest first.
  const reverseTree = (chances, base, bits) => {
    let node = 1;
    let value = 0;
    for (let i = 0; i < bits; i++) {
      const read = bit(chances, base + node);
      node = (node << 1) | read;
      value |= read << i;
    }
    return value;
  };
  const evenBits = (count) => {
    let value = 0;
    for (let i = 0; i < count; i++) {
      now[0] >>>= 1;
      const read = now[1] >= now[0] ? 1 : 0;
      if (read) now[1] -= now[0];
      value = (value << 1) | read;
      if (now[0] < 0x1000000) {
        now[0] <<= 8;
        now[1] = (now[1] << 8) | packed[now[2]++];
      }
    }
    return value;
  };

  // The probabilities of lengths: two choices, then a tree of 3 bits for each position, or of 8 bits for all.
  const lengths = () => ({ choices: even(2), low: even(16 << 3), middle: even(16 << 3), high: even(256) });
  const length = ({ choices, low, middle, high }, position) => {
    if (!bit(choices, 0)) return 2 + tree(low, position << 3, 3);
    if (!bit(choices, 1)) return 10 + tree(middle, position << 3, 3);
    return 18 + tree(high, 0, 8);
  };

  const literals = even(0x300 << (contextBits + Math.floor(packed[0] / 9) % 5));
  const [isMatch, isLongRepeat] = [even(12 << 4), even(12 << 4)];
  const [isRepeat, isOlder, isThird, isFourth] = [even(12), even(12), even(12), even(12)];
  const [slots, near, far] = [even(4 << 6), even(128), even(16)];
  const [matchLengths, repeatLengths] = [lengths(), lengths()];
  // The last item, of 12 kinds; below 7 it was a literal.
  let state = 0;
  let [first, second, third, fourth] = [0, 0, 0, 0];
  let at = 0;
  while (at < size) {
    const position = at & positionMask;
    if (!bit(isMatch, (state << 4) + position)) {
      const before = at ? out[at - 1] : 0;
      const base = 0x300 * (((at & placeMask) << contextBits) + (before >> (8 - contextBits)));
      let symbol = 1;
      if (state >= 7) {
        // After a match, the byte that would have followed in it is unlikely.
        let expected = out[at - first - 1];
        while (symbol < 0x100) {
          const likely = (expected >> 7) & 1;
          expected <<= 1;
          const read = bit(literals, base + ((1 + likely) << 8) + symbol);
          symbol = (symbol << 1) | read;
          if (read !== likely) break;
        }
      }
      while (symbol < 0x100) symbol = (symbol << 1) | bit(literals, base + symbol);
      out[at++] = symbol;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let count = 1;
    if (bit(isRepeat, state)) {
      if (!bit(isOlder, state)) {
        if (!bit(isLongRepeat, (state << 4) + position)) {
          out[at] = out[at - first - 1];
          at++;
          state = state < 7 ? 9 : 11;
          continue;
        }
      } else if (!bit(isThird, state)) [first, second] = [second, first];
      else if (!bit(isFourth, state)) [first, second, third] = [third, first, second];
      else [first, second, third, fourth] = [fourth, first, second, third];
      count = length(repeatLengths, position);
      state = state < 7 ? 8 : 11;
    } else {
      [second, third, fourth] = [first, second, third];
      count = length(matchLengths, position);
      state = state < 7 ? 7 : 10;
      const slot = tree(slots, Math.min(count - 2, 3) << 6, 6);
      first = slot;
      if (slot >= 4) {
        const bits = (slot >> 1) - 1;
        first = (2 | (slot & 1)) << bits;
        if (slot < 14) first += reverseTree(near, first - slot, bits);
        else first += (evenBits(bits - 4) << 4) + reverseTree(far, 0, 4);
      }
    }
    if (first >= at) throw new Error("the module is damaged");
    for (const end = Math.min(at + count, size); at < end; at++) out[at] = out[at - first - 1];
  }
  return out;
};
