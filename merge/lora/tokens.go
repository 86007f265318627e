package lora

import (
	"math"
	"slices"
	"sort"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// trainedRows is the ending of the tensor with the rows of tokens that were trained one by one.
const trainedRows = ".token_adapter.trainable_tokens_delta"

// trainedTokens are the tokens that trainable_token_indices lists for a module; an empty name
// is the input embedding.
type trainedTokens struct {
	module string
	tokens []int64
}

// readTokens reads trainable_token_indices: a list for the input embedding, or a list for each
// of several modules.
func (c *config) readTokens(b *limits.Budget, v jsontree.Value) error {
	if v.Kind != strictjson.Object {
		return c.readTokensOf(b, "", v)
	}
	for m := range v.Members() {
		if err := c.readTokensOf(b, m.Name, m.Value); err != nil {
			return err
		}
	}
	return nil
}

func (c *config) readTokensOf(b *limits.Budget, module string, v jsontree.Value) error {
	if v.Kind != strictjson.Array || len(v.List()) == 0 {
		return wire.ErrRange.Errorf("it is not a list of tokens")
	}
	t := trainedTokens{module: module}
	for _, one := range v.List() {
		n, ok := one.Int()
		if !ok || n < 0 {
			return wire.ErrRange.Errorf("a token must be an integer of at least 0")
		}
		if err := b.Step(1); err != nil {
			return err
		}
		var err error
		if t.tokens, err = limits.Append(b, t.tokens, n); err != nil {
			return err
		}
	}
	var err error
	c.tokens, err = limits.Append(b, c.tokens, t)
	return err
}

// tokensOf returns the tokens that are trained of a module, nil for none.
func (c *config) tokensOf(module string) []int64 {
	for _, t := range c.tokens {
		if t.module == "" || listsModule([]string{t.module}, module) {
			return t.tokens
		}
	}
	return nil
}

// moduleRows are the trained rows of a module: a tensor with a row for each token.
type moduleRows struct {
	module string
	info   tensor.Info
}

// rows replace some of those of a tensor of the base.
type rows struct {
	from   int // the index of the adapter
	info   tensor.Info
	copy   tensor.Info // another tensor that must equal it; without a name if there is none
	tokens []int64     // as in the configuration
	places []rowPlace
}

// A rowPlace says which row of an adapter's tensor replaces one of the base.
type rowPlace struct{ row, index int64 }

// bindRows binds the rows that an adapter trained one by one.
func (x *binder) bindRows(at int, a *adapter, r renaming) error {
	if a.config == nil || len(a.rows)+len(a.tokens) == 0 {
		return nil
	}
	isCopy := x.tokens.copies
	for _, copies := range []bool{false, true} {
		for _, m := range a.rows {
			if isCopy(m.module) != copies {
				continue
			}
			if err := x.bindRowsOf(at, a, &m, copies, r); err != nil {
				return wire.At("adapter", "tensor "+wire.Quote(m.info.Name), wire.NoOffset, err)
			}
		}
	}
	for _, t := range a.tokens {
		has := func(m moduleRows) bool { return t.module == "" || listsModule([]string{t.module}, m.module) }
		// PEFT saves the rows of an output layer that is tied to the same rows once.
		follows := isCopy(t.module) && slices.ContainsFunc(a.rows, func(m moduleRows) bool { return slices.Equal(a.tokensOf(m.module), t.tokens) })
		if !slices.ContainsFunc(a.rows, has) && !follows {
			return wire.ErrMissing.Errorf("the adapter has no rows for %s, which trainable_token_indices says it has", wire.Quote(t.module))
		}
	}
	return nil
}

// bindRowsOf binds the rows of one module, which are a copy of those of the embedding that it is
// tied to, or replace rows of the base.
func (x *binder) bindRowsOf(at int, a *adapter, m *moduleRows, isCopy bool, r renaming) error {
	tokens, i := a.tokensOf(m.module), m.info
	if k := slices.IndexFunc(a.rows, func(own moduleRows) bool { return x.tokens.isInput(own.module) }); tokens == nil && isCopy && k >= 0 {
		tokens = a.tokensOf(a.rows[k].module) // PEFT saves the rows of the input twice after resize_token_embeddings
	}
	switch {
	case tokens == nil:
		return wire.ErrMismatch.Errorf("trainable_token_indices does not name its module")
	case !model.Computes(i.DType):
		return wire.ErrUnsupported.Errorf("its type is %s", wire.Quote(i.TypeName()))
	case len(i.Shape) != 2 || i.Shape[0] != int64(len(tokens)):
		return wire.ErrMismatch.Errorf("its shape is %v, for %d tokens", i.Shape, len(tokens))
	}
	if isCopy {
		return x.bindCopyOfRows(at, tokens, i)
	}
	n, w, err := x.find(x.of(r, m.module+".weight"))
	if err != nil {
		return err
	}
	if len(w.Shape) != 2 || w.Shape[1] != i.Shape[1] {
		return wire.ErrMismatch.Errorf("its shape is %v, the base's %v", i.Shape, w.Shape)
	}
	t, err := x.target(n)
	if err != nil {
		return err
	}
	if t.whole.Name != "" && t.from != at || len(t.products)+len(t.rows) > 0 {
		return wire.ErrUnsupported.Errorf("an adapter before it changes the same tensor of the base")
	}
	places, err := limits.Make[rowPlace](x.b, len(tokens))
	if err != nil {
		return err
	}
	for k, token := range tokens {
		if token >= w.Shape[0] {
			return wire.ErrRange.Errorf("token %d of trainable_token_indices, but the embedding has %d rows", token, w.Shape[0])
		}
		places[k] = rowPlace{token, int64(k)}
	}
	slices.SortFunc(places, func(p, q rowPlace) int { return int(min(max(p.row-q.row, -1), 1)) })
	for k := 1; k < len(places); k++ {
		if places[k].row == places[k-1].row {
			return wire.ErrDuplicate.Errorf("token %d of trainable_token_indices", places[k].row)
		}
	}
	t.rows, err = limits.Append(x.b, t.rows, &rows{from: at, info: i, tokens: tokens, places: places})
	return err
}

// bindCopyOfRows binds the rows of an output layer, which must be those of the embedding that
// it is tied to.
func (x *binder) bindCopyOfRows(at int, tokens []int64, i tensor.Info) error {
	for _, n := range x.order {
		if err := x.b.Step(1); err != nil {
			return err
		}
		for _, own := range x.targets[n].rows {
			if own.from == at && slices.Equal(own.tokens, tokens) && slices.Equal(own.info.Shape, i.Shape) && own.info.DType == i.DType {
				own.copy = i
				return nil
			}
		}
	}
	return wire.ErrUnsupported.Errorf("the base ties its embeddings, and the adapter trained other rows of the output layer")
}

// A rowReader reads rows that replace those of a weight.
type rowReader struct {
	*rows
	source, copy *model.Numbers
}

func (r *rows) reader(m tensor.Model) (*rowReader, error) {
	out := &rowReader{rows: r}
	var err error
	if out.source, err = model.NewNumbers(m, r.info); err == nil && r.copy.Name != "" {
		out.copy, err = model.NewNumbers(m, r.copy)
	}
	return out, err
}

// replaceRows replaces the rows of a piece of the weight.
func (w *weight) replaceRows(dst []float32, r *buffers, first int64) error {
	for _, x := range w.rows {
		cols := w.info.Shape[1]
		end := first + int64(len(dst))
		for k := sort.Search(len(x.places), func(k int) bool { return (x.places[k].row+1)*cols > first }); k < len(x.places); k++ {
			p := x.places[k]
			from, to := max(first, p.row*cols), min(end, (p.row+1)*cols)
			if from >= to {
				break
			}
			if err := w.rooms.Step(); err != nil {
				return err
			}
			row, place := r.sum[:to-from], p.index*cols+from-p.row*cols
			if err := x.source.Read(row, rawBytes(r.also), place); err != nil {
				return err
			}
			if k := slices.IndexFunc(row, infinite); k >= 0 {
				return wire.At("adapter", "tensor "+wire.Quote(x.info.Name), wire.NoOffset, wire.ErrRange.Errorf("element %d is not a finite number", place+int64(k)))
			}
			copy(dst[from-first:], row)
			if x.copy != nil {
				if err := equalNumbers(dst[from-first:to-first], row, x.copy, r, place, x.rows.copy.Name); err != nil {
					return err
				}
			}
			if w.info.DType != x.info.DType {
				w.round(dst[from-first:to-first], r)
			}
		}
	}
	return nil
}

// equalNumbers refuses a copy whose numbers differ from those that were read.
func equalNumbers(want, got []float32, copy *model.Numbers, r *buffers, first int64, name string) error {
	got = got[:len(want)]
	if err := copy.Read(got, rawBytes(r.also), first); err != nil {
		return err
	}
	for k := range want {
		if math.Float32bits(got[k]) != math.Float32bits(want[k]) {
			return wire.At("adapter", "tensor "+wire.Quote(name), wire.NoOffset, wire.ErrMismatch.Errorf("element %d differs from the tensor that it is a copy of (tied embeddings, or modules_to_save)", first+int64(k)))
		}
	}
	return nil
}
