package digest_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

func of(t testing.TB, path string, workers int) []digest.Tensor {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := parser.Open(b, path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	list, err := digest.Tensors(b, m, digest.Options{Workers: workers})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// The digests are those of NumPy's bytes: testdata/demo/make.py writes the same
// arrays to each format, and sums.txt beside it, by hashlib over ascontiguousarray.
func TestOneModelHasOneDigestInEveryFormat(t *testing.T) {
	text, err := os.ReadFile("testdata/sums.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"a.safetensors", "a.npz", "a.pt", "strided.pt", "big.npz"} {
		for _, workers := range []int{1, 3} {
			got := map[string]string{}
			for _, x := range of(t, "testdata/"+file, workers) {
				got[x.Name] = x.Sum.String()
			}
			want := 0
			for line := range strings.Lines(string(text)) {
				name, sum, _ := strings.Cut(strings.TrimSpace(line), " ")
				if want++; got[name] != sum {
					t.Errorf("%s, %d workers: %s is %s, hashlib says %s", file, workers, name, got[name], sum)
				}
			}
			if want != len(got) {
				t.Errorf("%s: %d tensors, %d expected", file, len(got), want)
			}
		}
	}
}

func TestTheModelsDigestCountsNamesTypesAndShapes(t *testing.T) {
	one := digest.Tensor{Name: "a", Type: "F32", Shape: []int64{2, 3}, Sum: digest.Sum(sha256.Sum256([]byte("x")))}
	two := digest.Tensor{Name: "b", Type: "F32", Shape: []int64{6}}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	model := func(list ...digest.Tensor) digest.Sum {
		id, err := digest.Model(b, list)
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	sum := model(one, two)
	if sum != model(two, one) {
		t.Error("the order in the file counts")
	}
	seen := map[digest.Sum]string{sum: "the model itself"}
	for what, change := range map[string]func(*digest.Tensor){
		"a name":      func(x *digest.Tensor) { x.Name = "c" },
		"a type":      func(x *digest.Tensor) { x.Type = "I32" },
		"a shape":     func(x *digest.Tensor) { x.Shape = []int64{3, 2} },
		"a dimension": func(x *digest.Tensor) { x.Shape = []int64{2, 3, 1} },
		"a sum":       func(x *digest.Tensor) { x.Sum[0]++ },
	} {
		changed := one
		change(&changed)
		other := model(changed, two)
		if was, twice := seen[other]; twice {
			t.Errorf("%s changes nothing against %s", what, was)
		}
		seen[other] = what
	}
}

// Every honest file of the corpus is read to its end.
func TestEveryHonestFileHasADigest(t *testing.T) {
	n := 0
	for _, format := range []string{"safetensors", "gguf", "npy", "npz", "pth"} {
		for _, s := range corpus.Valid(format) {
			b := limits.Policy{}.Budget(t.Context())
			m, err := parser.Decode(b, strings.NewReader(string(s.Data)), int64(len(s.Data)))
			if err == nil {
				if _, err := digest.Tensors(b, m, digest.Options{Workers: 2}); err != nil && parser.ClassOf(err) != parser.Unsupported {
					t.Errorf("%s/%s: %v", format, s.Name, err)
				}
				n++
				m.Close()
			}
			b.Close()
		}
	}
	if n < 100 {
		t.Errorf("%d files", n)
	}
}

// A checkpoint and what was made of it hold the same tensors.
func Example() {
	sum := func(path string) digest.Sum {
		b := limits.Policy{}.Budget(context.Background())
		defer b.Close()
		m, err := parser.Open(b, path)
		if err != nil {
			panic(err)
		}
		defer m.Close()
		list, err := digest.Tensors(b, m, digest.Options{})
		if err != nil {
			panic(err)
		}
		id, err := digest.Model(b, list)
		if err != nil {
			panic(err)
		}
		return id
	}
	fmt.Println(sum("testdata/a.pt") == sum("testdata/a.safetensors"))
	// Output: true
}
