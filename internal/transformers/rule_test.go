package transformers

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// An architecture is what transformers does with a tiny model of one:
// testdata/forget/generate.py.
type architecture struct {
	Config     map[string]any
	Tensors    map[string][]int64
	Quantized  []string
	Transposed []string
}

func modelTypes(config map[string]any) (list []string) {
	for key, v := range config {
		switch v := v.(type) {
		case string:
			if key == "model_type" {
				list = append(list, v)
			}
		case map[string]any:
			list = append(list, modelTypes(v)...)
		}
	}
	return list
}

func classNames(config map[string]any) (list []string) {
	names, _ := config["architectures"].([]any)
	for _, n := range names {
		list = append(list, n.(string))
	}
	return list
}

func TestEligibleTensorsAreThoseThatTransformersQuantizes(t *testing.T) {
	files, err := filepath.Glob("../../testdata/forget/*.json")
	if err != nil || len(files) < 60 {
		t.Fatalf("%d architectures, %v", len(files), err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".json"), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var a architecture
			if err := json.Unmarshal(data, &a); err != nil {
				t.Fatal(err)
			}
			own, _ := a.Config["model_type"].(string)
			r := Rule{ModelTypes: modelTypes(a.Config), Has: func(name string) bool { return a.Tensors[name] != nil }}
			for _, name := range r.ModelTypes {
				if r.AsksFor(name) {
					r.Named = append(r.Named, name)
				}
			}
			if r.Tables(own, classNames(a.Config)); r.Table == nil {
				t.Log("by names")
			}
			got := []string{}
			for name, shape := range a.Tensors {
				v := r.Judge(name, shape)
				if v.Quantize {
					got = append(got, name)
				} else if v.Why == None {
					t.Errorf("%s is left alone without a reason", name)
				}
				if square := len(shape) == 2 && shape[0] == shape[1]; !square && v.Transposed != slices.Contains(a.Transposed, name) {
					t.Errorf("%s: %+v", name, v)
				}
			}
			slices.Sort(got)
			if diff := cmp.Diff(a.Quantized, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The work per tensor does not grow with the number of types in a configuration.
func TestOnlyTypesThatTheRuleAsksForAreLookedUp(t *testing.T) {
	var r Rule
	want := slices.Concat(askedTypes, slices.Sorted(maps.Keys(conv1DNames())))
	for range 1000 {
		for _, name := range append([]string{"", "llama", "no type"}, want...) {
			if r.AsksFor(name) {
				r.Named = append(r.Named, name)
			}
		}
	}
	if diff := cmp.Diff(want, r.Named); diff != "" {
		t.Error(diff)
	}
	if !r.is("falcon") || r.is("llama") {
		t.Error("wrong types")
	}
}

func TestNamesChooseBeforeTheRule(t *testing.T) {
	one := func(want string) func(string) bool { return func(name string) bool { return name == want } }
	r := Rule{Include: one("lm_head.weight"), Exclude: one("a.weight")}
	for _, c := range []struct {
		name  string
		shape []int64
		want  bool
	}{
		{"lm_head.weight", []int64{4, 4}, true},
		{"embed_tokens.weight", []int64{4, 4}, false},
		{"a.weight", []int64{4, 4}, false},
		{"b.weight", []int64{4, 4}, true},
		{"b.weight", []int64{4}, false},
		{"b.weight", []int64{4, 0}, false},
		{"b.weight", nil, false},
		{"b.bias", []int64{4, 4}, false},
		{"weight", []int64{4, 4}, false},
		{".weight", []int64{4, 4}, true},
		{"h.0.attn.c_attn.weight", []int64{4, 12}, false},
		{"experts.weight", []int64{4, 4}, true},
		{"x.experts.0.w1.weight", []int64{4, 4}, false},
		{"x.experts.w1.weight", []int64{4, 4}, true},
	} {
		if got := r.Judge(c.name, c.shape); got.Quantize != c.want || !got.Quantize && got.Why == None {
			t.Errorf("%s %v: %+v", c.name, c.shape, got)
		}
	}
}

// A folder in which an embedding is quantized loads nowhere, so it cannot be chosen; a
// head, which is left alone by default, can.
func TestWhatIsChosenMustBeLinear(t *testing.T) {
	all := func(string) bool { return true }
	r := Rule{Include: all, Has: all}
	r.Tables("llama", []string{"LlamaForCausalLM"})
	for name, wrong := range map[string]bool{"model.embed_tokens.weight": true, "lm_head.weight": false, "model.layers.0.mlp.up_proj.weight": false} {
		if v := r.Judge(name, []int64{64, 64}); !v.Quantize || (v.Wrong != None) != wrong {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
