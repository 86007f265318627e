package encode

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/limits"
)

// fusedAlways are groups that vLLM fuses in classes of transformers that it has no class
// of its own for, and in text models inside others.
var fusedAlways = [][]string{{"q_proj", "k_proj", "v_proj"}, {"gate_proj", "up_proj"}, {"w1", "w3"}, {"q_a_proj", "kv_a_proj_with_mqa"}}

// fusedNames tells which group a module belongs to.
type fusedNames struct {
	// Members are the suffixes of modules by their last part, with the number of their
	// group. Groups that share a member are one.
	Members map[string][]fusedMember
}

type fusedMember struct {
	suffix string
	group  int
}

// fusedIn returns the groups of a model's classes.
func fusedIn(architectures []string) *fusedNames {
	groups := slices.Clone(fusedAlways)
	for _, l := range []loaders.Library{loaders.VLLM, loaders.SGLang} {
		for _, a := range architectures[:min(len(architectures), transformers.MostInside)] {
			more, _ := l.Fused(a)
			groups = append(groups, more...)
		}
	}
	number := map[string]int{}
	for i, g := range groups {
		for _, m := range g {
			if was, ok := number[m]; ok {
				for k, n := range number {
					if n == was {
						number[k] = i
					}
				}
			}
			number[m] = i
		}
	}
	f := &fusedNames{map[string][]fusedMember{}}
	for m, n := range number {
		_, last, _ := transformers.CutLast(m)
		f.Members[last] = append(f.Members[last], fusedMember{m, n})
	}
	return f
}

// A FusedKey is a group of one model: the prefix of its members' names, and the
// group's number, -1 for the experts of a layer.
type FusedKey struct {
	Before string
	Group  int
}

// Of returns the group of a weight; ok is false if it is in none.
func (f *fusedNames) Of(name string) (key FusedKey, ok bool) {
	module, isWeight := strings.CutSuffix(name, ".weight")
	if f == nil || !isWeight {
		return key, false
	}
	if at := expertsEnd(module); at > 0 {
		return FusedKey{module[:at], -1}, true
	}
	_, last, _ := transformers.CutLast(module)
	for _, m := range f.Members[last] {
		if before, ok := strings.CutSuffix(module, m.suffix); ok && (before == "" || before[len(before)-1] == '.') {
			return FusedKey{before, m.group}, true
		}
	}
	return key, false
}

// expertsEnd returns where the list of experts ends in the name of a module of one expert, 0 for
// other modules: "model.layers.0.mlp.experts" of "model.layers.0.mlp.experts.3.up_proj".
func expertsEnd(module string) int {
	parts := strings.Split(module, ".")
	if !transformers.IsExpert(parts) {
		return 0
	}
	for i, at := 0, 0; i < len(parts)-2; i++ {
		at += len(parts[i])
		if parts[i] == "experts" && strings.Trim(parts[i+1], "0123456789") == "" {
			return at
		}
		at++
	}
	return 0
}

// Linears returns the part of an encoder that knows of groups.
func (e *Linear) Linears() *Linear { return e }

// KeepExpert notes an expert that is left alone with all others of its layer.
func (e *Linear) KeepExpert(name, why string) (err error) {
	e.Kept, err = limits.Append(e.Budget, e.Kept, KeptMatrix{name, why, transformers.Expert})
	return err
}
