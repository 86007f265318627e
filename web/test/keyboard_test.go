package test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// press sends a key, as a keyboard does.
func (b *browser) press(key string) {
	b.t.Helper()
	codes := map[string]int{"Tab": 9, "Enter": 13, "Escape": 27, "PageDown": 34, "End": 35, "Home": 36, "ArrowUp": 38, "ArrowDown": 40}
	p := map[string]any{"key": key, "code": key, "windowsVirtualKeyCode": codes[key], "type": "keyDown"}
	if key == "Enter" {
		p["text"] = "\r"
	}
	b.call("Input.dispatchKeyEvent", p)
	p["type"] = "keyUp"
	delete(p, "text")
	b.call("Input.dispatchKeyEvent", p)
}

// focus names what has the focus.
func (b *browser) focus() string {
	b.t.Helper()
	return b.text(`(() => { const e = document.activeElement; return e.id || (e.type === "search" ? "search" : "") || e.tagName.toLowerCase() + ":" + e.textContent.slice(0, 20) })()`)
}

// Everything of the page is reached by Tab in the order of reading, and each stop has
// a visible outline.
func TestTabGoesThroughThePage(t *testing.T) {
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.drop(demo + "tiny.gguf")
	b.eval(nil, "document.activeElement.blur()")
	var got []string
	for range 30 {
		b.press("Tab")
		at := b.focus()
		if strings.HasPrefix(at, "body:") || slices.Contains(got, at) {
			break
		}
		got = append(got, at)
		var seen bool
		if b.eval(&seen, `getComputedStyle(document.activeElement).outlineStyle !== "none"`); !seen {
			t.Errorf("%s has no outline", at)
		}
	}
	want := []string{"theme", "choose", "choose-folder", "json", "modules", "button:Show in the map", "button:all", "colour", "search", "button:Name", "button:Type", "button:Shape", "button:Bytes", "button:Offset", "rows"}
	if !slices.Equal(got, want) {
		t.Errorf("Tab goes to %q, want %q", got, want)
	}
	b.quiet()
}

func TestKeysSortSearchAndScroll(t *testing.T) {
	const n = 100_000
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.drop(many(t, n))
	first := "document.querySelector('#rows .row').title"
	b.eval(nil, "document.querySelector('.head button').focus()")
	for _, want := range []string{"ascending", "descending", "none"} {
		b.press("Enter")
		b.until(`document.querySelector('[role=columnheader]').getAttribute('aria-sort') === "` + want + `"`)
	}

	b.eval(nil, "document.querySelector('input[type=search]').focus()")
	b.call("Input.insertText", map[string]any{"text": "layers.7.weight.99991"})
	b.until(first + ` === "model.layers.7.weight.99991"`)
	b.press("Escape")
	b.until(`document.querySelector('.tools [role=status]').textContent === "100,000 tensors"`)
	b.press("Enter")
	b.until(`document.activeElement.id === "rows"`)

	b.press("ArrowDown")
	b.until(`document.querySelector('#rows').scrollTop === 26`) // a row
	b.press("PageDown")
	b.until(`document.querySelector('#rows').scrollTop >= 200`)
	b.press("End")
	b.until(`[...document.querySelectorAll('#rows .row')].some(r => r.title === "model.layers.15.weight.99999")`)
	b.press("Home")
	b.until(`document.querySelector('#rows').scrollTop === 0 && ` + first + `.startsWith("<img")`)
	b.press("Escape")
	b.until(`document.activeElement.type === "search"`)
	b.quiet()
}

// What programs that read pages aloud are told.
func TestRolesAndNames(t *testing.T) {
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.drop(demo + "tiny.gguf")
	type value struct{ Value string }
	var tree struct {
		Nodes []struct {
			Ignored    bool
			Role, Name value
			Properties []struct {
				Name  string
				Value struct{ Value json.RawMessage }
			}
		}
	}
	b.into(&tree, "Accessibility.getFullAXTree", map[string]any{})
	has := map[string]bool{}
	for _, node := range tree.Nodes {
		if node.Ignored {
			continue
		}
		role, name := node.Role.Value, node.Name.Value
		has[role+" "+name] = true
		for _, p := range node.Properties {
			if p.Name == "focusable" && string(p.Value.Value) == "true" && name == "" && role != "RootWebArea" {
				t.Errorf("a %s that takes the focus has no name", role)
			}
		}
	}
	for _, want := range []string{
		"main ", "heading anamnesis", "heading Tensors", "heading Metadata", "button Choose files", "button Choose a folder", "button Dark", "button Save as JSON",
		"searchbox Search names and types", "table Tensors", "columnheader Name", "columnheader Offset", "rowgroup Tensors, scroll with the arrow keys",
		"region Verdict", "region Tensors", "region Metadata", "region Bytes by module and type", "region Modules", "treegrid Modules, arrows move and open, Enter shows", "region What is chosen", "status ",
	} {
		if !has[want] {
			t.Errorf("nothing is %q", want)
		}
	}
	b.quiet()
}

// Where there is no xz, the parser is packed with gzip: the page is larger, and works.
func TestAPageWithoutXZ(t *testing.T) {
	out := filepath.Join(t.TempDir(), "index.html")
	if text, err := exec.Command("go", "run", "../build", "-gzip", "-o", out).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	b := chromium(t)
	b.open(fileURL(out))
	b.drop(demo + "tiny.gguf")
	if got := b.text("document.querySelector('.verdict strong').textContent"); got != "Accepted" {
		t.Error(got)
	}
	b.quiet()
}
