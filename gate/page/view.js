"use strict";
// The view of a report. Every text is written as a text node: nothing of a file is markup.
const anamnesis = (() => {
  const el = (tag, attributes = {}, ...children) => {
    const e = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name === "class") e.className = value;
      else if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
      else e.setAttribute(name, value);
    }
    e.append(...children.map((c) => (c instanceof Node ? c : document.createTextNode(String(c)))));
    return e;
  };
  const count = (n) => Number(n).toLocaleString("en-US");
  const bytes = (n) => {
    let unit = 0;
    while (n >= 1024 && unit < 4) {
      n /= 1024;
      unit++;
    }
    return (unit === 0 ? n : n.toFixed(n < 10 ? 2 : 1)) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
  };
  const titles = { safetensors: "safetensors", gguf: "GGUF", pth: "PyTorch checkpoint", npy: "NPY array", npz: "NPZ archive", pickle: "plain pickle" };
  const section = (title, id, ...children) => el("section", { "aria-labelledby": id }, el("h2", { id }, title), ...children);

  function verdict(r) {
    const v = r.verdict;
    const good = v.judged && v.accepted;
    const word = good ? "Accepted" : v.readable ? "Readable" : "Refused";
    const box = el("section", { class: "verdict " + (good ? "good" : v.readable ? "" : "bad"), "aria-label": "Verdict" });
    box.append(el("strong", {}, word), good || v.readable ? "" : " (" + v.class + ")");
    const says = [];
    if (v.safe !== undefined) says.push(v.safe ? "its pickles build data alone" : "its pickles ask for what runs code");
    if (v.weights_only) says.push("torch.load(weights_only=True) " + { yes: "loads it", no: "refuses it", unsure: "may load it" }[v.weights_only]);
    if (v.judged) says.push("bodies " + v.bodies);
    if (v.loaders.length) says.push("opened by " + v.loaders.join(", "));
    if (says.length) box.append(el("p", { class: "soft" }, says.join("; ")));
    if (v.findings.length) {
      const list = el("ul", { class: "findings" });
      for (const f of v.findings.slice(0, 200)) {
        const place = [f.where, f.offset === undefined ? "" : "0x" + f.offset.toString(16)].filter(Boolean).join(", ");
        list.append(el("li", {}, el("span", { class: "tag " + f.severity }, f.severity), " ", f.text, " ", el("span", { class: "soft" }, "(" + f.rule + (place ? "; " + place : "") + ")")));
      }
      if (v.findings.length > 200) list.append(el("li", { class: "soft" }, "and " + count(v.findings.length - 200) + " more"));
      box.append(list);
    }
    return box;
  }

  function facts(r) {
    const list = el("dl", { class: "facts" });
    const fact = (name, value) => list.append(el("dt", {}, name), el("dd", {}, value));
    fact("File", r.name);
    if (r.size > 0) fact("Size", bytes(r.size));
    if (r.format) fact("Format", titles[r.format] || r.format);
    if (r.totals.tensors) {
      fact("Tensors", count(r.totals.tensors));
      fact("Parameters", count(r.totals.elements));
    }
    return list;
  }

  // The layer of a tensor is its name up to its first number.
  function layerOf(name) {
    const m = /^(.*?[.\/_])?(\d+)(?=[.\/_]|$)/.exec(name);
    return m ? (m[1] || "") + m[2] : name.split(/[.\/]/)[0];
  }

  function squares(items, x, y, w, h, out) {
    // Squarified treemap (Bruls, Huizing, van Wijk 2000): rows along the shorter side.
    let rest = items.filter((i) => i.size > 0);
    let total = rest.reduce((n, i) => n + i.size, 0);
    while (rest.length && w > 0 && h > 0) {
      const side = Math.min(w, h);
      const scale = (w * h) / total;
      let row = [];
      let sum = 0;
      let worst = Infinity;
      for (const i of rest) {
        const next = sum + i.size;
        const thick = (next * scale) / side;
        const ratio = Math.max(...[...row, i].map((k) => Math.max((k.size * scale) / thick / thick, (thick * thick) / (k.size * scale))));
        if (row.length && ratio > worst) break;
        row.push(i);
        sum = next;
        worst = ratio;
      }
      const thick = (sum * scale) / side;
      let at = 0;
      for (const i of row) {
        const long = (i.size / sum) * side;
        out(i, w >= h ? x : x + at, w >= h ? y + at : y, w >= h ? thick : long, w >= h ? long : thick);
        at += long;
      }
      if (w >= h) (x += thick), (w -= thick);
      else (y += thick), (h -= thick);
      rest = rest.slice(row.length);
      total -= sum;
    }
  }

  // The name of a layer, its number where that alone fits, or nothing.
  function labelOf(name, width) {
    const fits = (text) => text.length * 7 + 10 <= width;
    const number = /\d+$/.exec(name);
    return width > 60 || fits(name) ? name : number && fits(number[0]) ? number[0] : "";
  }

  function treemap(r) {
    const layers = new Map();
    const types = new Map();
    for (const [name, type, , size] of r.tensors) {
      const key = layerOf(name);
      const layer = layers.get(key) || { name: key, size: 0, types: new Map() };
      layer.size += size;
      layer.types.set(type, (layer.types.get(type) || 0) + size);
      layers.set(key, layer);
      const t = types.get(type) || { type, size: 0, tensors: 0 };
      t.size += size;
      t.tensors++;
      types.set(type, t);
    }
    const order = [...types.values()].sort((a, b) => b.size - a.size);
    const colour = new Map(order.map((t, i) => [t.type, "c" + Math.min(i, 7)]));
    let items = [...layers.values()].sort((a, b) => b.size - a.size || a.name.localeCompare(b.name, "en", { numeric: true }));
    if (items.length > 160) {
      const rest = items.slice(159);
      const other = { name: count(rest.length) + " smaller", size: 0, types: new Map() };
      for (const i of rest) {
        other.size += i.size;
        for (const [t, n] of i.types) other.types.set(t, (other.types.get(t) || 0) + n);
      }
      items = [...items.slice(0, 159), other].sort((a, b) => b.size - a.size);
    }
    const map = el("div", { class: "map", role: "img", "aria-label": "Bytes by layer: " + items.slice(0, 5).map((i) => i.name + " " + bytes(i.size)).join(", ") });
    const draw = () => {
      map.replaceChildren();
      const box = map.getBoundingClientRect();
      squares(items, 0, 0, box.width, box.height, (layer, x, y, w, h) => {
        const parts = [...layer.types].map(([type, size]) => ({ type, size })).sort((a, b) => b.size - a.size);
        let first = true;
        squares(parts, x, y, w, h, (p, px, py, pw, ph) => {
          const d = el("div", { class: colour.get(p.type), title: layer.name + ": " + r.types[p.type] + ", " + bytes(p.size) });
          Object.assign(d.style, { left: px + "px", top: py + "px", width: pw + "px", height: ph + "px" });
          if (first && ph > 18) d.textContent = labelOf(layer.name, pw);
          first = false;
          map.append(d);
        });
      });
    };
    new ResizeObserver(draw).observe(map);
    const table = el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "Type"), el("th", { class: "n" }, "Tensors"), el("th", { class: "n" }, "Bytes"))));
    const rows = el("tbody");
    for (const t of order) rows.append(el("tr", {}, el("td", {}, el("i", {}), r.types[t.type]), el("td", { class: "n" }, count(t.tensors)), el("td", { class: "n" }, bytes(t.size))));
    table.append(rows);
    const legend = el("ul", { class: "legend", "aria-hidden": "true" });
    for (const t of order.slice(0, 8)) legend.append(el("li", {}, el("i", { class: colour.get(t.type) }), r.types[t.type]));
    return section("Bytes by layer and type", "h-map", map, legend, table);
  }

  const ROW = 26;
  const TALL = 15e6; // browsers cut elements that are much taller

  function tensors(r) {
    const all = r.tensors.map((t, i) => i);
    let shown = all;
    let sorted = { by: -1, down: false };
    const keys = [(t) => t[0], (t) => r.types[t[1]], (t) => t[2].reduce((a, b) => a * b, 1), (t) => t[3], (t) => t[5] * 2 ** 52 + t[4]];
    const names = ["Name", "Type", "Shape", "Bytes", "Offset"];
    const head = el("div", { class: "row head", role: "row", "aria-rowindex": "1" });
    const buttons = names.map((name, k) => {
      const cell = el("div", { role: "columnheader", "aria-sort": "none", class: k > 2 ? "n" : "" });
      cell.append(el("button", { type: "button", onclick: () => sortBy(k) }, name));
      head.append(cell);
      return cell;
    });
    const spacer = el("div", { role: "presentation" });
    const scroll = el("div", { class: "scroll", tabindex: "0", role: "rowgroup", "aria-label": "Tensors, scroll with the arrow keys" }, spacer);
    scroll.style.height = "min(26rem, " + Math.max(all.length, 2) * ROW + "px)"; // of all: the page does not jump while one searches
    const grid = el("div", { class: "grid", role: "table", "aria-label": "Tensors", "aria-colcount": "5" }, head, scroll);
    const said = el("span", { role: "status", "aria-live": "polite", class: "soft" });
    const search = el("input", { type: "search", placeholder: "Search names and types", "aria-label": "Search names and types" });
    const factor = () => Math.max(1, (shown.length * ROW) / TALL);
    const draw = () => {
      const top = scroll.scrollTop;
      const first = Math.max(0, Math.floor((top * factor()) / ROW) - 4);
      const last = Math.min(shown.length, first + Math.ceil(scroll.clientHeight / ROW) + 10);
      const base = factor() > 1 ? top - (top * factor()) % ROW - 4 * ROW : first * ROW;
      const rows = [];
      for (let i = first; i < last; i++) {
        const [name, type, shape, size, offset, part] = r.tensors[shown[i]];
        const row = el("div", { class: "row mono", role: "row", "aria-rowindex": String(i + 2), title: name });
        row.style.top = base + (i - first) * ROW + "px";
        const cells = [name, r.types[type], "[" + shape.join(", ") + "]", bytes(size), (part ? part + ": " : "") + "0x" + offset.toString(16)];
        cells.forEach((c, k) => row.append(el("div", { role: "cell", class: k > 2 ? "n" : "" }, c)));
        rows.push(row);
      }
      scroll.replaceChildren(spacer, ...rows);
    };
    const update = () => {
      spacer.style.height = Math.min(shown.length * ROW, TALL) + "px";
      grid.setAttribute("aria-rowcount", String(shown.length + 1));
      said.textContent = shown.length === all.length ? count(all.length) + " tensors" : count(shown.length) + " of " + count(all.length);
      scroll.scrollTop = 0;
      draw();
    };
    const order = (list) => {
      if (sorted.by < 0) return list;
      const key = keys[sorted.by];
      const values = new Map(list.map((i) => [i, key(r.tensors[i])]));
      const sign = sorted.down ? -1 : 1;
      return [...list].sort((a, b) => {
        const x = values.get(a);
        const y = values.get(b);
        return sign * (x < y ? -1 : x > y ? 1 : a - b);
      });
    };
    const filter = () => {
      const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
      shown = order(all.filter((i) => words.every((w) => r.tensors[i][0].toLowerCase().includes(w) || r.types[r.tensors[i][1]].toLowerCase() === w)));
      update();
    };
    const sortBy = (k) => {
      sorted = sorted.by === k ? (sorted.down ? { by: -1, down: false } : { by: k, down: true }) : { by: k, down: false };
      buttons.forEach((b, i) => b.setAttribute("aria-sort", i !== sorted.by ? "none" : sorted.down ? "descending" : "ascending"));
      filter();
    };
    search.addEventListener("input", filter);
    search.addEventListener("keydown", (e) => {
      // Escape shows all again; down goes to the rows that were found.
      if (e.key === "Escape" && search.value) (search.value = ""), filter(), e.preventDefault();
      if (e.key === "ArrowDown" || e.key === "Enter") scroll.focus(), e.preventDefault();
    });
    let waiting = false;
    scroll.addEventListener("scroll", () => {
      if (!waiting) requestAnimationFrame(() => ((waiting = false), draw()));
      waiting = true;
    });
    new ResizeObserver(draw).observe(scroll);
    scroll.addEventListener("keydown", (e) => {
      const page = Math.max(ROW, scroll.clientHeight - ROW);
      const by = { ArrowDown: ROW, ArrowUp: -ROW, PageDown: page, PageUp: -page }[e.key];
      if (by) scroll.scrollBy(0, by / factor()), e.preventDefault();
      if (e.key === "Escape") search.focus(), e.preventDefault();
      if (e.key === "Home") (scroll.scrollTop = 0), e.preventDefault();
      if (e.key === "End") (scroll.scrollTop = scroll.scrollHeight), e.preventDefault();
    });
    update();
    return section("Tensors", "h-tensors", el("div", { class: "tools" }, search, said), grid);
  }

  function metadata(r) {
    const rows = el("tbody");
    for (const p of r.metadata.slice(0, 2000)) rows.append(el("tr", {}, el("td", { class: "mono" }, p.key), el("td", {}, p.length !== undefined ? "a list of " + count(p.length) : p.value === undefined ? "" : String(p.value))));
    const more = r.metadata.length > 2000 ? el("p", { class: "soft" }, "and " + count(r.metadata.length - 2000) + " more") : "";
    return section("Metadata", "h-meta", el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "Key"), el("th", {}, "Value"))), rows), more);
  }

  function globals(r) {
    const rows = el("tbody");
    for (const g of r.globals.slice(0, 2000)) rows.append(el("tr", {}, el("td", { class: g.status }, g.status), el("td", { class: "mono" }, g.name), el("td", { class: "n" }, count(g.uses)), el("td", { class: "mono soft" }, g.pickle + " 0x" + g.offset.toString(16))));
    return section("What its pickles name", "h-globals", el("p", { class: "soft" }, "Listed, never called."), el("table", {}, el("thead", {}, el("tr", {}, el("th", {}, "Status"), el("th", {}, "Global"), el("th", { class: "n" }, "Uses"), el("th", {}, "Place"))), rows));
  }

  function download(r) {
    const save = () => {
      const url = URL.createObjectURL(new Blob([JSON.stringify(r)], { type: "application/json" }));
      const link = el("a", { href: url, download: (r.name.split("/").pop() || "report") + ".json" });
      link.click();
      setTimeout(() => URL.revokeObjectURL(url), 1000);
    };
    return el("button", { type: "button", id: "json", onclick: save }, "Save as JSON");
  }

  function show(r) {
    const view = document.getElementById("view");
    view.replaceChildren(verdict(r), facts(r));
    view.append(el("p", {}, download(r)));
    if (r.globals.length) view.append(globals(r));
    view.hidden = false;
    if (r.tensors.length) view.append(treemap(r), tensors(r));
    if (r.metadata.length) view.append(metadata(r));
    for (const [i, t] of r.templates.entries()) view.append(section("Chat template" + (r.templates.length > 1 ? " (" + t.name + ")" : ""), "h-template" + i, el("pre", { tabindex: "0" }, t.text)));
    document.title = r.name + " - anamnesis";
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

  // Takes files that are dropped or chosen; open gets the first, and how many more there are.
  function takes(lead, note, open) {
    const drop = document.getElementById("drop");
    const input = el("input", { type: "file", id: "file", hidden: "" });
    const choose = el("button", { type: "button", id: "choose", onclick: () => input.click() }, "Choose a file");
    drop.append(el("p", {}, "Drop a model file here, or ", choose), el("p", { class: "soft" }, "safetensors, GGUF, PyTorch checkpoints, NPY and NPZ, of any size."), el("p", { class: "soft" }, note), input);
    drop.hidden = false;
    document.getElementById("lead").textContent = lead;
    const take = (files) => files.length && open(files[0], files.length - 1);
    input.addEventListener("change", () => (take([...input.files]), (input.value = "")));
    for (const kind of ["dragenter", "dragover"]) addEventListener(kind, (e) => (e.preventDefault(), drop.classList.add("over")));
    addEventListener("dragleave", (e) => e.relatedTarget || drop.classList.remove("over"));
    addEventListener("drop", (e) => {
      e.preventDefault();
      drop.classList.remove("over");
      take([...e.dataTransfer.files]);
    });
  }

  theme();
  const report = document.getElementById("report");
  if (report) show(JSON.parse(report.textContent));
  return { show, el, bytes, say, takes };
})();
