// The verdict with its reasons, and what they are about.
const titles = { safetensors: "safetensors", gguf: "GGUF", pth: "PyTorch checkpoint", npy: "NPY array", npz: "NPZ archive", pickle: "plain pickle", onnx: "ONNX graph", hdf5: "HDF5", folder: "folder" };

function verdict(r) {
  const v = r.verdict;
  const good = v.judged && v.accepted;
  const word = good ? "Accepted" : v.readable ? "Readable" : "Refused";
  const box = el("section", { class: "verdict " + (good ? "good" : v.readable ? "" : "bad"), "aria-label": "Verdict" });
  box.append(el("strong", {}, word), good || v.readable ? "" : " (" + v.class + ")");
  const says = [];
  if (v.safe !== undefined) says.push(v.safe ? "its pickles build data alone" : "its pickles ask for what runs code");
  if (v.weights_only) says.push("torch.load(weights_only=True) " + { yes: "loads it", no: "refuses it", unsure: "may load it" }[v.weights_only]);
  if (v.judged) says.push("data " + v.bodies);
  if (v.loaders.length) says.push("loaders that open it: " + v.loaders.join(", "));
  if (says.length) box.append(el("p", { class: "soft" }, says.join("; ")));
  if (v.findings.length) {
    const list = el("ul", { class: "findings" });
    for (const f of v.findings.slice(0, 200)) list.append(finding(f));
    if (v.findings.length > 200) list.append(el("li", { class: "soft" }, "and " + count(v.findings.length - 200) + " more"));
    box.append(list);
  }
  return box;
}

function finding(f) {
  const place = [f.where, f.offset === undefined ? "" : hex(f.offset)].filter(Boolean).join(", ");
  const li = el("li", {}, el("span", { class: "tag " + f.severity }, f.severity), " ", f.text, " ", el("span", { class: "soft" }, "(" + f.rule + (place ? "; " + place : "") + ")"));
  if (f.bytes) {
    const view = el("details", {}, el("summary", {}, "The bytes at " + hex(f.offset)));
    view.addEventListener("toggle", () => view.open && view.children.length === 1 && view.append(hexView(f)));
    li.append(view);
  }
  return li;
}

// Bytes as numbers and as characters, the one that a finding is about marked.
function hexView(f) {
  const data = Uint8Array.from(atob(f.bytes), (c) => c.charCodeAt(0));
  const from = f.from || 0;
  const out = el("pre", { class: "hex", tabindex: "0", "aria-label": "Bytes from " + hex(from) });
  for (let at = 0; at < data.length; at += 16) {
    const line = [...data.slice(at, at + 16)];
    const here = f.offset - from - at;
    const cell = (text, k) => (k === here ? el("mark", {}, text) : text);
    out.append(hex(from + at).padEnd(12));
    line.forEach((b, k) => out.append(cell(b.toString(16).padStart(2, "0"), k), " "));
    out.append("   ".repeat(16 - line.length) + " ");
    line.forEach((b, k) => out.append(cell(b >= 32 && b < 127 ? String.fromCharCode(b) : "·", k)));
    out.append("\n");
  }
  return out;
}

function facts(r) {
  const list = el("dl", { class: "facts" });
  const fact = (name, value) => list.append(el("dt", {}, name), el("dd", {}, value));
  fact("File", r.name);
  if (r.size > 0) fact("Size", bytes(r.size));
  if (r.format) fact("Format", titles[r.format] || r.format);
  if (r.totals.tensors) {
    fact("Tensors", count(r.totals.tensors));
    const n = (r.weights || []).length ? r.tree.elements : r.totals.elements;
    fact("Parameters", count(n));
    if (n) fact("Bits a weight", ((8 * r.totals.bytes) / n).toFixed(2));
  }
  return list;
}

// The files of a folder or an archive: those that are refused first.
function fileList(r) {
  const refused = r.files.filter((f) => f.class !== "ok");
  const rows = [...refused, ...r.files.filter((f) => f.class === "ok")].slice(0, 2000).map((f) => [el("span", { class: f.class === "ok" ? "allowed" : "refusal" }, f.class === "ok" ? "accepted" : f.class), el("span", { class: "mono" }, f.name), titles[f.kind] || f.kind, bytes(f.size)]);
  const more = r.files.length > 2000 ? el("p", { class: "soft" }, "and " + count(r.files.length - 2000) + " more") : "";
  return section("Its files", "h-files", el("p", { class: "soft" }, count(r.files.length) + " were judged, " + (refused.length ? count(refused.length) + " refused." : "none refused.")), table(["Verdict", "File", "What it is", "#Size"], rows), more);
}

function globals(r) {
  const rows = r.globals.slice(0, 2000).map((g) => [el("span", { class: g.status }, g.status), el("span", { class: "mono" }, g.name), count(g.uses), el("span", { class: "mono soft" }, g.pickle + " " + hex(g.offset))]);
  return section("What its pickles name", "h-globals", el("p", { class: "soft" }, "Listed, never called."), table(["Status", "Global", "#Uses", "Place"], rows));
}

// A pickle as a program: an instruction a line, those that are refused marked.
function programs(r) {
  const parts = r.programs.map((p) => {
    const body = el("pre", { class: "program", tabindex: "0", "aria-label": "Instructions of " + p.pickle });
    for (const l of p.lines) {
      if (l.skipped) body.append(el("i", {}, "          " + count(l.skipped) + " more\n"));
      body.append(el(l.refused ? "mark" : "span", {}, hex(l.offset).padEnd(10) + l.op.padEnd(18) + "  ".repeat(Math.min(l.depth, 8)) + l.text), "\n");
    }
    if (p.left) body.append(el("i", {}, "          " + count(p.left) + " more\n"));
    const open = p.lines.some((l) => l.refused);
    return el("details", open ? { open: "" } : {}, el("summary", { class: "mono" }, p.pickle + (open ? ", with what is refused marked" : "")), body);
  });
  return section("Its pickles as programs", "h-programs", el("p", { class: "soft" }, "What a loader would run, an instruction a line. Nothing here was run."), ...parts);
}

// A template with its marks told apart.
function template(t, id, many) {
  const body = el("pre", { tabindex: "0", class: "template" });
  for (const part of t.text.split(/(\{#.*?#\}|\{%.*?%\}|\{\{.*?\}\})/s)) {
    const kind = { "{#": "note", "{%": "statement", "{{": "expression" }[part.slice(0, 2)];
    body.append(kind && /[#%}]\}$/.test(part) ? el("span", { class: "t-" + kind }, part) : part);
  }
  return section("Chat template" + (many ? " (" + t.name + ")" : ""), id, body);
}

function metadata(r) {
  const rows = r.metadata.slice(0, 2000).map((p) => [el("span", { class: "mono" }, p.key), p.length !== undefined ? "a list of " + count(p.length) : p.value === undefined ? "" : String(p.value)]);
  const more = r.metadata.length > 2000 ? el("p", { class: "soft" }, "and " + count(r.metadata.length - 2000) + " more") : "";
  return section("Metadata", "h-meta", table(["Key", "Value"], rows), more);
}
