// The map of bytes. A box is a module; a click goes into it, the path above it leads back.
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

// The name of a box, its number where that alone fits, or nothing.
function labelOf(name, width) {
  const fits = (text) => text.length * 7 + 10 <= width;
  const n = /\d+$/.exec(name);
  return fits(name) ? name : n && fits(n[0]) ? n[0] : width > 60 ? name : "";
}

const MANY = 144; // boxes that can be told apart

// What is drawn of a module: its parts, and those that take much of the map by their own parts.
function partsOf(node) {
  let items = grouped(node);
  const large = (k) => !k.group && k.kids.size > 0 && k.size * 8 > node.size && items.length + grouped(k).length <= MANY;
  for (let k = items.find(large); k; k = items.find(large)) {
    const parent = k;
    items = items.filter((i) => i !== parent).concat(grouped(parent));
  }
  return items.sort((a, b) => b.size - a.size);
}

// The parts of a module. Of more than can be told apart, the numbered ones in groups of
// neighbours, the others with the smallest in one box.
function grouped(node) {
  const kids = kidsOf(node).filter((k) => k.size > 0);
  if (kids.length <= MANY) return kids;
  const together = (list, label) => {
    const g = { label: (node.path ? node.path + " " : "") + label, path: node.path, group: list, size: 0, elements: 0, tensors: 0, types: new Map() };
    for (const k of list) {
      g.size += k.size;
      g.elements += k.elements;
      g.tensors += k.tensors;
      for (const [t, n] of k.types) g.types.set(t, (g.types.get(t) || 0) + n);
    }
    return g;
  };
  if (!isStack(node)) {
    const order = [...kids].sort((a, b) => b.size - a.size);
    return [...order.slice(0, MANY / 2), together(order.slice(MANY / 2), count(order.length - MANY / 2) + " smaller")];
  }
  const step = Math.ceil(kids.length / 64);
  const out = [];
  for (let i = 0; i < kids.length; i += step) {
    const part = kids.slice(i, i + step);
    out.push(part.length === 1 ? part[0] : together(part, part[0].label + " to " + part[part.length - 1].label));
  }
  return out;
}

// Bits a weight and losses are steps of one colour.
const bitSteps = [[2.5, "up to 2.5 bits"], [3.5, "to 3.5"], [4.7, "to 4.7"], [6.6, "to 6.6"], [9, "to 9"], [17, "to 17"], [Infinity, "more"]];
const lossSteps = [[10, "below 10 dB"], [20, "to 20 dB"], [30, "to 30 dB"], [40, "to 40 dB"], [60, "to 60 dB"], [Infinity, "above 60 dB"]];

function treemap(state) {
  const { root } = state;
  let at = root; // a module, or neighbours of a stack
  let by = "type";
  const colours = new Map(typesOf(root).map(([t], i) => [t, "c" + Math.min(i, 7)]));
  const step = (steps, x) => "s" + steps.findIndex(([end]) => x <= end);
  const colourOf = (item, type) => {
    if (by === "type") return colours.get(type);
    if (by === "bits") return item.elements ? step(bitSteps, (8 * item.size) / item.elements) : "none";
    const loss = state.losses && state.losses.of(item);
    return loss === undefined ? "none" : step(lossSteps, loss);
  };
  const box = el("div", { class: "map", role: "img" });
  const path = el("nav", { "aria-label": "Place in the map", class: "path" });
  const legend = el("ul", { class: "legend", "aria-hidden": "true" });
  const enter = (item) => {
    if (!item.group && item.kids.size === 0) return state.choose(item);
    at = item;
    if (!item.group) state.choose(item);
    draw();
  };
  const draw = () => {
    const items = at.group ? at.group : partsOf(at);
    box.setAttribute("aria-label", "Bytes by module: " + items.slice(0, 5).map((i) => i.label + " " + bytes(i.size)).join(", "));
    box.replaceChildren();
    const { width, height } = box.getBoundingClientRect();
    squares(items, 0, 0, width, height, (item, x, y, w, h) => {
      const label = item.group || item.path.length <= at.path.length ? item.label : item.path.slice(at.path ? at.path.length + 1 : 0);
      const parts = by === "type" ? typesOf(item).map(([type, size]) => ({ type, size })) : [{ size: item.size }];
      let first = true;
      squares(parts, x, y, w, h, (p, px, py, pw, ph) => {
        const d = el("div", { class: colourOf(item, p.type), title: (item.group ? item.label : item.path) + ": " + (p.type ? p.type + ", " : "") + bytes(p.size), onclick: () => enter(item) });
        Object.assign(d.style, { left: px + "px", top: py + "px", width: pw + "px", height: ph + "px" });
        if (first && ph > 18) d.textContent = labelOf(label, pw);
        first = false;
        box.append(d);
      });
    });
    const steps = [];
    for (let n = at.group ? find(root, at.path) || root : at; n; n = n.parent) steps.unshift(n);
    path.replaceChildren(...steps.filter((n) => !n.parent || n.kids.size !== 1).map((n) => el("button", { type: "button", onclick: () => ((at = n), draw()) }, n.parent ? n.label || n.name : "all")));
    if (at.group) path.append(el("span", {}, at.label));
    const kinds = by === "type" ? [...colours].slice(0, 8).map(([t, c]) => [c, t]) : (by === "bits" ? bitSteps : lossSteps).map(([, t], i) => ["s" + i, t]);
    legend.replaceChildren(...kinds.map(([c, t]) => el("li", {}, el("i", { class: c }), t)));
  };
  new ResizeObserver(draw).observe(box);
  const choice = el("select", { id: "colour", "aria-label": "Colour by", onchange: () => ((by = choice.value), draw()) }, el("option", { value: "type" }, "Colour: type"), el("option", { value: "bits" }, "Colour: bits a weight"));
  const kinds = table(["Type", "#Tensors", "#Bytes"], typesOf(root).map(([t, size]) => [t, count(state.tensorsOf(t)), bytes(size)]));
  return {
    part: section("Bytes by module and type", "h-map", el("div", { class: "tools" }, path, choice), box, legend, kinds),
    go: (node) => ((at = node.kids.size ? node : node.parent || root), draw()),
    compared: () => {
      if (choice.options.length < 3) choice.append(el("option", { value: "loss" }, "Colour: difference"));
      choice.value = by = "loss";
      draw();
    },
  };
}
