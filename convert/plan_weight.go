package convert

import (
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// encode plans the encoding of a weight; done is false if it is not encoded.
func (p *Plan) encode(k *pick) (done bool, err error) {
	w, v := k.weight, k.verdict
	if !k.decided {
		if v, err = p.encoder.Takes(k.name(), k.shape()); err != nil {
			return false, err
		}
	}
	switch {
	case v == encode.CopyIt && w != nil && len(w.Parts) == 1:
		return true, p.copy(&w.Parts[0])
	case v != encode.EncodeIt:
		return false, nil
	}
	if w != nil && !p.o.Requantize {
		return false, &RequantizeError{From: storedAs(w), To: p.Quantized.Layout}
	}
	if was := p.view.Weight(k.plain.Name); was != nil && !p.o.Requantize {
		return false, &RequantizeError{From: was.Scheme, To: p.Quantized.Layout}
	}
	if w == nil {
		if w, err = quant.Cast(&k.plain); err != nil {
			return false, err
		}
		if w == nil {
			return false, p.encoder.Result().KeepsType(p.b, &k.plain)
		}
	}
	if keep, err := p.keepsNaN(w); keep || err != nil {
		if c, ok := p.encoder.(interface{ CopiesKept() bool }); ok && c.CopiesKept() && k.weight != nil && err == nil {
			return true, p.copy(&w.Parts[0])
		}
		return false, err
	}
	e, err := p.encoder.Encode(w)
	if err != nil {
		return false, err
	}
	if t, ok := e.(interface{ Weight() *quant.Weight }); ok {
		w = t.Weight()
	}
	p.recoded = p.recoded || k.weight != nil
	outs := e.Outs()
	t := newEncodeTask(newRowReader(p.straight, w, w.Matrix(), 0, w.Rows()), e, outs, int32(len(p.Outs)))
	if t.index = len(p.Quantized.Weights) - 1; p.o.NaN == ZeroNaN {
		t.zeroed = new(atomic.Int64)
	}
	for _, o := range outs {
		if err := p.store(o); err != nil {
			return false, err
		}
		p.Encoded.add(o.Size)
	}
	return true, p.encodeStrips(t, w)
}

// storedAs returns how a quantized weight is stored: its block type or its scheme.
func storedAs(w *quant.Weight) string {
	if c, ok := quant.CodecOf(w.Parts[0].DType); ok && c.Blocks || w.Scheme == "" {
		return w.Parts[0].DType.String()
	}
	return w.Scheme
}

// encodeStrips plans the tasks of a weight: one, or one for each strip of rows if too
// much memory would be needed.
func (p *Plan) encodeStrips(t *encodeTask, w *quant.Weight) error {
	n := w.Rows()
	stack := w.Matrix().Group() > 0 // rows need all of their matrix
	if strip := w.Matrix().StripRows(maxHeld); strip > 0 && (stack || t.hold > maxHeld) && t.direct() {
		unit := t.rows
		for unit%w.Matrix().StripRows(0) != 0 {
			unit += t.rows
		}
		n = max(strip-strip%unit, unit)
	}
	for lo, hi := int64(0), int64(0); lo == 0 || lo < w.Rows(); lo = hi {
		hi = min(lo+n, w.Rows())
		one := *t
		if n < w.Rows() {
			s, columns, err := p.columns(w, lo, hi)
			if err != nil {
				return err
			}
			if one.rowReader, err = newStripReader(p.straight, w, s, columns); err != nil {
				return err
			}
		}
		one.base, one.last = lo, hi == w.Rows()
		var err error
		if p.tasks, err = limits.Append(p.b, p.tasks, task(&one)); err != nil {
			return err
		}
		if hi == lo {
			break // there are no rows
		}
	}
	return nil
}

// decode plans a weight that is decoded.
func (p *Plan) decode(m tensor.Model, w *quant.Weight) error {
	return p.decodeTo(m, w, p.o.Quant.Target)
}

// widen plans a tensor that becomes float32; done is false if it does not.
func (p *Plan) widen(k *pick) (done bool, err error) {
	e, ok := p.encoder.(encode.Widener)
	if !ok {
		return false, nil
	}
	if k.weight != nil {
		to := p.o.Quant.Target.DType()
		if !e.Widens(k.weight.Name, to) {
			return false, nil
		}
		if err := e.NoteWidened(k.weight.Name, to); err != nil {
			return false, err
		}
		return true, p.decodeTo(p.m, k.weight, quant.F32)
	}
	if !e.Widens(k.plain.Name, k.plain.DType) {
		return false, nil
	}
	w, err := castable(&k.plain)
	if w == nil || err != nil {
		return false, err
	}
	if err := e.NoteWidened(w.Name, k.plain.DType); err != nil {
		return false, err
	}
	return true, p.decodeTo(p.straight, w, quant.F32)
}

func (p *Plan) decodeTo(m tensor.Model, w *quant.Weight, to quant.Target) error {
	o := encode.Out{Name: w.Name, DType: to.DType(), Shape: w.Shape, Size: w.Size(to)}
	out := int32(len(p.Outs))
	if err := p.store(o); err != nil {
		return err
	}
	p.Decoded.add(o.Size)
	counts, err := p.counted(w)
	if err != nil {
		return err
	}
	group := w.Matrix().Group()
	if group <= 0 {
		group = max(1, w.Rows())
	}
	for lo, hi := int64(0), int64(0); lo < w.Rows(); lo = hi {
		hi = min(lo+group, w.Rows())
		r := newRowReader(m, w, w.Matrix(), lo, hi)
		t := &weightTask{r, counts, to, out, w.Cols() * int64(to.Size()), 0}
		if n := w.Matrix().StripRows(maxHeld); n > 0 && r.hold > maxHeld && r.direct() {
			hi = min(lo+n, w.Rows())
			if t, err = p.strip(t, w, lo, hi); err != nil {
				return err
			}
		}
		if p.tasks, err = limits.Append(p.b, p.tasks, task(t)); err != nil {
			return err
		}
	}
	return nil
}

// counted adds a weight whose special values are counted.
func (p *Plan) counted(w *quant.Weight) (*specials, error) {
	counts := &specials{}
	var err error
	if p.Weights, err = limits.Append(p.b, p.Weights, w); err != nil {
		return nil, err
	}
	p.counts, err = limits.Append(p.b, p.counts, counts)
	return counts, err
}

// maxHeld is the size from which a weight that all rows need is read in strips of
// columns, each of about this size.
const maxHeld = 16 << 20

// strip plans the task for some rows, with the columns that hold them.
func (p *Plan) strip(t *weightTask, w *quant.Weight, lo, hi int64) (*weightTask, error) {
	s, columns, err := p.columns(w, lo, hi)
	if err != nil {
		return nil, err
	}
	t.rowReader, err = newStripReader(p.m, w, s, columns)
	t.base = lo
	return t, err
}

// columns returns some rows as a weight of their own.
func (p *Plan) columns(w *quant.Weight, lo, hi int64) (form.Matrix, []form.Columns, error) {
	if err := p.b.Hold(1024); err != nil { // the description of its parts
		return form.Matrix{}, nil, err
	}
	return w.Matrix().Strip(lo, hi)
}
