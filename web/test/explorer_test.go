package test

import (
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"
)

// matrix is a safetensors file with a matrix w of F32 and a vector b, of which w is a little
// larger than its numbers say where off is not zero.
func matrix(t *testing.T, name string, rows, cols int, off float64) string {
	head := fmt.Sprintf(`{"model.layers.0.w":{"dtype":"F32","shape":[%d,%d],"data_offsets":[0,%d]},"model.layers.1.b":{"dtype":"F32","shape":[4],"data_offsets":[%d,%d]}}`,
		rows, cols, 4*rows*cols, 4*rows*cols, 4*rows*cols+16)
	head += strings.Repeat(" ", (8-len(head)%8)%8)
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...)
	for k := range rows*cols + 4 {
		x := math.Mod(float64(k)*0.37, 2) - 1
		if k == 5 {
			x = 77
		}
		if k < rows*cols {
			x += off
		}
		data = binary.LittleEndian.AppendUint32(data, math.Float32bits(float32(x)))
	}
	return write(t, name, data)
}

// chooseAll gives several files to the page's input.
func (b *browser) chooseAll(paths ...string) {
	b.t.Helper()
	var r struct{ Result struct{ ObjectID string } }
	b.into(&r, "Runtime.evaluate", map[string]any{"expression": "document.getElementById('file')"})
	for k := range paths {
		paths[k], _ = filepath.Abs(paths[k])
	}
	b.call("DOM.setFileInputFiles", map[string]any{"files": paths, "objectId": r.Result.ObjectID})
}

// A tensor that is chosen shows its numbers: a sample at once, all of them when asked.
func TestATensorIsOpened(t *testing.T) {
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.drop(matrix(t, "large.safetensors", 3000, 500, 0))
	b.eval(nil, "document.querySelector('#rows .row').click()")
	b.until("document.querySelector('.numbers figure')")
	numbers := "document.querySelector('.numbers').textContent"
	if got := b.text(numbers); !strings.Contains(got, "A sample: 1,048,500 of 1,500,000 elements") || !strings.Contains(got, "77 at [0, 5]") {
		t.Errorf("the sample says %s", got)
	}
	if got := b.text("location.hash"); got != "#tensor=model.layers.0.w" {
		t.Errorf("the address is %s", got)
	}
	b.shot("sample")
	b.eval(nil, "[...document.querySelectorAll('.numbers button')].find(b => b.textContent === 'Read all of it').click()")
	b.until(numbers + ".includes('All 1,500,000 elements')")
	var lit, cells int
	b.eval(&cells, "document.querySelector('.heat').width * document.querySelector('.heat').height")
	b.eval(&lit, "[...document.querySelector('.heat').getContext('2d').getImageData(0, 0, 96, 64).data].filter((x, i) => i % 4 === 3 && x === 255).length")
	if cells != 64*96 || lit != cells {
		t.Errorf("%d of %d cells are drawn", lit, cells)
	}
	b.shot("opened")
	b.quiet()
}

// A quantized weight shows what is stored beside what it decodes to, and the tensors that hold it.
func TestAWeightIsOpened(t *testing.T) {
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.drop(demo + "llama-fp8/model.safetensors")
	if got := b.text("document.querySelector('.facts').textContent"); !strings.Contains(got, "Parameters") {
		t.Error(got)
	}
	b.eval(nil, "location.hash = '#tensor=model.layers.0.mlp.up_proj.weight'")
	b.until("document.querySelectorAll('.numbers .half').length > 0")
	b.shot("weight")
	b.quiet()
}

// Blocks of GGUF are shown decoded.
func TestBlocksAreDecoded(t *testing.T) {
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.drop(demo + "tiny.gguf")
	b.eval(nil, "location.hash = '#tensor=blk.0.attn_q.weight'")
	b.until("document.querySelector('.numbers figure')")
	if got := b.text("document.querySelector('.numbers').textContent"); !strings.Contains(got, "Numbers, Q8_0") || !strings.Contains(got, "All 1,024 elements") {
		t.Error(got)
	}
	b.quiet()
}

// Two files are compared: what only one has, and how far the numbers are apart.
func TestTwoModels(t *testing.T) {
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.chooseAll(matrix(t, "a.safetensors", 100, 50, 0), matrix(t, "b.safetensors", 100, 50, 0.01))
	b.until("document.getElementById('measure')")
	if got := b.text("document.getElementById('beside').textContent"); !strings.Contains(got, "Tensors with the same name, shape and type: 2, others: 0") {
		t.Error(got)
	}
	b.eval(nil, "document.getElementById('measure').click()")
	b.until("document.querySelector('#beside table')")
	// The mean square before is 77*77/5000 + about 1/3, the noise 0.0001.
	want := "41.8 dB"
	if got := b.text("document.getElementById('beside').textContent"); !strings.Contains(got, "Tensors with equal numbers: 1, with other numbers: 1") || !strings.Contains(got, want) {
		t.Errorf("%s, want %s", got, want)
	}
	b.shot("two")
	b.chooseAll(matrix(t, "c.safetensors", 100, 50, 0), demo+"model.safetensors")
	b.until("document.getElementById('beside') && document.getElementById('beside').textContent.includes('only in the other')")
	b.quiet()
}

// The bytes and the instruction that a refusal is about are marked.
func TestWhatAFindingIsAbout(t *testing.T) {
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.drop(evil(t))
	b.eval(nil, "document.querySelector('.findings details').open = true")
	b.until("document.querySelector('.findings .hex mark')")
	if got := b.text("document.querySelector('.findings .hex mark').textContent"); got != "63" { // GLOBAL
		t.Errorf("the byte %s is marked", got)
	}
	if got := b.text("[...document.querySelectorAll('.program mark')].map(m => m.textContent.replace(/\\s+/g, ' ')).join('; ')"); !strings.Contains(got, "GLOBAL os.system") || !strings.Contains(got, "REDUCE result of os.system") {
		t.Errorf("marked is %s", got)
	}
	b.shot("why")
	b.quiet()
}

// Layers and experts by the thousand: the map and the tree stay readable, and every module is reached.
func TestAThousandLayers(t *testing.T) {
	var head strings.Builder
	head.WriteString(`{"embed":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}`)
	at := 1
	for layer := range 1000 {
		for expert := range 100 {
			fmt.Fprintf(&head, `,"layers.%d.experts.%d.w":{"dtype":"U8","shape":[2],"data_offsets":[%d,%d]}`, layer, expert, at, at+2)
			at += 2
		}
	}
	head.WriteString("}")
	text := head.String() + strings.Repeat(" ", (8-head.Len()%8)%8)
	data := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	b := chromium(t)
	b.open(fileURL(built(t)))
	b.eval(nil, `window.slow = []; new PerformanceObserver((l) => l.getEntries().forEach((e) => window.slow.push(Math.round(e.duration)))).observe({ type: "longtask" })`)
	b.drop(write(t, "layers.safetensors", append(data, make([]byte, at)...)))
	if got := b.text("document.querySelector('.flow').textContent"); !strings.Contains(got, "layers 0 to 999 × 1,000") || !strings.Contains(got, "experts × 100") {
		t.Errorf("the drawing says %s", got)
	}
	var boxes int
	b.eval(&boxes, "document.querySelectorAll('.map div').length")
	if boxes < 20 || boxes > 200 {
		t.Errorf("the map has %d boxes", boxes)
	}
	var opening string
	opening = b.text("JSON.stringify(window.slow)")
	b.eval(nil, "window.slow = []")
	// Into the map: a group of layers, a layer, its experts.
	for range 3 {
		b.eval(nil, "document.querySelector('.map div').click()")
	}
	if got := b.text("document.querySelector('.path').textContent"); !strings.Contains(got, "layers") {
		t.Errorf("the map is at %s", got)
	}
	b.eval(nil, "location.hash = '#tensor=layers.777.experts.42.w'")
	b.until("document.querySelector('.row.chosen') && document.querySelector('.row.chosen').title === 'layers.777.experts.42.w'")
	for _, word := range []string{"layers.9", "42.w", "experts"} {
		b.eval(nil, "(() => { const s = document.querySelector('input[type=search]'); s.value = '"+word+"'; s.dispatchEvent(new Event('input')) })()")
	}
	b.eval(nil, "document.querySelectorAll('.head button').forEach((h) => h.click())")
	b.until("document.querySelectorAll('[role=columnheader]')[4].getAttribute('aria-sort') === 'ascending' && document.querySelector('.tools [role=status]').textContent === '100,000 of 100,001'")
	t.Logf("tasks above 50 ms, in ms: while opening %s, then %s", opening, b.text("JSON.stringify(window.slow)"))
	b.shot("thousand")
	b.quiet()
}
