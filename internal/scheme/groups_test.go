package scheme

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/google/go-cmp/cmp"
)

// rankOf is the rule that [set.groups] keeps, target by target: 3 by a name, 2 by
// a pattern, 1 by a class, 0 not at all.
func rankOf(s *Set, list []any, stem string) (rank int, err error) {
	for _, v := range list {
		target, _ := v.(string)
		pattern, isPattern := strings.CutPrefix(target, "re:")
		switch {
		case target == stem:
			return 3, nil
		case isPattern:
			at, err := s.Place("^(?:"+pattern+")", stem)
			if err != nil {
				return 0, err
			}
			if at == 0 {
				rank = max(rank, 2)
			}
		case !strings.Contains(target, "."):
			rank = max(rank, 1)
		}
	}
	return rank, nil
}

// treeOf is a value as it is read from its JSON.
func treeOf(t *testing.T, of any) jsontree.Value {
	t.Helper()
	text, err := json.Marshal(of)
	if err != nil {
		t.Fatal(err)
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	v, err := config.Parse(b, strictjson.Text{Format: "test", Body: string(text), Whole: true})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func aimedAt(t *testing.T, p limits.Policy, lists [][]any) *Set {
	t.Helper()
	b := p.Budget(t.Context())
	t.Cleanup(b.Close)
	groups := map[string]any{}
	for i, list := range lists {
		groups[fmt.Sprint("group ", i)] = map[string]any{"targets": list}
	}
	return &Set{Budget: b, Kept: map[string]any{}, Config: &config.Config{File: "config.json", Quant: treeOf(t, map[string]any{"config_groups": groups})}}
}

// Groups of any targets, some of which are broken patterns or no text: what a
// module belongs to, and whether a pattern is refused, is what the rule says.
func TestGroupsAreThoseThatTheRuleNames(t *testing.T) {
	words := []any{"a.b", "a.c", "a.b.c", "Linear", "Conv", "re:a.*", "re:.*c$", "re:b", "re:(", "re:", "", 7.0, "re:a[.]b"}
	stems := []string{"a.b", "a.c", "a.b.c", "d.e", "Linear", "re:b", "re:(", "", "c"}
	rng := rand.New(rand.NewPCG(1, 2))
	ranks := map[int]int{}
	for range 5000 {
		lists := make([][]any, rng.IntN(5))
		for i := range lists {
			for range rng.IntN(5) {
				lists[i] = append(lists[i], words[rng.IntN(len(words))])
			}
		}
		s := aimedAt(t, limits.Policy{}, lists)
		for range 3 {
			stem := stems[rng.IntN(len(stems))]
			best, broken := 0, false
			var want []jsontree.Value
			for i, list := range lists {
				rank, err := rankOf(s, list, stem)
				if broken = broken || err != nil; broken {
					break
				}
				if rank > best {
					best, want = rank, nil
				}
				if rank > 0 && rank == best {
					want = append(want, s.Config.Quant.Within("config_groups", fmt.Sprint("group ", i)))
				}
			}
			got, err := s.Groups(stem)
			if (err != nil) != broken {
				t.Fatalf("%q in %q: %v", stem, lists, err)
			}
			if broken {
				continue
			}
			ranks[best]++
			if !cmp.Equal(want, got, cmp.Comparer(func(a, b jsontree.Value) bool { return a.Off() == b.Off() })) {
				t.Fatalf("%q in %q: %d groups, want %d", stem, lists, len(got), len(want))
			}
		}
	}
	for rank := range 4 {
		if ranks[rank] < 100 {
			t.Errorf("only %d of rank %d", ranks[rank], rank)
		}
	}
}

// The cost of a module does not grow with the targets that do not match it: names cost nothing,
// patterns cost steps.
func TestNamesOfOtherModulesCostNothing(t *testing.T) {
	const modules, targets = 8000, 80000
	names, spread := make([]any, targets), make([][]any, targets/10)
	for i := range names {
		names[i] = fmt.Sprintf("model.layers.%d.proj", i)
		spread[i/10] = append(spread[i/10], names[i])
	}
	for what, lists := range map[string][][]any{"one group": {names}, "many groups": spread} {
		s := aimedAt(t, limits.Policy{MaxSteps: 2*targets + 4*modules}, lists)
		for i := range modules {
			found, err := s.Groups(fmt.Sprintf("model.layers.%d.proj", i*7))
			if err != nil || (len(found) != 1) != (i*7 >= targets) {
				t.Fatalf("%s: module %d: %d groups, %v", what, i, len(found), err)
			}
		}
	}
	patterns := make([]any, 1000)
	for i := range patterns {
		patterns[i] = fmt.Sprintf("re:model.layers.%d.proj", i)
	}
	s := aimedAt(t, limits.Policy{MaxSteps: 1 << 20}, [][]any{patterns})
	for i := range modules {
		if _, err := s.Groups(fmt.Sprintf("other.%d", i)); err != nil {
			return
		}
	}
	t.Error("patterns are matched for nothing")
}
