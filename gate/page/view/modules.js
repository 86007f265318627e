// The names of a model as a tree: "model.layers.0.mlp.up_proj.weight" lies six deep.
// Where the report knows which tensors hold one quantized weight, their bytes count as its
// bytes, its type is the scheme, and its parameters are those of the weight.
function modules(r) {
  const make = (name, path, parent) => ({ name, path, parent, kids: new Map(), size: 0, elements: 0, tensors: 0, types: new Map(), tensor: undefined, open: false });
  const root = make("", "", null);
  const held = new Map(); // of tensors that hold a weight
  for (const w of r.weights || []) {
    w[3].forEach((i, k) => held.set(i, { type: w[1], elements: k === 0 ? product(w[2]) : 0, weight: w }));
  }
  r.tensors.forEach(([name, type, shape, size], i) => {
    const as = held.get(i);
    const kind = as ? as.type : r.types[type];
    const elements = as ? as.elements : product(shape);
    let at = root;
    let from = 0;
    for (;;) {
      at.size += size;
      at.elements += elements;
      at.tensors++;
      at.types.set(kind, (at.types.get(kind) || 0) + size);
      if (from > name.length) break;
      let to = from;
      while (to < name.length && name[to] !== "." && name[to] !== "/") to++;
      const part = name.slice(from, to);
      let kid = at.kids.get(part);
      if (!kid) at.kids.set(part, (kid = make(part, name.slice(0, to), at)));
      at = kid;
      from = to + 1;
    }
    at.tensor = i;
  });
  root.held = held;
  return root;
}

// The modules below one, numbers in order. A module with one only child is named with it, but a
// layer or an expert by its number alone.
function kidsOf(node) {
  if (!node.sorted) {
    node.sorted = [...node.kids.values()].map((k) => {
      let name = k.name;
      while (k.kids.size === 1 && k.tensor === undefined && !/^\d+$/.test(k.name)) {
        [k] = k.kids.values();
        name += "." + k.name;
      }
      k.label = name;
      return k;
    });
    if (node.sorted.every((k) => /^\d+/.test(k.label))) node.sorted.sort((a, b) => parseInt(a.label, 10) - parseInt(b.label, 10));
  }
  return node.sorted;
}

// A stack is a module whose parts are numbered: layers, or the experts of one.
const isStack = (node) => node.kids.size > 1 && kidsOf(node).every((k) => /^\d+(\.|$)/.test(k.label));

const find = (root, path) => {
  let at = root;
  for (let from = 0; at && from <= path.length && path; ) {
    let to = from;
    while (to < path.length && path[to] !== "." && path[to] !== "/") to++;
    at = at.kids.get(path.slice(from, to));
    from = to + 1;
  }
  return at;
};

const bitsOf = (node) => (node.elements > 0 ? (8 * node.size) / node.elements : 0);
const typesOf = (node) => [...node.types].sort((a, b) => b[1] - a[1]);
