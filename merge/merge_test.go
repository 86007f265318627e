package merge_test

import (
	"encoding/binary"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func vector(name string, values ...float32) fixtures.Tensor {
	return fixtures.Tensor{Name: name, Type: "F32", Shape: []int64{int64(len(values))}, Values: values}
}

func ints(name string, values ...float32) fixtures.Tensor {
	t := vector(name, values...)
	t.Type = "I32"
	return t
}

// models are files by their names, without the ending.
type models map[string][]fixtures.Tensor

// run merges models of a recipe.
func run(t *testing.T, files models, recipe string) (*merge.Merged, error) {
	t.Helper()
	ledger.Charges(t)
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	r, err := merge.ReadRecipe(b, recipe)
	if err != nil {
		return nil, err
	}
	return merge.Merge(b, r, func(name string) (tensor.Model, error) {
		if files[name] == nil {
			return nil, fmt.Errorf("%w: %s", fs.ErrNotExist, name)
		}
		folder := fstest.MapFS{"model.safetensors": {Data: fixtures.Safetensors(files[name]...)}}
		for _, w := range files[name] {
			if w.Name == "config" { // the text of a configuration
				folder["config.json"] = &fstest.MapFile{Data: []byte(w.Type)}
				folder["model.safetensors"].Data = fixtures.Safetensors(files[name][1:]...)
			}
		}
		return parser.OpenFS(b, folder, "model.safetensors")
	})
}

// values are the numbers of every tensor, read element by element.
func values(t *testing.T, m tensor.Model) map[string][]float32 {
	t.Helper()
	all := map[string][]float32{}
	for i := range m.Tensors() {
		r, ok := m.At(i)
		if !ok {
			t.Fatal("not at any place")
		}
		for k := range i.Elements() {
			var p [4]byte
			if err := wire.ReadFull(r, p[:], i.Span.Off+4*k-i.Span.Off); err != nil {
				t.Fatal(err)
			}
			all[i.Name] = append(all[i.Name], math.Float32frombits(binary.LittleEndian.Uint32(p[:])))
		}
	}
	return all
}

// A dtype rounds what is read and what comes of it, and is the type of the result.
func TestDType(t *testing.T) {
	const fine = 1 + 1.0/(1<<9) // a BF16 has 7 bits after the point
	files := models{"base": {vector("w", 1, fine, -3)}, "a": {vector("w", 1+1.0/(1<<7), fine, 5)}, "b": {vector("w", fine, 1, 1)}}
	for _, c := range []struct {
		name, recipe string
		want         []byte
	}{
		// 1 + 2^-7 and 1 by halves: 1 + 2^-8, between two numbers of BF16, becomes the even one.
		{"linear", `{"merge_method":"linear","dtype":"bfloat16","models":[{"model":"a","parameters":{"weight":0.5}},{"model":"b","parameters":{"weight":0.5}}]}`, []byte{0x80, 0x3F, 0x80, 0x3F, 0x40, 0x40}},
		{"passthrough", `{"merge_method":"passthrough","dtype":"bfloat16","models":[{"model":"base"}]}`, []byte{0x80, 0x3F, 0x80, 0x3F, 0x40, 0xC0}},
		{"passthrough as float32", `{"merge_method":"passthrough","dtype":"bfloat16","out_dtype":"float32","models":[{"model":"base"}]}`, []byte{0, 0, 0x80, 0x3F, 0, 0, 0x80, 0x3F, 0, 0, 0x40, 0xC0}},
		{"a sum that is rounded before it is written", `{"merge_method":"linear","dtype":"bfloat16","out_dtype":"float32","models":[{"model":"a","parameters":{"weight":0.5}},{"model":"b","parameters":{"weight":0.5}}]}`, []byte{0, 0, 0x80, 0x3F, 0, 0, 0x80, 0x3F, 0, 0, 0x40, 0x40}},
		{"ties", `{"merge_method":"ties","dtype":"bfloat16","base_model":"base","models":[{"model":"a","parameters":{"weight":1}}],"parameters":{"int8_mask":true}}`, []byte{0x81, 0x3F, 0x80, 0x3F, 0xA0, 0x40}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := run(t, files, c.recipe)
			if err != nil {
				t.Fatal(err)
			}
			for i := range m.Tensors() {
				got := make([]byte, i.Span.Len)
				r, ok := m.At(i)
				if !ok {
					t.Fatal("not at any place")
				}
				if err := wire.ReadFull(r, got, 0); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(c.want, got); diff != "" {
					t.Errorf("want -, got +:\n%s", diff)
				}
			}
		})
	}
}

// Each method, with numbers whose result is exact.
func TestMethods(t *testing.T) {
	files := models{
		"base": {vector("w", 1, 2, 3, 4)},
		"a":    {vector("w", 2, 0, 3, 12)},
		"b":    {vector("w", 5, 6, 1, 0)},
		"x":    {vector("w", 1, 0, 0, 0)},
		"y":    {vector("w", 0, 1, 0, 0)},
	}
	pair := func(more string) string {
		return `"models":[{"model":"a","parameters":{"weight":0.5` + more + `}},{"model":"b","parameters":{"weight":0.25` + more + `}}]`
	}
	half := float32(math.Sin(math.Pi / 4))
	for _, c := range []struct {
		name, recipe string
		want         []float32
	}{
		{"linear", `{"merge_method":"linear",` + pair("") + `,"parameters":{"normalize":false}}`, []float32{2.25, 1.5, 1.75, 6}},
		{"linear over the sum of weights", `{"merge_method":"linear",` + pair("") + `}`, []float32{3, 2, float32(1.75) / 0.75, 8}},
		// The differences are 1 -2 0 8 and 4 4 -2 -4, weighed .5 -1 0 4 and 1 1 -.5 -1.
		{"task arithmetic", `{"merge_method":"task_arithmetic","base_model":"base",` + pair("") + `,"parameters":{"lambda":2}}`, []float32{4, 2, 2, 10}},
		{"ties of all", `{"merge_method":"ties","base_model":"base",` + pair("") + `}`, []float32{1 + 1.5/0.75, 2 + 1/0.25, 3 - 0.5/0.25, 4 + 4/0.5}},
		// The larger half: 0 -2 0 8 and 4 4 0 0, the first of the three that are 4.
		{"ties of the larger half", `{"merge_method":"ties","base_model":"base",` + pair(`,"density":0.5`) + `,"parameters":{"normalize":false}}`, []float32{1 + 1, 2 + 1, 3, 4 + 4}},
		{"ties of nothing", `{"merge_method":"ties","base_model":"base",` + pair(`,"density":0`) + `}`, []float32{1, 2, 3, 4}},
		{"ties, scaled again", `{"merge_method":"ties","base_model":"base","models":[{"model":"a","parameters":{"weight":1,"density":0.25}}],"parameters":{"rescale":true}}`, []float32{1, 2, 3, 4 + 11}},
		{"dare of all", `{"merge_method":"dare_linear","base_model":"base",` + pair("") + `}`, []float32{2.5, 2, 2.5, 7}},
		{"slerp at a right angle", `{"merge_method":"slerp","base_model":"x","models":[{"model":"y"}],"parameters":{"t":0.5}}`, []float32{half, half, 0, 0}},
		{"slerp of the same", `{"merge_method":"slerp","base_model":"base","models":[{"model":"base"},{"model":"a"}],"parameters":{"t":0}}`, []float32{1, 2, 3, 4}},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := run(t, files, c.recipe)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, values(t, m)["w"]); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// A stream of random numbers depends only on the seed, the model and the tensor, and keeps about
// the requested share.
func TestRandomNumbersAreTheSeeds(t *testing.T) {
	base, other := make([]float32, 4000), make([]float32, 4000)
	for i := range other {
		other[i] = 1
	}
	files := models{"base": {vector("w", base...)}, "a": {vector("w", other...)}}
	recipe := `{"merge_method":"dare_linear","base_model":"base","models":[{"model":"a","parameters":{"weight":1,"density":0.25}}],"parameters":{"rescale":false},"seed":%d}`
	var first []float32
	for i, seed := range []int{1, 1, 2} {
		m, err := run(t, files, fmt.Sprintf(recipe, seed))
		if err != nil {
			t.Fatal(err)
		}
		got, kept := values(t, m)["w"], 0
		for _, f := range got {
			kept += int(f)
		}
		if kept < 900 || kept > 1100 {
			t.Errorf("%d of 4000 are kept", kept)
		}
		if first == nil {
			first = got
		}
		if same := cmp.Equal(first, got); same != (i < 2) {
			t.Errorf("seed %d: the same is %v", seed, same)
		}
	}
}

// Layers are taken in the order of the slices, and the configuration follows.
func TestSlices(t *testing.T) {
	layers := func(of float32, n int) []fixtures.Tensor {
		list := []fixtures.Tensor{{Name: "config", Type: `{"num_hidden_layers": 3, "layer_types": ["x", "y", "z"], "dtype": "float32", "a": [1, 2]}`}, vector("m.embed_tokens.weight", of), vector("m.norm.weight", of+0.5)}
		for i := range n {
			list = append(list, vector(fmt.Sprintf("m.layers.%d.w", i), of+10*float32(i)))
		}
		return list
	}
	m, err := run(t, models{"a": layers(1, 3), "b": layers(2, 3)}, `{"merge_method":"passthrough","slices":[
		{"sources":[{"model":"a","layer_range":[0,2]}]},{"sources":[{"model":"b","layer_range":[1,3],"parameters":{"scale":2}}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]float32{
		"m.embed_tokens.weight": {1}, "m.norm.weight": {5},
		"m.layers.0.w": {1}, "m.layers.1.w": {11}, "m.layers.2.w": {24}, "m.layers.3.w": {44},
	}
	if diff := cmp.Diff(want, values(t, m)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	config, err := fs.ReadFile(m.Configs(), "config.json")
	if diff := cmp.Diff(`{"num_hidden_layers": 4, "layer_types": ["x", "y", "y", "z"], "dtype": "float32", "a": [1, 2]}`, string(config)); diff != "" || err != nil {
		t.Errorf("%v, want -, got +:\n%s", err, diff)
	}
}

// What config.json says of single layers is true of the result, or the merge is refused: a
// loader would initialize what it does not find.
func TestMembersThatSpeakOfLayersMoveWithThem(t *testing.T) {
	for _, c := range []struct {
		what, slices, config, want string // without a want, the merge is refused
	}{
		{"the dense layers in front are dropped", "[2,6]", `{"model_type": "deepseek_v3", "num_hidden_layers": 6, "first_k_dense_replace": 3}`, `{"model_type": "deepseek_v3", "num_hidden_layers": 4, "first_k_dense_replace": 1}`},
		{"none of the dense layers is left", "[3,6]", `{"model_type": "glm4_moe", "num_hidden_layers": 6, "first_k_dense_replace": 1}`, `{"model_type": "glm4_moe", "num_hidden_layers": 3, "first_k_dense_replace": 0}`},
		{"dense layers would follow sparse ones", "[1,6] [0,2]", `{"model_type": "deepseek_v3", "num_hidden_layers": 6, "first_k_dense_replace": 2}`, ""},
		{"the first and the last sparse layer", "[2,6]", `{"model_type": "ernie4_5_moe", "num_hidden_layers": 6, "moe_layer_start_index": 3, "moe_layer_end_index": 4, "moe_layer_interval": 1}`, `{"model_type": "ernie4_5_moe", "num_hidden_layers": 4, "moe_layer_start_index": 1, "moe_layer_end_index": 2, "moe_layer_interval": 1}`},
		{"all but the last may be sparse", "[1,6]", `{"model_type": "ernie4_5_moe", "num_hidden_layers": 6, "moe_layer_start_index": 1, "moe_layer_end_index": -1}`, `{"model_type": "ernie4_5_moe", "num_hidden_layers": 5, "moe_layer_start_index": 0, "moe_layer_end_index": -1}`},
		{"numbers of layers", "[1,6]", `{"model_type": "bamba", "num_hidden_layers": 6, "attn_layer_indices": [0, 3, 5]}`, `{"model_type": "bamba", "num_hidden_layers": 5, "attn_layer_indices": [2, 4]}`},
		{"a layer that is taken twice", "[0,4] [3,6]", `{"model_type": "bamba", "num_hidden_layers": 6, "attn_layer_indices": [3]}`, `{"model_type": "bamba", "num_hidden_layers": 7, "attn_layer_indices": [3, 4]}`},
		{"a period that the layers keep", "[2,6]", `{"model_type": "qwen3_moe", "num_hidden_layers": 6, "decoder_sparse_step": 2, "mlp_only_layers": [5]}`, `{"model_type": "qwen3_moe", "num_hidden_layers": 4, "decoder_sparse_step": 2, "mlp_only_layers": [3]}`},
		{"a period that the layers lose", "[1,6]", `{"model_type": "qwen3_moe", "num_hidden_layers": 6, "decoder_sparse_step": 2}`, ""},
		{"a window that no layer has", "[0,4] [2,6]", `{"model_type": "qwen2", "num_hidden_layers": 6, "max_window_layers": 28}`, `{"model_type": "qwen2", "num_hidden_layers": 8, "max_window_layers": 28}`},
		{"layers that predict further tokens are dropped", "[0,5]", `{"model_type": "deepseek_v3", "num_hidden_layers": 5, "num_nextn_predict_layers": 1, "first_k_dense_replace": 1}`, `{"model_type": "deepseek_v3", "num_hidden_layers": 5, "num_nextn_predict_layers": 0, "first_k_dense_replace": 1}`},
		{"a layer that predicts further tokens is taken", "[3,6]", `{"model_type": "deepseek_v3", "num_hidden_layers": 5, "num_nextn_predict_layers": 1}`, ""},
		{"another number of layers than there are", "[0,4]", `{"model_type": "llama", "num_hidden_layers": 4}`, ""},
		{"more layers than there are", "[0,4]", `{"model_type": "llama", "num_hidden_layers": 9, "layer_types": [1, 2, 3, 4, 5, 6, 7, 8, 9]}`, ""},
		{"a number of layers that is elsewhere", "[0,4]", `{"model_type": "llama", "text_config": {"num_hidden_layers": 6}}`, ""},
		{"a member that no table explains", "[0,4]", `{"model_type": "new", "num_hidden_layers": 6, "dense_layers_in_front": 2}`, ""},
	} {
		list := []fixtures.Tensor{{Name: "config", Type: c.config}, vector("m.embed_tokens.weight", 1)}
		for i := range 6 {
			list = append(list, vector(fmt.Sprintf("m.layers.%d.w", i), float32(i)))
		}
		var sources []string
		for part := range strings.FieldsSeq(c.slices) {
			sources = append(sources, `{"sources":[{"model":"a","layer_range":`+part+`}]}`)
		}
		m, err := run(t, models{"a": list}, `{"merge_method":"passthrough","slices":[`+strings.Join(sources, ",")+`]}`)
		if c.want == "" {
			if class := wire.ClassOf(err); class != wire.Unsupported && class != wire.Malformed {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.what, err)
			continue
		}
		got, err := fs.ReadFile(m.Configs(), "config.json")
		if diff := cmp.Diff(c.want, string(got)); diff != "" || err != nil {
			t.Errorf("%s: %v, want -, got +:\n%s", c.what, err, diff)
		}
	}
}

// Settings apply by layer, and by a part of the name.
func TestSettingsByLayer(t *testing.T) {
	var a, b []fixtures.Tensor
	for i := range 3 {
		a, b = append(a, vector(fmt.Sprintf("l.%d.w", i), 0)), append(b, vector(fmt.Sprintf("l.%d.w", i), 1))
	}
	a, b = append(a, vector("l.0.bias", 0)), append(b, vector("l.0.bias", 1))
	m, err := run(t, models{"a": a, "b": b}, `{"merge_method":"task_arithmetic","base_model":"a","models":[{"model":"b","parameters":{"weight":[{"filter":"bias","value":8},{"value":[1,3]}]}}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string][]float32{"l.0.w": {1}, "l.1.w": {2}, "l.2.w": {3}, "l.0.bias": {8}}, values(t, m)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}

// manySources are slices of two hundred models each, all of them others.
func manySources() string {
	var slices []string
	for k := range 2 {
		var sources []string
		for i := range 200 {
			sources = append(sources, fmt.Sprintf(`{"model":"m%d","layer_range":[0,1],"parameters":{"weight":1}}`, 200*k+i))
		}
		slices = append(slices, `{"sources":[`+strings.Join(sources, ",")+`]}`)
	}
	return strings.Join(slices, ",")
}

func manyParameters() string {
	var list []string
	for i := range 257 {
		list = append(list, fmt.Sprintf(`"p%d":1`, i))
	}
	return strings.Join(list, ",")
}

func TestRefusals(t *testing.T) {
	files := models{
		"a": {vector("w", 1, 2), ints("n", 1)}, "b": {vector("w", 1, 2), ints("n", 1)},
		"other": {vector("v", 1, 2)}, "long": {vector("w", 1, 2, 3), ints("n", 1)}, "count": {vector("w", 1, 2), ints("n", 2)}, "more": {vector("w", 1, 2), ints("n", 1), vector("z", 1)},
		"gap": {vector("l.0.w", 1), vector("l.0.v", 1), vector("l.1.w", 1)}, "whole": {ints("w", 1, 2), ints("n", 1)},
		"layers": {vector("l.0.w", 1), vector("l.1.w", 1)}, "two": {vector("l.0.w", 1), vector("k.0.w", 1)},
	}
	const pair = `"models":[{"model":"a","parameters":{"weight":1}},{"model":"b","parameters":{"weight":1}}]`
	for _, c := range []struct {
		name, recipe string
		class        wire.Class
		says         string
	}{
		{"YAML", `merge_method: linear`, wire.Malformed, "yaml.safe_load"},
		{"no object", `[]`, wire.Malformed, "not a JSON object"},
		{"no method", `{` + pair + `}`, wire.Malformed, "merge_method, one of linear, slerp"},
		{"another method", `{"merge_method":"della",` + pair + `}`, wire.Unsupported, `"della" is not one of linear, slerp`},
		{"an unknown member", `{"merge_method":"linear","model":"a",` + pair + `}`, wire.Unsupported, `"model"`},
		{"a method under another name", `{"merge_metod":"linear",` + pair + `}`, wire.Unsupported, "the members are merge_method, base_model"},
		{"an unknown member of a model", `{"merge_method":"linear","models":[{"model":"a","weight":1}]}`, wire.Unsupported, "the members are model, parameters"},
		{"a parameter mistyped", `{"merge_method":"linear","models":[{"model":"a","parameters":{"wieght":1}}]}`, wire.Unsupported, "linear takes weight there"},
		{"a tokenizer", `{"merge_method":"linear","tokenizer_source":"union",` + pair + `}`, wire.Unsupported, "tokenizer"},
		{"a type nothing is computed in", `{"merge_method":"linear","dtype":"int8",` + pair + `}`, wire.Unsupported, "int8"},
		{"another type to write", `{"merge_method":"linear","out_dtype":"int8",` + pair + `}`, wire.Unsupported, "int8"},
		{"a parameter of another method", `{"merge_method":"linear","parameters":{"density":1},` + pair + `}`, wire.Unsupported, "density"},
		{"a parameter that is not a number", `{"merge_method":"linear","parameters":{"weight":"x"},` + pair + `}`, wire.Malformed, "weight"},
		{"a parameter of another kind", `{"merge_method":"linear","parameters":{"normalize":1},` + pair + `}`, wire.Malformed, "normalize"},
		{"no weight", `{"merge_method":"linear","models":[{"model":"a"},{"model":"b"}]}`, wire.Malformed, "weight"},
		{"weights of nothing", `{"merge_method":"linear","models":[{"model":"a","parameters":{"weight":1}},{"model":"b","parameters":{"weight":-1}}]}`, wire.Malformed, "add up"},
		{"one model twice", `{"merge_method":"linear","models":[{"model":"a"},{"model":"a"}]}`, wire.Malformed, "duplicate"},
		{"no base", `{"merge_method":"ties",` + pair + `}`, wire.Malformed, "base_model"},
		{"settings of the base", `{"merge_method":"ties","base_model":"a",` + pair + `}`, wire.Unsupported, "no effect"},
		{"three for two", `{"merge_method":"slerp","base_model":"count","parameters":{"t":0},"models":[{"model":"a"},{"model":"b"}]}`, wire.Malformed, "takes 2"},
		{"a seed below nothing", `{"merge_method":"linear","seed":-1,` + pair + `}`, wire.Malformed, "seed"},
		{"a base without a name", `{"merge_method":"linear","base_model":"",` + pair + `}`, wire.Malformed, "name of a model"},
		{"parameters that are a number", `{"merge_method":"linear","parameters":1,` + pair + `}`, wire.Malformed, "not an object"},
		{"a parameter of an empty list", `{"merge_method":"linear","parameters":{"weight":[]},` + pair + `}`, wire.Malformed, "1 to"},
		{"a setting with another member", `{"merge_method":"linear","parameters":{"weight":{"value":1,"x":2}},` + pair + `}`, wire.Unsupported, "value and filter"},
		{"more parameters than are read", `{"merge_method":"linear","parameters":{` + manyParameters() + `},` + pair + `}`, wire.Malformed, "256 parameters"},
		{"a source without a model", `{"merge_method":"linear","models":[{"parameters":{"weight":1}}]}`, wire.Malformed, "model"},
		{"a slice without sources", `{"merge_method":"passthrough","slices":[{"parameters":{}}]}`, wire.Malformed, "sources"},
		{"an unknown member of a slice", `{"merge_method":"passthrough","slices":[{"x":1}]}`, wire.Unsupported, "base_model, parameters, sources"},
		{"a slice of no layers", `{"merge_method":"passthrough","slices":[{"sources":[{"model":"layers"}]}]}`, wire.Malformed, "layer_range"},
		{"an unknown member of a source", `{"merge_method":"passthrough","slices":[{"sources":[{"model":"layers","layers":[0,1]}]}]}`, wire.Unsupported, "layer_range"},
		{"a range of one number", `{"merge_method":"passthrough","slices":[{"sources":[{"model":"layers","layer_range":[1]}]}]}`, wire.Malformed, "two integers"},
		{"sources of other lengths", `{"merge_method":"linear","parameters":{"weight":1},"slices":[{"sources":[{"model":"layers","layer_range":[0,2]},{"model":"gap","layer_range":[0,1]}]}]}`, wire.Malformed, "same number"},
		{"a base beside the sources", `{"merge_method":"slerp","base_model":"a","parameters":{"t":0.5},"slices":[{"sources":[{"model":"layers","layer_range":[0,1]},{"model":"gap","layer_range":[0,1]}]}]}`, wire.Malformed, "base_model"},
		{"a tensor of one model's layer alone", `{"merge_method":"linear","parameters":{"weight":1},"slices":[{"sources":[{"model":"gap","layer_range":[0,1]},{"model":"layers","layer_range":[0,1]}]}]}`, wire.Malformed, "l.0.v"},
		{"another type", strings.ReplaceAll(`{"merge_method":"linear",`+pair+`}`, `"b"`, `"whole"`), wire.Malformed, `"I32"`},
		{"more models than are merged", `{"merge_method":"linear","slices":[` + manySources() + `]}`, wire.Malformed, "256 models"},
		{"models and slices", `{"merge_method":"linear","slices":[],` + pair + `}`, wire.Malformed, "models and slices"},
		{"no models", `{"merge_method":"linear","models":[]}`, wire.Malformed, "models"},
		{"a range that goes back", `{"merge_method":"passthrough","slices":[{"sources":[{"model":"layers","layer_range":[1,1]}]}]}`, wire.Malformed, "range"},
		{"layers that are not there", `{"merge_method":"passthrough","slices":[{"sources":[{"model":"layers","layer_range":[1,3]}]}]}`, wire.Malformed, "layers"},
		{"two stacks of layers", `{"merge_method":"passthrough","slices":[{"sources":[{"model":"two","layer_range":[0,1]}]}]}`, wire.Unsupported, "stacks"},
		{"a model that is not there", strings.ReplaceAll(`{"merge_method":"linear",`+pair+`}`, `"b"`, `"c"`), wire.Internal, "not exist"},
		{"other names", strings.ReplaceAll(`{"merge_method":"linear",`+pair+`}`, `"b"`, `"other"`), wire.Malformed, `"v"`},
		{"more names", strings.ReplaceAll(`{"merge_method":"linear",`+pair+`}`, `"b"`, `"more"`), wire.Malformed, `"z"`},
		{"another shape", strings.ReplaceAll(`{"merge_method":"linear",`+pair+`}`, `"b"`, `"long"`), wire.Malformed, `"w"`},
		{"integers that differ", strings.ReplaceAll(`{"merge_method":"linear",`+pair+`}`, `"b"`, `"count"`), wire.Unsupported, `"n"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := run(t, files, c.recipe)
			if wire.ClassOf(err) != c.class || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v: %v, want %v that says %s", wire.ClassOf(err), err, c.class, c.says)
			}
		})
	}
}
