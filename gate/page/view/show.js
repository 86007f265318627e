// The page: what is shown of a report, and what people do with it.
function download(r) {
  const save = () => {
    const { tree, ...plain } = r;
    const url = URL.createObjectURL(new Blob([JSON.stringify(plain)], { type: "application/json" }));
    const link = el("a", { href: url, download: (r.name.split("/").pop() || "report") + ".json" });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
  };
  return el("button", { type: "button", id: "json", onclick: save }, "Save as JSON");
}

// What is chosen has an address, which can be pasted: #tensor=NAME, #module=PATH.
const addressed = () => {
  const m = /^#(tensor|module)=(.*)$/.exec(location.hash);
  try {
    return m && { kind: m[1], path: decodeURIComponent(m[2]) };
  } catch {
    return null;
  }
};

let current = null;

// show fills the page. look(index, whole, said) promises the numbers of a tensor; without it
// there are none.
function show(r, look) {
  const root = modules(r);
  r.tree = root;
  const state = (current = { r, root, look, chosen: null });
  const held = new Map();
  r.tensors.forEach((t, i) => {
    const as = root.held.get(i);
    const kind = as ? as.type : r.types[t[1]];
    held.set(kind, (held.get(kind) || 0) + 1);
  });
  state.tensorsOf = (kind) => held.get(kind) || 0;
  const view = document.getElementById("view");
  state.top = el("div", {});
  view.replaceChildren(state.top);
  view.hidden = false;
  top(state);
  if (r.tensors.length) {
    const drawn = drawing(state);
    state.map = treemap(state);
    state.tree = tree(state);
    state.details = details(state);
    const mark = (node) => history.replaceState(null, "", "#" + (node.tensor !== undefined && node.kids.size === 0 ? "tensor=" : "module=") + encodeURIComponent(node.path));
    state.choose = (node, reveal, quiet) => {
      state.chosen = node;
      state.details.show(node);
      if (reveal) state.tree.show(node);
      else state.tree.draw();
      if (!quiet) mark(node);
    };
    state.chooseTensor = (i) => {
      state.choose(find(root, r.tensors[i][0]), true);
      state.details.part.scrollIntoView({ block: "nearest" });
    };
    view.append(drawn, section("Modules", "h-modules", el("div", { class: "panes" }, state.tree.part, state.details.part)), state.map.part, tensors(state));
    const at = addressed();
    const node = at && find(root, at.path);
    if (node) state.choose(node, true, true);
    else state.details.show(root);
  }
  if (r.metadata.length) view.append(metadata(r));
  r.templates.forEach((t, i) => view.append(template(t, "h-template" + i, r.templates.length > 1)));
  document.title = r.name + " - anamnesis";
  return state;
}

// What the verdict says, above all else.
function top(state) {
  const { r } = state;
  state.top.replaceChildren(verdict(r), facts(r), el("p", {}, download(r)));
  if (r.files) state.top.append(fileList(r));
  if (r.programs) state.top.append(programs(r));
  if (r.globals.length) state.top.append(globals(r));
}

// judged adds the verdict to the report that is shown: it has no tensors of its own.
function judged(verdict) {
  const { r } = current;
  r.verdict = verdict.verdict;
  r.programs = verdict.programs;
  r.files = verdict.files;
  r.globals = verdict.globals;
  r.format = r.format || verdict.format;
  top(current);
}

addEventListener("hashchange", () => {
  const at = addressed();
  const node = at && current && current.choose && find(current.root, at.path);
  if (node) {
    current.choose(node, true, true);
    current.details.part.scrollIntoView({ block: "nearest" });
  }
});

// beside shows another model beside the one that is shown; measure(said) promises how far their
// numbers are apart.
function beside(other, measure) {
  const old = document.getElementById("beside");
  if (old) old.remove();
  if (!current) return;
  const part = compared(current, other, measure);
  part.id = "beside";
  document.querySelector(".facts").after(part);
  part.scrollIntoView({ block: "start" });
}

function theme() {
  const button = document.getElementById("theme");
  const set = (dark) => {
    document.documentElement.dataset.theme = dark ? "dark" : "light";
    button.setAttribute("aria-pressed", String(dark));
  };
  const asked = matchMedia("(prefers-color-scheme: dark)");
  set(asked.matches);
  asked.addEventListener("change", (e) => set(e.matches));
  button.addEventListener("click", () => set(document.documentElement.dataset.theme !== "dark"));
}

const say = (message, part) => {
  const status = document.getElementById("status");
  status.replaceChildren(message);
  if (part !== undefined) {
    const fill = el("i");
    fill.style.width = Math.round(part * 100) + "%";
    status.append(el("div", { class: "bar", role: "progressbar", "aria-valuemin": "0", "aria-valuemax": "100", "aria-valuenow": String(Math.round(part * 100)), "aria-label": "Read" }, fill));
  }
};

// Takes files and folders that are dropped or chosen. open gets a list of one or two sources: a file
// with its name and size, or a folder with its files, each with its path.
function takes(lead, note, open) {
  const drop = document.getElementById("drop");
  const input = el("input", { type: "file", id: "file", hidden: "", multiple: true });
  const folder = el("input", { type: "file", id: "folder", hidden: "", webkitdirectory: true });
  const button = (id, text, of) => el("button", { type: "button", id, onclick: () => of.click() }, text);
  drop.append(
    el("p", {}, "Drop a model here, a file or a folder, or ", button("choose", "Choose files", input), " ", button("choose-folder", "Choose a folder", folder)),
    el("p", { class: "soft" }, "safetensors, GGUF, PyTorch checkpoints, NPY and NPZ, of any size. Two are compared; more files are judged as one folder."),
    el("p", { class: "soft" }, note), input, folder,
  );
  drop.hidden = false;
  document.getElementById("lead").textContent = lead;
  const take = (sources) => sources.length && open(sources);
  input.addEventListener("change", () => (take(together([...input.files].map(asFile))), (input.value = "")));
  folder.addEventListener("change", () => {
    const all = [...folder.files];
    folder.value = "";
    if (all.length) take([asFolder(all[0].webkitRelativePath.split("/")[0], all.map((f) => [f.webkitRelativePath.split("/").slice(1).join("/"), f]))]);
  });
  for (const kind of ["dragenter", "dragover"]) addEventListener(kind, (e) => (e.preventDefault(), drop.classList.add("over")));
  addEventListener("dragleave", (e) => e.relatedTarget || drop.classList.remove("over"));
  addEventListener("drop", async (e) => {
    e.preventDefault();
    drop.classList.remove("over");
    // Items are gone after the first wait.
    const items = [...e.dataTransfer.items].filter((i) => i.kind === "file");
    const dropped = items.map((i) => {
      const entry = i.webkitGetAsEntry();
      if (!entry || entry.isFile) return asFile(i.getAsFile());
      return i.getAsFileSystemHandle ? i.getAsFileSystemHandle().then(handled) : listed(entry);
    });
    try {
      take(together(await Promise.all(dropped)));
    } catch (err) {
      say("This page could not read what was dropped: " + err.message);
    }
  });
}

const asFile = (file) => ({ name: file.name, size: file.size, file });
const asFolder = (name, files) => ({ name, size: files.reduce((sum, [, f]) => sum + f.size, 0), files });

// Of more than two, one folder: its name says so.
function together(sources) {
  if (sources.length < 3) return sources;
  const below = (s) => (s.file ? [[s.name, s.file]] : s.files.map(([path, f]) => [s.name + "/" + path, f]));
  return [asFolder(sources.length + " files and folders", sources.flatMap(below))];
}

const promised = (call) => new Promise((resolve, reject) => call(resolve, reject));

// The folder of a handle: Chromium reads entries of a drop on pages of a server alone.
async function handled(dir) {
  const files = [];
  const walk = async (at, path) => {
    for await (const [name, h] of at.entries()) {
      if (h.kind === "directory") await walk(h, path + name + "/");
      else files.push([path + name, await h.getFile()]);
    }
  };
  await walk(dir, "");
  return asFolder(dir.name, files);
}

// The folder of an entry, for browsers without handles.
async function listed(dir) {
  const files = [];
  const walk = async (at, path) => {
    const reader = at.createReader();
    for (;;) {
      const some = await promised((ok, no) => reader.readEntries(ok, no)); // a part of them at a time
      if (!some.length) return;
      for (const e of some) {
        if (!e.isFile) await walk(e, path + e.name + "/");
        else files.push([path + e.name, await promised((ok, no) => e.file(ok, no))]);
      }
    }
  };
  await walk(dir, "");
  return asFolder(dir.name, files);
}

theme();
const report = document.getElementById("report");
if (report) show(JSON.parse(report.textContent));
return { show, judged, beside, el, bytes, say, takes };
