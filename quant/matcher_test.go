package quant

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// glob is the rule, one glob at a time.
func glob(module, name string) bool {
	pieces := slices.DeleteFunc(strings.Split(module, "*"), func(p string) bool { return p == "" })
	return len(pieces) > 0 && inOrder(name, pieces)
}

func word(rng *rand.Rand, letters string, most int) string {
	var b strings.Builder
	for range rng.IntN(most + 1) {
		b.WriteByte(letters[rng.IntN(len(letters))])
	}
	return b.String()
}

func TestAMatcherMatchesWhatAnyOfItsGlobsDoes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	counts := map[bool]int{}
	for range 20000 {
		globs := make([]string, rng.IntN(6))
		for i := range globs {
			globs[i] = word(rng, "ab*", 6)
		}
		m, err := newMatcher(limits.Policy{}.Budget(t.Context()), globs)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			name := word(rng, "abc", 9)
			want := slices.ContainsFunc(globs, func(g string) bool { return glob(g, name) })
			got, err := m.match(name)
			if err != nil || got != want {
				t.Fatalf("%q in %q: %v, %v", name, globs, got, err)
			}
			counts[want]++
		}
	}
	if counts[true] < 10000 || counts[false] < 10000 {
		t.Errorf("%v", counts)
	}
}

// castModel is FP8 tensors without scales, which a configuration promises to all
// but the modules that it leaves out.
func castModel(tensors int, key string, entries []string) tensor.Model {
	config := `{"quantization_config":{"quant_method":"fp8","` + key + `":["` + strings.Join(entries, `","`) + `"]}}`
	m := &tensor.File{Folder: fstest.MapFS{"config.json": &fstest.MapFile{Data: []byte(config)}}}
	for i := range tensors {
		m.Infos = append(m.Infos, tensor.Info{
			Name: fmt.Sprintf("model.layers.%d.self_attn.weight", i), DType: tensor.F8E4M3, Shape: []int64{1, 1}, Span: tensor.Span{Off: int64(i), Len: 1},
		})
	}
	return m
}

// A list of modules costs what it is long, and a name what it is long: not one
// times the other. The bounds are a few steps for each byte of the text.
func TestListsOfModulesCostTheirLengthOnce(t *testing.T) {
	const tensors, entries = 600, 100_000
	names, stars := make([]string, entries), make([]string, entries)
	for i := range names {
		names[i] = fmt.Sprintf("layers.%d.", i)
		stars[i] = fmt.Sprintf("layers.%d.*mlp", i+tensors)
	}
	stars = append(stars, "self_attn")
	for _, key := range exclusionKeys {
		for what, list := range map[string][]string{"names": names, "globs": stars} {
			t.Run(key+", "+what, func(t *testing.T) {
				b := limits.Policy{MaxSteps: 12 << 20}.Budget(t.Context())
				defer b.Close()
				bound, err := Plan(b, castModel(tensors, key, list), Options{})
				if err != nil || len(bound.Weights) != tensors {
					t.Fatal(err)
				}
			})
		}
	}
}

// Globs that share their first piece, and patterns, cost steps for each name, so
// that the account ends what is too much.
func TestListsThatCannotBeMatchedAtOnceStep(t *testing.T) {
	const tensors = 600
	for what, entry := range map[string]string{"globs": "layers*none%d", "patterns": "re:model.*none%d$"} {
		t.Run(what, func(t *testing.T) {
			list := make([]string, 3000)
			for i := range list {
				list[i] = fmt.Sprintf(entry, i)
			}
			list = append(list, "re:model")
			b := limits.Policy{MaxSteps: 4 << 20}.Budget(t.Context())
			defer b.Close()
			_, err := Plan(b, castModel(tensors, "ignore", list), Options{})
			if e, ok := errors.AsType[*limits.Error](err); !ok || e.Axis != limits.StepCount {
				t.Errorf("%v", err)
			}
		})
	}
}

// Entries of AutoRound's that are plain names are passed over once and not for
// each weight.
func TestPlainEntriesOfModulesArePassedOverOnce(t *testing.T) {
	extra := &config.Object{Values: map[string]any{}}
	for i := range 50_000 {
		name := fmt.Sprintf("model.layers.%d.proj", i)
		extra.Order = append(extra.Order, name)
		extra.Values[name] = &config.Object{}
	}
	b := limits.Policy{MaxSteps: 4 << 20}.Budget(t.Context())
	defer b.Close()
	s := &set{b: b, config: &config.Config{Quant: &config.Object{Values: map[string]any{"extra_config": extra}}}}
	for i := range 10_000 {
		own, err := s.own(fmt.Sprintf("other.%d", i))
		if own != nil || err != nil {
			t.Fatal(own, err)
		}
	}
	if n := len(s.overrides.extra); n != 0 {
		t.Errorf("%d patterns", n)
	}
}

func TestANameThatIsTooLongForPatternsIsRefused(t *testing.T) {
	m := castModel(1, "ignore", []string{"re:(a*)*b"}).(*tensor.File)
	m.Infos[0].Name = strings.Repeat("a", maxMatched+1)
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	if _, err := Plan(b, m, Options{}); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("%v", err)
	}
}
