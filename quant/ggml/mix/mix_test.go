package mix

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A golden is what llama-quantize chose for one model: testdata/generate.py.
type golden struct {
	Arch                       string
	Layers, Heads, KV, Experts int
	Tensors                    map[string][2]json.RawMessage // shape and type
	Mixes                      map[string]*[2]json.RawMessage
}

func (g *golden) list(t *testing.T) []Tensor {
	t.Helper()
	var list []Tensor
	for name, raw := range g.Tensors {
		x := Tensor{Name: name}
		var from string
		if json.Unmarshal(raw[0], &x.Shape) != nil || json.Unmarshal(raw[1], &from) != nil {
			t.Fatal(name)
		}
		x.From, _ = tensor.ParseDType(from)
		list = append(list, x)
	}
	return list
}

// The types of every mix, with an importance matrix and without, for models of
// several architectures, are those of llama-quantize.
func TestTypesAreThoseOfLlamaQuantize(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	compared := 0
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			if err := json.Unmarshal(data, &g); err != nil {
				t.Fatal(err)
			}
			for key, want := range g.Mixes {
				compared += g.compare(t, key, want)
				if _, other := g.Mixes[key+" matrix"]; !other && !strings.HasSuffix(key, " matrix") {
					compared += g.compare(t, key+" matrix", want) // the same with one
				}
			}
		})
	}
	if compared < 100000 {
		t.Errorf("only %d types were compared", compared)
	}
}

// With experts, llama-quantize counts by the layer in a name, and throws at one that the model
// does not have.
func TestALayerThatTheModelLacksIsRefusedWithExperts(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	x, _ := Find("q4_k_m")
	for name, of := range map[string]struct {
		experts int
		fails   bool
	}{
		"blk.1.ffn_down_exps.weight": {8, false}, "blk.2.ffn_down_exps.weight": {8, true}, "ffn_down_exps.weight": {8, true}, "blk.2.ffn_down.weight": {0, false},
	} {
		list := []Tensor{{Name: name, Shape: []int64{2, 256, 256}, From: tensor.F16}}
		if of.experts == 0 {
			list[0].Shape = list[0].Shape[1:]
		}
		err := Choose(b, x, Model{Arch: "llama", Layers: 2, Heads: 8, KVShare: 1, Experts: of.experts}, Options{}, list)
		if errors.Is(err, wire.ErrUnsupported) != of.fails || (err == nil) == of.fails {
			t.Errorf("%s with %d experts: %v", name, of.experts, err)
		}
	}
}

func (g *golden) compare(t *testing.T, key string, want *[2]json.RawMessage) int {
	t.Helper()
	name, with, _ := strings.Cut(key, " ")
	x, ok := Find(name)
	if !ok {
		t.Fatalf("no mix %s", name)
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	list := g.list(t)
	m := Model{Arch: g.Arch, Layers: g.Layers, Heads: g.Heads, KVShare: g.Heads / g.KV, Experts: g.Experts, Matrix: with != ""}
	err := Choose(b, x, m, Options{}, list)
	if want == nil {
		if err == nil && !wantsMatrix(list) {
			t.Errorf("%s: llama-quantize refuses it", key)
		}
		return 1
	}
	if err != nil {
		t.Errorf("%s: %v", key, err)
		return 0
	}
	var usual string
	var rest map[string]string
	if json.Unmarshal(want[0], &usual) != nil || json.Unmarshal(want[1], &rest) != nil {
		t.Fatal(key)
	}
	for _, c := range list {
		to := usual
		if other, ok := rest[c.Name]; ok {
			to = other
		}
		if len(c.Shape) == 1 {
			to = "F32"
		}
		if c.To.String() != to {
			t.Errorf("%s, %s %v: %v, llama-quantize has %s", key, c.Name, c.Shape, c.To, to)
		}
	}
	return len(list)
}

// wantsMatrix reports types for which llama-quantize asks for a matrix.
func wantsMatrix(list []Tensor) bool {
	for _, c := range list {
		switch c.To {
		case tensor.IQ1_S, tensor.IQ1_M, tensor.IQ2_XXS, tensor.IQ2_XS, tensor.IQ2_S, tensor.IQ3_XXS, tensor.Q2_K:
			return true
		}
	}
	return false
}

func TestNamesOfMixes(t *testing.T) {
	for _, c := range []struct{ in, want string }{{"q4_k_m", "Q4_K_M"}, {"Q4_K", "Q4_K_M"}, {"mxfp4_moe", "MXFP4_MOE"}, {"q4_k_x", ""}, {"", ""}} {
		if x, ok := Find(c.in); x.Name != c.want || ok != (c.want != "") {
			t.Errorf("%s: %s, %t", c.in, x.Name, ok)
		}
	}
	seen := map[uint32]bool{}
	for _, x := range All() {
		if seen[x.FileType] {
			t.Errorf("%s: file type %d appears twice", x.Name, x.FileType)
		}
		seen[x.FileType] = true
	}
}

// A mix returns an error for layers that it cannot place, and does not guess.
func TestMixesRefuseMissingLayers(t *testing.T) {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	x, _ := Find("Q4_K_M")
	for _, name := range []string{"blk.9.ffn_down_exps.weight", "ffn_down_exps.weight", "blk.99999999999999999999.ffn_down_exps.weight"} {
		list := []Tensor{{Name: name, Shape: []int64{4, 256, 256}, From: tensor.F16}}
		if err := Choose(b, x, Model{Arch: "llama", Layers: 4, Experts: 4}, Options{}, list); err == nil {
			t.Errorf("%s: %v", name, list[0].To)
		}
	}
}

// Where the files of a split model are kept, tensors are counted as they lie there.
func TestTensorsAreCountedAsTheyAreListed(t *testing.T) {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	x, _ := Find("Q4_K_S") // whose first four are larger
	for _, listed := range []bool{false, true} {
		var list []Tensor
		for i := range 8 {
			list = append(list, Tensor{Name: "blk." + strconv.Itoa(7-i) + ".attn_v.weight", Shape: []int64{256, 256}, From: tensor.F16})
		}
		if err := Choose(b, x, Model{Arch: "llama", Layers: 8, KVShare: 1}, Options{Listed: listed}, list); err != nil {
			t.Fatal(err)
		}
		first := map[bool]string{false: "blk.0.attn_v.weight", true: "blk.7.attn_v.weight"}[listed]
		for i, c := range list {
			if want := map[bool]tensor.DType{true: tensor.Q5_K, false: tensor.Q4_K}[i < 4]; c.To != want || i == 0 && c.Name != first {
				t.Errorf("listed %t: number %d is %s, %v", listed, i, c.Name, c.To)
			}
		}
	}
}
