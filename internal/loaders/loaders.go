// Package loaders has the contracts of the libraries that load models: what they fuse,
// what they rename, which methods of quantization they have, and which members of a
// config.json count layers. The tables are made from the libraries' own sources by
// crosscheck/contract/make.py; make watch compares them again.
//
// A table speaks of one version of a library. Of a newer one nothing is known.
package loaders

import (
	_ "embed"
	"strings"
	"sync"
)

var (
	//go:embed fused.txt
	fusedText string
	//go:embed merged.txt
	mergedText string
	//go:embed layers.txt
	layersText string
	//go:embed reads.txt
	readsText string
	//go:embed tried.txt
	triedText string
)

// A Library is one that the tables know.
type Library string

// The libraries, as they write their names.
const (
	Transformers Library = "transformers"
	VLLM         Library = "vLLM"
	SGLang       Library = "SGLang"
	MLXLM        Library = "mlx-lm"
	LlamaCPP     Library = "llama.cpp"
)

// key returns the name in the tables.
func (l Library) key() string { return strings.ToLower(string(l)) }

// versions are those that the tables' comments state.
var versions = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	for _, text := range []string{fusedText, mergedText, layersText, readsText, triedText} {
		for line := range strings.Lines(text) {
			if name, version, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# "), " "); ok && line[0] == '#' && !strings.Contains(version, " ") {
				found[name] = version
			}
		}
	}
	return found
})

// Version returns the version of the library that the tables speak of.
func (l Library) Version() string { return versions()[l.key()] }

// rows returns the lines of a table without its comments, cut at the bars.
func rows(text string, yield func(fields []string)) {
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "#") {
			yield(strings.Split(strings.TrimSuffix(line, "\n"), "|"))
		}
	}
}

// fused are the groups of each architecture, by library and architecture.
var fused = sync.OnceValue(func() map[[2]string][][]string {
	found := map[[2]string][][]string{}
	rows(fusedText, func(f []string) {
		var groups [][]string
		for _, g := range strings.Fields(f[2]) {
			groups = append(groups, strings.Split(g, "+"))
		}
		for _, architecture := range strings.Fields(f[1]) {
			found[[2]string{f[0], architecture}] = groups
		}
	})
	return found
})

// Fused returns which matrices the library fuses in an architecture of config.json: groups
// of last parts of module names, such as q_proj, k_proj, v_proj. known is false if the
// library has no class for the architecture.
func (l Library) Fused(architecture string) (groups [][]string, known bool) {
	groups, known = fused()[[2]string{l.key(), architecture}]
	return groups, known
}

// reads are the schemes of each method, by library and method.
var reads = sync.OnceValue(func() map[[2]string]string {
	found := map[[2]string]string{}
	rows(readsText, func(f []string) { found[[2]string{f[0], f[1]}] = " " + f[2] + " " })
	return found
})

// Reads reports whether the library has a method of quantization, and the class of a scheme
// of compressed-tensors, or an algorithm of ModelOpt; scheme is empty for other methods.
func (l Library) Reads(method, scheme string) bool {
	schemes, ok := reads()[[2]string{l.key(), method}]
	return ok && (scheme == "" || strings.Contains(schemes, " "+scheme+" "))
}

// A Merge is one conversion of transformers while it loads a checkpoint: tensors whose
// names match the sources become those of the targets. A star is the number of an expert.
type Merge struct {
	From, To   []string
	Operations []string
}

// merges are the conversions of each type.
var merges = sync.OnceValue(func() map[string][]Merge {
	found := map[string][]Merge{}
	rows(mergedText, func(f []string) {
		names, operations, _ := strings.Cut(strings.TrimSuffix(f[1], "]"), " [")
		from, to, _ := strings.Cut(names, " > ")
		m := Merge{strings.Fields(from), strings.Fields(to), strings.Fields(operations)}
		for _, kind := range strings.Fields(f[0]) {
			found[kind] = append(found[kind], m)
		}
	})
	return found
})

// Merges returns the conversions of a model type that compute: joins, splits, transposes.
func Merges(modelType string) []Merge { return merges()[modelType] }

// StacksExperts reports whether transformers makes one parameter of the experts of a layer
// of this model type, which are separate in the checkpoint.
func StacksExperts(modelType string) bool {
	for _, m := range Merges(modelType) {
		for _, from := range m.From {
			if strings.Contains(from, "experts.*.") {
				return true
			}
		}
	}
	return false
}

// A Relation says how a member of config.json speaks of layers.
type Relation uint8

// The relations.
const (
	Each      Relation = iota // one entry for each layer, such as layer_types
	Numbers                   // a list of the numbers of layers, such as attn_layer_indices
	Threshold                 // the number of a layer where another kind begins or ends, such as first_k_dense_replace
	Period                    // a period of layers, or the remainder in it, such as attn_layer_period
)

var relations = map[string]Relation{"[]": Each, "{}": Numbers, "<": Threshold, "%": Period}

// A Member is a member of config.json that speaks of layers. One name may have several
// relations: then its value decides.
type Member struct {
	Name string
	Is   Relation
}

// layerRows are the members of each type.
var layerRows = sync.OnceValue(func() map[string][]Member {
	found := map[string][]Member{}
	rows(layersText, func(f []string) {
		var list []Member
		for _, text := range strings.Fields(f[1]) {
			name := strings.TrimRight(text, "[]{}<%")
			list = append(list, Member{name, relations[text[len(name):]]})
		}
		for _, kind := range strings.Fields(f[0]) {
			found[kind] = list
		}
	})
	return found
})

// LayerMembers returns the members of the config.json of a model type that count or index
// its layers, beyond the number of layers itself; nil if the type has none, or is unknown.
func LayerMembers(modelType string) []Member { return layerRows()[modelType] }

// tried are the versions of libraries that loaded a type in a format, by library, format
// and type.
var tried = sync.OnceValue(func() map[[3]string]string {
	found := map[[3]string]string{}
	rows(triedText, func(f []string) {
		name, version, _ := strings.Cut(f[0], " ")
		for _, format := range strings.Fields(f[1]) {
			for _, kind := range strings.Fields(f[2]) {
				found[[3]string{name, format, kind}] = version
			}
		}
	})
	return found
})

// Tried returns the version of the library that loaded a model of a type in a format, and
// decoded its numbers as amn does; "" if that was not tried, or did not succeed.
func (l Library) Tried(format, modelType string) string {
	return tried()[[3]string{l.key(), format, modelType}]
}
