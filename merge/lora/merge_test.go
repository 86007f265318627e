package lora_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/merge/lora"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A folder is a model of a test: its tensors, and the text of its configuration.
type folder struct {
	config  string
	tensors []fixtures.Tensor
}

func (f folder) open(t *testing.T, b *limits.Budget, name, config string) tensor.Model {
	t.Helper()
	files := fstest.MapFS{name: {Data: fixtures.Safetensors(f.tensors...)}}
	if f.config != "" {
		files[config] = &fstest.MapFile{Data: []byte(f.config)}
	}
	m, err := parser.OpenFS(b, files, name)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// merge merges adapters of weight 1.
func merge(t *testing.T, base folder, adapters ...folder) (*lora.Merged, *limits.Budget, error) {
	t.Helper()
	ledger.Charges(t)
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	var list []lora.Adapter
	for _, a := range adapters {
		list = append(list, lora.Adapter{Model: a.open(t, b, "adapter_model.safetensors", "adapter_config.json"), Weight: 1})
	}
	m, err := lora.Merge(b, base.open(t, b, "model.safetensors", "config.json"), list)
	return m, b, err
}

// numbers are those of a tensor, read in two ranges.
func numbers(t *testing.T, m tensor.Model, name string) []float32 {
	t.Helper()
	for i := range m.Tensors() {
		if i.Name != name {
			continue
		}
		r, ok := m.At(i)
		if !ok {
			t.Fatal("not at any place")
		}
		p, size := make([]byte, i.Span.Len), i.Span.Len/i.Elements()
		half := i.Elements() / 2 * size
		for _, part := range [][2]int64{{half, i.Span.Len}, {0, half}} {
			if err := wire.ReadFull(r, p[part[0]:part[1]], part[0]); err != nil {
				t.Fatal(err)
			}
		}
		var list []float32
		for ; len(p) > 0; p = p[size:] {
			bits := uint32(binary.LittleEndian.Uint16(p)) << 16
			if size == 4 {
				bits = binary.LittleEndian.Uint32(p)
			}
			list = append(list, math.Float32frombits(bits))
		}
		return list
	}
	t.Fatalf("no tensor %s", name)
	return nil
}

func pair(module string, rank, out, in int64) []fixtures.Tensor {
	return []fixtures.Tensor{
		fixtures.Whole("base_model.model."+module+".lora_A.weight", "F32", 1, rank, in),
		fixtures.Whole("base_model.model."+module+".lora_B.weight", "F32", 2, out, rank),
	}
}

// at is an element of a matrix.
func at(t fixtures.Tensor, row, col int64) float32 { return t.Values[row*t.Shape[1]+col] }

// Whole numbers add up in any order to the same sum.
func TestAdaptersAreAdded(t *testing.T) {
	const rank, out, in = 3, 5, 4
	plain := func(l []fixtures.Tensor, row, col int64) (d float32) {
		for r := range int64(rank) {
			d += at(l[1], row, r) * at(l[0], r, col)
		}
		return d
	}
	transposed := func(l []fixtures.Tensor, row, col int64) float32 { return plain(l, col, row) }
	for _, c := range []struct {
		name, config string
		w            fixtures.Tensor
		more         []fixtures.Tensor
		delta        func(l []fixtures.Tensor, row, col int64) float32
		scale        float32
	}{
		{"a linear layer", `{"peft_type":"LORA","r":3,"lora_alpha":6}`, fixtures.Whole("m.l.weight", "F32", 5, out, in), pair("m.l", rank, out, in), plain, 2},
		{"a layer that is transposed", `{"peft_type":"LORA","r":3,"lora_alpha":6}`, fixtures.Whole("m.l.weight", "F32", 5, in, out), pair("m.l", rank, out, in), transposed, 2},
		{"a square layer", `{"peft_type":"LORA","r":3,"lora_alpha":6}`, fixtures.Whole("m.l.weight", "F32", 5, in, in), pair("m.l", rank, in, in), plain, 2},
		{"a square layer that the configuration transposes", `{"peft_type":"LORA","r":3,"lora_alpha":6,"fan_in_fan_out":true}`, fixtures.Whole("m.l.weight", "F32", 5, in, in), pair("m.l", rank, in, in), transposed, 2},
		{"alpha by pattern", `{"peft_type":"LORA","r":8,"lora_alpha":6,"alpha_pattern":{"x":1,"l":12},"rank_pattern":{"m\\.l":3}}`, fixtures.Whole("m.l.weight", "F32", 5, out, in), pair("m.l", rank, out, in), plain, 4},
		{"names without the model's prefix", `{"peft_type":"LORA","r":3,"lora_alpha":6}`, fixtures.Whole("l.weight", "F32", 5, out, in), pair("m.l", rank, out, in), plain, 2},
		{"names with the model's prefix", `{"peft_type":"LORA","r":3,"lora_alpha":6}`, fixtures.Whole("m.l.weight", "F32", 5, out, in), pair("l", rank, out, in), plain, 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, _, err := merge(t, folder{tensors: []fixtures.Tensor{c.w}}, folder{c.config, c.more})
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float32, len(c.w.Values))
			for i := range want {
				row, col := int64(i)/c.w.Shape[1], int64(i)%c.w.Shape[1]
				want[i] = c.w.Values[i] + c.scale*c.delta(c.more, row, col)
			}
			if diff := cmp.Diff(want, numbers(t, m, c.w.Name)); diff != "" {
				t.Errorf("want -, got +:\n%s", diff)
			}
		})
	}
}

// Every piece of a large tensor is computed, whatever ranges are asked for.
func TestManyPieces(t *testing.T) {
	const out, in = 300, 130
	w := fixtures.Whole("l.weight", "BF16", 5, out, in)
	a := pair("l", 2, out, in)
	m, b, err := merge(t, folder{tensors: []fixtures.Tensor{w}}, folder{`{"peft_type":"LORA","r":2,"lora_alpha":2}`, a})
	if err != nil {
		t.Fatal(err)
	}
	got := numbers(t, m, "l.weight")
	for i, f := range w.Values {
		row, col := int64(i/in), int64(i%in)
		if want := f + at(a[1], row, 0)*at(a[0], 0, col) + at(a[1], row, 1)*at(a[0], 1, col); got[i] != want {
			t.Fatalf("element %d is %v, want %v", i, got[i], want)
		}
	}
	for i := range m.Tensors() {
		body, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		if n, err := io.Copy(io.Discard, body); n != i.Span.Len || err != nil {
			t.Errorf("%d bytes in order, %v", n, err)
		}
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// DoRA's rows have the magnitudes as their norms.
func TestMagnitudesAreTheNorms(t *testing.T) {
	for _, shape := range [][]int64{{6, 4}, {4, 6}} {
		w := fixtures.Whole("l.weight", "F32", 5, shape...)
		tensors := append(pair("l", 2, 6, 4), fixtures.Tensor{Name: "base_model.model.l.lora_magnitude_vector", Type: "F32", Shape: []int64{6}, Values: []float32{1, 2, 3, 4, 5, 6}})
		m, _, err := merge(t, folder{tensors: []fixtures.Tensor{w}}, folder{`{"peft_type":"LORA","r":2,"lora_alpha":2,"use_dora":true}`, tensors})
		if err != nil {
			t.Fatal(err)
		}
		got := numbers(t, m, "l.weight")
		for k := range 6 {
			var sum float64
			for j := range 4 {
				i := 4*k + j
				if shape[0] == 4 {
					i = 6*j + k
				}
				sum += float64(got[i]) * float64(got[i])
			}
			if norm := math.Sqrt(sum); math.Abs(norm-float64(k+1)) > 1e-5 {
				t.Errorf("%v: the norm %d is %v", shape, k, norm)
			}
		}
	}
}

func TestWhatAnAdapterHasWhole(t *testing.T) {
	base := folder{tensors: []fixtures.Tensor{fixtures.Whole("m.l.weight", "BF16", 5, 4, 4), fixtures.Whole("m.head.weight", "BF16", 6, 2, 4)}}
	head, score := fixtures.Whole("base_model.model.m.head.weight", "F32", 9, 2, 4), fixtures.Whole("base_model.model.score.weight", "F32", 10, 3, 4)
	m, _, err := merge(t, base, folder{`{"peft_type":"LORA","r":2,"lora_alpha":2,"modules_to_save":["head","score"]}`, append(pair("m.l", 2, 4, 4), head, score)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{1, []string{"m.head.weight"}, []string{"score.weight"}}, []any{m.Adapted, m.Replaced, m.Added}); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	for name, want := range map[string][]float32{"m.head.weight": head.Values, "score.weight": score.Values} {
		if diff := cmp.Diff(want, numbers(t, m, name)); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", name, diff)
		}
	}
}

// PEFT saves all biases, also those of the originals of modules that are saved whole, and drops these
// when it merges.
func TestOriginalsOfSavedModulesAreDropped(t *testing.T) {
	vector := func(name string, seed int) fixtures.Tensor { return fixtures.Whole(name, "F32", seed, 4) }
	base := folder{tensors: []fixtures.Tensor{fixtures.Whole("m.l.weight", "F32", 5, 4, 4), vector("m.l.bias", 6), fixtures.Whole("m.q.weight", "F32", 7, 4, 4), vector("m.q.bias", 8)}}
	at := "base_model.model.m.q."
	whole := []fixtures.Tensor{vector("base_model.model.m.l.base_layer.bias", 11), fixtures.Whole(at+"weight", "F32", 9, 4, 4), vector(at+"bias", 10), vector(at+"original_module.bias", 12)}
	config := `{"peft_type":"LORA","r":2,"lora_alpha":2,"bias":"all","modules_to_save":["q"]}`
	m, _, err := merge(t, base, folder{config, append(pair("m.l", 2, 4, 4), whole...)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"m.l.bias", "m.q.bias", "m.q.weight"}, m.Replaced); diff != "" || len(m.Added) > 0 {
		t.Errorf("added %v, want -, got +:\n%s", m.Added, diff)
	}
	if diff := cmp.Diff(whole[2].Values, numbers(t, m, "m.q.bias")); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
	_, _, err = merge(t, base, folder{config, append(pair("m.l", 2, 4, 4), append(whole, vector("base_model.model.m.l.original_module.bias", 13))...)})
	if wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("the original of a module that is not saved whole: %v", err)
	}
}

// BERT's head has one bias under two names, of which transformers saves one and PEFT both.
func TestABiasOfTwoNamesIsOne(t *testing.T) {
	const at = "bert.encoder.layer.0.attention.self.query"
	bias := func(name string, seed int) fixtures.Tensor { return fixtures.Whole(name, "F32", seed, 11) }
	base := folder{`{"model_type":"bert","architectures":["BertForMaskedLM"],"tie_word_embeddings":true}`, []fixtures.Tensor{fixtures.Whole("bert.embeddings.word_embeddings.weight", "F32", 3, 11, 4),
		fixtures.Whole(at+".weight", "F32", 5, 4, 4), fixtures.Whole(at+".bias", "F32", 6, 4), bias("cls.predictions.bias", 7)}}
	const config = `{"peft_type":"LORA","r":2,"lora_alpha":2,"bias":"all"}`
	whole := []fixtures.Tensor{fixtures.Whole("base_model.model."+at+".base_layer.bias", "F32", 8, 4), bias("base_model.model.cls.predictions.bias", 9), bias("base_model.model.cls.predictions.decoder.bias", 9)}
	m, _, err := merge(t, base, folder{config, append(pair(at, 2, 4, 4), whole...)})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole[1].Values, numbers(t, m, "cls.predictions.bias")); diff != "" || len(m.Added) > 0 {
		t.Errorf("added %v, want -, got +:\n%s", m.Added, diff)
	}
	whole[2] = bias("base_model.model.cls.predictions.decoder.bias", 10) // other numbers
	m, _, err = merge(t, base, folder{config, append(pair(at, 2, 4, 4), whole...)})
	if err == nil {
		for i := range m.Tensors() {
			if r, ok := m.At(i); ok && err == nil {
				err = wire.ReadFull(r, make([]byte, i.Span.Len), 0)
			}
		}
	}
	if wire.ClassOf(err) != wire.Malformed {
		t.Errorf("one bias with two values: %v", err)
	}
}

// BERT's head that is saved whole is no longer tied: transformers then asks for its bias under both
// names, and finds none under the second in the folder that PEFT's merged model is saved to.
func TestAHeadThatIsSavedWholeHasItsBiasUnderBothNames(t *testing.T) {
	const at, head, in = "bert.encoder.layer.0.attention.self.query", "base_model.model.cls.predictions.", "bert.embeddings.word_embeddings.weight"
	const config = `{"model_type":"bert","architectures":["BertForMaskedLM"],"tie_word_embeddings":true}`
	f32 := func(name string, seed int, shape ...int64) fixtures.Tensor {
		return fixtures.Whole(name, "F32", seed, shape...)
	}
	base := folder{config, []fixtures.Tensor{f32(in, 3, 11, 4), f32(at+".weight", 5, 4, 4), f32(at+".bias", 6, 4), f32("cls.predictions.bias", 7, 11)}}
	saved := []fixtures.Tensor{f32(head+"bias", 9, 11), f32(head+"decoder.bias", 9, 11), f32(head+"decoder.weight", 8, 11, 4)}
	for _, biases := range []string{"none", "lora_only"} {
		whole := saved
		if biases == "lora_only" {
			whole = append(whole, f32("base_model.model."+at+".base_layer.bias", 10, 4))
		}
		adapter := `{"peft_type":"LORA","r":2,"lora_alpha":2,"bias":"` + biases + `","modules_to_save":["cls"]}`
		m, _, err := merge(t, base, folder{adapter, append(pair(at, 2, 4, 4), whole...)})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"cls.predictions.decoder.bias", "cls.predictions.decoder.weight"}, slices.Sorted(slices.Values(m.Added))); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", biases, diff)
		}
		for name, want := range map[string][]float32{"cls.predictions.bias": saved[0].Values, "cls.predictions.decoder.bias": saved[1].Values, "cls.predictions.decoder.weight": saved[2].Values, in: base.tensors[0].Values} {
			if diff := cmp.Diff(want, numbers(t, m, name)); diff != "" {
				t.Errorf("%s: %s: want -, got +:\n%s", biases, name, diff)
			}
		}
		if text, err := fs.ReadFile(m.Configs(), "config.json"); err != nil || !strings.Contains(string(text), `"tie_word_embeddings":false`) {
			t.Errorf("%s: %s, %v", biases, text, err)
		}
	}
}

// Nothing that is not explained is merged.
func TestRefusals(t *testing.T) {
	whole := fixtures.Whole
	good := pair("l", 2, 5, 4)
	nan := pair("l", 2, 5, 4)
	nan[0].Values[3] = float32(math.NaN())
	named := func(name string) fixtures.Tensor { return whole("base_model.model."+name, "F32", 1, 5, 4) }
	for _, c := range []struct {
		name, config string
		tensors      []fixtures.Tensor
		class        wire.Class
		says         string
	}{
		{"another method", `{"peft_type":"IA3"}`, good, wire.Unsupported, "IA3"},
		{"another library", `{"fine_tune_type":"lora","lora_parameters":{"rank":4,"scale":20}}`, good, wire.Unsupported, "mlx_lm.fuse"},
		{"no type", `{"r":2}`, good, wire.Unsupported, "peft_type"},
		{"an unknown key", `{"peft_type":"LORA","r":2,"lora_gamma":2}`, good, wire.Unsupported, "lora_gamma"},
		{"a method of its own", `{"peft_type":"LORA","r":2,"use_qalora":true}`, good, wire.Unsupported, "use_qalora"},
		{"layers that are repeated", `{"peft_type":"LORA","r":2,"layer_replication":[[0,1]]}`, good, wire.Unsupported, "layer_replication"},
		{"a base that changed before", `{"peft_type":"LORA","r":2,"init_lora_weights":"pissa"}`, good, wire.Unsupported, "pissa"},
		{"a rank that is another", `{"peft_type":"LORA","r":4}`, good, wire.Malformed, "rank"},
		{"a rank of nothing", `{"peft_type":"LORA","r":0}`, good, wire.Malformed, `"r"`},
		{"a pattern that is none", `{"peft_type":"LORA","r":2,"rank_pattern":{"(":2}}`, good, wire.Unsupported, "rank_pattern"},
		{"a pattern of a million instructions", `{"peft_type":"LORA","r":2,"rank_pattern":{"(?:` + strings.Repeat("a", 990) + `){1000}":2}}`, good, wire.Unsupported, "instructions"},
		{"a pattern of many classes", `{"peft_type":"LORA","r":2,"alpha_pattern":{"` + strings.Repeat(`\\pL`, 300) + `":2}}`, good, wire.Unsupported, "instructions"},
		{"a wrapper that no parameter explains", `{"peft_type":"LORA","r":2,"target_parameters":["k.up"]}`, pair("l.base_layer", 2, 5, 4), wire.Malformed, "target_parameters"},
		{"one weight under two names", `{"peft_type":"LORA","r":2}`, append(pair("m.l", 2, 5, 4), pair("l", 2, 5, 4)...), wire.Malformed, "twice"},
		{"another layer", `{"peft_type":"LORA","r":2,"target_modules":["l"],"layers_to_transform":[1]}`, pair("m.h.0.l", 2, 5, 4), wire.Malformed, "layers_to_transform"},
		{"a module that is not a target", `{"peft_type":"LORA","r":2,"target_modules":["k"]}`, good, wire.Malformed, "target_modules"},
		{"matrices of other shapes", `{"peft_type":"LORA","r":2}`, pair("l", 2, 6, 4), wire.Malformed, "[5 4]"},
		{"a matrix without the other", `{"peft_type":"LORA","r":2}`, good[:1], wire.Malformed, "two matrices"},
		{"a weight that the base has not", `{"peft_type":"LORA","r":2}`, pair("k", 2, 5, 4), wire.Malformed, "k.weight"},
		{"a weight that is quantized", `{"peft_type":"LORA","r":2}`, pair("i", 2, 5, 4), wire.Unsupported, "I32"},
		{"magnitudes that nothing asks for", `{"peft_type":"LORA","r":2}`, append(good[:2:2], whole("base_model.model.l.lora_magnitude_vector", "F32", 1, 5)), wire.Malformed, "use_dora"},
		{"no magnitudes", `{"peft_type":"LORA","r":2,"use_dora":true}`, good, wire.Malformed, "use_dora"},
		{"too few magnitudes", `{"peft_type":"LORA","r":2,"use_dora":true}`, append(good[:2:2], whole("base_model.model.l.lora_magnitude_vector", "F32", 1, 4)), wire.Malformed, "4 magnitudes"},
		{"a tensor that nothing explains", `{"peft_type":"LORA","r":2}`, append(good[:2:2], named("l.weight")), wire.Unsupported, "modules_to_save"},
		{"a tensor of another tuner", `{"peft_type":"LORA","r":2}`, append(good[:2:2], named("l.lora_C.weight")), wire.Unsupported, "lora_C"},
		{"a name of another library", `{"peft_type":"LORA","r":2}`, append(good[:2:2], whole("lora_unet_x.weight", "F32", 1, 2)), wire.Unsupported, "lora_unet_x"},
		{"a bias that nothing trains", `{"peft_type":"LORA","r":2}`, append(good[:2:2], whole("base_model.model.l.bias", "F32", 1, 5)), wire.Unsupported, "l.bias"},
		{"a module of another shape", `{"peft_type":"LORA","r":2,"modules_to_save":["l"]}`, []fixtures.Tensor{whole("base_model.model.l.weight", "F32", 1, 4, 5)}, wire.Malformed, "[4 5]"},
		{"a module that is saved whole and adapted", `{"peft_type":"LORA","r":2,"modules_to_save":["l"]}`, append(good[:2:2], whole("base_model.model.l.weight", "F32", 1, 5, 4)), wire.Malformed, "modules_to_save"},
		{"a module that is saved whole and not there", `{"peft_type":"LORA","r":2,"modules_to_save":["embed_tokens"]}`, good, wire.Malformed, "modules_to_save"},
		{"a module that is taken out", `{"peft_type":"LORA","r":2,"target_modules":["l"],"exclude_modules":["l"]}`, good, wire.Malformed, "exclude_modules"},
		{"a module that an expression takes out", `{"peft_type":"LORA","r":2,"exclude_modules":"[k-m]"}`, good, wire.Malformed, "exclude_modules"},
		{"no targets at all", `{"peft_type":"LORA","r":2,"target_modules":[]}`, good, wire.Malformed, "target_modules"},
		{"an expression for another module", `{"peft_type":"LORA","r":2,"target_modules":"k|.*\\.l"}`, good, wire.Malformed, "target_modules"},
		{"an expression that asserts something", `{"peft_type":"LORA","r":2,"target_modules":"^(?!l|k).*"}`, good, wire.Malformed, "target_modules"},
		{"an expression that asserts something within", `{"peft_type":"LORA","r":2,"target_modules":"(?:m\\.)?(?!l|k).*"}`, good, wire.Malformed, "target_modules"},
		{"an expression that asserts something behind", `{"peft_type":"LORA","r":2,"target_modules":".*(?<!l)"}`, good, wire.Malformed, "target_modules"},
		{"an expression with flags", `{"peft_type":"LORA","r":2,"target_modules":"(?i)L"}`, good, wire.Unsupported, "which modules"},
		{"an expression with a reference", `{"peft_type":"LORA","r":2,"target_modules":"(m)?\\1"}`, good, wire.Unsupported, "which modules"},
		{"an expression that is none", `{"peft_type":"LORA","r":2,"target_modules":"("}`, good, wire.Unsupported, "which modules"},
		{"an exclusion that is not read", `{"peft_type":"LORA","r":2,"target_modules":["l"],"exclude_modules":"(?i)L"}`, good, wire.Unsupported, "which modules"},
		{"an exclusion that asserts something", `{"peft_type":"LORA","r":2,"target_modules":["l"],"exclude_modules":"(?=l).*"}`, good, wire.Malformed, "exclude_modules"},
		{"the output among all linear layers", `{"peft_type":"LORA","r":2,"target_modules":"all-linear"}`, pair("lm_head", 2, 5, 4), wire.Malformed, "target_modules"},
		{"a module that is saved by another character", `{"peft_type":"LORA","r":2,"modules_to_save":["m.l"]}`, append(pair("m_l", 2, 5, 4), whole("base_model.model.m.l.weight", "F32", 1, 5, 4)), wire.Malformed, "modules_to_save"},
		{"an expression among saved modules", `{"peft_type":"LORA","r":2,"modules_to_save":["k|l"]}`, good, wire.Unsupported, "modules_to_save"},
		{"layers that are none", `{"peft_type":"LORA","r":2,"layers_to_transform":[-1]}`, good, wire.Malformed, "layers_to_transform"},
		{"a rank that is not a whole number", `{"peft_type":"LORA","r":2,"rank_pattern":{"l":2.5}}`, good, wire.Malformed, "rank_pattern"},
		{"a class in a class", `{"peft_type":"LORA","r":2,"alpha_pattern":{"[[:alpha:]]":4}}`, good, wire.Unsupported, "alpha_pattern"},
		{"a count without a beginning", `{"peft_type":"LORA","r":2,"alpha_pattern":{"l{,3}":4}}`, good, wire.Unsupported, "alpha_pattern"},
		{"a parenthesis that closes ours", `{"peft_type":"LORA","r":2,"alpha_pattern":{"x)|(l":4}}`, good, wire.Unsupported, "alpha_pattern"},
		{"embeddings that are tied", `{"peft_type":"LORA","r":2,"modules_to_save":["embed_tokens"]}`, append(good[:2:2], whole("base_model.model.embed_tokens.weight", "F32", 1, 5, 4)), wire.Unsupported, "ties"},
		{"modules that are no list", `{"peft_type":"LORA","r":2,"modules_to_save":1}`, good, wire.Malformed, "modules_to_save"},
		{"modules without names", `{"peft_type":"LORA","r":2,"modules_to_save":[1]}`, good, wire.Malformed, "modules_to_save"},
		{"patterns that are a number", `{"peft_type":"LORA","r":2,"rank_pattern":1}`, good, wire.Malformed, "rank_pattern"},
		{"a pattern with a text", `{"peft_type":"LORA","r":2,"alpha_pattern":{"l":"x"}}`, good, wire.Malformed, "alpha_pattern"},
		{"a pattern beyond the bound", `{"peft_type":"LORA","r":2,"alpha_pattern":{"` + strings.Repeat("a", 1025) + `":2}}`, good, wire.Unsupported, "alpha_pattern"},
		{"a name with a line", `{"peft_type":"LORA","r":2,"target_modules":".*l"}`, pair("l\nl", 2, 5, 4), wire.Unsupported, "expressions"},
		{"a bias that is not there", `{"peft_type":"LORA","r":2,"lora_bias":true}`, good, wire.Malformed, "lora_bias"},
		{"a list of layers that has no name", `{"peft_type":"LORA","r":2,"layers_to_transform":[0],"layers_pattern":["h("]}`, pair("m.h.0.l", 2, 5, 4), wire.Unsupported, "list of layers"},
		{"no configuration", "", good, wire.Malformed, "adapter_config.json"},
		{"no object", "[]", good, wire.Malformed, "object"},
		{"a number that is none", `{"peft_type":"LORA","r":2}`, nan, wire.Malformed, "element 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			ints := whole("i.weight", "F32", 3, 5, 4)
			ints.Type = "I32"
			base := folder{tensors: []fixtures.Tensor{whole("l.weight", "F32", 3, 5, 4), whole("embed_tokens.weight", "F32", 4, 5, 4), ints}}
			m, _, err := merge(t, base, folder{c.config, c.tensors})
			if err == nil { // what matrices hold is seen when they are read
				for i := range m.Tensors() {
					if r, _ := m.At(i); err == nil && i.Name == "l.weight" {
						_, err = r.ReadAt(make([]byte, i.Span.Len), 0)
					}
				}
			}
			if wire.ClassOf(err) != c.class || !strings.Contains(fmt.Sprint(err), c.says) {
				t.Errorf("%v: %v, want %v that says %s", wire.ClassOf(err), err, c.class, c.says)
			}
		})
	}
}

// There is nothing to merge without an adapter, and no model with a weight that is no number.
func TestWeightsOfAdapters(t *testing.T) {
	base := folder{tensors: []fixtures.Tensor{fixtures.Whole("l.weight", "F32", 3, 5, 4)}}
	if _, _, err := merge(t, base); wire.ClassOf(err) != wire.Usage {
		t.Errorf("no adapter: %v", err)
	}
	for _, weight := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 1} {
		b := limits.Policy{}.Budget(t.Context())
		adapter := folder{`{"peft_type":"LORA","r":2}`, pair("l", 2, 5, 4)}.open(t, b, "adapter_model.safetensors", "adapter_config.json")
		_, err := lora.Merge(b, base.open(t, b, "model.safetensors", "config.json"), []lora.Adapter{{Model: adapter, Weight: weight}})
		if (wire.ClassOf(err) == wire.Usage) != (weight != 1) {
			t.Errorf("a weight of %v: %v", weight, err)
		}
		b.Close()
	}
}

// Of a square layer no shape tells whether it is transposed: the model's type does, as
// PEFT asks the module's class and not fan_in_fan_out.
func TestSquareLayersAreThoseOfTheModelsType(t *testing.T) {
	const n, rank = 4, 3
	for _, c := range []struct {
		config, module, adapter string
		transposed              bool
	}{
		{`{"model_type":"gpt2"}`, "h.0.attn.c_proj", "", true},
		{`{"model_type":"gpt-sw3"}`, "transformer.h.0.attn.c_proj", "", true},
		{`{"model_type":"openai-gpt"}`, "transformer.h.0.attn.c_proj", "", true},
		{`{"model_type":"gpt_bigcode"}`, "transformer.h.0.attn.c_proj", "", false},
		{`{"model_type":"vision-encoder-decoder","encoder":{"model_type":"vit"},"decoder":{"model_type":"gpt2"}}`, "decoder.transformer.h.0.crossattention.q_attn", "", true},
		{`{"model_type":"vision-encoder-decoder","encoder":{"model_type":"vit"},"decoder":{"model_type":"gpt2"}}`, "decoder.transformer.h.0.attn.c_proj", "", true},
		{`{"model_type":"vision-encoder-decoder","encoder":{"model_type":"vit"},"decoder":{"model_type":"gpt2"}}`, "encoder.encoder.layer.0.attention.attention.query", `,"fan_in_fan_out":true`, false},
		{`{"model_type":"clvp","text_config":{"model_type":"clvp_encoder"},"decoder_config":{"model_type":"clvp_decoder"}}`, "speech_decoder_model.model.decoder.layers.0.mlp.c_proj", "", true},
		{`{"model_type":"clvp","text_config":{"model_type":"clvp_encoder"},"decoder_config":{"model_type":"clvp_decoder"}}`, "speech_decoder_model.model.decoder.layers.0.attn.q_proj", "", false},
		{`{"model_type":"gpt2"}`, "h.0.attn.other", `,"fan_in_fan_out":true`, false},
		{`{"model_type":"llama"}`, "h.0.attn.q_proj", `,"fan_in_fan_out":true`, false},
		{`{}`, "h.0.attn.q_proj", `,"fan_in_fan_out":true`, true},
	} {
		w, more := fixtures.Whole(c.module+".weight", "F32", 5, n, n), pair(c.module, rank, n, n)
		m, _, err := merge(t, folder{c.config, []fixtures.Tensor{w}}, folder{`{"peft_type":"LORA","r":3,"lora_alpha":3` + c.adapter + `}`, more})
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range numbers(t, m, w.Name) {
			row, col := i/n, i%n
			if c.transposed {
				row, col = col, row
			}
			want := float32(0)
			for r := range rank {
				want += more[1].Values[row*rank+r] * more[0].Values[r*n+col]
			}
			if want += w.Values[i]; got != want {
				t.Fatalf("%s, %s%s: element %d is %v, want %v", c.config, c.module, c.adapter, i, got, want)
			}
		}
	}
}

// A model with two types that have one name for modules of both classes is refused.
func TestSquareLayersOfTwoClassesAreRefused(t *testing.T) {
	const module = "decoder.transformer.h.0.mlp.c_fc"
	base := folder{`{"model_type":"encoder-decoder","encoder":{"model_type":"gpt_neo"},"decoder":{"model_type":"gpt2"}}`, []fixtures.Tensor{fixtures.Whole(module+".weight", "F32", 5, 4, 4)}}
	_, _, err := merge(t, base, folder{`{"peft_type":"LORA","r":3,"lora_alpha":3}`, pair(module, 3, 4, 4)})
	if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(err.Error(), "cannot be told") {
		t.Error(err)
	}
}

// Two adapters that have one module whole contradict each other.
func TestTwoAdaptersOfOneModule(t *testing.T) {
	a := folder{`{"peft_type":"LORA","r":2,"modules_to_save":["k"]}`, append(pair("l", 2, 5, 4), fixtures.Whole("base_model.model.k.weight", "F32", 1, 3))}
	base := folder{tensors: []fixtures.Tensor{fixtures.Whole("l.weight", "F32", 3, 5, 4), fixtures.Whole("k.weight", "F32", 3, 3)}}
	if _, _, err := merge(t, base, a, a); wire.ClassOf(err) != wire.Unsupported {
		t.Error(err)
	}
}

// counted counts how often its tensors are read.
type counted struct {
	tensor.Model
	reads *int
}

type countedReader struct {
	io.ReaderAt
	reads *int
}

func (m counted) At(i tensor.Info) (io.ReaderAt, bool) {
	r, ok := m.Model.At(i)
	return countedReader{r, m.reads}, ok
}

func (r countedReader) ReadAt(p []byte, off int64) (int, error) {
	*r.reads++
	return r.ReaderAt.ReadAt(p, off)
}

// Each piece of a weight asks for the matrices of every adapter: they are read once,
// however many adapters there are, and not for each piece.
func TestMatricesOfManyAdaptersAreReadOnce(t *testing.T) {
	const out, in, adapters = 300, 400, 5
	ledger.Charges(t)
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	reads := 0
	var list []lora.Adapter
	for range adapters {
		f := folder{`{"peft_type":"LORA","r":2,"use_dora":true}`, append(pair("l", 2, out, in), fixtures.Whole("base_model.model.l.lora_magnitude_vector", "F32", 1, out))}
		list = append(list, lora.Adapter{Model: counted{f.open(t, b, "adapter_model.safetensors", "adapter_config.json"), &reads}, Weight: 1})
	}
	base := folder{tensors: []fixtures.Tensor{fixtures.Whole("l.weight", "BF16", 3, out, in)}}
	m, err := lora.Merge(b, base.open(t, b, "model.safetensors", "config.json"), list)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i := range m.Tensors() {
		r, _ := m.At(i)
		for off := int64(0); off < i.Span.Len; off += 2 * in {
			if _, err := r.ReadAt(make([]byte, 2*in), off); err != nil {
				t.Fatal(err)
			}
		}
	}
	if want := 3 * adapters; reads != want {
		t.Errorf("%d reads of the adapters' tensors, want %d", reads, want)
	}
}
