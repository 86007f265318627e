"use strict";
// The page that reads files and folders: each by a worker of its own, which answers questions about
// it until another takes its place.
(() => {
  const { show, judged, beside, bytes, say, takes } = anamnesis;
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
  let reading = false; // a file is read from its beginning
  let asked = 0; // counts the files: only the last one is read
  let questions = new Map(); // that wait for an answer

  function stop() {
    asked++;
    if (!worker) return false;
    worker.terminate();
    worker = null;
    for (const q of questions.values()) q.reject(new Error("Stopped."));
    questions = new Map();
    const was = reading;
    reading = false;
    return was;
  }

  // ask asks the worker that has the file; said is told how far it is, of a number of bytes.
  let last = 0;
  function ask(question, of, said) {
    return new Promise((resolve, reject) => {
      if (!worker) return reject(new Error("The file is no longer open: drop it again."));
      const id = ++last;
      questions.set(id, { resolve, reject, said: (n) => said && said(Math.min(1, n / Math.max(1, of))) });
      worker.postMessage({ ...question, id });
    });
  }

  // reads starts a worker on a file or a folder; on is told what it says.
  function reads(compiled, source, on) {
    const w = new Worker(workerURL);
    w.onmessage = ({ data }) => {
      const q = questions.get(data.id);
      if (!q) return on(data);
      if (data.at !== undefined) return q.said(data.read);
      questions.delete(data.id);
      if (data.error) q.reject(new Error(data.error));
      else q.resolve(JSON.parse(data.answer));
    };
    w.onerror = (e) => {
      e.preventDefault();
      on({ error: e.message || "the worker ended" });
    };
    w.postMessage({ module: compiled, source });
    return w;
  }

  async function open([source, other]) {
    stop();
    const mine = asked;
    document.getElementById("view").hidden = true;
    say("Reading " + source.name);
    const compiled = await unpacked;
    if (!compiled || mine !== asked) return;
    const begun = performance.now();
    const sizes = new Map(); // of tensors, for the progress of a look
    const look = (index, whole, said) => ask({ ask: "look", index, whole }, sizes.get(index), said);
    reading = true;
    worker = reads(compiled, source, (data) => {
      if (data.error) {
        stop();
        return say("This page could not read " + (source.files ? "the folder: " : "the file: ") + data.error);
      }
      if (data.report) {
        const r = JSON.parse(data.report);
        if (data.done) judged(r);
        else show(r, look), r.tensors.forEach((t, i) => sizes.set(i, t[3]));
      }
      if (data.done) {
        reading = false;
        const took = (performance.now() - begun) / 1000;
        say("Read " + bytes(data.read) + " in " + took.toFixed(1) + " s.");
        if (other) second(compiled, source, other, mine);
        return;
      }
      if (data.at !== undefined) say("Reading " + source.name + ": " + bytes(data.at) + " of " + bytes(source.size), data.at / Math.max(1, source.size));
    });
  }

  // second reads the structure of another model and shows both beside each other.
  function second(compiled, source, other, mine) {
    const w = reads(compiled, other, (data) => {
      if (mine !== asked || data.error) w.terminate();
      if (mine !== asked || data.at !== undefined) return;
      if (data.error) return say("This page could not read " + other.name + ": " + data.error);
      if (!data.report) return;
      w.terminate(); // its structure is enough, until somebody compares the numbers
      const measure = (said) => ask({ ask: "compare", source: other }, source.size + other.size, said);
      const r = JSON.parse(data.report);
      if (!r.verdict.readable) return say("This page could not read " + other.name + ": " + (r.verdict.findings[0] || { text: r.verdict.class }).text);
      beside(r, measure);
      say("Read " + source.name + " and " + other.name + ".");
    });
  }

  addEventListener("keydown", (e) => {
    if (e.key !== "Escape" || e.defaultPrevented || !worker || (!reading && !questions.size)) return;
    stop();
    say("Stopped before the end.");
  });
  takes("What a model is, and whether to trust it. Nothing is uploaded.", "The files stay on this computer: the page cannot reach a network.", open);
})();
