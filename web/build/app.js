"use strict";
// The page that reads files: each by a worker of its own, which is ended with it.
(() => {
  const { el, show, bytes } = anamnesis;
  const drop = document.getElementById("drop");
  const status = document.getElementById("status");
  const text = (id) => Uint8Array.from(atob(document.getElementById(id).textContent), (c) => c.charCodeAt(0));
  const workerURL = URL.createObjectURL(new Blob([text("worker")], { type: "text/javascript" }));
  const module = new Response(new Blob([text("wasm")]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer().then((b) => WebAssembly.compile(b));
  let worker = null;

  const input = el("input", { type: "file", id: "file", hidden: "" });
  const choose = el("button", { type: "button", id: "choose", onclick: () => input.click() }, "Choose a file");
  drop.append(el("p", {}, "Drop a model file here, or ", choose), el("p", { class: "soft" }, "safetensors, GGUF, PyTorch checkpoints, NPY and NPZ, of any size."), el("p", { class: "soft" }, "The file stays on this computer: the page cannot reach a network."), input);
  drop.hidden = false;
  document.getElementById("lead").textContent = "What a model file is, and whether to trust it. Nothing is uploaded.";

  const say = (message, part) => {
    status.replaceChildren(message);
    if (part !== undefined) {
      const fill = el("i");
      fill.style.width = Math.round(part * 100) + "%";
      status.append(el("div", { class: "bar", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(Math.round(part * 100)), "aria-label": "Read" }, fill));
    }
  };

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

  const take = (files) => files.length && open(files[0], files.length - 1);
  input.addEventListener("change", () => (take([...input.files]), (input.value = "")));
  for (const kind of ["dragenter", "dragover"]) addEventListener(kind, (e) => (e.preventDefault(), drop.classList.add("over")));
  addEventListener("dragleave", (e) => e.relatedTarget || drop.classList.remove("over"));
  addEventListener("drop", (e) => {
    e.preventDefault();
    drop.classList.remove("over");
    take([...e.dataTransfer.files]);
  });
})();
