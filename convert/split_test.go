package convert_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
)

// splitOf is a model of five tensors of 48 to 96 bytes as GGUF.
func splitOf(t *testing.T) string {
	t.Helper()
	b := converttest.Account(t)
	p, err := convert.NewPlan(b, converttest.LlamaOfOneLayer(t, b, converttest.LlamaConfig, ""), convert.Options{Sink: convert.GGUF{RawNames: true}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.gguf")
	if _, err := p.Write(path, false); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestSplitFilesJoinToTheSame(t *testing.T) {
	whole := splitOf(t)
	for _, c := range []struct {
		name  string
		split convert.Split
		files int
	}{
		{"by number", convert.Split{Stem: "m", Tensors: 5}, 3},
		{"by size", convert.Split{Stem: "m", Bytes: 160}, 8},
		{"keys apart", convert.Split{Stem: "m", Tensors: 12, KeysAlone: true}, 2},
		{"one file", convert.Split{Stem: "m", Tensors: 12}, 1},
	} {
		m, b := converttest.Open(t, whole)
		p, err := convert.NewPlan(b, m, convert.Options{Sink: convert.GGUF{RawNames: true}, AsIs: true, Split: &c.split})
		if err != nil {
			t.Fatal(c.name, err)
		}
		to := filepath.Join(t.TempDir(), "out")
		if _, err := p.WriteFolder(to, false, false); err != nil {
			t.Fatal(c.name, err)
		}
		list := names(t, to)
		if len(list) != c.files {
			t.Errorf("%s: files %q", c.name, list)
		}
		parts, b2 := converttest.Open(t, filepath.Join(to, list[0]))
		if err := parser.Verify(b2, parts); err != nil {
			t.Error(c.name, err)
		}
		again, err := convert.NewPlan(b2, parts, convert.Options{Sink: convert.GGUF{RawNames: true}, AsIs: true})
		if err != nil {
			t.Fatal(c.name, err)
		}
		joined := filepath.Join(to, "joined.gguf")
		if _, err := again.Write(joined, false); err != nil {
			t.Fatal(c.name, err)
		}
		want, _ := os.ReadFile(whole)
		got, _ := os.ReadFile(joined)
		if diff := cmp.Diff(len(want), len(got)); diff != "" || string(want) != string(got) {
			t.Errorf("%s: another file: %s", c.name, diff)
		}
	}
}

func TestATensorThatPassesTheSizeOfAFileIsRefused(t *testing.T) {
	m, b := converttest.Open(t, splitOf(t))
	_, err := convert.NewPlan(b, m, convert.Options{Sink: convert.GGUF{RawNames: true}, AsIs: true, Split: &convert.Split{Bytes: 32}})
	if wire.ClassOf(err) != wire.Unsupported {
		t.Error(err)
	}
}

// A quantized split model keeps its files, with each tensor in the same file, and the mix counts in
// their order.
func TestFilesOfASplitModelAreKept(t *testing.T) {
	b := converttest.Account(t)
	whole := converttest.TinyLlama(t, b, 8, 256)
	sink := convert.GGUF{RawNames: true}
	p, err := convert.NewPlan(b, whole, convert.Options{Sink: sink, AsIs: true, Split: &convert.Split{Stem: "m", Tensors: 5, KeysAlone: true}})
	if err != nil {
		t.Fatal(err)
	}
	from, to := filepath.Join(t.TempDir(), "from"), filepath.Join(t.TempDir(), "to")
	if _, err := p.WriteFolder(from, false, false); err != nil {
		t.Fatal(err)
	}
	source, b2 := converttest.Open(t, filepath.Join(from, names(t, from)[0]))
	q := ggml.Quantizer{Mix: converttest.Mix(t, "q4_k_m")}
	p, err = convert.NewPlan(b2, source, convert.Options{Sink: sink, Quantize: q, Split: &convert.Split{Stem: "small", Kept: true}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.WriteFolder(to, false, false); err != nil {
		t.Fatal(err)
	}
	list := names(t, to)
	if len(list) != len(names(t, from)) || list[0] != "small-00001-of-00005.gguf" {
		t.Errorf("files %q", list)
	}
	got, _ := converttest.Open(t, filepath.Join(to, list[0]))
	parts := map[string]int32{}
	for i := range source.Tensors() {
		parts[i.Name] = i.Part
	}
	quantized := 0
	for i := range got.Tensors() {
		if i.Part != parts[i.Name] || i.Part == 0 {
			t.Errorf("%s is in file %d, and was in %d", i.Name, i.Part, parts[i.Name])
		}
		if i.DType != tensor.F32 {
			quantized++
		}
	}
	if quantized != 2+2*8 {
		t.Errorf("%d tensors are quantized", quantized)
	}
}

// llama-gguf-split counts dimensions as ggml does: leading dimensions of one do not count.
func TestSplitLeavesDimensionsOfOneOut(t *testing.T) {
	b := converttest.Account(t)
	shapes := map[string][]int64{"a": {1, 32}, "b": {1, 1, 1}, "c": {32, 1}, "d": {2, 1, 32}}
	var infos []tensor.Info
	for _, name := range []string{"a", "b", "c", "d"} {
		infos = append(infos, tensor.Info{Name: name, DType: tensor.F32, Shape: shapes[name]})
	}
	m := converttest.GGUFWith(t, b, infos, nil, func(i tensor.Info) []float32 { return make([]float32, i.Elements()) })
	for _, lean := range []bool{false, true} {
		p, err := convert.NewPlan(b, m, convert.Options{Sink: convert.GGUF{RawNames: true}, AsIs: true, Lean: lean})
		if err != nil {
			t.Fatal(err)
		}
		want := shapes
		if lean {
			want = map[string][]int64{"a": {32}, "b": {1}, "c": {32, 1}, "d": {2, 1, 32}}
		}
		for _, o := range p.Outs {
			if diff := cmp.Diff(want[o.Name], o.Shape); diff != "" {
				t.Errorf("lean %v: %s: %s", lean, o.Name, diff)
			}
		}
	}
}
