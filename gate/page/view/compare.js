// Two models: what one has and the other has not, and how far their numbers are apart.
function compared(state, other, measure) {
  const { r } = state;
  const mine = new Map(r.tensors.map((t) => [t[0], t]));
  const theirs = new Map(other.tensors.map((t) => [t[0], t]));
  const rows = [];
  let same = 0;
  for (const t of r.tensors) {
    const u = theirs.get(t[0]);
    if (!u) rows.push([t[0], "only here", r.types[t[1]] + " " + shapeText(t[2]), ""]);
    else if (String(t[2]) !== String(u[2])) rows.push([t[0], "shape", shapeText(t[2]), shapeText(u[2])]);
    else if (r.types[t[1]] !== other.types[u[1]]) rows.push([t[0], "type", r.types[t[1]], other.types[u[1]]]);
    else same++;
  }
  for (const u of other.tensors) if (!mine.has(u[0])) rows.push([u[0], "only in the other", "", other.types[u[1]] + " " + shapeText(u[2])]);
  const keys = [];
  const pairs = (x) => new Map(x.metadata.map((p) => [p.key, p.length !== undefined ? "a list of " + count(p.length) : String(p.value)]));
  const [a, b] = [pairs(r), pairs(other)];
  for (const key of new Set([...a.keys(), ...b.keys()])) if (a.get(key) !== b.get(key)) keys.push([key, a.get(key) === undefined ? "" : a.get(key), b.get(key) === undefined ? "" : b.get(key)]);
  const texts = (x) => x.templates.map((t) => t.text).join("\n");
  const most = 500;
  const cut = (list) => (list.length > most ? el("p", { class: "soft" }, "and " + count(list.length - most) + " more") : "");
  const mono = (list) => list.slice(0, most).map((row) => row.map((c) => el("span", { class: "mono" }, c)));
  const place = el("div", {});
  const part = section("Beside " + other.name, "h-compare", el("p", {}, "Tensors with the same name, shape and type: " + count(same) + ", others: " + count(rows.length) + ". " + (texts(r) === texts(other) ? "Chat templates are equal." : "Chat templates differ.")));
  if (rows.length) part.append(table(["Tensor", "What", "Here", "In " + other.name], mono(rows)), cut(rows));
  if (keys.length) part.append(el("h3", {}, "Metadata that differs"), table(["Key", "Here", "In " + other.name], mono(keys)), cut(keys));
  part.append(place);
  if (!measure) return part;
  const ask = () => {
    const status = el("p", { role: "status" }, "Reading both files");
    place.replaceChildren(status);
    measure((share) => (status.textContent = "Reading both files: " + Math.round(100 * share) + " %")).then(
      (got) => {
        place.replaceChildren(losses(state, got));
        state.map.compared();
      },
      (e) => place.replaceChildren(el("p", { class: "bad" }, String(e.message || e))),
    );
  };
  place.append(el("p", {}, el("button", { type: "button", id: "measure", onclick: ask }, "Compare the numbers"), el("span", { class: "soft" }, " reads both files, decoded, to their ends")));
  return part;
}

// The tensors whose numbers differ, worst first, and by layer.
function losses(state, got) {
  const list = got.different.filter((d) => d.kind === "elements").sort((a, b) => a.snr - b.snr);
  const sums = new Map(); // of modules: energy and noise
  const add = (path, before, square) => {
    for (let node = find(state.root, path); node; node = node.parent) {
      const s = sums.get(node) || [0, 0];
      sums.set(node, [s[0] + before, s[1] + square]);
    }
  };
  for (const d of list) add(d.name, d.before, d.square);
  const db = ([before, square]) => (square > 0 ? 10 * Math.log10(before / square) : Infinity);
  state.losses = {
    of: (item) => {
      const all = (item.group || [item]).map((n) => sums.get(n)).filter(Boolean);
      return all.length ? db(all.reduce((x, y) => [x[0] + y[0], x[1] + y[1]])) : undefined;
    },
  };
  const text = (snr) => (snr === null || !isFinite(snr) ? "none" : snr.toFixed(1) + " dB");
  const stacks = [];
  const walk = (node) => (isStack(node) && kidsOf(node).some((k) => sums.has(k)) ? stacks.push(node) : kidsOf(node).forEach(walk));
  walk(state.root);
  const part = el("div", {}, el("p", {}, "Tensors with equal numbers: " + count(got.equal) + ", with other numbers: " + count(list.length) + (list.length ? "; signal to noise over these: " + text(got.snr) + "." : ".")));
  for (const s of stacks) {
    const layers = kidsOf(s).map((k) => [k, sums.get(k)]).filter(([, x]) => x);
    const W = 480;
    const w = W / layers.length;
    const most = Math.max(...layers.map(([, x]) => Math.min(db(x), 100)), 1);
    const bars = layers.map(([k, x], i) => {
      const h = Math.max(1, (80 * Math.max(0, Math.min(db(x), 100))) / most);
      return svg("rect", { x: i * w + 0.5, y: 80 - h, width: Math.max(0.5, w - 1), height: h, class: "column" }, svg("title", {}, k.path + ": " + text(db(x))));
    });
    part.append(el("figure", {}, el("figcaption", {}, "Signal to noise of " + s.path + ", by number; the highest is " + text(most)), svg("svg", { viewBox: "0 0 " + W + " 82", role: "img", "aria-label": "Signal to noise by layer" }, ...bars)));
  }
  const rows = list.slice(0, 500).map((d) => [el("a", { class: "mono", href: "#tensor=" + encodeURIComponent(d.name) }, d.name), d.types.join(", "), text(d.snr), count(d.count), number(d.max)]);
  if (rows.length) part.append(table(["Tensor", "Types", "#Signal to noise", "#Elements that differ", "#Largest difference"], rows));
  if (list.length > 500) part.append(el("p", { class: "soft" }, "and " + count(list.length - 500) + " more"));
  return part;
}
