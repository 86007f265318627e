// What is chosen: a module with its parts, or a tensor with its numbers.
function details(state) {
  const { r, root } = state;
  const box = el("section", { class: "details", "aria-live": "polite", "aria-label": "What is chosen" });
  const facts = (pairs) => el("dl", { class: "facts" }, ...pairs.filter(([, v]) => v !== "" && v !== undefined).flatMap(([k, v]) => [el("dt", {}, k), el("dd", { class: "mono" }, v)]));
  let shown;

  const module = (node) => [
    el("h3", { class: "mono" }, node.path || r.name),
    facts([
      ["Parameters", node.elements ? count(node.elements) : ""], ["Bytes", bytes(node.size) + ", " + percent(node.size, root.size) + " of all"], ["Tensors", count(node.tensors)],
      ["Bits a weight", bitsOf(node) ? bitsOf(node).toFixed(2) : ""], ["Types", typesOf(node).map(([t, n]) => t + " " + bytes(n)).join(", ")],
    ]),
    el("p", {}, el("button", { type: "button", onclick: () => state.map.go(node) }, "Show in the map")),
  ];

  // Of a quantized weight, with all tensors that hold it.
  const bits = (as, size, shape) => {
    const [all, n] = as ? [as.weight[3].reduce((sum, i) => sum + r.tensors[i][3], 0), product(as.weight[2])] : [size, product(shape)];
    return n ? ((8 * all) / n).toFixed(2) : "";
  };

  const tensor = (node) => {
    const [name, type, shape, size, offset, part] = r.tensors[node.tensor];
    const as = root.held.get(node.tensor);
    const place = el("div", { class: "numbers" });
    const parts = [
      el("h3", { class: "mono" }, name),
      facts([
        ["Type", r.types[type] + (as ? ", part of a weight in " + as.type : "")], ["Shape", shapeText(shape)], ["Elements", count(product(shape))], ["Bytes", bytes(size) + " from " + hex(offset) + (part ? " of file " + part : "")],
        ["Bits a weight", bits(as, size, shape)],
      ]),
      place,
    ];
    if (state.look) looked(node, place, false);
    else place.append(el("p", { class: "soft" }, "Its numbers: ", el("code", {}, "amn inspect --stats"), ", or drop the file on the page that reads files."));
    return parts;
  };

  // Asks for the numbers of a tensor: a sample at once, all of them when one asks.
  const looked = (node, place, whole) => {
    const mine = (shown = node);
    const status = el("p", { class: "soft", role: "status" }, whole ? "Reading all of it" : "Reading a sample");
    place.replaceChildren(status);
    const said = (part) => whole && mine === shown && (status.textContent = "Reading all of it: " + Math.round(100 * part) + " %");
    state.look(node.tensor, whole, said).then(
      (got) => {
        if (mine !== shown) return;
        const all = el("button", { type: "button", onclick: () => looked(node, place, true) }, "Read all of it");
        const views = [["Decoded", got.weight], ["Stored", got.stored]].filter(([, d]) => d);
        place.replaceChildren(...views.map(([title, d]) => numbers(views.length > 1 ? title : "Numbers", d)));
        if (views.some(([, d]) => d.numbers && d.read < d.elements)) place.append(el("p", {}, all));
      },
      (e) => mine === shown && place.replaceChildren(el("p", { class: "bad" }, String(e.message || e))),
    );
  };
  return {
    part: box,
    show: (node) => {
      shown = node;
      box.replaceChildren(...(node.tensor !== undefined && node.kids.size === 0 ? tensor(node) : module(node)));
    },
  };
}

// The numbers of one tensor, as the parser read them.
function numbers(title, d) {
  const part = el("div", { class: "half" }, el("h4", {}, title + (d.type ? ", " + d.type : "")));
  if (!d.numbers) {
    part.append(el("p", { class: "soft" }, "Its elements are not numbers that can be decoded."));
    return part;
  }
  const bad = d.nan + d.infinite;
  part.append(
    el("p", { class: "soft" }, d.read < d.elements ? "A sample: " + count(d.read) + " of " + count(d.elements) + " elements, whole rows at equal distances." : "All " + count(d.elements) + " elements."),
    el("dl", { class: "facts" }, ...[
      ["Least, greatest", number(d.min) + ", " + number(d.max)], ["Mean, deviation", number(d.mean) + ", " + number(d.std)], ["Zeros", count(d.zeros) + " (" + percent(d.zeros, d.read) + ")"],
      ["NaN, infinite", count(d.nan) + ", " + count(d.infinite) + (bad ? ", the first at " + indexText(d.first, d) : "")],
    ].flatMap(([k, v]) => [el("dt", {}, k), el("dd", { class: k.startsWith("NaN") && bad ? "bad mono" : "mono" }, v)])),
    histogram(d), heat(d), lines("Rows by root mean square", d.rowNorms, d.rows), lines("Columns by root mean square", d.colNorms, d.cols),
  );
  part.append(el("h5", {}, "Largest"), el("p", { class: "mono values" }, d.largest.map(([at, x]) => number(x) + " at " + indexText(at, d)).join("; ")));
  part.append(el("h5", {}, "First values"), el("p", { class: "mono values" }, d.values.map(number).join(" ")));
  if (d.parts && d.parts.length) part.append(el("h5", {}, "Stored in"), table(["Tensor", "Type", "Shape", "#Bytes"], d.parts.map((p) => [el("a", { class: "mono", href: "#tensor=" + encodeURIComponent(p[0]) }, p[0]), p[1], shapeText(p[2]), bytes(p[3])])));
  return part;
}

// An index as places in the shape.
const indexText = (at, d) => {
  const out = [];
  for (const n of [...d.shape].reverse()) {
    out.unshift(at % n);
    at = Math.floor(at / n);
  }
  return "[" + out.join(", ") + "]";
};

// How many numbers have a magnitude between one power of two and the next: negative ones left.
function histogram(d) {
  const bins = new Map(d.bins.map(([exp, neg, pos]) => [exp, [neg, pos]]));
  if (!bins.size) return "";
  const hi = Math.max(...bins.keys());
  const lo = Math.max(Math.min(...bins.keys()), hi - 23);
  const all = [];
  for (let e = hi; e >= lo; e--) all.push({ e, n: (bins.get(e) || [0, 0])[0], sign: "−" });
  all.push({ e: null, n: d.zeros, sign: "" });
  for (let e = lo; e <= hi; e++) all.push({ e, n: (bins.get(e) || [0, 0])[1], sign: "" });
  const most = Math.max(1, ...all.map((b) => b.n));
  const W = 480;
  const H = 110;
  const w = W / all.length;
  const bars = all.map((b, i) => {
    const h = b.n ? Math.max(1, (H * b.n) / most) : 0;
    const text = (b.e === null ? "zeros" : b.sign + "2^" + b.e + " to " + b.sign + "2^" + (b.e + 1)) + ": " + count(b.n);
    return svg("rect", { x: i * w + 0.5, y: H - h, width: Math.max(0.5, w - 1), height: h, class: b.e === null ? "zero" : "column" }, svg("title", {}, text));
  });
  const label = (x, text, anchor) => svg("text", { x, y: H + 14, "text-anchor": anchor }, text);
  return el("figure", {}, el("figcaption", {}, "How many numbers, by magnitude (powers of two, negative ones on the left)"),
    svg("svg", { viewBox: "0 0 " + W + " " + (H + 18), role: "img", "aria-label": "Histogram: most numbers, " + count(most) + ", in one bin of " + all.length }, ...bars, label(0, "−2^" + (hi + 1), "start"), label(W / 2, "0", "middle"), label(W, "2^" + (hi + 1), "end")));
}

// Mean magnitudes over the matrix, dark for small.
function heat(d) {
  const [rows, cols] = d.grid;
  if (rows * cols < 4) return "";
  const cells = d.cells;
  const most = Math.max(...cells.map((x) => x || 0)) || 1;
  const canvas = el("canvas", { width: cols, height: rows, class: "heat", role: "img", "aria-label": "Heat map: mean magnitudes of " + rows + " by " + cols + " cells, the largest " + number(most) });
  const paint = canvas.getContext("2d");
  const image = paint.createImageData(cols, rows);
  cells.forEach((x, i) => {
    // From dark blue over green to yellow; what was not read stays clear.
    const v = x === null ? 0 : Math.sqrt(x / most);
    image.data.set(x === null ? [0, 0, 0, 0] : [Math.round(255 * Math.max(0, Math.min(1, 2 * v - 0.7))), Math.round(40 + 200 * v), Math.round(110 + 60 * Math.sin(Math.PI * v) - 90 * v), 255], 4 * i);
  });
  paint.putImageData(image, 0, 0);
  return el("figure", {}, el("figcaption", {}, "Mean magnitude: rows from top to bottom, columns from left to right; the brightest is " + number(most)), canvas);
}

// A line of norms; those that were not read are gaps.
function lines(title, norms, all) {
  if (norms.length < 3) return "";
  const most = Math.max(...norms.map((x) => x || 0)) || 1;
  const W = 480;
  const H = 60;
  let path = "";
  let gap = true;
  norms.forEach((x, i) => {
    if (x === null) return (gap = true);
    path += (gap ? "M" : "L") + ((W * (i + 0.5)) / norms.length).toFixed(1) + " " + (H - (H - 2) * (x / most)).toFixed(1);
    gap = false;
  });
  const at = norms.indexOf(most);
  const from = Math.ceil((at * all) / norms.length);
  return el("figure", {}, el("figcaption", {}, title + "; the largest, " + number(most) + ", " + (all > norms.length ? "from " + count(from) + " on" : "at " + count(from))),
    svg("svg", { viewBox: "0 0 " + W + " " + H, role: "img", "aria-label": title, class: "lines" }, svg("path", { d: path })));
}
