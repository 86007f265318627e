package lora

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A renaming maps names of a model to those of its checkpoint, in which transformers omits or
// adds the model's own prefix (base_model_prefix).
type renaming struct{ cut, add string }

func (r renaming) of(name string) string {
	if short, ok := strings.CutPrefix(name, r.cut); ok {
		return r.add + short
	}
	return name
}

// of returns the name in the base. Where the base's class has other names in the file, it is the
// one that becomes this. The output layer is outside of the submodule that transformers' prefix
// names, so its name has no prefix unless the base has one there.
func (x *binder) of(r renaming, name string) string {
	if _, ok := x.names.Find(name); ok && x.inModel(moduleOf(name)) == moduleOf(name) {
		return name
	}
	own := ""
	if slices.ContainsFunc(x.renamed, func(m loaders.Merge) bool {
		stem, ok := strings.CutSuffix(name, m.To[0])
		own = r.of(stem + m.From[0])
		return ok && (stem == "" || strings.HasSuffix(stem, ".")) && x.has(own)
	}) {
		return own
	}
	for _, own := range loaders.InFile(x.kind, x.class, moduleOf(name)) {
		if own += name[len(moduleOf(name)):]; x.has(own) {
			return own
		}
	}
	if before, after, ok := strings.Cut(name, ".mlp."); ok && len(x.stacks) > 0 { // the router beside Mixtral's experts: see stackOf
		if own := r.of(before + ".block_sparse_moe." + after); x.has(own) {
			return own
		}
	}
	if module, ok := strings.CutSuffix(name, ".bias"); ok && x.tokens.boundBias && x.tokens.copies(module) && !x.has(name) {
		name = moduleOf(module) + ".bias"
	}
	to := r.of(name)
	if r.cut == "" && x.tokens.isOutput(moduleOf(name)) && !x.has(to) {
		return name
	}
	return to
}

// renaming returns the renaming under which the base has all tensors that an adapter needs.
func (x *binder) renaming(a *adapter) (renaming, error) {
	needed, err := a.needed(x.b)
	if err != nil || len(needed) == 0 {
		return renaming{}, err
	}
	missing, err := x.missing(renaming{}, needed)
	if missing == "" || err != nil || a.config == nil {
		return renaming{}, cmp.Or(err, missingTensor(missing))
	}
	ways := []renaming{{cut: firstPart(needed[0][0])}}
	for i := range x.infos {
		r := renaming{add: firstPart(x.infos[i].Name)}
		if err := x.b.Step(1); err != nil {
			return r, err
		}
		if len(ways) < 8 && r.add != "" && !slices.Contains(ways, r) {
			ways = append(ways, r)
		}
	}
	var found []renaming
	for _, r := range ways {
		lacks, err := x.missing(r, needed)
		if err != nil {
			return r, err
		}
		if lacks == "" {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return renaming{}, missingTensor(missing)
	case 1:
		return found[0], nil
	default:
		return renaming{}, wire.ErrUnsupported.Errorf("the base has the adapter's names under both %s and %s", wire.Quote(found[0].add), wire.Quote(found[1].add))
	}
}

func firstPart(name string) string { return name[:strings.IndexByte(name, '.')+1] }

// missingTensor returns the error for a tensor that the base lacks, nil for "".
func missingTensor(name string) error {
	why := "is it the model that the adapter was trained on?"
	switch {
	case name == "":
		return nil
	case strings.Contains(name, "experts.") && !strings.HasSuffix(name, ".weight"):
		why = fmt.Sprintf("nor experts of which transformers %s makes it for the model_type in config.json; PEFT's merge_and_unload may know others", loaders.Transformers.Version())
	}
	return wire.ErrMissing.Errorf("the base has no tensor %s (%s)", wire.Quote(name), why)
}

// missing returns the first name of what the base lacks, or "".
func (x *binder) missing(r renaming, needed []need) (string, error) {
	for _, names := range needed {
		if err := x.b.Step(int64(len(names))); err != nil {
			return "", err
		}
		if !slices.ContainsFunc(names, func(name string) bool { return x.has(x.of(r, name)) }) {
			return names[0], nil
		}
	}
	return "", nil
}

// find returns a tensor of the base and its index.
func (x *binder) find(name string) (int, *tensor.Info, error) {
	i, ok := x.names.Find(name)
	if !ok {
		return 0, nil, missingTensor(name)
	}
	return i, &x.infos[i], nil
}
