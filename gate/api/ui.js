"use strict";
// The page of a service: a file or a folder is sent to it, and what it says is shown.
(() => {
  const { el, show, bytes, say, takes } = anamnesis;
  const status = document.getElementById("status");
  let token = "";
  let asked = null;

  // The token is kept as long as the page is open, and nowhere else.
  function askForToken(sources) {
    const input = el("input", { type: "password", id: "token", "aria-label": "Token", autocomplete: "off" });
    const go = () => ((token = input.value), open(sources));
    input.addEventListener("keydown", (e) => e.key === "Enter" && go());
    status.replaceChildren("This service asks for a token: ", input, " ", el("button", { type: "button", onclick: go }, "Send"));
    input.focus();
  }

  function open(sources) {
    const [source] = sources;
    const what = source.file ? "file" : "folder";
    if (asked) asked.abort();
    document.getElementById("view").hidden = true;
    say("Sending " + source.name);
    const begun = performance.now();
    const q = (asked = new XMLHttpRequest());
    q.open(source.file ? "PUT" : "POST", "v1/check?format=page" + (source.file ? "&name=" + encodeURIComponent(source.name) : ""));
    if (token) q.setRequestHeader("Authorization", "Bearer " + token);
    q.upload.onprogress = (e) => say("Sending " + source.name + ": " + bytes(e.loaded) + " of " + bytes(source.size), e.loaded / Math.max(1, e.total));
    q.upload.onload = () => say("Judging " + source.name);
    q.onerror = () => say("The service could not read the " + what + ": the connection ended.");
    q.onload = () => {
      if (q.status === 401) return askForToken(sources);
      let answer = null;
      try {
        answer = JSON.parse(q.responseText);
      } catch (e) {
        return say("The service could not read the " + what + ": it answers " + q.status + ".");
      }
      if (answer.schema !== "amn.page/1") return say("The service could not read the " + what + ": " + (answer.detail || answer.title || q.status));
      answer.name = source.name;
      show(answer);
      say("Read " + bytes(source.size) + " in " + ((performance.now() - begun) / 1000).toFixed(1) + " s." + (sources.length > 1 ? " One at a time: of " + sources.length + " the first." : ""));
    };
    q.send(source.file || form(source));
  }

  // A folder as a form, which the service takes as one: each file with its path.
  function form({ files }) {
    const f = new FormData();
    for (const [path, file] of files) f.append("file", file, path);
    return f;
  }

  takes("What a model is, and whether to trust it.", "What you drop is sent to this service alone, judged and forgotten.", open);
})();
