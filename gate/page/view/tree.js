// The tree of modules: arrows move and open, Enter shows what is chosen.
function tree(state) {
  const { root } = state;
  let rows = [];
  let at = 0;
  const box = el("div", { class: "scroll", id: "modules", tabindex: "0", role: "treegrid", "aria-label": "Modules, arrows move and open, Enter shows", "aria-colcount": "5" });
  const list = rowList(box, () => rows.length, row, Math.max(12, Math.min(60, root.tensors)));
  function flatten() {
    rows = [];
    const stack = kidsOf(root).map((n) => [n, 1]).reverse();
    while (stack.length) {
      const [node, level] = stack.pop();
      rows.push({ node, level });
      if (!node.open) continue;
      const kids = kidsOf(node);
      for (let k = kids.length - 1; k >= 0; k--) stack.push([kids[k], level + 1]);
    }
    box.setAttribute("aria-rowcount", String(rows.length));
  }
  function row(i) {
    const { node, level } = rows[i];
    const kids = node.kids.size > 0;
    const bar = el("i", { class: "share" });
    bar.style.width = (48 * node.size) / Math.max(1, root.size) + "px";
    const name = el("div", { role: "gridcell", class: "name" }, el("span", { class: "twist", "aria-hidden": "true" }, kids ? (node.open ? "▾" : "▸") : ""), node.label + (isStack(node) ? " × " + count(kidsOf(node).length) : ""));
    name.style.paddingLeft = Math.min(level - 1, 12) * 14 + "px";
    const kinds = typesOf(node);
    const type = kinds.length ? kinds[0][0] + (kinds.length > 1 ? " +" + (kinds.length - 1) : "") : "";
    const cells = [type, node.elements ? short(node.elements) : "", bytes(node.size)].map((c, k) => el("div", { role: "gridcell", class: k ? "n" : undefined }, c));
    const r = el("div", {
      class: "row tree mono" + (node === state.chosen ? " chosen" : "") + (i === at ? " at" : ""),
      id: "module-" + i, role: "row", "aria-level": level, "aria-rowindex": i + 1, "aria-selected": String(node === state.chosen), title: node.path,
      "aria-expanded": kids ? String(node.open) : undefined,
      onclick: (e) => {
        at = i;
        if (kids && (e.target.className === "twist" || node === state.chosen)) node.open = !node.open;
        flatten();
        state.choose(node);
      },
    }, name, ...cells, el("div", { role: "gridcell", class: "n" }, bar, " ", percent(node.size, root.size)));
    return r;
  }
  const move = (to) => {
    at = Math.max(0, Math.min(rows.length - 1, to));
    list.reveal(at);
    list.draw();
    box.setAttribute("aria-activedescendant", "module-" + at);
  };
  box.addEventListener("keydown", (e) => {
    const { node, level } = rows[at];
    const parent = () => {
      let i = at;
      while (i > 0 && rows[i].level >= level) i--;
      return i;
    };
    const open = (yes) => {
      node.open = yes;
      flatten();
      list.update();
    };
    const act = {
      ArrowDown: () => move(at + 1), ArrowUp: () => move(at - 1), PageDown: () => move(at + list.page()), PageUp: () => move(at - list.page()), Home: () => move(0), End: () => move(rows.length - 1),
      ArrowRight: () => (node.kids.size && !node.open ? open(true) : move(at + 1)), ArrowLeft: () => (node.open ? open(false) : move(parent())),
      Enter: () => state.choose(node), " ": () => state.choose(node),
    }[e.key];
    if (act) act(), e.preventDefault();
  });
  // The whole way to a module is opened, so that it is seen.
  const show = (node) => {
    for (let up = node.parent; up; up = up.parent) up.open = true;
    flatten();
    list.update();
    const i = rows.findIndex((r) => r.node === node);
    if (i >= 0) move(i);
  };
  for (const k of kidsOf(root)) k.open = k.kids.size > 0 && (kidsOf(root).length < 3 || k.kids.size < 6) && !isStack(k);
  flatten();
  list.update();
  const head = el("div", { class: "row tree head", "aria-hidden": "true" }, ...["Module", "Type", "Parameters", "Bytes", "Share"].map((n, k) => el("div", { class: k > 1 ? "n" : undefined }, n)));
  return { part: el("div", { class: "grid" }, head, box), show, draw: list.update };
}
