package lora_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

const (
	testExperts, testHidden, testWidth, testRank = 3, 4, 5, 2
	adaptsExperts                                = `{"peft_type":"LORA","r":2,"lora_alpha":6,"target_modules":[],"target_parameters":["mlp.experts.gate_up_proj","mlp.experts.down_proj"]}`
)

// separateExperts are those of a layer, each under its own name.
func separateExperts(module string, gate, up, down string) (list []fixtures.Tensor) {
	for e := range testExperts {
		for k, one := range []string{gate, up, down} {
			shape := []int64{testWidth, testHidden}
			if one == down {
				shape = []int64{testHidden, testWidth}
			}
			list = append(list, fixtures.Whole(fmt.Sprintf("%s.%d.%s.weight", module, e, one), "F32", 10*e+k, shape...))
		}
	}
	return list
}

// stackedAdapter is what PEFT writes for the stacked parameters of that layer: the wrapper of
// the first is inside that of the second.
func stackedAdapter(module string) []fixtures.Tensor {
	return append(pair(module+".base_layer", testExperts*testRank, 2*testWidth, testHidden), pair(module, testExperts*testRank, testHidden, testWidth)...)
}

// Experts that a checkpoint has one by one get their parts of the adapter of the parameter that
// transformers stacks of them: W[e] += 3 * sum over r of B[o, r*E+e] * A[e*R+r, i].
func TestSeparateExpertsGetPartsOfTheirStack(t *testing.T) {
	for _, c := range []struct {
		kind, module, in string
		names            [3]string
	}{
		{`{"model_type":"qwen3_moe"}`, "model.layers.0.mlp.experts", "model.layers.0.mlp.experts", [3]string{"gate_proj", "up_proj", "down_proj"}},
		{`{"model_type":"mixtral"}`, "model.layers.0.block_sparse_moe.experts", "model.layers.0.mlp.experts", [3]string{"w1", "w3", "w2"}},
		{`{"text_config":{"model_type":"qwen3_moe"}}`, "layers.0.mlp.experts", "model.layers.0.mlp.experts", [3]string{"gate_proj", "up_proj", "down_proj"}},
	} {
		base, more := separateExperts(c.module, c.names[0], c.names[1], c.names[2]), stackedAdapter(c.in)
		m, _, err := merge(t, folder{c.kind, base}, folder{adaptsExperts, more})
		if err != nil {
			t.Fatal(c.kind, err)
		}
		for n, w := range base {
			e, k := int64(n/3), n%3
			a, b, first := more[0], more[1], int64(k)*testWidth
			if k == 2 {
				a, b, first = more[2], more[3], 0
			}
			want := make([]float32, len(w.Values))
			for i := range want {
				row, col := int64(i)/w.Shape[1], int64(i)%w.Shape[1]
				for r := range int64(testRank) {
					want[i] += at(b, first+row, r*testExperts+e) * at(a, e*testRank+r, col)
				}
				want[i] = w.Values[i] + 3*want[i]
			}
			if diff := cmp.Diff(want, numbers(t, m, w.Name)); diff != "" {
				t.Errorf("%s, %s: want -, got +:\n%s", c.kind, w.Name, diff)
			}
		}
	}
}

// An adapter of stacked experts that do not fit the base's is refused, and the message says why.
func TestStacksThatDoNotFit(t *testing.T) {
	module := "model.layers.0.mlp.experts"
	good := func() []fixtures.Tensor { return separateExperts(module, "gate_proj", "up_proj", "down_proj") }
	other := good()
	other[3] = fixtures.Whole(other[3].Name, "BF16", 1, testWidth, testHidden)
	for _, c := range []struct {
		name, config string
		base         []fixtures.Tensor
		says         string
	}{
		{"a type whose experts are not stacked", `{"model_type":"llama"}`, good(), "model_type"},
		{"no type", ``, good(), "model_type"},
		{"an expert too few", `{"model_type":"qwen3_moe"}`, good()[:6], "do not fit"},
		{"an expert without a matrix", `{"model_type":"qwen3_moe"}`, append(good()[:4:4], good()[5:]...), "experts.1.up_proj.weight"},
		{"experts of several types", `{"model_type":"qwen3_moe"}`, other, "differ"},
	} {
		_, _, err := merge(t, folder{c.config, c.base}, folder{adaptsExperts, stackedAdapter(module)})
		if wire.ClassOf(err) != wire.Malformed || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s: %v, want %q", c.name, err, c.says)
		}
	}
}

// PEFT makes parameters of all experts' matrices that a list of modules names, without the names of
// their modules: modules beside them are adapted as ever.
func TestParametersThatAreNamedAlone(t *testing.T) {
	const layer = "model.layers.0."
	base := append(separateExperts(layer+"mlp.experts", "gate_proj", "up_proj", "down_proj"), fixtures.Whole(layer+"self_attn.q_proj.weight", "F32", 7, 5, 4), fixtures.Whole(layer+"mlp.gate.weight", "F32", 9, testExperts, testHidden))
	more := append(stackedAdapter(layer+"mlp.experts"), append(pair(layer+"self_attn.q_proj", testRank, 5, 4), pair(layer+"mlp.gate", testRank, testExperts, testHidden)...)...)
	adapter := func(modules, parameters string) string {
		return `{"peft_type":"LORA","r":2,"lora_alpha":6,"target_modules":` + modules + `,"target_parameters":` + parameters + `}`
	}
	alone := `["down_proj","gate.weight","gate_up_proj"]`
	m, _, err := merge(t, folder{`{"model_type":"glm4_moe"}`, base}, folder{adapter(`["q_proj"]`, alone), more})
	if err != nil {
		t.Fatal(err)
	}
	n, _, err := merge(t, folder{`{"model_type":"glm4_moe"}`, base}, folder{adapter(`["q_proj"]`, `["experts.down_proj","gate.weight","experts.gate_up_proj"]`), more})
	if err != nil {
		t.Fatal(err)
	}
	for i, w := range base {
		got := numbers(t, m, w.Name)
		if cmp.Equal(got, w.Values) {
			t.Errorf("%s is as it was", w.Name)
		}
		if diff := cmp.Diff(numbers(t, n, w.Name), got); diff != "" {
			t.Errorf("%d %s: want -, got +:\n%s", i, w.Name, diff)
		}
	}
	q, a, b := base[len(base)-2], more[4], more[5]
	for i, got := range numbers(t, m, q.Name) {
		row, col := int64(i)/4, int64(i)%4
		if want := q.Values[i] + 3*(at(b, row, 0)*at(a, 0, col)+at(b, row, 1)*at(a, 1, col)); got != want {
			t.Errorf("q_proj[%d,%d] is %v, not %v", row, col, got, want)
		}
	}
	for _, c := range []struct {
		modules string
		base    []fixtures.Tensor
		says    string
	}{
		{`["k_proj"]`, base, "target_modules does not name it"},
		{`["q_proj"]`, base[len(base)-2:], "experts.down_proj"},
		{`["q_proj"]`, base[:len(base)-2], "q_proj.weight"},
	} {
		if _, _, err := merge(t, folder{`{"model_type":"glm4_moe"}`, c.base}, folder{adapter(c.modules, alone), more}); wire.ClassOf(err) != wire.Malformed && wire.ClassOf(err) != wire.Unsupported || !strings.Contains(fmt.Sprint(err), c.says) {
			t.Errorf("%s of %d tensors: %v, want %q", c.modules, len(c.base), err, c.says)
		}
	}
}

// Granite's experts are stacked in the checkpoint too, under names that transformers changes.
func TestStacksWithOtherNamesInTheFile(t *testing.T) {
	const module = "model.layers.0.block_sparse_moe"
	base := []fixtures.Tensor{
		fixtures.Whole(module+".input_linear.weight", "F32", 1, testExperts, 2*testWidth, testHidden),
		fixtures.Whole(module+".output_linear.weight", "F32", 2, testExperts, testHidden, testWidth),
	}
	more := stackedAdapter(module + ".experts")
	config := `{"peft_type":"LORA","r":2,"lora_alpha":6,"target_modules":[],"target_parameters":["block_sparse_moe.experts.gate_up_proj","block_sparse_moe.experts.down_proj"]}`
	for _, kind := range []string{"granitemoe", "granitemoehybrid"} {
		m, _, err := merge(t, folder{`{"model_type":"` + kind + `"}`, base}, folder{config, more})
		if err != nil {
			t.Fatal(err)
		}
		for k, w := range base {
			a, b := more[2*k], more[2*k+1]
			got, rows, cols := numbers(t, m, w.Name), w.Shape[1], w.Shape[2]
			for i := range got {
				e, row, col := int64(i)/(rows*cols), int64(i)/cols%rows, int64(i)%cols
				want := float32(0)
				for r := range int64(testRank) {
					want += at(b, row, r*testExperts+e) * at(a, e*testRank+r, col)
				}
				if want = w.Values[i] + 3*want; got[i] != want {
					t.Fatalf("%s %s[%d,%d,%d] is %v, not %v", kind, w.Name, e, row, col, got[i], want)
				}
			}
		}
	}
	if _, _, err := merge(t, folder{`{"model_type":"llama"}`, base}, folder{config, more}); !strings.Contains(fmt.Sprint(err), "experts.gate_up_proj") {
		t.Errorf("a type without that name: %v", err)
	}
}

// Mixtral's router has its experts' other name in the checkpoint too. PEFT trains it with
// target_modules="all-linear".
func TestTheRouterBesideMixtralsExperts(t *testing.T) {
	const file, model = "model.layers.0.block_sparse_moe.", "model.layers.0.mlp."
	router := fixtures.Whole(file+"gate.weight", "F32", 9, testExperts, testHidden)
	base := append(separateExperts(file+"experts", "w1", "w3", "w2"), router)
	gate := pair(model+"gate", testRank, testExperts, testHidden)
	config := `{"peft_type":"LORA","r":2,"lora_alpha":6,"target_modules":[],"target_parameters":["down_proj","gate.weight","gate_up_proj"]}`
	m, _, err := merge(t, folder{`{"model_type":"mixtral"}`, base}, folder{config, append(stackedAdapter(model+"experts"), gate...)})
	if err != nil {
		t.Fatal(err)
	}
	want := make([]float32, len(router.Values))
	for i := range want {
		row, col := int64(i)/testHidden, int64(i)%testHidden
		for r := range int64(testRank) {
			want[i] += at(gate[1], row, r) * at(gate[0], r, col)
		}
		want[i] = router.Values[i] + 3*want[i]
	}
	if diff := cmp.Diff(want, numbers(t, m, router.Name)); diff != "" {
		t.Errorf("want -, got +:\n%s", diff)
	}
}
