package lora

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A vocabulary says which modules of the base have a row for each token, and whether its input
// and its output layer have one matrix. Names are those that transformers gives modules, or ends
// of them.
type vocabulary struct {
	input, output []string
	shared        []string // more modules that have the input's matrix
	boundBias     bool     // a tied output layer has the bias of the module around it
	tied          bool
	// The number of rows in the base's file, and in the result; to is 0 if it stays.
	from, to int64
}

// unknownType are the modules of a type that the table of transformers does not have: those that
// PEFT itself goes by.
var unknownType = loaders.Embeddings{Input: []string{"embed_tokens"}, Output: []string{"lm_head"}, Ties: loaders.Tied}

// pairs are the types that join an encoder and a decoder of other types. Their tokens are those of
// the decoder, which ties its own output layer.
var pairs = []string{"encoder-decoder", "speech-encoder-decoder", "vision-encoder-decoder"}

// ofTokens returns the part of a configuration that speaks of tokens.
func ofTokens(v jsontree.Value) jsontree.Value {
	if decoder := v.Get("decoder"); decoder.Kind == strictjson.Object && slices.Contains(pairs, v.Get("model_type").String()) {
		return decoder
	}
	return v
}

// readVocabulary asks the table of the base's type, and its configuration.
func (x *binder) readVocabulary() error {
	if x.base.Format() == gguf.Format {
		return nil
	}
	v, err := x.config()
	if err != nil {
		return err
	}
	x.kind = v.Get("model_type").String()
	if list := v.Get("architectures").List(); len(list) > 0 {
		x.class = list[0].String()
	}
	v = ofTokens(v)
	of, known := loaders.EmbeddingsOf(v.Get("model_type").String())
	if !known {
		of = unknownType
	}
	x.tokens = vocabulary{input: of.Input, output: of.Output, shared: of.Shared, boundBias: of.BoundBias}
	x.tokens.tied, err = x.ties(v, of.Ties, known)
	return err
}

// ties reports whether the base has one tensor for its input and output embeddings.
func (x *binder) ties(v jsontree.Value, by loaders.Tying, known bool) (bool, error) {
	if known && by == loaders.NeverTied {
		return false, nil
	}
	for _, of := range [...]jsontree.Value{v.Get(tieKey), v.At("text_config." + tieKey)} {
		if tied, ok := of.Bool(); ok {
			return tied, nil
		}
	}
	if known {
		return by == loaders.Tied, nil
	}
	_, head := x.names.Find(unknownType.Output[0] + ".weight")
	return !head, nil
}

const tieKey = "tie_word_embeddings"

func (v *vocabulary) isInput(module string) bool  { return listsModule(v.input, module) }
func (v *vocabulary) isOutput(module string) bool { return listsModule(v.output, module) }

// has reports whether a module has a row for each token.
func (v *vocabulary) has(module string) bool { return v.isInput(module) || v.isOutput(module) }

// copies reports whether a module of the base has the matrix of its input.
func (v *vocabulary) copies(module string) bool { return v.tied && v.isOutput(module) }

// inModel returns the name that transformers gives a module of the base's file.
func (x *binder) inModel(module string) string {
	name, _ := loaders.InModel(x.kind, x.class, module)
	return name
}

// inputTensor returns the index of the matrix of the base's input.
func (x *binder) inputTensor() (int, error) {
	found := -1
	for i := range x.infos {
		if err := x.b.Step(1); err != nil {
			return 0, err
		}
		module, ok := strings.CutSuffix(x.infos[i].Name, ".weight")
		if !ok || !x.tokens.isInput(x.inModel(module)) {
			continue
		}
		if found >= 0 {
			return 0, wire.ErrUnsupported.Errorf("the base has two matrices of tokens, %s and %s, and which of them its output layer is tied to is not known", wire.Quote(x.infos[found].Name), wire.Quote(x.infos[i].Name))
		}
		found = i
	}
	if found < 0 {
		return 0, wire.ErrMissing.Errorf("the base has no tensor %s, which its output layer is tied to", wire.Quote(x.tokens.input[0]+".weight"))
	}
	return found, nil
}

// untie gives the output layer of a base a tensor of its own, with the numbers that it has: PEFT
// does so where an adapter saves one of two tied modules whole.
func (x *binder) untie(a *adapter) error {
	switch v, err := x.config(); {
	case err != nil:
		return err
	case !v.There:
		return wire.ErrUnsupported.Errorf("the base ties its embeddings, and modules_to_save would change one of two, which PEFT unties: there is no config.json to say so in")
	case len(x.tokens.shared) > 0:
		return wire.ErrUnsupported.Errorf("modules_to_save names one of several modules that have one matrix (%s), which a folder cannot have as PEFT leaves them: train it with ensure_weight_tying=True, or merge it with PEFT",
			wire.Quote(strings.Join(append(slices.Clone(x.tokens.shared), x.tokens.output...), ", ")))
	}
	n, err := x.inputTensor()
	if err != nil {
		return err
	}
	name, err := x.nameOfOutput(a)
	if err != nil {
		return err
	}
	if err := x.tellApart(n, name+".weight"); err != nil {
		return err
	}
	if k, ok := x.names.Find(moduleOf(name) + ".bias"); ok && x.tokens.boundBias {
		if err := x.tellApart(k, name+".bias"); err != nil {
			return err
		}
	}
	x.tokens.tied = false
	return nil
}

// tellApart gives the numbers of a tensor of the base another name besides.
func (x *binder) tellApart(n int, name string) error {
	if err := x.b.Hold(1024); err != nil { // the tensor, its name and its place
		return err
	}
	other := x.infos[n]
	other.Name = name
	x.infos = append(x.infos, other)
	if _, added, err := x.names.Add(len(x.infos) - 1); err != nil || !added {
		return wire.ErrInternal.Errorf("the base has %s, and it is tied: %v", wire.Quote(name), err)
	}
	x.apart = append(x.apart, name)
	return nil
}

// nameOfOutput returns the name in the file of the output layer: that of the adapter, if
// it has one, else the one that the type's classes have.
func (x *binder) nameOfOutput(a *adapter) (string, error) {
	module := x.tokens.output[0]
	for _, i := range a.whole {
		if err := x.b.Step(1); err != nil {
			return "", err
		}
		if own := moduleOf(wholeName(strings.TrimPrefix(i.Name, prefix))); x.tokens.isOutput(own) {
			module = own
		}
	}
	if names := loaders.InFile(x.kind, x.class, module); len(names) > 0 {
		module = names[0]
	}
	return module, nil
}

// checkTies refuses what PEFT's result would not have: a tensor of a tied output layer besides.
func (x *binder) checkTies() error {
	if !x.tokens.tied {
		return nil
	}
	for i := range x.infos {
		if err := x.b.Step(1); err != nil {
			return err
		}
		module, ok := strings.CutSuffix(x.infos[i].Name, ".weight")
		if ok && x.tokens.isOutput(x.inModel(module)) {
			return wire.ErrUnsupported.Errorf("the base ties its embeddings and stores %s besides, which would not follow: save the base again with transformers", wire.Quote(x.infos[i].Name))
		}
	}
	return nil
}

// savesOneOfTied reports whether an adapter that saves embeddings whole has others for one of two
// tied modules.
func (x *binder) savesOneOfTied(a *adapter) (bool, error) {
	if a.config == nil || !x.tokens.tied {
		return false, nil
	}
	saves, input, output := false, false, false
	for _, i := range a.whole {
		if err := x.b.Step(1); err != nil {
			return false, err
		}
		name := wholeName(strings.TrimPrefix(i.Name, prefix))
		module, ok := strings.CutSuffix(name, ".weight")
		if !ok || !x.tokens.has(module) {
			continue
		}
		saves = saves || listsModule(a.saved, module) || a.within(module)
		input, output = input || x.tokens.isInput(module), output || x.tokens.isOutput(module)
	}
	return saves && !(a.ensuresTies && input && output), nil
}

// changesEmbeddings reports whether an adapter has anything for the embeddings.
func (a *adapter) changesEmbeddings() bool {
	return a.config != nil && (len(a.rows) > 0 || slices.ContainsFunc(a.modules, func(m *module) bool { return a.vocabulary.has(m.name) }) ||
		slices.ContainsFunc(a.whole, func(i tensor.Info) bool {
			return a.vocabulary.has(moduleOf(wholeName(strings.TrimPrefix(i.Name, prefix))))
		}))
}
