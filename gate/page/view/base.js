// Elements, numbers as people read them, and work in slices.
const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Every text becomes a text node: nothing of a file is markup.
function fill(e, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) e.addEventListener(name.slice(2), value);
    else if (value !== undefined && value !== false) e.setAttribute(name, value === true ? "" : value);
  }
  e.append(...children.map((c) => (c instanceof Node ? c : document.createTextNode(String(c)))));
  return e;
}

const count = (n) => Number(n).toLocaleString("en-US");

const bytes = (n) => {
  let unit = 0;
  while (n >= 1024 && unit < 4) {
    n /= 1024;
    unit++;
  }
  return (unit === 0 ? n : n.toFixed(n < 10 ? 2 : 1)) + " " + ["B", "KiB", "MiB", "GiB", "TiB"][unit];
};

// A count in thousands, millions and so on: 1.24 B parameters.
const short = (n) => {
  let unit = 0;
  while (n >= 1000 && unit < 4) {
    n /= 1000;
    unit++;
  }
  return (unit === 0 ? n : n.toPrecision(3)) + ["", " K", " M", " B", " T"][unit];
};

// A number of a tensor; null is none.
const number = (x) => (x === null ? "none" : typeof x === "string" ? x : x === 0 ? "0" : Math.abs(x) >= 1e6 || Math.abs(x) < 1e-3 ? x.toExponential(3) : String(+x.toPrecision(5)));
const percent = (part, all) => (all > 0 ? ((100 * part) / all).toFixed(part * 10 < all ? 2 : 1) + " %" : "");
const hex = (n) => "0x" + n.toString(16);
const product = (shape) => shape.reduce((a, b) => a * b, 1);
const shapeText = (shape) => "[" + shape.join(", ") + "]";
const byName = (a, b) => a.localeCompare(b, "en", { numeric: true });

const section = (title, id, ...children) => el("section", { "aria-labelledby": id }, el("h2", { id }, title), ...children);

// A table with a head; a column whose name begins with # holds numbers.
function table(names, rows, attributes = {}) {
  const classOf = (k) => (names[k].startsWith("#") ? "n" : undefined);
  const head = el("tr", {}, ...names.map((n, k) => el("th", { class: classOf(k) }, n.replace(/^#/, ""))));
  const body = el("tbody", {}, ...rows.map((r) => el("tr", {}, ...r.map((c, k) => el("td", { class: classOf(k) }, c)))));
  return el("table", attributes, el("thead", {}, head), body);
}

// A runner takes the steps of a generator, a few milliseconds at a time, so that the page
// answers meanwhile. What it is given later ends what it was given before.
function runner() {
  let turn = 0;
  return (steps, then) => {
    const mine = ++turn;
    const channel = new MessageChannel(); // timers wait for 4 ms each
    const go = () => {
      if (mine !== turn) return channel.port1.close();
      for (const end = performance.now() + 12; performance.now() < end; ) {
        const step = steps.next();
        if (!step.done) continue;
        channel.port1.close();
        return then(step.value);
      }
      channel.port2.postMessage(0);
    };
    channel.port1.onmessage = go;
    go();
  };
}

// Sorts a list by merging: runs of a few thousand are sorted at once.
function* sorted(list, compare) {
  const RUN = 2048;
  let runs = [];
  for (let i = 0; i < list.length; i += RUN) {
    runs.push(list.slice(i, i + RUN).sort(compare));
    yield;
  }
  while (runs.length > 1) {
    const next = [];
    for (let i = 0; i < runs.length; i += 2) {
      if (i + 1 === runs.length) {
        next.push(runs[i]);
        continue;
      }
      const [a, b] = [runs[i], runs[i + 1]];
      const out = [];
      let x = 0;
      let y = 0;
      while (x < a.length && y < b.length) {
        out.push(compare(a[x], b[y]) <= 0 ? a[x++] : b[y++]);
        if (out.length % 1024 === 0) yield;
      }
      for (; x < a.length; x++) out.push(a[x]);
      for (; y < b.length; y++) out.push(b[y]);
      next.push(out);
      yield;
    }
    runs = next;
  }
  return runs[0] || [];
}
