"use strict";
// The page that reads files: each by a worker of its own, which is ended with it.
(() => {
  const { show, bytes, say, takes } = anamnesis;
  const text = (id) => Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  const workerURL = URL.createObjectURL(new Blob([text("worker")], { type: "text/javascript" }));
  const module = new Promise((resolve, reject) => {
    const first = new Worker(workerURL);
    const packed = document.getElementById("lzma") ? { lzma: text("lzma") } : { gzip: text("gzip") };
    first.onmessage = ({ data }) => {
      first.terminate();
      if (data.error) reject(new Error(data.error));
      else resolve(data.module);
    };
    first.onerror = (e) => reject(new Error(e.message || "the worker ended"));
    first.postMessage(packed);
  });
  const unpacked = module.catch((e) => say("This page could not unpack its parser: " + e.message));
  let worker = null;
  let asked = 0; // counts the files: only the last one is read

  function stop() {
    asked++;
    if (!worker) return false;
    worker.terminate();
    worker = null;
    return true;
  }

  async function open(file, more) {
    stop();
    const mine = asked;
    document.getElementById("view").hidden = true;
    say("Reading " + file.name);
    const compiled = await unpacked;
    if (!compiled || mine !== asked) return;
    const begun = performance.now();
    worker = new Worker(workerURL);
    worker.onmessage = ({ data }) => {
      if (data.error) {
        stop();
        return say("This page could not read the file: " + data.error);
      }
      if (data.report) show(JSON.parse(data.report));
      if (data.done) {
        stop();
        const took = (performance.now() - begun) / 1000;
        return say("Read " + bytes(data.read) + " in " + took.toFixed(1) + " s." + (more ? " One file at a time: of " + (more + 1) + " the first." : ""));
      }
      if (data.at !== undefined) say("Reading " + file.name + ": " + bytes(data.at) + " of " + bytes(file.size), data.at / Math.max(1, file.size));
    };
    worker.onerror = (e) => {
      e.preventDefault();
      stop();
      say("This page could not read the file: " + (e.message || "the worker ended"));
    };
    worker.postMessage({ module: compiled, file });
  }

  addEventListener("keydown", (e) => {
    if (e.key === "Escape" && !e.defaultPrevented && stop()) say("Stopped: the file was not read to its end.");
  });
  takes("What a model file is, and whether to trust it. Nothing is uploaded.", "The file stays on this computer: the page cannot reach a network.", open);
})();
