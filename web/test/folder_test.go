package test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// chooseFolder gives a folder to the page's second input.
func (b *browser) chooseFolder(path string) {
	b.t.Helper()
	var r struct{ Result struct{ ObjectID string } }
	b.into(&r, "Runtime.evaluate", map[string]any{"expression": "document.getElementById('folder')"})
	path, _ = filepath.Abs(path)
	b.call("DOM.setFileInputFiles", map[string]any{"files": []string{path}, "objectId": r.Result.ObjectID})
}

// drag drops files and folders on the page.
func (b *browser) drag(paths ...string) {
	b.t.Helper()
	for k := range paths {
		paths[k], _ = filepath.Abs(paths[k])
	}
	data := map[string]any{"items": []any{}, "files": paths, "dragOperationsMask": 1}
	for _, kind := range []string{"dragEnter", "dragOver", "drop"} {
		b.call("Input.dispatchDragEvent", map[string]any{"type": kind, "x": 50, "y": 50, "data": data})
	}
}

// shown waits for a verdict and gives it, with all of the page's text.
func (b *browser) shown() (verdict, all string) {
	b.t.Helper()
	b.until("/^Read |could not read/.test(document.getElementById('status').textContent)")
	return b.text("document.querySelector('.verdict strong')?.textContent || ''"), b.text("document.body.innerText")
}

// hostile is a folder with a model and, below it, a pickle that runs a command.
func hostile(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	model, err := os.ReadFile(demo + "model.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{
		"model.safetensors": model,
		"below/state.pkl":   []byte("\x80\x02cos\nsystem\nq\x00X\x02\x00\x00\x00idq\x01\x85q\x02Rq\x03."),
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err == nil {
			err = os.WriteFile(path, data, 0o666)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A folder is one model: its shards and its configuration are read together, and every file is
// judged.
func TestAFolderIsDropped(t *testing.T) {
	b := chromium(t)
	page := fileURL(built(t))
	for _, c := range []struct {
		name, verdict string
		do            func()
		has           []string
	}{
		{"dropped", "Accepted", func() { b.drag(demo + "sharded") }, []string{"sharded", "Its files", "none refused", "model-00002-of-00002.safetensors"}},
		{"chosen", "Refused", func() { b.chooseFolder(demo + "llama-fp8") }, []string{"llama-fp8", "config.json", "it is Python", "self_attn"}},
		{"hostile", "Refused", func() { b.drag(hostile(t)) }, []string{"below/state.pkl", "os.system", "The bytes at", "1 refused"}},
		{"without a model", "Refused", func() { b.drag(filepath.Dir(write(t, "README.md", []byte("Nothing.\n")))) }, []string{"there is no model"}},
		{"files", "Refused", func() {
			b.drag(demo+"model.safetensors", demo+"tiny.gguf", evil(t))
		}, []string{"3 files and folders", "evil.pt", "os.system"}},
		{"files and a folder", "Refused", func() {
			b.drag(demo+"model.safetensors", demo+"tiny.gguf", hostile(t))
		}, []string{"3 files and folders", "below/state.pkl"}},
		{"two models", "Accepted", func() { b.drag(demo+"sharded", demo+"model.safetensors") }, []string{"Beside model.safetensors"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.open(page)
			c.do()
			if c.name == "two models" {
				b.until("document.getElementById('beside')")
			}
			verdict, all := b.shown()
			if verdict != c.verdict {
				t.Fatalf("%s, want %s: %s", verdict, c.verdict, all)
			}
			for _, has := range c.has {
				if !strings.Contains(all, has) {
					t.Errorf("nothing of %q in %s", has, all)
				}
			}
			b.shot("folder-" + strings.ReplaceAll(c.name, " ", "-"))
		})
	}
	b.t = t
	b.quiet()
}

// A folder is sent to a service as one.
func TestAFolderIsSentToAService(t *testing.T) {
	b := chromium(t)
	address := service(t)
	for _, c := range []struct {
		path, verdict string
		has           []string
	}{
		{demo + "sharded", "Accepted", []string{"sharded", "Its files", "model-00002-of-00002.safetensors", "Modules"}},
		{hostile(t), "Refused", []string{"below/state.pkl", "os.system"}},
	} {
		b.open("http://" + address + "/")
		b.drag(c.path)
		verdict, all := b.shown()
		if verdict != c.verdict {
			t.Errorf("%s: %s, want %s", c.path, verdict, c.verdict)
		}
		for _, has := range c.has {
			if !strings.Contains(all, has) {
				t.Errorf("%s: nothing of %s in %s", c.path, has, all)
			}
		}
	}
}
