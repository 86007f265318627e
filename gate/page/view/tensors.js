// All tensors in one list, which is searched and sorted.
function tensors(state) {
  const { r } = state;
  const all = r.tensors.map((t, i) => i);
  let shown = all;
  let by = -1;
  let down = false;
  let lower; // names in small letters, once somebody searches
  const run = runner();
  const keys = [(t) => t[0], (t) => r.types[t[1]], (t) => product(t[2]), (t) => t[3], (t) => t[5] * 2 ** 52 + t[4]];
  const names = ["Name", "Type", "Shape", "Bytes", "Offset"];
  const head = el("div", { class: "row head", role: "row", "aria-rowindex": "1" });
  const heads = names.map((name, k) => {
    const cell = el("div", { role: "columnheader", "aria-sort": "none", class: k > 2 ? "n" : "" });
    cell.append(el("button", { type: "button", onclick: () => sortBy(k) }, name));
    head.append(cell);
    return cell;
  });
  const box = el("div", { class: "scroll", id: "rows", tabindex: "0", role: "rowgroup", "aria-label": "Tensors, scroll with the arrow keys" });
  const list = rowList(box, () => shown.length, (i) => {
    const [name, type, shape, size, offset, part] = r.tensors[shown[i]];
    const cells = [name, r.types[type], shapeText(shape), bytes(size), (part ? part + ": " : "") + hex(offset)];
    return el("div", { class: "row mono", role: "row", "aria-rowindex": String(i + 2), title: name, onclick: () => state.chooseTensor(shown[i]) }, ...cells.map((c, k) => el("div", { role: "cell", class: k > 2 ? "n" : "" }, c)));
  }, all.length);
  const grid = el("div", { class: "grid", role: "table", "aria-label": "Tensors", "aria-colcount": "5" }, head, box);
  const said = el("span", { role: "status", "aria-live": "polite", class: "soft" });
  const search = el("input", { type: "search", placeholder: "Search names and types", "aria-label": "Search names and types" });
  const update = (found) => {
    shown = found;
    grid.setAttribute("aria-rowcount", String(shown.length + 1));
    said.textContent = shown.length === all.length ? count(all.length) + " tensors" : count(shown.length) + " of " + count(all.length);
    box.scrollTop = 0;
    list.update();
  };
  // What is searched for, in its order, some thousand rows at a time.
  function* found() {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let out = all;
    if (words.length) {
      out = [];
      lower = lower || [];
      for (const i of all) {
        if (i % 2048 === 0) yield;
        const name = (lower[i] = lower[i] || r.tensors[i][0].toLowerCase());
        if (words.every((w) => name.includes(w) || r.types[r.tensors[i][1]].toLowerCase() === w)) out.push(i);
      }
    }
    if (by < 0) return out;
    const key = keys[by];
    const values = [];
    for (const i of out) {
      if (i % 2048 === 0) yield;
      values[i] = key(r.tensors[i]);
    }
    const sign = down ? -1 : 1;
    return yield* sorted(out, (a, b) => sign * (values[a] < values[b] ? -1 : values[a] > values[b] ? 1 : a - b));
  }
  const filter = () => run(found(), update);
  const sortBy = (k) => {
    [by, down] = by === k ? (down ? [-1, false] : [k, true]) : [k, false];
    heads.forEach((h, i) => h.setAttribute("aria-sort", i !== by ? "none" : down ? "descending" : "ascending"));
    filter();
  };
  search.addEventListener("input", filter);
  search.addEventListener("keydown", (e) => {
    // Escape shows all again; down goes to the rows that were found.
    if (e.key === "Escape" && search.value) (search.value = ""), filter(), e.preventDefault();
    if (e.key === "ArrowDown" || e.key === "Enter") box.focus(), e.preventDefault();
  });
  box.addEventListener("keydown", (e) => {
    const by = { ArrowDown: 1, ArrowUp: -1, PageDown: list.page(), PageUp: -list.page() }[e.key];
    if (by) list.by(by), e.preventDefault();
    if (e.key === "Escape") search.focus(), e.preventDefault();
    if (e.key === "Home") (box.scrollTop = 0), e.preventDefault();
    if (e.key === "End") (box.scrollTop = box.scrollHeight), e.preventDefault();
  });
  update(all);
  return section("Tensors", "h-tensors", el("div", { class: "tools" }, search, said), grid);
}
