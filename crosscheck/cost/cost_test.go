package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestEveryFormatOfTheCorpusHasSeeds(t *testing.T) {
	list, err := seeds("../..")
	if err != nil {
		t.Fatal(err)
	}
	of := map[string]int{}
	for _, in := range list {
		of[in.format]++
		if in.name == "" || len(in.data) > 2*largest {
			t.Errorf("%s: %q of %d bytes", in.format, in.name, len(in.data))
		}
	}
	for _, format := range []string{"safetensors", "gguf", "npy", "npz", "zip", "pth", "pickle", "onnx", "hdf5", "wrap", "gate", "detect", "text"} {
		if of[format] < 3 {
			t.Errorf("%s has %d seeds", format, of[format])
		}
	}
}

func TestTheSameSeedGivesTheSameInputs(t *testing.T) {
	list := shapes()
	inputs := func() string {
		m := &mutator{rand.New(rand.NewPCG(3, 0)), map[string][]*input{"text": list}}
		var out strings.Builder
		for range 50 {
			if in := m.mutate(list[m.IntN(11)]); in != nil {
				out.WriteString(in.name)
				out.Write(in.data)
			}
		}
		return out.String()
	}
	if a := inputs(); a == "" || a != inputs() {
		t.Error("the search cannot be repeated")
	}
}

func TestARepeatedLineOfARecipeKeepsItsLengths(t *testing.T) {
	const text = "# A file.\nexpect: ok\n--\nlen u16 {\nstr \"ab\"\n}\n"
	m := &mutator{rand.New(rand.NewPCG(1, 0)), nil}
	longer := 0
	for range 200 {
		in := m.changeRecipe(&input{name: "a", format: "zip", recipe: text})
		if in == nil {
			continue
		}
		if n := int(in.data[0]) | int(in.data[1])<<8; n > 2 && n == len(in.data)-2 {
			longer++
		}
	}
	if longer == 0 {
		t.Error("no recipe grew with its length")
	}
}

func TestEveryCommandIsMeasured(t *testing.T) {
	list, err := seeds("../..")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list, func(in *input) bool { return in.name == "bf16.npy" })
	data := list[i].data
	in := &input{name: "a.npy", format: "npy", data: data}
	for i := range commands {
		p := commands[i].measure(in)
		if p.err != nil || p.steps == 0 {
			t.Errorf("%s: %d steps, %v", commands[i].name, p.steps, p.err)
		}
		if r := p.rate(in); r <= 0 || r > 100 {
			t.Errorf("%s: %f of the bound", commands[i].name, r)
		}
	}
}

func TestTheTableReplacesTheOldOne(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("before\n"+markBegin+"old\n"+markEnd+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := replaceTable(file, "new\n"); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(file); string(got) != "before\n"+markBegin+"new\n"+markEnd+"\nafter\n" {
		t.Errorf("%q", got)
	}
	if err := replaceTable("cost_test.go", "x"); err == nil {
		t.Error("a document without marks was replaced")
	}
	page, err := os.ReadFile("../../docs/performance.md")
	if err != nil || !strings.Contains(string(page), markBegin) || !strings.Contains(string(page), markEnd) {
		t.Error("docs/performance.md has no place for the table of make cost")
	}
}

func BenchmarkHostileShapes(b *testing.B) {
	scan := slices.IndexFunc(commands, func(c command) bool { return c.name == "scan" })
	for _, in := range shapes() {
		b.Run(fmt.Sprintf("%s/%d", in.name, len(in.data)), func(b *testing.B) {
			b.SetBytes(int64(len(in.data)))
			for range b.N {
				commands[scan].measure(in)
			}
		})
	}
}
