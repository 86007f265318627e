package convert

import (
	"errors"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Grouped stores the weights of linear modules as codes in groups under scales, under
// the names of the library that the format is of.
type Grouped struct {
	Format scaled.Groups
	// Include and Exclude choose by name, before the rule; nil chooses none.
	Include, Exclude func(name string) bool
	// Measure compares each weight with what it decodes to.
	Measure bool
}

// groupedEncoder encodes the weights of one model.
type groupedEncoder struct {
	linearEncoder

	f     scaled.Groups
	overs map[string]*float32 // the numbers over all scales, of matrices that share one
}

// Check implements [Quantizer].
func (o Grouped) Check() error {
	if o.Format.Name == "" {
		return wire.ErrUsage.With("no format is given")
	}
	return nil
}

func (o Grouped) start(b *limits.Budget, m tensor.Model, opts *Options) (encoder, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	e := &groupedEncoder{f: o.Format, overs: map[string]*float32{}}
	e.Layout, e.measures, e.rule = o.Format.Layout, o.Measure, bnbRule{Include: o.Include, Exclude: o.Exclude}
	return e, e.begin(b, m, opts)
}

// takes decides about a tensor. MLX quantizes embeddings and heads too.
func (e *groupedEncoder) takes(name string, shape []int64) (verdict, error) {
	v := e.rule.judge(name, shape)
	also := e.f.Library == scaled.MLX && (v.Why == whyEmbedding || v.Why == whyHead)
	why := ""
	switch {
	case !v.Quantize && !also:
		return e.linearEncoder.takes(name, shape)
	case v.Transposed:
		why = "stored transposed, which its loaders do not take"
	case !e.f.Fits(shape[0], shape[1]):
		why = "its rows or columns are no whole number of groups"
	default:
		return encodeIt, nil
	}
	return decodeIt, e.keep(name, why)
}

// encode plans a weight.
func (e *groupedEncoder) encode(w *quant.Weight) (encoding, error) {
	if w.Matrix().Transposed() {
		return nil, wire.ErrUnsupported.With("its scheme stores it transposed: decode the model first")
	}
	t := &groupedEncoding{linearEncoding: e.encoding(w), f: &e.f, d: kinds[e.target], rounds: true}
	if d, ok := floatTypes[w.Parts[0].DType]; ok && len(w.Parts) == 1 {
		t.d, t.rounds = d, false
	}
	if e.f.Half && t.d != asm.F16 {
		t.d, t.rounds = asm.F16, true
	}
	if err := e.number(t); err != nil {
		return nil, err
	}
	if err := t.plan(); err != nil {
		return nil, err
	}
	return t, e.planned(w, t)
}

// number finds the number over all scales of a weight.
func (e *groupedEncoder) number(t *groupedEncoding) error {
	t.over = new(float32)
	if !e.f.Global {
		return nil
	}
	most := float32(0)
	err := e.pass(t.w, 1, func(int64) int64 { return 1 }, func(list, numbers []float32, lo int64) (err error) {
		if t.rounds {
			scaled.Round(numbers, t.d)
		}
		list[0], err = scaled.Most(0, numbers)
		return t.refused(err, lo)
	}, func(list []float32) { most = max(most, list[0]) })
	if err != nil {
		return err
	}
	*t.over = e.f.Over(most, t.d)
	together := fusedName(t.w.Name)
	if together == "" || e.f.Size == 0 {
		return nil
	}
	if other := e.overs[together]; other != nil {
		*other = e.f.Fused(*other, *t.over)
		t.over = other
		return nil
	}
	e.overs[together] = t.over
	return e.b.Hold(int64(len(together)) + 64)
}

// fusedName is one for all matrices that loaders put together into one, which must
// have one number over their scales; "" for others.
func fusedName(name string) string {
	module := strings.TrimSuffix(name, ".weight")
	at := strings.LastIndexByte(module, '.') + 1
	switch module[at:] {
	case "q_proj", "k_proj", "v_proj":
		return module[:at] + "qkv"
	case "gate_proj", "up_proj":
		return module[:at] + "gate_up"
	case "w1", "w3":
		return module[:at] + "w13"
	}
	return ""
}

// groupedEncoding is one weight.
type groupedEncoding struct {
	linearEncoding

	f       *scaled.Groups
	d       asm.Type // of the model's weights, which the library computes in
	rounds  bool     // the numbers have another type: they are decoded, or rounded
	over    *float32 // the number over all scales, known once all weights are planned
	hold    int64
	parts   groupedParts
	columns []byte // what is stored by columns, until the end
}

// groupedParts says which of the outs holds what; -1 where none does.
type groupedParts struct{ codes, scales, seconds, over, shape, order int }

// Block is the numbers of as many rows as are stored together.
func (e *groupedEncoding) Block() int64 { return e.f.Lines() * max(1, e.w.Cols()) }
func (e *groupedEncoding) Hold() int64  { return e.hold }

// Open takes the memory of what is stored by columns, which lies before the sums.
func (e *groupedEncoding) Open(memory []byte) {
	n := int64(0)
	if e.f.Columns {
		for i := range e.outs {
			n += e.outs[i].Size
		}
		e.columns = memory[:n:n]
		clear(e.columns)
	}
	e.linearEncoding.Open(memory[n:])
}

// Put encodes one row after the other.
func (e *groupedEncoding) Put(dst [][]byte, lo int64, src []float32) error {
	cols := e.w.Cols()
	if e.rounds {
		scaled.Round(src, e.d)
	}
	m := e.meter(lo)
	for row, at := lo/cols, int64(0); at < int64(len(src)); row, at = row+1, at+cols {
		if err := e.row(dst, &m, row, row-lo/cols, src[at:at+cols]); err != nil {
			return e.refused(err, lo+at)
		}
	}
	if e.unit > 0 {
		m.end()
	}
	return nil
}

// row encodes a row of the weight, which is row k of what is given to Put.
func (e *groupedEncoding) row(dst [][]byte, m *meter, row, k int64, x []float32) error {
	var codes [256]byte
	var after [256]float32
	step, count := e.f.Step(), e.f.Count(int64(len(x)))
	for at := int64(0); at < int64(len(x)); at += step {
		part := x[at:min(at+step, int64(len(x)))]
		c, err := e.f.Encode(codes[:len(part)], part, e.d, *e.over)
		if bad, ok := errors.AsType[*scaled.Bad](err); ok {
			return &scaled.Bad{Index: at + bad.Index, Value: bad.Value}
		}
		if err != nil {
			return err
		}
		if e.f.Columns {
			e.putColumn(row, at, count, &c)
		} else {
			e.putRow(dst, k, at, count, &c)
		}
		if e.unit > 0 {
			e.f.Decode(after[:len(part)], &c, *e.over)
			m.add(part, after[:len(part)])
		}
	}
	return nil
}

// refused says which number of the weight cannot be quantized.
func (e *groupedEncoding) refused(err error, lo int64) error {
	bad, ok := errors.AsType[*scaled.Bad](err)
	switch {
	case !ok:
		return err
	case bad.Finite():
		return wire.ErrUnsupported.With("the numbers from element %d on are too large for %s", lo+bad.Index, e.f.Layout)
	}
	return &bnb.NotFinite{Index: lo + bad.Index, Value: bad.Value}
}
