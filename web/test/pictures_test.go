package test

import (
	"bytes"
	"flag"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pictures of the documents")

// The pictures of the page in the documents are drawn by it: go test ./test -run Pictures -update.
// Browsers draw letters differently, so without -update only what is in the pictures is looked for
// on the page.
func TestThePicturesOfTheDocuments(t *testing.T) {
	docs := "../../docs/pictures"
	b := chromium(t)
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 1200, "height": 900, "deviceScaleFactor": 1, "mobile": false})
	b.open(fileURL(built(t)))
	for _, p := range []struct {
		name, show string
		files      []string
		part       string // the picture begins here
		height     int
		has        []string
	}{
		{"explorer", "location.hash = '#tensor=layers.0.up.weight'", []string{demo + "checkpoint.pt"}, "#h-model", 830, []string{"The model", "Modules", "All 1,024 elements", "layers.0.up.weight"}},
		{"refused", "document.querySelectorAll('.findings details').forEach((d) => (d.open = true))", []string{evil(t)}, ".verdict", 860, []string{"Refused", "os.system", "GLOBAL", "REDUCE"}},
		{"two-models", "document.getElementById('measure').click()", []string{matrix(t, "base.safetensors", 300, 100, 0), matrix(t, "tuned.safetensors", 300, 100, 0.02)}, "#beside", 560, []string{"Beside tuned.safetensors", "dB"}},
	} {
		b.chooseAll(p.files...)
		ready := "/^Read .* in /.test(document.getElementById('status').textContent)"
		if len(p.files) > 1 {
			ready = "document.getElementById('measure')"
		}
		b.until(ready)
		b.eval(nil, "void ("+p.show+")")
		for _, text := range p.has {
			b.until("document.getElementById('view').textContent.includes(" + quoted(text) + ")")
		}
		path := filepath.Join(docs, p.name+".png")
		if *update {
			var at struct{ X, Y float64 }
			b.eval(&at, "(() => { const r = document.querySelector('"+p.part+"').getBoundingClientRect(); return { x: 0, y: r.y + scrollY - 12 } })()")
			b.save(path, map[string]any{"captureBeyondViewport": true, "clip": map[string]any{"x": 0, "y": at.Y, "width": 1185, "height": p.height, "scale": 1}})
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if size, err := png.DecodeConfig(bytes.NewReader(data)); err != nil || size.Width != 1185 || size.Height != p.height {
			t.Errorf("%s: %v, %d by %d", path, err, size.Width, size.Height)
		}
		if len(data) > 200_000 {
			t.Errorf("%s has %d bytes", path, len(data))
		}
	}
	shown := ""
	for _, name := range []string{"../README.md", "../../docs/start-security.md", "../../docs/start-ml.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		shown += string(text)
	}
	for _, name := range []string{"explorer", "refused", "two-models"} {
		if !strings.Contains(shown, "pictures/"+name+".png)") {
			t.Errorf("no document shows %s.png", name)
		}
	}
	b.quiet()
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", "\\'") + "'" }
