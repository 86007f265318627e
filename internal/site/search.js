"use strict";
{
  const { pages, entries } = JSON.parse(document.getElementById("index").textContent);
  const words = document.getElementById("words"), list = document.getElementById("results"), found = document.getElementById("found");
  const most = 40;
  for (const e of entries) {
    e.head = (e.h + " " + pages[e.p][1]).toLowerCase();
    e.low = e.t.toLowerCase();
  }
  // A word in a heading counts more than one in the text; an entry without one of the words does not count.
  const score = (e, terms) => {
    let sum = 0;
    for (const w of terms) {
      const head = e.head.indexOf(w), text = e.low.indexOf(w);
      if (head < 0 && text < 0) return 0;
      if (head >= 0) sum += 20 + (e.h.toLowerCase() === w ? 40 : 0) + (head === 0 ? 10 : 0);
      if (text >= 0) sum += 2 + Math.min(5, e.low.split(w, 6).length - 1) + (/[a-z0-9]/.test(e.low[text - 1] || " ") ? 0 : 3);
    }
    const together = terms.join(" ");
    if (terms.length > 1) sum += e.head.includes(together) ? 25 : e.low.includes(together) ? 12 : 0;
    // The beginning of a page comes before its sections, pages of tasks before pages of reference,
    // and what changed last.
    if (e.h === pages[e.p][1] && terms.every((w) => e.head.includes(w))) sum += 30;
    return (sum + Math.max(0, 8 - e.p / 8)) * (/^(changelog|contributing)/.test(pages[e.p][0]) ? 0.2 : 1);
  };
  // A long word is searched without its ending: quantize finds quantizing.
  const stem = (w) => w.length > 5 && /^[a-z]+$/.test(w) ? w.replace(/(ing|es|ed|e|s)$/, "") : w;
  const marked = (to, text, terms) => {
    const low = text.toLowerCase();
    let at = 0;
    while (at < text.length) {
      let next = text.length, length = 0;
      for (const w of terms) {
        const n = low.indexOf(w, at);
        if (n >= 0 && n < next) [next, length] = [n, w.length];
      }
      to.append(text.slice(at, next));
      if (length > 0) {
        const m = document.createElement("mark");
        m.textContent = text.slice(next, next + length);
        to.append(m);
      }
      at = next + length;
    }
  };
  const excerpt = (e, terms) => {
    const first = Math.min(...terms.map((w) => e.low.indexOf(w)).filter((n) => n >= 0), e.t.length);
    const from = Math.max(0, first === e.t.length ? 0 : e.t.lastIndexOf(" ", Math.max(0, first - 60)) + 1);
    return (from > 0 ? "... " : "") + e.t.slice(from, from + 220) + (from + 220 < e.t.length ? " ..." : "");
  };
  const search = () => {
    const terms = words.value.toLowerCase().split(/\s+/).filter((w) => w !== "").map(stem);
    const hits = terms.length === 0 ? [] : entries.map((e) => [score(e, terms), e]).filter(([n]) => n > 0).sort((a, b) => b[0] - a[0]);
    list.replaceChildren(...hits.slice(0, most).map(([, e]) => {
      const item = document.createElement("li"), link = document.createElement("a"), text = document.createElement("p");
      link.href = pages[e.p][0] + "#" + e.i;
      marked(link, e.h === pages[e.p][1] ? e.h : pages[e.p][1] + ": " + e.h, terms);
      marked(text, excerpt(e, terms), terms);
      item.append(link, text);
      return item;
    }));
    found.textContent = terms.length === 0 ? "Type words: each must occur. Arrows move among the results." :
      hits.length === 0 ? "Nothing has all of these words." :
      hits.length === 1 ? "1 place" : hits.length + " places" + (hits.length > most ? ", of which these are the first " + most : "");
    history.replaceState(null, "", "#" + encodeURIComponent(words.value));
  };
  words.addEventListener("input", search);
  document.addEventListener("keydown", (e) => {
    const links = [...list.querySelectorAll("a")], at = links.indexOf(document.activeElement);
    if (document.activeElement !== words && at < 0) return;
    if (e.key === "Enter" && at < 0 && links.length > 0) location.href = links[0].href;
    if (e.key === "Escape" && at >= 0) words.focus();
    if (e.key !== "ArrowDown" && e.key !== "ArrowUp") return;
    e.preventDefault();
    const to = links[at + (e.key === "ArrowDown" ? 1 : -1)];
    if (to) to.focus(); else if (e.key === "ArrowUp") words.focus();
  });
  // An address of a wrong form is not a reason to fail.
  const start = () => {
    try {
      words.value = decodeURIComponent(location.hash.slice(1));
    } catch {
      words.value = "";
    }
    search();
  };
  addEventListener("hashchange", start);
  start();
  // After loading, a browser goes to the place that the address names, and the focus with it.
  addEventListener("load", () => setTimeout(() => words.focus()));
}
