"use strict";
// Unpacks the parser, which is packed as .lzma: browsers have gzip, and that is half as
// large again. The size stands in the header; what follows the last byte is not read.
const unlzma = (data) => {
  const view = new DataView(data.buffer, data.byteOffset);
  const size = Number(view.getBigUint64(5, true));
  const lc = data[0] % 9;
  const lp = Math.floor(data[0] / 9) % 5;
  const pb = Math.floor(data[0] / 45);
  const out = new Uint8Array(size);

  // Chances that the next bit is 0, of 2048, one table for all kinds of bits.
  let used = 0;
  const table = (n) => (used += n) - n;
  const isMatch = table(12 << 4);
  const isRep = table(12);
  const isRep0 = table(12);
  const isRep1 = table(12);
  const isRep2 = table(12);
  const isLong = table(12 << 4);
  const slots = table(4 << 6);
  const middle = table(128);
  const align = table(16);
  const lengths = [0, 0].map(() => ({ choice: table(2), low: table(16 << 3), mid: table(16 << 3), high: table(256) }));
  const literals = table(0x300 << (lc + lp));
  const chance = new Uint16Array(used).fill(1024);

  let at = 18; // 13 bytes of header, 5 that start the range coder
  let range = -1;
  let code = view.getUint32(14);
  const bit = (i) => {
    const p = chance[i];
    const bound = Math.imul(range >>> 11, p);
    let b = 0;
    if (code >>> 0 < bound >>> 0) {
      range = bound;
      chance[i] = p + ((2048 - p) >> 5);
    } else {
      range -= bound;
      code -= bound;
      chance[i] = p - (p >> 5);
      b = 1;
    }
    if (range >>> 24 === 0) {
      range <<= 8;
      code = (code << 8) | data[at++];
    }
    return b;
  };
  const tree = (base, bits) => {
    let m = 1;
    for (let k = 0; k < bits; k++) m = (m << 1) | bit(base + m);
    return m - (1 << bits);
  };
  const backwards = (base, bits) => {
    let m = 1;
    let n = 0;
    for (let k = 0; k < bits; k++) {
      const b = bit(base + m);
      m = (m << 1) | b;
      n |= b << k;
    }
    return n;
  };
  const direct = (bits) => {
    let n = 0;
    for (let k = 0; k < bits; k++) {
      range >>>= 1;
      const b = code >>> 0 >= range >>> 0 ? 1 : 0;
      if (b) code -= range;
      n = (n << 1) | b;
      if (range >>> 24 === 0) {
        range <<= 8;
        code = (code << 8) | data[at++];
      }
    }
    return n;
  };
  const length = (of, place) => {
    if (!bit(of.choice)) return 2 + tree(of.low + (place << 3), 3);
    if (!bit(of.choice + 1)) return 10 + tree(of.mid + (place << 3), 3);
    return 18 + tree(of.high, 8);
  };
  const distance = (len) => {
    const slot = tree(slots + (Math.min(len - 2, 3) << 6), 6);
    if (slot < 4) return slot;
    const bits = (slot >> 1) - 1;
    const base = (2 | (slot & 1)) << bits;
    if (slot < 14) return base + backwards(middle + base - slot, bits);
    return base + (direct(bits - 4) << 4) + backwards(align, 4);
  };

  let state = 0;
  let pos = 0;
  let [r0, r1, r2, r3] = [0, 0, 0, 0];
  while (pos < size) {
    if (at > data.length) throw new Error("the packed parser is cut off");
    const place = pos & ((1 << pb) - 1);
    if (!bit(isMatch + (state << 4) + place)) {
      const before = pos ? out[pos - 1] : 0;
      const base = literals + 0x300 * (((pos & ((1 << lp) - 1)) << lc) + (before >> (8 - lc)));
      let m = 1;
      if (state >= 7) {
        // After a match the byte that would have followed it says what this one is not.
        let other = out[pos - r0 - 1];
        while (m < 256) {
          const o = (other >> 7) & 1;
          other <<= 1;
          const b = bit(base + ((1 + o) << 8) + m);
          m = (m << 1) | b;
          if (b !== o) break;
        }
      }
      while (m < 256) m = (m << 1) | bit(base + m);
      out[pos++] = m;
      state = state < 4 ? 0 : state < 10 ? state - 3 : state - 6;
      continue;
    }
    let len = 1;
    if (!bit(isRep + state)) {
      len = length(lengths[0], place);
      [r3, r2, r1] = [r2, r1, r0];
      r0 = distance(len);
      state = state < 7 ? 7 : 10;
    } else {
      // One of the last four distances; of the last itself, perhaps one byte alone.
      const far = bit(isRep0 + state);
      if (!far && !bit(isLong + (state << 4) + place)) {
        state = state < 7 ? 9 : 11;
      } else {
        if (far && !bit(isRep1 + state)) [r1, r0] = [r0, r1];
        else if (far && !bit(isRep2 + state)) [r2, r1, r0] = [r1, r0, r2];
        else if (far) [r3, r2, r1, r0] = [r2, r1, r0, r3];
        len = length(lengths[1], place);
        state = state < 7 ? 8 : 11;
      }
    }
    const from = pos - r0 - 1;
    if (from < 0 || pos + len > size) throw new Error("the packed parser is damaged");
    for (let k = 0; k < len; k++) out[pos + k] = out[from + k];
    pos += len;
  }
  return out;
};
