package stats_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/stats"
)

func read(t testing.TB, path string, o stats.Options) []stats.Tensor {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	m, err := parser.Open(b, path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	list, err := stats.Tensors(b, m, o)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// What numpy counts and sums, as testdata/make.py wrote it down.
func TestNumbersAreThoseOfNumPy(t *testing.T) {
	text, err := os.ReadFile("testdata/expected.json")
	if err != nil {
		t.Fatal(err)
	}
	var files map[string]map[string]struct {
		Elements, Zeros, NaN, Infinite, First int64
		Min, Max, Mean, Std                   float64
		Bins                                  [][3]int64
	}
	if err := json.Unmarshal(text, &files); err != nil {
		t.Fatal(err)
	}
	for file, tensors := range files {
		for _, x := range read(t, filepath.Join("testdata", file), stats.Options{Workers: 3}) {
			want, ok := tensors[x.Name]
			if ok != x.Numbers {
				t.Errorf("%s %s: numbers %v", file, x.Name, x.Numbers)
			}
			if !ok {
				continue
			}
			delete(tensors, x.Name)
			if x.Elements != want.Elements || x.Zeros != want.Zeros || x.NaN != want.NaN || x.Infinite != want.Infinite || x.First != want.First {
				t.Errorf("%s: %+v, not %+v", x.Name, x, want)
			}
			if x.Min != want.Min || x.Max != want.Max || !near(x.Mean, want.Mean, want.Std) || !near(x.Std, want.Std, want.Std) {
				t.Errorf("%s: %v %v %v %v, not %v %v %v %v", x.Name, x.Min, x.Max, x.Mean, x.Std, want.Min, want.Max, want.Mean, want.Std)
			}
			var bins [][3]int64
			for _, b := range x.Bins {
				bins = append(bins, [3]int64{int64(b.Exp), b.Negative, b.Positive})
			}
			if len(bins)+len(want.Bins) > 0 {
				if diff := cmp.Diff(want.Bins, bins); diff != "" {
					t.Errorf("%s: %s", x.Name, diff)
				}
			}
		}
		if len(tensors) > 0 {
			t.Errorf("%s: not read: %v", file, tensors)
		}
	}
}

// near allows what summing in another order makes of float64.
func near(a, b, scale float64) bool { return math.Abs(a-b) <= 1e-12*max(math.Abs(b), scale) }

// The sums do not depend on how many workers there are.
func TestWorkersAgree(t *testing.T) {
	one := read(t, "testdata/numbers.safetensors", stats.Options{})
	for _, n := range []int{2, 5, 100} {
		if diff := cmp.Diff(one, read(t, "testdata/numbers.safetensors", stats.Options{Workers: n})); diff != "" {
			t.Errorf("%d workers: %s", n, diff)
		}
	}
}

// A quantized weight is what it decodes to, or what is stored.
func TestWeightsAreDecoded(t *testing.T) {
	const model = "../testdata/demo/llama-fp8"
	decoded, want := read(t, model, stats.Options{}), map[string]stats.Tensor{}
	for _, x := range read(t, "../testdata/convert/llama-bf16.safetensors", stats.Options{}) {
		want[x.Name] = x
	}
	for _, x := range decoded {
		if w := want[x.Name]; x.Elements != w.Elements || x.Zeros != w.Zeros || math.Abs(x.Std-w.Std) > 1e-2*w.Std {
			t.Errorf("%s: %v elements, std %v; as BF16 %v, %v", x.Name, x.Elements, x.Std, w.Elements, w.Std)
		}
	}
	if stored := read(t, model, stats.Options{Stored: true}); len(stored) <= len(decoded) {
		t.Errorf("%d tensors make %d weights", len(stored), len(decoded))
	}
}

func ExampleTensors() {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	m, err := parser.Open(b, "testdata/numbers.safetensors")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer m.Close()
	list, err := stats.Tensors(b, m, stats.Options{Keep: func(name string) bool { return name == "odd" }})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, t := range list {
		fmt.Printf("%s: %d numbers, %d NaN, the first at %d; mean %.4f, std %.4f\n", t.Name, t.Elements, t.NaN, t.First, t.Mean, t.Std)
	}
	// Output:
	// odd: 40001 numbers, 2 NaN, the first at 5; mean -0.0073, std 0.9934
}

func BenchmarkTensors(b *testing.B) {
	info, err := os.Stat("testdata/numbers.safetensors")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(info.Size())
	for b.Loop() {
		read(b, "testdata/numbers.safetensors", stats.Options{})
	}
}
