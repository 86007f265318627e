"use strict";
// Unpacks the parser, or runs it on one file, and ends with it. The file is read in
// pieces, by this worker alone: nothing here can reach a network.
const unpacked = async ({ lzma, gzip }) => {
  if (lzma) return WebAssembly.compile(unlzma(lzma));
  const plain = new Blob([gzip]).stream().pipeThrough(new DecompressionStream("gzip"));
  return WebAssembly.compile(await new Response(plain).arrayBuffer());
};
self.onmessage = async ({ data }) => {
  const { module, file } = data;
  if (!module) {
    return unpacked(data).then(
      (made) => self.postMessage({ module: made }),
      (e) => self.postMessage({ error: String((e && e.message) || e) }),
    );
  }
  const go = new Go();
  const reader = new FileReaderSync();
  let read = 0;
  let said = 0;
  const at = (offset, length) => {
    read += length;
    const now = performance.now();
    if (now - said > 100) {
      said = now;
      self.postMessage({ read, at: offset });
    }
    return new Uint8Array(reader.readAsArrayBuffer(file.slice(offset, offset + length)));
  };
  const ready = new Promise((resolve) => (self.anamnesisReady = resolve));
  const ended = go.run(await WebAssembly.instantiate(module, go.importObject)).then(() => {
    throw new Error("the parser ended");
  });
  const report = (judge) => {
    const text = self.anamnesisReport(file.name, file.size, at, judge);
    if (text instanceof Error) throw text;
    return text;
  };
  try {
    await Promise.race([ready, ended]);
    self.postMessage({ report: report(false) });
    self.postMessage({ report: report(true), done: true, read });
  } catch (e) {
    self.postMessage({ error: String((e && e.message) || e) });
  }
};
