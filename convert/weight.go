package convert

import (
	"io"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A part is one stored tensor of a weight.
type part struct {
	info  tensor.Info
	held  bool         // needed whole by every range, or not readable at an offset
	span  tensor.Span  // for a held part, what is needed of it
	strip form.Columns // what is needed instead, if that is columns
	r     io.ReaderAt  // reader of the bytes, while the task is open
	bytes []byte       // bytes of a held part
}

// A rowReader reads the rows of a weight for several workers: of the whole weight, or of
// a group of rows that need the same bytes.
type rowReader struct {
	w      *quant.Weight
	rows   form.Matrix
	m      tensor.Model
	lo, hi int64
	parts  []part
	hold   int64
}

// newRowReader determines what all ranges of the rows [lo, hi) need.
func newRowReader(m tensor.Model, w *quant.Weight, rows form.Matrix, lo, hi int64) *rowReader {
	r := &rowReader{w: w, rows: rows, m: m, lo: lo, hi: hi}
	for p, info := range w.Parts {
		_, direct := m.At(info)
		one := part{info: info}
		switch {
		case !direct:
			one.held, one.span = true, tensor.Span{Len: info.Bytes()}
		case hi-lo > 1 && rows.Need(p, lo, lo+1) == rows.Need(p, hi-1, hi):
			one.held, one.span = true, rows.Need(p, lo, hi)
		}
		if one.held {
			r.hold += one.span.Len + tiles.Slack
		}
		r.parts = append(r.parts, one)
	}
	return r
}

// direct reports whether all parts can be read at any offset.
func (r *rowReader) direct() bool {
	for i := range r.parts {
		if _, direct := r.m.At(r.parts[i].info); !direct {
			return false
		}
	}
	return true
}

// newStripReader returns a reader of the rows of a strip, whose columns are held.
func newStripReader(m tensor.Model, w *quant.Weight, rows form.Matrix, columns []form.Columns) (*rowReader, error) {
	r := newRowReader(m, w, rows, 0, rows.Rows)
	r.hold = 0
	for p, c := range columns {
		if need := rows.Need(p, 0, rows.Rows); need != (tensor.Span{Len: c.Size()}) {
			return nil, wire.ErrInternal.Errorf("a strip of part %d has %d bytes, but its rows take %d", p, c.Size(), need.Len)
		}
		r.parts[p].held, r.parts[p].span, r.parts[p].strip = true, tensor.Span{Len: c.Size()}, c
		r.hold += c.Size() + tiles.Slack
	}
	return r, nil
}

// open reads what every range needs.
func (r *rowReader) open(s *stream, memory []byte) error {
	for i := range r.parts {
		p := &r.parts[i]
		p.r, _ = r.m.At(p.info)
		if !p.held {
			continue
		}
		n := int(p.span.Len)
		p.bytes = tiles.Shift(memory, p.info.Span.Off+p.span.Off, n)
		memory = memory[n+tiles.Slack:]
		if err := readWhole(s, r.m, p); err != nil {
			return err
		}
	}
	return nil
}

func (r *rowReader) close() {
	for i := range r.parts {
		r.parts[i].r, r.parts[i].bytes = nil, nil
	}
}

// wholeStep is how much is read between two checks of the account.
const wholeStep = 8 << 20

func readWhole(s *stream, m tensor.Model, p *part) error {
	if p.r == nil {
		body, err := m.Body(s.b, p.info)
		if err != nil {
			return err
		}
		defer body.Close()
		_, err = io.ReadFull(body, p.bytes)
		return err
	}
	if p.strip.Rows > 0 {
		return p.strip.Read(s.b, p.r, p.bytes)
	}
	for at := 0; at < len(p.bytes); at += wholeStep {
		if err := s.b.Err(); err != nil {
			return err
		}
		if err := wire.ReadFull(p.r, p.bytes[at:min(at+wholeStep, len(p.bytes))], p.span.Off+int64(at)); err != nil {
			return err
		}
	}
	return nil
}

// cut returns the end of a range from lo on that takes about tile bytes of the parts, or
// of rows of size bytes, whichever is more.
func (r *rowReader) cut(lo, tile, size int64) int64 {
	n := r.rows.Even(tile / max(1, size))
	if left := r.hi - lo; n > left {
		n = left
	}
	n = max(n, 1)
	var need int64
	for p := range r.parts {
		if !r.parts[p].held {
			need += r.rows.Need(p, lo, lo+n).Len
		}
	}
	if need > tile {
		n = max(1, r.rows.Even(n*tile/need))
	}
	return lo + n
}

// read reads what the rows [lo, hi) need into the worker's buffers.
func (r *rowReader) read(w *worker, lo, hi int64) error {
	if err := w.lists(len(r.parts)); err != nil {
		return err
	}
	total := int64(0)
	for p := range r.parts {
		w.spans[p] = r.rows.Need(p, lo, hi)
		if !r.parts[p].held {
			total += w.spans[p].Len + tiles.Slack
		}
	}
	if err := w.in.grow(w.s, total); err != nil {
		return err
	}
	left := w.in.p
	for p := range r.parts {
		if r.parts[p].held {
			w.parts[p], w.spans[p] = r.parts[p].bytes, r.parts[p].span
			continue
		}
		span := w.spans[p]
		w.parts[p] = tiles.Shift(left, r.parts[p].info.Span.Off+span.Off, int(span.Len))
		left = left[int(span.Len)+tiles.Slack:]
		if err := wire.ReadFull(r.parts[p].r, w.parts[p], span.Off); err != nil {
			return err
		}
	}
	return nil
}

// decode writes the rows [lo, hi) of the range that was read.
func (r *rowReader) decode(w *worker, dst []byte, to quant.Target, lo, hi int64) error {
	if err := r.narrow(w, lo, hi); err != nil {
		return err
	}
	if err := w.room(&w.tile, r.rows.Scratch(hi-lo)); err != nil {
		return err
	}
	r.rows.Decode(dst, kinds[to], w.subs[:len(r.parts)], lo, hi, w.tile)
	return nil
}

// numbers returns the rows [lo, hi) of the range that was read, in full precision.
func (r *rowReader) numbers(w *worker, lo, hi int64) ([]float32, error) {
	n := (hi - lo) * r.w.Cols()
	if err := w.room(&w.plain, n); err != nil {
		return nil, err
	}
	plain := w.plain[:n]
	if err := r.decode(w, asm.Raw(plain), quant.F32, lo, hi); err != nil {
		return nil, err
	}
	encode.GetFloats(plain, asm.Raw(plain))
	return plain, nil
}

// narrow finds what some rows need in what was read for a larger range.
func (r *rowReader) narrow(w *worker, lo, hi int64) error {
	for p := range r.parts {
		need := r.rows.Need(p, lo, hi)
		at := need.Off - w.spans[p].Off
		if at < 0 || at+need.Len > int64(len(w.parts[p])) {
			return wire.ErrInternal.Errorf("rows %d to %d need what was not read of part %d", lo, hi, p)
		}
		w.subs[p] = w.parts[p][at : at+need.Len]
	}
	return nil
}

// A weightTask decodes a weight, or a group of its rows. Its units are rows.
type weightTask struct {
	*rowReader
	*specials
	to   quant.Target
	out  int32
	row  int64 // size of a decoded row
	base int64 // index in the out of the reader's first row
}

func (t *weightTask) units() int64 {
	if t.row == 0 {
		return 0
	}
	return t.hi - t.lo
}

func (t *weightTask) cut(lo, tile int64) int64 { return t.rowReader.cut(t.lo+lo, tile, t.row) - t.lo }
func (t *weightTask) whole() int64             { return t.hold }
func (t *weightTask) name() string             { return t.w.Name }
func (t *weightTask) first() (int32, int64)    { return t.out, (t.base + t.lo) * t.row }

func (t *weightTask) run(w *worker, lo, hi int64) error {
	lo, hi = lo+t.lo, hi+t.lo
	at := (t.base + lo) * t.row
	dst, err := w.output(&w.s.p.Outs[t.out], at, (hi-lo)*t.row)
	if err != nil {
		return err
	}
	if err := t.read(w, lo, hi); err != nil {
		return err
	}
	step := t.rows.Step(scratch)
	for from := lo; from < hi; from += step {
		end := min(from+step, hi)
		if err := t.piece(w, dst[(from-lo)*t.row:(end-lo)*t.row], from, end); err != nil {
			return err
		}
	}
	return w.write(t.out, at, dst)
}
