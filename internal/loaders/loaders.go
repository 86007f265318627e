// Package loaders has the contracts of the libraries that load models: what they fuse,
// what they rename, which methods of quantization they have, and which members of a
// config.json count layers. The tables are made from the libraries' own sources by
// crosscheck/contract/make.py; make watch compares them again.
//
// A table speaks of one version of a library. Of a newer one nothing is known.
package loaders

import (
	_ "embed"
	"slices"
	"strings"
	"sync"
)

var (
	//go:embed fused.txt
	fusedText string
	//go:embed merged.txt
	mergedText string
	//go:embed experts.txt
	expertsText string
)

// A Library is one that the tables know.
type Library string

// The libraries, as they write their names.
const (
	Transformers      Library = "transformers"
	VLLM              Library = "vLLM"
	SGLang            Library = "SGLang"
	MLXLM             Library = "mlx-lm"
	LlamaCPP          Library = "llama.cpp"
	Diffusers         Library = "diffusers"
	PEFT              Library = "PEFT"
	CompressedTensors Library = "compressed-tensors"
	AutoAWQ           Library = "AutoAWQ"
	GPTQModel         Library = "GPTQModel"
	ModelOpt          Library = "ModelOpt"
	TorchAO           Library = "TorchAO"
)

// key returns the name in the tables.
func (l Library) key() string { return strings.ToLower(string(l)) }

// versions are those that the tables' comments state.
var versions = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	for _, text := range []string{fusedText, takesText, namesText, mergedText, layersText, readsText, triedText, tiesText, expertsText, expectsText} {
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

// Fused returns which matrices the library fuses in an architecture of config.json, AutoAWQ
// in a model type: groups of last parts of module names, such as q_proj, k_proj, v_proj.
// known is false if the library has no class for it; AutoAWQ's table has only types whose
// matrices it fuses.
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

// Reads reports whether the library has a method of quantization, and the class of a scheme of
// compressed-tensors, or an algorithm of ModelOpt; scheme is empty for other methods. The methods
// of compressed-tensors are its formats, those of TorchAO its classes of tensors, those of ModelOpt
// the formats that it exports, those of PEFT the layers that it can adapt.
func (l Library) Reads(method, scheme string) bool {
	schemes, ok := reads()[[2]string{l.key(), method}]
	return ok && (scheme == "" || strings.Contains(schemes, " "+scheme+" "))
}

// A Taking says which modules of a model a library makes quantized. Its zero value takes none.
type Taking struct {
	Where  []string // the layers, such as model.layers; none for everywhere
	Within []string // the modules of a layer, in which # is a number; * is each
	Leaves []string // a module whose name contains one of these is left alone
}

// takes are the types of each library, and of llama.cpp and diffusers the classes.
var takes = sync.OnceValue(func() map[[2]string]Taking {
	found := map[[2]string]Taking{}
	rows(takesText, func(f []string) {
		t := Taking{strings.Fields(f[2]), strings.Fields(f[3]), strings.Fields(f[4])}
		for _, kind := range strings.Fields(f[1]) {
			found[[2]string{f[0], kind}] = t
		}
	})
	return found
})

// Takes returns which modules the library makes quantized of a model type of config.json,
// diffusers of a class. known is false if the library has no such type. Of llama.cpp, whose
// converter goes by classes, Within is the architecture.
func (l Library) Takes(modelType string) (t Taking, known bool) {
	t, known = takes()[[2]string{l.key(), modelType}]
	return t, known
}

// A Taken says what a library makes of a module.
type Taken uint8

// What a library makes of a module.
const (
	Left      Taken = iota // it makes no quantized module of it
	Quantized              // it does
	Elsewhere              // it does so of such a module, but in a place of another name
)

// Of returns what the library makes of a module.
func (t Taking) Of(module string) Taken {
	for _, part := range t.Leaves {
		if strings.Contains(module, part) {
			return Left
		}
	}
	found := Left
	for _, within := range t.Within {
		before, ok := cutPath(module, within)
		switch {
		case !ok:
		case len(t.Where) == 0 || t.isLayer(before):
			return Quantized
		default:
			found = Elsewhere
		}
	}
	return found
}

// isLayer reports whether a path is that of a numbered layer, with more behind it where each
// module of a layer is taken.
func (t Taking) isLayer(path string) bool {
	for _, where := range t.Where {
		rest, ok := strings.CutPrefix(path, where+".")
		number, more, _ := strings.Cut(rest, ".")
		if ok && isNumber(number) && (more == "" || len(t.Within) == 1 && t.Within[0] == "*") {
			return true
		}
	}
	return false
}

// cutPath cuts the modules of a layer from the end of a module's name. All that a star cuts
// is the last part.
func cutPath(module, within string) (before string, ok bool) {
	if within == "*" {
		within = module[strings.LastIndexByte(module, '.')+1:]
	}
	for within != "" {
		at, in := strings.LastIndexByte(module, '.'), strings.LastIndexByte(within, '.')
		have, want := module[at+1:], within[in+1:]
		if have != want && (want != "#" || !isNumber(have)) {
			return "", false
		}
		module, within = module[:max(at, 0)], within[:max(in, 0)]
		if module == "" && within != "" {
			return "", false
		}
	}
	return module, true
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// A renaming gives names that begin so another beginning. # is a number.
type renaming struct{ from, to []string }

// renamings are those of each class of a type, with a slash between, the longest beginnings first.
var renamings = sync.OnceValue(func() map[string][]renaming {
	found := map[string][]renaming{}
	rows(namesText, func(f []string) {
		var list []renaming
		for _, pair := range strings.Fields(f[1]) {
			from, to, _ := strings.Cut(pair, ">")
			list = append(list, renaming{path(from), path(to)})
		}
		slices.SortStableFunc(list, func(a, b renaming) int { return len(b.from) - len(a.from) })
		for _, class := range strings.Fields(f[0]) {
			found[class] = list
		}
	})
	return found
})

// path cuts a beginning of names, which is a single point for none.
func path(text string) []string {
	if text == "." {
		return nil
	}
	return strings.Split(text, ".")
}

// InModel returns the name that transformers gives a linear module of a class of a model type,
// where the file has it under another. known is false if the table does not have the class:
// its names are those of the file, or it was not examined.
func InModel(modelType, class, module string) (name string, known bool) {
	list, known := renamings()[modelType+"/"+class]
	parts := strings.Split(module, ".")
	for _, r := range list {
		if numbers, ok := begins(r.from, parts); ok {
			return strings.Join(append(r.becomes(numbers), parts[len(r.from):]...), "."), known
		}
	}
	return module, known
}

// InFile returns the names in the file of what transformers gives this name in a class of a
// model type, the likeliest first; none where the table does not have the class.
func InFile(modelType, class, name string) (names []string) {
	parts, longest := strings.Split(name, "."), []int(nil)
	for _, r := range renamings()[modelType+"/"+class] {
		numbers, ok := begins(r.to, parts)
		if !ok {
			continue
		}
		own := strings.Join(append(renaming{to: r.from}.becomes(numbers), parts[len(r.to):]...), ".")
		if back, _ := InModel(modelType, class, own); back != name || slices.Contains(names, own) {
			continue
		}
		at := 0
		for at < len(longest) && longest[at] >= len(r.to) {
			at++
		}
		names, longest = slices.Insert(names, at, own), slices.Insert(longest, at, len(r.to))
	}
	if back, known := InModel(modelType, class, name); known && back == name && !slices.Contains(names, name) {
		names = append(names, name)
	}
	return names
}

// begins reports whether a name begins so, and with which numbers.
func begins(from, parts []string) (numbers []string, ok bool) {
	if len(parts) < len(from) {
		return nil, false
	}
	for i, want := range from {
		switch {
		case want == "#" && isNumber(parts[i]):
			numbers = append(numbers, parts[i])
		case want != parts[i]:
			return nil, false
		}
	}
	return numbers, true
}

// becomes returns the new beginning, with the numbers in their order.
func (r renaming) becomes(numbers []string) (parts []string) {
	for _, part := range r.to {
		if part == "#" && len(numbers) > 0 {
			part, numbers = numbers[0], numbers[1:]
		}
		parts = append(parts, part)
	}
	return parts
}

// Embeddings says which modules of a model type have a row for each token, by the ends of their
// names in the model.
type Embeddings struct {
	Input  []string // of the input; classes of one type may have several
	Output []string // the output layer, in classes that have one
	Shared []string // more modules that have the input's matrix, and are in no file
	Ties   Tying    // the output layer
	// BoundBias is set if a tied output layer has the bias of the module around it.
	BoundBias bool
}

// Tying says whether the output layer has the matrix of the input.
type Tying uint8

// The ways in which the classes of a type treat the output layer.
const (
	NeverTied Tying = iota // it has a matrix of its own, whatever config.json says
	Untied                 // so it has, unless tie_word_embeddings is true
	Tied                   // it has the input's, unless tie_word_embeddings is false
)

var tyings = map[string]Tying{"0": NeverTied, "-": Untied, "+": Tied}

// embeddings are those of each type.
var embeddings = sync.OnceValue(func() map[string]Embeddings {
	found := map[string]Embeddings{}
	rows(tiesText, func(f []string) {
		mark, bound := strings.CutSuffix(f[4], "b")
		e := Embeddings{strings.Fields(f[1]), strings.Fields(f[2]), strings.Fields(f[3]), tyings[mark], bound}
		for _, kind := range strings.Fields(f[0]) {
			found[kind] = e
		}
	})
	return found
})

// EmbeddingsOf returns the embeddings of a model type of transformers. known is false if the
// table does not have it.
func EmbeddingsOf(modelType string) (e Embeddings, known bool) {
	e, known = embeddings()[modelType]
	return e, known
}

// A Merge is one conversion of transformers while it loads a checkpoint: tensors whose
// names match the sources become those of the targets. A star is the number of an expert.
// Without operations it only gives a stack of experts another name.
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

// Merges returns the conversions of a model type: joins, splits, transposes, and the names of
// stacked experts.
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

// Experts says how transformers' class of stacked experts makes its own parameters.
type Experts struct {
	Parameters []string // in the order in which it makes them
	InFirst    bool     // each matrix is [in, out], not [out, in]
}

// expertRows are the classes of each type, by type and the last part of the module's name.
var expertRows = sync.OnceValue(func() map[[2]string]Experts {
	found := map[[2]string]Experts{}
	rows(expertsText, func(f []string) {
		for _, kind := range strings.Fields(f[0]) {
			found[[2]string{kind, f[1]}] = Experts{strings.Fields(f[2]), f[3] == "in"}
		}
	})
	return found
})

// ExpertsOf returns the parameters of a module of stacked experts of a model type. known is false
// if the table does not have it.
func ExpertsOf(modelType, module string) (e Experts, known bool) {
	e, known = expertRows()[[2]string{modelType, module[strings.LastIndexByte(module, '.')+1:]}]
	return e, known
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
