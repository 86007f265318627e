package lora

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// embeddings are the modules that PEFT saves whole if the vocabulary was trained or resized:
// the input, and the output layer, which may be tied to it.
var embeddings = []string{"embed_tokens", outputLayer}

const outputLayer = "lm_head"

// savedCopy is part of the name of a second copy of a module in modules_to_save, which PEFT
// writes if it saves the embeddings for another reason, too.
const savedCopy = ".modules_to_save"

// wholeName returns the name in the model of a tensor that an adapter has whole.
func wholeName(name string) string {
	for _, wrapper := range []string{savedCopy, wrapped, ".token_adapter"} {
		name = strings.Replace(name, wrapper+".", ".", 1)
	}
	return name
}

// moduleOf returns the module of a tensor.
func moduleOf(name string) string { return name[:max(strings.LastIndexByte(name, '.'), 0)] }

// replaceAll binds the tensors that replace some of the base.
func (x *binder) replaceAll(at int, a *adapter, r renaming) error {
	if len(a.whole) == 0 {
		return nil
	}
	tied, err := x.tied()
	if err != nil {
		return err
	}
	isCopy := func(name string) bool {
		return strings.Contains(name, savedCopy+".") || tied && listsModule([]string{outputLayer}, moduleOf(wholeName(name)))
	}
	for _, copies := range []bool{false, true} {
		for _, i := range a.whole {
			name := strings.TrimPrefix(i.Name, prefix)
			if isCopy(name) != copies {
				continue
			}
			err := x.checkTie(a, moduleOf(wholeName(name)), tied, r)
			switch {
			case err != nil:
			case copies:
				err = x.bindCopy(at, i, name, r)
			default:
				err = x.replace(at, a, i, wholeName(name), r)
			}
			if err != nil {
				return wire.At("adapter", "tensor "+wire.Quote(i.Name), wire.NoOffset, err)
			}
		}
	}
	return nil
}

// checkTie refuses to change embeddings of which PEFT's result would no longer be tied, or
// whose other copy would stay as it is.
func (x *binder) checkTie(a *adapter, module string, tied bool, r renaming) error {
	if !tied || !listsModule(embeddings, module) {
		return nil
	}
	if listsModule(a.saved, module) && !a.ensuresTies {
		return wire.ErrUnsupported.Errorf("the base ties its embeddings, and modules_to_save would change one of two: train it with ensure_weight_tying=True, or merge it with PEFT, which unties them")
	}
	if name := x.of(r, outputLayer+".weight"); x.has(name) {
		return wire.ErrUnsupported.Errorf("the base ties its embeddings and stores %s besides, which would not follow: save the base again with transformers", wire.Quote(name))
	}
	return nil
}

// bindCopy binds a tensor that must equal one that replaces a tensor of the base.
func (x *binder) bindCopy(at int, i tensor.Info, name string, r renaming) error {
	for _, n := range x.order {
		t := x.targets[n]
		if err := x.b.Step(1); err != nil {
			return err
		}
		own, module := x.infos[n].Name, moduleOf(x.infos[n].Name)
		if t.whole.Name == "" || t.from != at || own != x.of(r, wholeName(name)) && (strings.Contains(name, savedCopy+".") || !listsModule(embeddings[:1], module)) {
			continue
		}
		if !slices.Equal(i.Shape, t.whole.Shape) || i.DType != t.whole.DType {
			return wire.ErrMismatch.Errorf("it differs from %s, which it must equal", wire.Quote(t.whole.Name))
		}
		var err error
		t.copies, err = limits.Append(x.b, t.copies, i)
		return err
	}
	return wire.ErrMissing.Errorf("it is a copy of a tensor that the adapter does not have")
}

// replace binds a tensor that replaces one of the base.
func (x *binder) replace(at int, a *adapter, i tensor.Info, name string, r renaming) error {
	if !model.Computes(i.DType) {
		return wire.ErrUnsupported.Errorf("its type is %s", wire.Quote(i.TypeName()))
	}
	n, w, err := x.find(x.of(r, name))
	if module := moduleOf(name); errors.Is(err, wire.ErrMissing) && (listsModule(a.saved, module) || a.within(module)) {
		x.added, err = limits.Append(x.b, x.added, model.Same(a.Model, i, name))
		return err
	}
	if err != nil {
		return err
	}
	t, err := x.target(n)
	if err != nil {
		return err
	}
	if t.whole.Name != "" || len(t.products)+len(t.rows) > 0 {
		return wire.ErrUnsupported.Errorf("an adapter before it changes the same tensor of the base")
	}
	if !slices.Equal(w.Shape, i.Shape) {
		if err := x.resize(n, moduleOf(name), i.Shape); err != nil {
			return err
		}
	}
	t.whole, t.from = i, at
	return nil
}

// resize gives embeddings of the base the rows of an adapter whose vocabulary has another size.
func (x *binder) resize(n int, module string, shape []int64) error {
	w, v := &x.infos[n], &x.vocabulary
	if !listsModule(embeddings, module) || len(shape) != 2 || len(w.Shape) != 2 || shape[1] != w.Shape[1] || shape[0] == 0 {
		return wire.ErrMismatch.Errorf("its shape is %v, the base's %v", shape, w.Shape)
	}
	if v.to != 0 && (v.from != w.Shape[0] || v.to != shape[0]) {
		return wire.ErrMismatch.Errorf("%d rows instead of %d, but another embedding has %d instead of %d", shape[0], w.Shape[0], v.to, v.from)
	}
	v.from, v.to, w.Shape = w.Shape[0], shape[0], shape
	return nil
}

// checkVocabulary refuses an adapter that gives one embedding a new number of rows and leaves
// another as it is: PEFT's result has random rows there.
func (x *binder) checkVocabulary() error {
	if x.vocabulary.to == 0 {
		return nil
	}
	for i := range x.infos {
		if err := x.b.Step(1); err != nil {
			return err
		}
		if w := &x.infos[i]; listsModule(embeddings, moduleOf(w.Name)) && len(w.Shape) > 0 && w.Shape[0] != x.vocabulary.to {
			return wire.ErrMissing.Errorf("the adapter's vocabulary has %d tokens and the base's %d, but it has no rows for %s, and PEFT would make some up: give the base that was resized before training, saved after resize_token_embeddings", x.vocabulary.to, x.vocabulary.from, wire.Quote(w.Name))
		}
	}
	return nil
}

// siblings returns the files beside the result, nil for those of the base: vocab_size in
// config.json follows the rows of the embeddings.
func (x *binder) siblings() (fs.FS, error) {
	if x.vocabulary.to == 0 {
		return nil, nil
	}
	v, err := x.config()
	if err != nil || !v.There {
		return nil, err
	}
	size := v.At("text_config.vocab_size")
	if !size.There {
		size = v.Get("vocab_size")
	}
	if n, ok := size.Int(); !ok || n != x.vocabulary.from {
		return nil, wire.At(baseConfig, "", wire.NoOffset, wire.ErrMismatch.Errorf("vocab_size is not %d, the number of rows of the embeddings", x.vocabulary.from))
	}
	text, err := jsontree.ReadText(x.b, x.base.Configs(), baseConfig, maxConfig)
	if err != nil {
		return nil, err
	}
	number, at := size.Number(), size.Off()
	if at < 0 || at > int64(len(text)) || !strings.HasPrefix(text[at:], number) {
		return nil, wire.ErrInternal.Errorf("vocab_size is not at %d", at)
	}
	text = text[:at] + strconv.FormatInt(x.vocabulary.to, 10) + text[at+int64(len(number)):]
	return model.Overlay{FS: x.base.Configs(), Name: baseConfig, Text: text}, nil
}

// tied reports whether the base has one tensor for its input and output embeddings.
func (x *binder) tied() (bool, error) {
	v, err := x.config()
	if err != nil {
		return false, err
	}
	if tied, ok := v.Get("tie_word_embeddings").Bool(); ok {
		return tied, nil
	}
	_, head := x.names.Find("lm_head.weight")
	return !head && x.base.Format() != gguf.Format, nil
}
