package quant

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
)

// Each row names its goldens, each of them is of that row, and no golden is of
// none. Layouts of ggml's types are in the packages of the codecs that read them.
func TestEveryRowHasGoldensOfItsLibrary(t *testing.T) {
	all, err := filepath.Glob("*/testdata/*/oracle.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range schemes {
		t.Run(r.Name, func(t *testing.T) {
			var folders []string
			for _, pattern := range r.Goldens {
				found, err := filepath.Glob(filepath.Join("*/testdata", pattern))
				if err != nil || len(found) == 0 {
					t.Errorf("%s: %v, %v", pattern, found, err)
				}
				folders = append(folders, found...)
			}
			if len(folders) == 0 || r.Stores == "" || r.Oracle == "" {
				t.Error("says too little")
			}
			for _, folder := range folders {
				if r.Declares == scheme.ByType {
					continue
				}
				of := goldenOf(t, folder)
				if of != r {
					t.Errorf("%s is of %v", folder, of)
				}
				all = slices.DeleteFunc(all, func(file string) bool { return file == filepath.Join(folder, "oracle.txt") })
			}
		})
	}
	if len(all) > 0 {
		t.Errorf("of no row: %v", all)
	}
}

// planOf opens a golden and binds its weights.
func planOf(t *testing.T, folder string) (*limits.Budget, tensor.Model, *Bound) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	t.Cleanup(b.Close)
	files, _ := filepath.Glob(filepath.Join(folder, "model.*"))
	m, err := parser.Open(b, files[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	bound, err := Plan(b, m, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return b, m, bound
}

// goldenOf is the row that binds the weight of a golden.
func goldenOf(t *testing.T, folder string) *scheme.Scheme {
	t.Helper()
	_, _, bound := planOf(t, folder)
	if len(bound.Weights) != 1 {
		t.Fatalf("%s: %d weights", folder, len(bound.Weights))
	}
	return bound.Weights[0].Row
}

// Tables derived from the rows recognize each row's own tensors: the golden's main tensor has a
// name of its row, and its scales are scales.
func TestRowsKnowTheNamesOfTheirTensors(t *testing.T) {
	for _, r := range schemes {
		for _, pattern := range r.Goldens {
			folders, _ := filepath.Glob(filepath.Join("*/testdata", pattern))
			for _, folder := range folders {
				if r.Declares != scheme.ByType && r.Declares != scheme.ByGraph {
					t.Run(filepath.Base(folder), func(t *testing.T) { namesAreKnown(t, r, folder) })
				}
			}
		}
	}
}

func namesAreKnown(t *testing.T, r *scheme.Scheme, folder string) {
	b, m, bound := planOf(t, folder)
	w := bound.Weights[0]
	known := map[string]bool{w.Parts[0].Name: true}
	for _, main := range r.Mains {
		if stem, ok := strings.CutSuffix(w.Parts[0].Name, main.Codes); ok {
			for _, part := range main.Parts {
				known[stem+part] = true
			}
		}
	}
	for _, part := range slices.Concat(w.Parts, w.Extra) {
		if !known[part.Name] && !strings.Contains(part.Name, bnb.StateName) {
			t.Errorf("%s is not a part that the row of %s names", part.Name, r.Name)
		}
	}
	if method := method0(t, b, m); method != "" && rows.Methods[method] && r.Priority == 0 && !r.Stands(method) {
		t.Errorf("quant_method %s does not stand for %s", method, r.Name)
	}
}

func method0(t *testing.T, b *limits.Budget, m tensor.Model) string {
	t.Helper()
	c, err := config.Load(b, m.Configs(), "")
	if err != nil {
		t.Fatal(err)
	}
	return c.Method()
}

// Every type of ggml's that is still in use is read: blocks are bound, numbers
// pass through.
func TestEveryTypeOfGGMLIsBound(t *testing.T) {
	seen := 0
	for number := range gguf.Type(1 << 10) {
		d := number.DType()
		if d == tensor.Unknown {
			continue
		}
		seen++
		g, ok := d.Geometry()
		if !ok || d.String() != number.String() {
			t.Errorf("type %d: %v, %v", number, d, g)
		}
		m := &tensor.File{Infos: []tensor.Info{{Name: "w", DType: d, Shape: []int64{2, int64(g.Elems)}, Span: tensor.Span{Len: 2 * int64(g.Bytes)}}}}
		b := limits.Policy{}.Budget(t.Context())
		bound, err := Plan(b, m, Options{})
		b.Close()
		if err != nil {
			t.Fatal(err)
		}
		c, decodes := CodecOf(d)
		if g.Elems == 1 {
			if len(bound.Weights) != 0 || c.Blocks {
				t.Errorf("%v is bound", d)
			}
			continue
		}
		if !decodes || !c.Blocks || len(bound.Weights) != 1 || bound.Weights[0].Row != &ggml.Scheme {
			t.Errorf("%v is not bound: %+v", d, bound)
		}
	}
	if seen < 35 {
		t.Errorf("%d types", seen)
	}
}
