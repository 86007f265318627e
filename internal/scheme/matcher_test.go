package scheme

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/limits"
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

// Entries of AutoRound that are plain names are skipped once, and not for each weight.
func TestPlainEntriesOfModulesArePassedOverOnce(t *testing.T) {
	extra := map[string]any{}
	for i := range 50_000 {
		extra[fmt.Sprintf("model.layers.%d.proj", i)] = map[string]any{}
	}
	b := limits.Policy{MaxSteps: 4 << 20}.Budget(t.Context())
	defer b.Close()
	s := &Set{Budget: b, Config: &config.Config{Quant: treeOf(t, map[string]any{"extra_config": extra})}}
	for i := range 10_000 {
		own, err := s.Own(fmt.Sprintf("other.%d", i))
		if own.There || err != nil {
			t.Fatal(own, err)
		}
	}
	if n := len(s.overrides.extra); n != 0 {
		t.Errorf("%d patterns", n)
	}
}
