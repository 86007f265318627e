// Reads model files that nobody vouches for, in Node and in browsers: the parser and the gate of
// anamnesis, compiled to WebAssembly. Nothing of a file is run, and no network is used.
import { load } from "./runtime.js";

const node = typeof process !== "undefined" && !!process.versions?.node;

let compiled;
const compile = () =>
  (compiled ??= (async () => {
    const url = new URL("./anamnesis.wasm", import.meta.url);
    if (!node) return WebAssembly.compileStreaming(fetch(url));
    const { readFile } = await import("node:fs/promises");
    return WebAssembly.compile(await readFile(url));
  })().catch((e) => ((compiled = undefined), Promise.reject(e))));

// All that the program can reach: types, a clock and random numbers. No network, no files.
const scope = () => ({
  Object, Array, Function, String, Number, Boolean, Symbol, BigInt, Math, JSON, Date, Promise, Proxy, Reflect, Map, Set, Error, TypeError, RangeError,
  ArrayBuffer, DataView, Uint8Array, Uint8ClampedArray, Int8Array, Uint16Array, Int16Array, Uint32Array, Int32Array, Float32Array, Float64Array, BigInt64Array, BigUint64Array,
  TextEncoder, TextDecoder, crypto: globalThis.crypto, performance: globalThis.performance,
});

async function start() {
  const inner = scope();
  load(inner);
  const go = new inner.Go();
  const ready = new Promise((resolve) => (inner.anamnesisReady = resolve));
  const ended = go.run(await WebAssembly.instantiate(await compile(), go.importObject)).then(() => Promise.reject(new Error("the parser ended")));
  ended.catch(() => {});
  const parser = await Promise.race([ready, ended]);
  const end = () => {
    parser.end();
    for (const timer of go._scheduledTimeouts.values()) clearTimeout(timer); // of accounts that would have ended
  };
  return { ...parser, end };
}

// What can be read: bytes, a path (Node), an object with size and read(offset, length), or one with
// files and read(index, offset, length).
async function sourceOf(source) {
  if (typeof source === "string" || source instanceof URL) {
    if (!node) throw new TypeError("a path can be read in Node alone: give bytes, or size and read");
    const { openSync, fstatSync, readSync, closeSync } = await import("node:fs");
    const { fileURLToPath } = await import("node:url");
    const path = source instanceof URL ? fileURLToPath(source) : source;
    const fd = openSync(path, "r");
    const stat = fstatSync(fd);
    if (!stat.isFile()) {
      closeSync(fd);
      throw new TypeError(path + " is not a regular file");
    }
    const read = (offset, length) => {
      const p = new Uint8Array(length);
      let n = 0;
      while (n < length) {
        const k = readSync(fd, p, n, length - n, offset + n);
        if (k === 0) break;
        n += k;
      }
      return p.subarray(0, n);
    };
    return { name: path.split(/[\\/]/).pop(), size: stat.size, read, close: () => closeSync(fd) };
  }
  if (source instanceof ArrayBuffer) source = new Uint8Array(source);
  if (ArrayBuffer.isView(source)) {
    const bytes = new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
    return { name: "", size: bytes.length, read: (offset, length) => bytes.slice(offset, offset + length), close() {} };
  }
  if (source && typeof source.read === "function" && Number.isSafeInteger(source.size) && source.size >= 0) return { name: source.name || "", size: source.size, read: source.read, close() {} };
  if (source && typeof source.read === "function" && Array.isArray(source.files)) return { name: source.name || "", files: source.files, read: source.read, close() {} };
  throw new TypeError("give bytes, a path, or an object with size and read(offset, length)");
}

const answer = (text) => {
  if (text instanceof Error) throw text;
  return JSON.parse(text);
};

/** A file that was read. Only `accepted` says that a gate accepted it. */
export class Model {
  #parser;
  #source;
  constructor(parser, source, report) {
    this.#parser = parser;
    this.#source = source;
    this.report = report;
  }
  get accepted() {
    return this.report.verdict.judged === true && this.report.verdict.accepted === true;
  }
  get tensors() {
    return this.report.tensors.map(([name, type, shape, bytes, offset, part]) => ({ name, type: this.report.types[type], shape, bytes, offset, part }));
  }
  #open() {
    if (!this.#parser) throw new Error("the model is closed");
    return this.#parser;
  }
  /** The numbers of a tensor: of a sample, or of all of it. */
  look(name, { whole = false } = {}) {
    const index = this.report.tensors.findIndex((t) => t[0] === name);
    if (index < 0) throw new RangeError("there is no tensor " + JSON.stringify(name));
    return answer(this.#open().look(index, whole));
  }
  /** How far the numbers of another file are from those of this one: both are read to their ends. */
  async compare(other) {
    const parser = this.#open();
    const source = await sourceOf(other);
    try {
      return answer(parser.compare(source));
    } finally {
      source.close();
    }
  }
  close() {
    if (!this.#parser) return;
    this.#parser.end();
    this.#source.close();
    this.#parser = this.#source = undefined;
  }
  [Symbol.dispose ?? Symbol.for("Symbol.dispose")]() {
    this.close();
  }
}

/** Reads and judges a file. A file that is refused is no error: see `accepted` and `report`. */
export async function open(source, { name } = {}) {
  const from = await sourceOf(source);
  try {
    const parser = await start();
    from.name = name ?? from.name;
    const report = answer(parser.report(from, false));
    const judged = answer(parser.report(from, true));
    for (const part of ["verdict", "globals", "programs", "files"]) report[part] = judged[part];
    report.format ||= judged.format;
    return new Model(parser, from, report);
  } catch (e) {
    from.close();
    throw e;
  }
}
