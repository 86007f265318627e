package lora

import (
	"cmp"
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

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
	// A tied output layer that is saved alone has the numbers of both.
	alone := x.tokens.tied && !slices.ContainsFunc(a.whole, func(i tensor.Info) bool {
		return x.tokens.isInput(moduleOf(wholeName(strings.TrimPrefix(i.Name, prefix))))
	})
	isOutput := func(name string) bool {
		return x.tokens.copies(moduleOf(wholeName(name))) && strings.HasSuffix(name, ".weight")
	}
	isCopy := func(name string) bool {
		return strings.Contains(name, savedCopy+".") || isOutput(name) && !alone
	}
	for _, copies := range []bool{false, true} {
		for _, i := range a.whole {
			name := strings.TrimPrefix(i.Name, prefix)
			if isCopy(name) != copies {
				continue
			}
			own, err := x.of(r, wholeName(name)), error(nil)
			if isOutput(name) && alone {
				var n int
				if n, err = x.inputTensor(); err == nil {
					own = x.infos[n].Name
				}
			}
			switch {
			case err != nil:
			case copies:
				err = x.bindCopy(at, i, name, r)
			default:
				err = x.replace(at, a, i, wholeName(name), own)
			}
			if err != nil {
				return wire.At("adapter", "tensor "+wire.Quote(i.Name), wire.NoOffset, err)
			}
		}
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
		own, module := x.infos[n].Name, x.inModel(moduleOf(x.infos[n].Name))
		if t.whole.Name == "" || t.from != at || own != x.of(r, wholeName(name)) && (strings.Contains(name, savedCopy+".") || !x.tokens.isInput(module)) {
			continue
		}
		return x.copyOf(t, i)
	}
	return wire.ErrMissing.Errorf("it is a copy of a tensor that the adapter does not have")
}

// copyOf adds a tensor that must equal the one that replaces a tensor of the base.
func (x *binder) copyOf(t *target, i tensor.Info) (err error) {
	if !slices.Equal(i.Shape, t.whole.Shape) || i.DType != t.whole.DType {
		return wire.ErrMismatch.Errorf("it differs from %s, which it must equal", wire.Quote(t.whole.Name))
	}
	t.copies, err = limits.Append(x.b, t.copies, i)
	return err
}

// replace binds a tensor that replaces one of the base: name is that in the model, own that in the
// base's file.
func (x *binder) replace(at int, a *adapter, i tensor.Info, name, own string) error {
	if !model.Computes(i.DType) {
		return wire.ErrUnsupported.Errorf("its type is %s", wire.Quote(i.TypeName()))
	}
	n, w, err := x.find(own)
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
	if t.whole.Name != "" && t.from == at && name != own { // BERT's head has its bias under two names
		return x.copyOf(t, i)
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
	w, v := &x.infos[n], &x.tokens
	isBias := v.isOutput(module) && len(shape) == 1 && len(w.Shape) == 1
	if !v.has(module) || !isBias && (len(shape) != 2 || len(w.Shape) != 2 || shape[1] != w.Shape[1]) || shape[0] == 0 {
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
	if x.tokens.to == 0 {
		return nil
	}
	for i := range x.infos {
		if err := x.b.Step(1); err != nil {
			return err
		}
		w, n := &x.infos[i], len(x.infos[i].Shape)
		if x.tokens.has(x.inModel(moduleOf(w.Name))) && n > 0 && w.Shape[0] != x.tokens.to {
			return wire.ErrMissing.Errorf("the adapter's vocabulary has %d tokens and the base's %d, but it has no rows for %s, and PEFT would make some up: give the base that was resized before training, saved after resize_token_embeddings", x.tokens.to, x.tokens.from, wire.Quote(w.Name))
		}
		// One of no layer, whose width may be that of the vocabulary.
		if strings.HasSuffix(w.Name, "bias") && !strings.ContainsAny(w.Name, "0123456789") && n > 0 && w.Shape[n-1] == x.tokens.from && w.Elements() == x.tokens.from {
			return wire.ErrMissing.Errorf("the adapter's vocabulary has %d tokens, and %s of the base a number for each of %d: give the base that was resized before training, saved after resize_token_embeddings", x.tokens.to, wire.Quote(w.Name), x.tokens.from)
		}
	}
	return nil
}

// siblings returns the files beside the result, nil for those of the base: vocab_size in
// config.json follows the rows of the embeddings.
func (x *binder) siblings() (fs.FS, error) {
	if x.tokens.to == 0 && len(x.apart) == 0 {
		return nil, nil
	}
	v, err := x.config()
	if err != nil || !v.There {
		return nil, err
	}
	text, err := jsontree.ReadText(x.b, x.base.Configs(), baseConfig, maxConfig)
	if err != nil {
		return nil, err
	}
	v = ofTokens(v)
	var edits []edit
	if x.tokens.to > 0 {
		if edits, err = x.vocabularySize(v, edits); err != nil {
			return nil, err
		}
	}
	if len(x.apart) > 0 {
		edits = unties(v, edits)
	}
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(b.at, a.at) })
	for _, e := range edits {
		if e.at < 0 || e.at > int64(len(text)) || !strings.HasPrefix(text[e.at:], e.was) {
			return nil, wire.ErrInternal.Errorf("%s is not at %d", e.was, e.at)
		}
		text = text[:e.at] + e.is + text[e.at+int64(len(e.was)):]
	}
	return model.Overlay{FS: x.base.Configs(), Name: baseConfig, Text: text}, nil
}

// An edit replaces a part of a text.
type edit struct {
	at      int64
	was, is string
}

// unties says that the output layer has a matrix of its own, wherever the configuration says
// something else.
func unties(v jsontree.Value, edits []edit) []edit {
	if !v.Get(tieKey).There {
		edits = append(edits, edit{v.Off(), "{", `{"` + tieKey + `":false,`})
	}
	for _, of := range [...]jsontree.Value{v.Get(tieKey), v.At("text_config." + tieKey)} {
		if of.True() {
			edits = append(edits, edit{of.Off(), "true", "false"})
		}
	}
	return edits
}

// vocabularySize writes the new number of tokens.
func (x *binder) vocabularySize(v jsontree.Value, edits []edit) ([]edit, error) {
	size := v.At("text_config.vocab_size")
	if !size.There {
		size = v.Get("vocab_size")
	}
	if n, ok := size.Int(); !ok || n != x.tokens.from {
		return nil, wire.At(baseConfig, "", wire.NoOffset, wire.ErrMismatch.Errorf("vocab_size is not %d, the number of rows of the embeddings", x.tokens.from))
	}
	to := strconv.FormatInt(x.tokens.to, 10)
	edits = append(edits, edit{size.Off(), size.Number(), to})
	// Marian's decoder has a member of its own, which transformers does not change when it resizes:
	// it does not load what it saves then.
	of := v.Get("decoder_vocab_size")
	if n, ok := of.Int(); ok && n == x.tokens.from {
		if shared := v.Get("share_encoder_decoder_embeddings"); shared.There && !shared.True() {
			return nil, wire.At(baseConfig, "", wire.NoOffset, wire.ErrUnsupported.Errorf("the encoder and the decoder have vocabularies of their own, and the adapter's has another size than both: give the base that was resized before training, saved after resize_token_embeddings"))
		}
		edits = append(edits, edit{of.Off(), of.Number(), to})
	}
	return edits, nil
}
