package test

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// documents writes the site of the documents and returns its folder.
func documents(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	write := exec.CommandContext(t.Context(), "go", "run", "./internal/site", dir)
	write.Dir = "../.."
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// The site works from a folder: a slash goes to the search from any page, words find their
// section, and the keyboard opens it.
func TestTheSiteSearchesFromAFolder(t *testing.T) {
	dir := documents(t)
	b := chromium(t)
	b.open(fileURL(filepath.Join(dir, "quantize.html")))
	b.press("/")
	b.until(`document.activeElement.id === "words"`)
	b.call("Input.insertText", map[string]any{"text": "receipt nonce"})
	b.press("Enter")
	b.until(`location.href.includes("search.html") && document.querySelector("#results a")`)
	if first := b.text(`document.querySelector("#results a").getAttribute("href")`); first != "hosts.html#receipts" {
		t.Errorf("the first result is %s", first)
	}
	if said := b.text(`document.getElementById("found").textContent`); !strings.Contains(said, "place") {
		t.Errorf("the page says %q", said)
	}
	b.press("ArrowDown")
	b.until(`document.activeElement === document.querySelector("#results a")`)
	b.press("Escape")
	b.until(`document.activeElement.id === "words"`)
	b.eval(nil, `(words.value = "", words.dispatchEvent(new Event("input")))`)
	b.call("Input.insertText", map[string]any{"text": "zzyzx"})
	b.until(`document.getElementById("found").textContent.startsWith("Nothing") && !document.querySelector("#results a")`)
	b.eval(nil, `(words.value = "", words.dispatchEvent(new Event("input")))`)
	b.call("Input.insertText", map[string]any{"text": "<img src=x onerror=alert(1)> os.system"})
	b.until(`document.getElementById("found").textContent !== "" && !document.querySelector("#results img")`)
	b.open(fileURL(filepath.Join(dir, "search.html")) + "#%E0%A4%A")
	b.until(`document.getElementById("found").textContent.startsWith("Type")`)
	b.quiet()
}

// A button copies the commands of a block: of a session, only the lines that were typed.
func TestTheSiteCopiesCommands(t *testing.T) {
	dir := documents(t)
	b := chromium(t)
	b.open(fileURL(filepath.Join(dir, "jobs.html")))
	b.eval(nil, `(window.copied = [], Object.defineProperty(navigator, "clipboard", { value: { writeText: async (s) => { window.copied.push(s) } } }))`)
	b.eval(nil, `document.querySelector(".copied button").click()`)
	b.until(`document.querySelector(".copied button").textContent === "Copied"`)
	if got := b.text(`window.copied.join("|")`); got != "amn dequantize --resume -o full testdata/demo/llama-fp8" {
		t.Errorf("copied %q", got)
	}
	b.until(`document.querySelector(".copied button").textContent === "Copy"`)
	b.quiet()
}
