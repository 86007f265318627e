package lora_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// wrapper is what PEFT writes for one adapted parameter of a module, with numbers of its own.
func wrapper(module string, seed int, out, in int64) []fixtures.Tensor {
	return []fixtures.Tensor{
		fixtures.Whole("base_model.model."+module+".lora_A.weight", "F32", seed, testExperts*testRank, in),
		fixtures.Whole("base_model.model."+module+".lora_B.weight", "F32", seed+1, out, testExperts*testRank),
	}
}

// adapts is the configuration of an adapter of these parameters.
func adapts(version string, parameters ...string) string {
	if version != "" {
		version = `"peft_version":"` + version + `",`
	}
	return `{"peft_type":"LORA",` + version + `"r":2,"lora_alpha":6,"target_modules":[],"target_parameters":["` + strings.Join(parameters, `","`) + `"]}`
}

// The shapes of square experts say neither which wrapper is whose nor which dimension is the
// input: the class of the model makes up_proj first, so its wrapper is the inner one.
func TestSquareExpertsGoByTheOrderOfTheirClass(t *testing.T) {
	const module, n = "model.layers.0.mixer.experts", testHidden
	var base []fixtures.Tensor
	for e := range testExperts {
		for k, one := range []string{"down_proj", "up_proj"} {
			base = append(base, fixtures.Whole(fmt.Sprintf("%s.%d.%s.weight", module, e, one), "F32", 10*e+k, n, n))
		}
	}
	outer, inner := wrapper(module, 3, n, n), wrapper(module+".base_layer", 5, n, n)
	more := append(outer, inner...)
	config := func(version string) string {
		return adapts(version, "mixer.experts.down_proj", "mixer.experts.up_proj")
	}
	for _, version := range []string{"0.20.0", "0.21.2", "0.22.1.dev0@0a1b", "1.0.0"} {
		m, _, err := merge(t, folder{`{"model_type":"nemotron_h"}`, base}, folder{config(version), more})
		if err != nil {
			t.Fatal(version, err)
		}
		for k, w := range base {
			e, ab := int64(k/2), [][]fixtures.Tensor{outer, inner}[k%2]
			want := make([]float32, len(w.Values))
			for i := range want {
				row, col := int64(i)/n, int64(i)%n
				for r := range int64(testRank) {
					want[i] += at(ab[1], row, r*testExperts+e) * at(ab[0], e*testRank+r, col)
				}
				want[i] = w.Values[i] + 3*want[i]
			}
			if diff := cmp.Diff(want, numbers(t, m, w.Name)); diff != "" {
				t.Errorf("%s, %s: want -, got +:\n%s", version, w.Name, diff)
			}
		}
	}
	for _, version := range []string{"", "0.17.1", "0.18.1", "0.19.0", "0", "new"} {
		_, _, err := merge(t, folder{`{"model_type":"nemotron_h"}`, base}, folder{config(version), more})
		if wire.ClassOf(err) != wire.Unsupported || !strings.Contains(fmt.Sprint(err), "square") {
			t.Errorf("peft_version %q: %v", version, err)
		}
	}
	if _, _, err := merge(t, folder{`{"model_type":"nemotron_h"}`, base}, folder{`{"peft_type":"LORA","peft_version":1,"r":2}`, more}); wire.ClassOf(err) != wire.Malformed {
		t.Errorf("a version that is a number: %v", err)
	}
}

// An early PEFT took the other dimension for the input. What it wrote of up_proj has the shapes of
// what a later one writes of down_proj, and must not become that.
func TestAnEarlyWrapperIsNotThatOfAnotherParameter(t *testing.T) {
	const module = "model.layers.0.mixer.experts"
	var base []fixtures.Tensor
	for e := range testExperts {
		base = append(base, fixtures.Whole(fmt.Sprintf("%s.%d.up_proj.weight", module, e), "F32", 10*e, testWidth, testHidden),
			fixtures.Whole(fmt.Sprintf("%s.%d.down_proj.weight", module, e), "F32", 10*e+1, testHidden, testWidth))
	}
	up, down := wrapper(module+".base_layer", 3, testWidth, testHidden), wrapper(module, 5, testHidden, testWidth)
	config := adapts("0.21.2", "experts.down_proj", "experts.up_proj")
	if _, _, err := merge(t, folder{`{"model_type":"nemotron_h"}`, base}, folder{config, append(up, down...)}); err != nil {
		t.Fatal(err)
	}
	up, down = wrapper(module+".base_layer", 3, testHidden, testWidth), wrapper(module, 5, testWidth, testHidden)
	_, _, err := merge(t, folder{`{"model_type":"nemotron_h"}`, base}, folder{config, append(up, down...)})
	if wire.ClassOf(err) != wire.Malformed || !strings.Contains(fmt.Sprint(err), "do not fit") {
		t.Error(err)
	}
}

// gpt-oss has its experts as [in, out], and says so to PEFT, which only 0.19 misunderstood.
func TestSquareExpertsThatAreInFirst(t *testing.T) {
	const module, n = "model.layers.0.mlp.experts", int64(testHidden)
	w := fixtures.Whole(module+".down_proj", "F32", 7, testExperts, n, n)
	more := wrapper(module, 3, n, n)
	for _, version := range []string{"", "0.18.1", "0.20.0", "0.21.2"} {
		m, _, err := merge(t, folder{`{"model_type":"gpt_oss"}`, []fixtures.Tensor{w}}, folder{adapts(version, "experts.down_proj"), more})
		if err != nil {
			t.Fatal(version, err)
		}
		want := make([]float32, len(w.Values))
		for i := range want {
			e, in, out := int64(i)/(n*n), int64(i)/n%n, int64(i)%n
			for r := range int64(testRank) {
				want[i] += at(more[1], out, r*testExperts+e) * at(more[0], e*testRank+r, in)
			}
			want[i] = w.Values[i] + 3*want[i]
		}
		if diff := cmp.Diff(want, numbers(t, m, w.Name)); diff != "" {
			t.Errorf("%s: want -, got +:\n%s", version, diff)
		}
	}
	if _, _, err := merge(t, folder{`{"model_type":"gpt_oss"}`, []fixtures.Tensor{w}}, folder{adapts("0.19.0", "experts.down_proj"), more}); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("PEFT 0.19: %v", err)
	}
	one, alone := fixtures.Whole(module+".down_proj", "F32", 7, 1, n, n), pair(module, testRank, n, n)
	m, _, err := merge(t, folder{`{"model_type":"gpt_oss"}`, []fixtures.Tensor{one}}, folder{adapts("0.21.2", "experts.down_proj"), alone})
	if err != nil {
		t.Fatal(err)
	}
	for i, got := range numbers(t, m, one.Name) { // PEFT does not transpose the product of one expert
		row, col := int64(i)/n, int64(i)%n
		if want := one.Values[i] + 3*(at(alone[1], row, 0)*at(alone[0], 0, col)+at(alone[1], row, 1)*at(alone[0], 1, col)); got != want {
			t.Fatalf("one expert: [%d,%d] is %v, not %v", row, col, got, want)
		}
	}
	if _, _, err := merge(t, folder{`{"model_type":"nobodys"}`, []fixtures.Tensor{w}}, folder{adapts("0.21.2", "experts.down_proj"), more}); wire.ClassOf(err) != wire.Unsupported || !strings.Contains(fmt.Sprint(err), "do not determine") {
		t.Errorf("a type that the table does not have: %v", err)
	}
}
