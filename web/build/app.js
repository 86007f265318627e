"use strict";
// The page that reads files: each by a worker of its own, which is ended with it.
(() => {
  const { show, bytes, say, takes } = anamnesis;
  const text = (id) => Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  const workerURL = URL.createObjectURL(new Blob([text("worker")], { type: "text/javascript" }));
  const module = new Response(new Blob([text("wasm")]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer().then((b) => WebAssembly.compile(b));
  let worker = null;

  async function open(file, more) {
    if (worker) worker.terminate();
    document.getElementById("view").hidden = true;
    say("Reading " + file.name);
    const compiled = await module;
    const begun = performance.now();
    worker = new Worker(workerURL);
    worker.onmessage = ({ data }) => {
      if (data.error) {
        worker.terminate();
        return say("This page could not read the file: " + data.error);
      }
      if (data.report) show(JSON.parse(data.report));
      if (data.done) {
        worker.terminate();
        const took = (performance.now() - begun) / 1000;
        return say("Read " + bytes(data.read) + " in " + took.toFixed(1) + " s." + (more ? " One file at a time: of " + (more + 1) + " the first." : ""));
      }
      if (data.at !== undefined) say("Reading " + file.name + ": " + bytes(data.at) + " of " + bytes(file.size), data.at / Math.max(1, file.size));
    };
    worker.onerror = (e) => {
      e.preventDefault();
      worker.terminate();
      say("This page could not read the file: " + (e.message || "the worker ended"));
    };
    worker.postMessage({ module: compiled, file });
  }

  takes("What a model file is, and whether to trust it. Nothing is uploaded.", "The file stays on this computer: the page cannot reach a network.", open);
})();
