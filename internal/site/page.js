"use strict";
{
  const form = document.getElementById("find"), words = document.getElementById("words");
  form.hidden = false;
  // The search page searches while one types; the others lead to it.
  form.addEventListener("submit", (e) => {
    e.preventDefault();
    if (!document.getElementById("index")) location.href = "search.html#" + encodeURIComponent(words.value);
  });
  document.addEventListener("keydown", (e) => {
    if (e.key !== "/" || e.ctrlKey || e.metaKey || e.altKey || e.target.closest("input, textarea, select, [contenteditable]")) return;
    e.preventDefault();
    words.focus();
    words.select();
  });

  const said = document.createElement("p");
  said.className = "aloud";
  said.setAttribute("role", "status");
  document.body.querySelector("main").append(said);
  // Only what is typed is copied: the lines after "$ " of a session.
  const commands = (pre) => {
    const lines = pre.textContent.replace(/\n+$/, "").split("\n"), typed = lines.filter((l) => l.startsWith("$ "));
    return typed.length > 0 ? typed.map((l) => l.slice(2)).join("\n") : lines.join("\n");
  };
  const old = (text) => {
    const area = document.createElement("textarea");
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  };
  for (const pre of document.querySelectorAll("pre.commands")) {
    const box = document.createElement("div"), button = document.createElement("button");
    box.className = "copied";
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy the commands");
    pre.before(box);
    box.append(pre, button);
    button.addEventListener("click", async () => {
      let done = false;
      try {
        await navigator.clipboard.writeText(commands(pre));
        done = true;
      } catch {
        done = old(commands(pre));
      }
      button.textContent = done ? "Copied" : "Not copied";
      said.textContent = button.textContent;
      setTimeout(() => { button.textContent = "Copy"; said.textContent = ""; }, 1500);
    });
  }
}
