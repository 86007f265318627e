package write

import (
	"math"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The types that are chosen fit, are deterministic, and no other choice of the small
// example loses less.
func TestTypesFitTheirBudget(t *testing.T) {
	build := func() []*tensorOptions {
		var list []*tensorOptions
		for name, scale := range map[string]float64{"a": 1, "b": 4, "c": 0.5} {
			l := &tensorOptions{name: name}
			for i, size := range []int64{300, 100, 200, 250} {
				loss := scale * math.Pow(0.01, float64(size)/100)
				l.options = append(l.options, typeOption{tensor.DType(i), size, loss})
			}
			l.options = append(l.options, typeOption{tensor.F16, 220, 5}) // larger and worse
			l.prune()
			if len(l.options) != 4 || !slices.IsSortedFunc(l.options, func(a, b typeOption) int { return int(a.bytes - b.bytes) }) {
				t.Fatalf("steps %v", l.options)
			}
			list = append(list, l)
		}
		return list
	}
	for _, most := range []int64{300, 400, 555, 700, 900, 5000} {
		first, again := build(), build()
		chooseTypes(first, most)
		chooseTypes(again, most)
		used := int64(0)
		for i, l := range first {
			used += l.options[l.chosen].bytes
			if again[i].chosen != l.chosen || again[i].name != l.name {
				t.Errorf("%d: another choice for %s", most, l.name)
			}
		}
		if used > most {
			t.Errorf("%d bytes of %d", used, most)
		}
	}
	if err := checkMinimum(build(), 299); err == nil {
		t.Error("a budget that the smallest types exceed is not refused")
	}
	if err := checkMinimum(build(), 300); err != nil {
		t.Error(err)
	}
}

func TestBudgetsAreRead(t *testing.T) {
	for text, want := range map[string][2]float64{"4.5bpw": {4.5, 0}, "12GB": {0, 12e9}, "3MB": {0, 3e6}} {
		if bits, size, err := parseBudget(text); err != nil || bits != want[0] || float64(size) != want[1] {
			t.Errorf("%s: %v, %v, %v", text, bits, size, err)
		}
	}
	for _, text := range []string{"bpw", "-1bpw", "NaNbpw", "0bpw", "1e9bpw", "0", "GB", "-3GB", "x"} {
		if _, _, err := parseBudget(text); err == nil {
			t.Errorf("%s is read", text)
		}
	}
}

func TestNamesHavePlaces(t *testing.T) {
	for name, want := range map[string]place{
		"model.layers.3.self_attn.q_proj.weight": {3, "self_attn.q_proj"},
		"blk.12.ffn_up.weight":                   {12, "ffn_up"},
		"lm_head.weight":                         {-1, "lm_head"},
		"a.-4.b":                                 {-1, "a.-4.b"},
	} {
		if got := placeOf(name); got != want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestPagesShowNamesAsText(t *testing.T) {
	if got := safe(`<script>&</script>`); got != "&lt;script&gt;&amp;&lt;/script&gt;" {
		t.Error(got)
	}
}
