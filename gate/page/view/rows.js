// Lists of any length, of which only the rows in sight are elements.
const ROW = 26;
const TALL = 15e6; // browsers cut elements that are much taller

// rowList fills a box that scrolls: length() rows, each made by row(i). It scrolls by keys too.
function rowList(box, length, row, most) {
  const spacer = el("div", { role: "presentation" });
  const factor = () => Math.max(1, (length() * ROW) / TALL);
  const draw = () => {
    const top = box.scrollTop;
    const first = Math.max(0, Math.floor((top * factor()) / ROW) - 4);
    const last = Math.min(length(), first + Math.ceil(box.clientHeight / ROW) + 10);
    const base = factor() > 1 ? top - ((top * factor()) % ROW) - 4 * ROW : first * ROW;
    const rows = [];
    for (let i = first; i < last; i++) {
      const r = row(i);
      r.style.top = base + (i - first) * ROW + "px";
      rows.push(r);
    }
    box.replaceChildren(spacer, ...rows);
  };
  const update = () => {
    spacer.style.height = Math.min(length() * ROW, TALL) + "px";
    draw();
  };
  const reveal = (i) => {
    const at = (i * ROW) / factor();
    if (at < box.scrollTop) box.scrollTop = at;
    else if (at + ROW > box.scrollTop + box.clientHeight) box.scrollTop = at + ROW - box.clientHeight;
  };
  let waiting = false;
  box.addEventListener("scroll", () => {
    if (!waiting) requestAnimationFrame(() => ((waiting = false), draw()));
    waiting = true;
  });
  new ResizeObserver(draw).observe(box);
  box.style.height = "min(26rem, " + Math.max(most, 2) * ROW + "px)";
  box.append(spacer);
  return { draw, update, reveal, page: () => Math.max(1, Math.floor(box.clientHeight / ROW) - 1), by: (n) => box.scrollBy(0, (n * ROW) / factor()) };
}
