// Package test drops files on the page, in a browser without a window.
package test

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

const demo = "../../testdata/demo/"

// built is the page, which all tests share.
func built(t *testing.T) string {
	t.Helper()
	page, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return page
}

var (
	folder string // of the page
	build  = sync.OnceValues(func() (string, error) {
		out := filepath.Join(folder, "index.html")
		if text, err := exec.Command("go", "run", "../build", "-o", out).CombinedOutput(); err != nil {
			return "", fmt.Errorf("%v: %s", err, text)
		}
		return out, nil
	})
)

func TestMain(m *testing.M) {
	var err error
	if folder, err = os.MkdirTemp("", "anamnesis-page-"); err != nil {
		panic(err)
	}
	code := m.Run()
	os.RemoveAll(folder)
	os.Exit(code)
}

// write puts a file into a folder of the test.
func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// evil is a checkpoint whose pickle calls os.system.
func evil(t *testing.T) string {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for _, m := range [][2]string{{"a/data.pkl", "\x80\x02cos\nsystem\nq\x00X\x02\x00\x00\x00idq\x01\x85q\x02Rq\x03."}, {"a/version", "3\n"}} {
		w, err := z.CreateHeader(&zip.FileHeader{Name: m[0], Method: zip.Store})
		if err == nil {
			_, err = w.Write([]byte(m[1]))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return write(t, "evil.pt", out.Bytes())
}

// many is a safetensors file of n tensors, one with a name that would be markup.
func many(t *testing.T, n int) string {
	var head strings.Builder
	head.WriteString(`{"<img src=x onerror=alert(1)>":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`)
	for i := 1; i < n; i++ {
		fmt.Fprintf(&head, `,"model.layers.%d.weight.%d":{"dtype":"U8","shape":[1],"data_offsets":[%d,%d]}`, i%48, i, i, i+1)
	}
	head.WriteString("}")
	text := head.String() + strings.Repeat(" ", (8-head.Len()%8)%8)
	data := binary.LittleEndian.AppendUint64(nil, uint64(len(text)))
	return write(t, "many.safetensors", append(append(data, text...), make([]byte, n)...))
}

func TestThePageReadsFiles(t *testing.T) {
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.shot("empty")
	for _, c := range []struct{ name, path, verdict, has string }{
		{"checkpoint", demo + "checkpoint.pt", "Accepted", "torch._utils._rebuild_tensor_v2"},
		{"gguf", demo + "tiny.gguf", "Accepted", "general.architecture"},
		{"safetensors", demo + "model.safetensors", "Accepted", "layers.0.attn.in_proj_bias"},
		{"npz", demo + "weights.npz", "Accepted", "W_enc"},
		{"evil", evil(t), "Refused", "os.system"},
		{"text", "page_test.go", "Refused", "package test"},
		{"cut", write(t, "cut.safetensors", []byte("\x00\x10\x00\x00\x00\x00\x00\x00{\"a\":")), "Refused", "truncated"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.t = t
			b.drop(c.path)
			if got := b.text("document.querySelector('.verdict strong').textContent"); got != c.verdict {
				t.Errorf("%s, want %s: %s", got, c.verdict, b.text("document.querySelector('.verdict').textContent"))
			}
			if all := b.text("document.getElementById('view').textContent"); c.name != "text" && !strings.Contains(all, c.has) {
				t.Errorf("nothing of %s in %s", c.has, all)
			}
			b.shot(c.name)
		})
	}
	b.t = t
	b.quiet()
}

func TestManyTensorsAreSearchedAndSorted(t *testing.T) {
	const n = 100_000
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.drop(many(t, n))
	if got := b.text("document.querySelector('.tools [role=status]').textContent"); got != "100,000 tensors" {
		t.Error(got)
	}
	var rows int
	b.eval(&rows, "document.querySelectorAll('#rows .row').length")
	if rows < 10 || rows > 60 {
		t.Errorf("%d rows stand in the page", rows)
	}
	b.eval(nil, "document.querySelector('#rows').scrollTop = 1e9")
	b.until(`[...document.querySelectorAll('#rows .row')].some(r => r.title === "model.layers.15.weight.99999")`)
	b.eval(nil, "(() => { const s = document.querySelector('input[type=search]'); s.value = 'layers.7.weight.99991'; s.dispatchEvent(new Event('input')) })()")
	b.until(`document.querySelector('.tools [role=status]').textContent === "1 of 100,000"`)
	b.eval(nil, "(() => { const s = document.querySelector('input[type=search]'); s.value = 'img'; s.dispatchEvent(new Event('input')) })()")
	b.until(`document.querySelector('#rows .row').title === "<img src=x onerror=alert(1)>"`)
	var images int
	b.eval(&images, "document.images.length")
	if images != 0 {
		t.Error("the name of a tensor is markup")
	}
	b.eval(nil, "(() => { const s = document.querySelector('input[type=search]'); s.value = ''; s.dispatchEvent(new Event('input')); document.querySelector('.head button').click() })()")
	b.until(`document.querySelector('[role=columnheader]').getAttribute('aria-sort') === "ascending"`)
	var worst float64
	b.eval(&worst, `new Promise((done) => { const s = document.querySelector('#rows'); let worst = 0, last = performance.now(), i = 0;
		const step = () => { const now = performance.now(); worst = Math.max(worst, now - last); last = now; s.scrollTop = i * 9973; if (++i < 60) requestAnimationFrame(step); else done(worst) }; requestAnimationFrame(step) })`)
	t.Logf("the longest frame while scrolling over %d rows: %.0f ms", n, worst)
	b.shot("many")
	b.quiet()
}

func TestDarkAndNarrow(t *testing.T) {
	b := chromium(t)
	b.call("Emulation.setEmulatedMedia", map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": "dark"}}})
	b.open(fileURL(built(t)))
	b.drop(demo + "checkpoint.pt")
	if got := b.text("document.documentElement.dataset.theme"); got != "dark" {
		t.Error(got)
	}
	b.shot("dark")
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": 390, "height": 800, "deviceScaleFactor": 2, "mobile": true})
	var wide bool
	b.eval(&wide, "document.documentElement.scrollWidth > document.documentElement.clientWidth")
	if wide {
		t.Error("a narrow page scrolls sideways")
	}
	b.shot("narrow")
	b.eval(nil, "document.getElementById('theme').click()")
	if got := b.text("document.documentElement.dataset.theme"); got != "light" {
		t.Error(got)
	}
	b.quiet()
}

// The page of a report, as amn inspect --html writes it, is the same view.
func TestAReportAsAPage(t *testing.T) {
	account := limits.Policy{}.Budget(context.Background())
	defer account.Close()
	m, err := parser.Open(account, demo+"tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	r, err := page.New(account, "</script><b>tiny</b>.gguf", 0, m, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := page.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	b := chromium(t)
	b.open(fileURL(write(t, "report.html", out.Bytes())))
	b.until("document.querySelector('.verdict strong')")
	if all := b.text("document.body.textContent"); !strings.Contains(all, "general.architecture") {
		t.Error(all)
	}
	var bold int
	b.eval(&bold, "document.querySelectorAll('b').length")
	if bold != 0 {
		t.Error("a name is markup")
	}
	saved, _ := json.Marshal(r)
	if !json.Valid(saved) {
		t.Error("no JSON")
	}
	b.shot("report")
	b.quiet()
}
