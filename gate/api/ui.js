"use strict";
// The page of a service: a file is sent to it, and what it says is shown.
(() => {
  const { el, show, bytes, say, takes } = anamnesis;
  const status = document.getElementById("status");
  let token = "";
  let asked = null;

  // The token is kept as long as the page is open, and nowhere else.
  function askForToken(file, more) {
    const input = el("input", { type: "password", id: "token", "aria-label": "Token", autocomplete: "off" });
    const go = () => ((token = input.value), open(file, more));
    input.addEventListener("keydown", (e) => e.key === "Enter" && go());
    status.replaceChildren("This service asks for a token: ", input, " ", el("button", { type: "button", onclick: go }, "Send"));
    input.focus();
  }

  function open(file, more) {
    if (asked) asked.abort();
    document.getElementById("view").hidden = true;
    say("Sending " + file.name);
    const begun = performance.now();
    const q = (asked = new XMLHttpRequest());
    q.open("PUT", "v1/check?format=page&name=" + encodeURIComponent(file.name));
    if (token) q.setRequestHeader("Authorization", "Bearer " + token);
    q.upload.onprogress = (e) => say("Sending " + file.name + ": " + bytes(e.loaded) + " of " + bytes(file.size), e.loaded / Math.max(1, file.size));
    q.upload.onload = () => say("Judging " + file.name);
    q.onerror = () => say("The service could not read the file: the connection ended.");
    q.onload = () => {
      if (q.status === 401) return askForToken(file, more);
      let answer = null;
      try {
        answer = JSON.parse(q.responseText);
      } catch (e) {
        return say("The service could not read the file: it answers " + q.status + ".");
      }
      if (answer.schema !== "amn.page/1") return say("The service could not read the file: " + (answer.detail || answer.title || q.status));
      show(answer);
      say("Read " + bytes(file.size) + " in " + ((performance.now() - begun) / 1000).toFixed(1) + " s." + (more ? " One file at a time: of " + (more + 1) + " the first." : ""));
    };
    q.send(file);
  }

  takes("What a model file is, and whether to trust it.", "The file is sent to this service alone, judged and forgotten.", ([file, ...more]) => open(file, more.length));
})();
