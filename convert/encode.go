package convert

import (
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// An encodeTask decodes a weight and encodes it. Its units are rows, or the smallest number of rows
// that fills whole blocks. A weight that is read in strips has a task for each; these share the
// encoding and its memory.
type encodeTask struct {
	*rowReader
	e    encode.Encoding
	outs []encode.Out
	at   int32 // index of the first out
	rows int64 // in a unit
	row  int64 // bytes of a decoded row
	base int64 // index in the weight of the reader's first row
	// zeroed counts numbers that are not finite and become zero; nil if they are refused.
	zeroed *atomic.Int64
	index  int  // of the weight in Quantized.Weights
	last   bool // the reader has the last rows
}

func newEncodeTask(w *rowReader, e encode.Encoding, outs []encode.Out, at int32) *encodeTask {
	t := &encodeTask{rowReader: w, e: e, outs: outs, at: at, rows: 1, row: 4 * w.w.Cols(), last: true}
	for t.rows < e.Block() && t.rows*w.w.Cols()%e.Block() != 0 {
		t.rows++
	}
	return t
}

func (t *encodeTask) units() int64 {
	if t.w.Cols() == 0 {
		return 0
	}
	return (t.rowReader.rows.Rows + t.rows - 1) / t.rows
}

func (t *encodeTask) cut(lo, tile int64) int64 {
	end := t.rowReader.cut(lo*t.rows, min(tile, 4*scratch), t.row)
	return max(lo+1, end/t.rows)
}

// whole is 0 for most weights, so that the next task can begin before all ranges are
// done.
func (t *encodeTask) whole() int64 { return t.hold + t.e.Hold() }
func (t *encodeTask) name() string { return t.w.Name }

func (t *encodeTask) first() (int32, int64) {
	from := t.base * t.w.Cols()
	return t.at, t.e.Span(0, from, from).Off
}

func (t *encodeTask) open(s *stream, memory []byte) error {
	n := t.e.Hold()
	if t.base == 0 {
		t.e.Open(memory[:n:n])
	}
	return t.rowReader.open(s, memory[n:])
}

func (t *encodeTask) run(w *worker, lo, hi int64) error {
	first, last := lo*t.rows, min(hi*t.rows, t.rowReader.rows.Rows)
	if err := t.read(w, first, last); err != nil {
		return err
	}
	numbers, err := t.numbers(w, first, last)
	if err != nil {
		return err
	}
	if t.zeroed != nil {
		n := encode.Zero(numbers)
		t.zeroed.Add(n)
		w.saw[countZeroed] += n
	}
	if e, ok := t.e.(*float8Encoding); ok {
		over, nan, inf := e.count(numbers)
		w.counted(e.counts, over, nan, inf)
	}
	from, to := (t.base+first)*t.w.Cols(), (t.base+last)*t.w.Cols()
	if err := w.lists(len(t.outs)); err != nil {
		return err
	}
	total := int64(0)
	for i := range t.outs {
		total += t.e.Span(i, from, to).Len + tiles.Slack
	}
	if err := w.out.grow(w.s, total); err != nil {
		return err
	}
	left := w.out.p
	for i := range t.outs {
		span := t.e.Span(i, from, to)
		w.subs[i] = tiles.Shift(left, w.s.p.Outs[int(t.at)+i].off+span.Off, int(span.Len))
		left = left[span.Len+tiles.Slack:]
	}
	if err := t.e.Put(w.subs[:len(t.outs)], from, numbers); err != nil {
		return err
	}
	for i := range t.outs {
		if err := w.write(t.at+int32(i), t.e.Span(i, from, to).Off, w.subs[i]); err != nil {
			return err
		}
	}
	return nil
}

// finish writes the outs that depend on the whole weight.
func (t *encodeTask) finish(w *worker) error {
	if !t.last {
		return nil
	}
	if t.zeroed != nil {
		w.s.p.Quantized.Weights[t.index].Zeroed = t.zeroed.Load()
	}
	ends, err := t.e.End()
	if err != nil {
		return err
	}
	for i, p := range ends {
		if p == nil {
			continue
		}
		if int64(len(p)) != t.outs[i].Size {
			return wire.ErrInternal.Errorf("%d bytes for an output of %d", len(p), t.outs[i].Size)
		}
		if err := w.write(t.at+int32(i), 0, p); err != nil {
			return err
		}
	}
	return nil
}
