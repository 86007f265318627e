"use strict";
// Unpacks the parser, or runs it on one file. The file is read in pieces, by this worker alone:
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
// reads returns how the parser reads a file; what it read is told to the page.
const reads = (file, id) => (offset, length) => {
  read += length;
  const now = performance.now();
  if (now - said > 100) {
    said = now;
    self.postMessage({ id, read, at: offset });
  }
  return new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length)));
};
const answer = (text) => {
  if (text instanceof Error) throw text;
  return text;
};
let id = 0; // of what is asked
let parser; // its functions
const open = async ({ module, file }) => {
  const go = new Go();
  const ready = new Promise((resolve) => (self.anamnesisReady = resolve));
  const ended = go.run(await WebAssembly.instantiate(module, go.importObject)).then(() => {
    throw new Error("the parser ended");
  });
  parser = await Promise.race([ready, ended]);
  const at = (offset, length) => reads(file, id)(offset, length);
  const report = (judge) => answer(parser.report(file.name, file.size, at, judge));
  self.postMessage({ report: report(false) });
  self.postMessage({ report: report(true), done: true, read });
};
const act = {
  look: ({ index, whole }) => answer(parser.look(index, whole)),
  compare: ({ file }) => answer(parser.compare(file.name, file.size, reads(file, id))),
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
