"use strict";
// Unpacks the parser, or runs it on one file or folder, which is read in pieces, by this worker alone:
// nothing here can reach a network. After the report it answers questions about the file, until
// the page ends it.
const unpacked = async ({ lzma, gzip }) => {
  if (lzma) return WebAssembly.compile(unlzma(lzma));
  const plain = new Blob([gzip]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(plain).arrayBuffer());
};
const reader = new FileReaderSync();
let read = 0; // bytes, of all files
let said = 0;
// bytesOf reads a file; what was read, and at which of all bytes of its source, is told to the page.
const bytesOf = (file, offset, length, before, id) => {
  read += length;
  const now = performance.now();
  if (now - said > 100) {
    said = now;
    self.postMessage({ id, read, at: before + offset });
  }
  return new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length)));
};
// sourceOf gives a file or a folder the form that the parser takes; id() is who asks.
const sourceOf = ({ name, file, files }, id) => {
  if (file) return { name, size: file.size, read: (offset, length) => bytesOf(file, offset, length, 0, id()) };
  let all = 0;
  const before = files.map(([, f]) => (all += f.size) - f.size);
  return { name, files: files.map(([path, f]) => ({ path, size: f.size })), read: (i, offset, length) => bytesOf(files[i][1], offset, length, before[i], id()) };
};
const answer = (text) => {
  if (text instanceof Error) throw text;
  return text;
};
let id = 0; // of what is asked
let parser; // its functions
const open = async ({ module, source }) => {
  const go = new Go();
  const ready = new Promise((resolve) => (self.anamnesisReady = resolve));
  const ended = go.run(await WebAssembly.instantiate(module, go.importObject)).then(() => {
    throw new Error("the parser ended");
  });
  parser = await Promise.race([ready, ended]);
  const from = sourceOf(source, () => id);
  const report = (judge) => answer(parser.report(from, judge));
  self.postMessage({ report: report(false) });
  self.postMessage({ report: report(true), done: true, read });
};
const act = {
  look: ({ index, whole }) => answer(parser.look(index, whole)),
  compare: ({ source }) => answer(parser.compare(sourceOf(source, () => id))),
};
self.onmessage = async ({ data }) => {
  try {
    if (data.ask) {
      id = data.id;
      read = 0;
      return self.postMessage({ id, answer: act[data.ask](data) });
    }
    if (data.module) return await open(data);
    self.postMessage({ module: await unpacked(data) });
  } catch (e) {
    self.postMessage({ id: data.id, error: String((e && e.message) || e) });
  }
};
