package convert

import (
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// scratch is how many numbers are decoded at once, so that they are still in the level 2
// cache when they are rounded.
const scratch = 64 << 10

// workerBytes returns what a worker holds.
func workerBytes(tile int64) int64 { return 2*(tile+tiles.Slack) + 4*scratch }

// A worker has the buffers of one goroutine.
type worker struct {
	s       *stream
	in, out buffer
	full    buffer        // pieces with infinities, as F32
	plain   []float32     // numbers to be encoded
	tile    []float32     // scratch for decoding
	parts   [][]byte      // of the range
	spans   []tensor.Span // where they begin
	subs    [][]byte      // of a piece of the range
	notes
}

// newWorker allocates a worker's memory.
func newWorker(s *stream) (*worker, error) {
	w := &worker{s: s}
	for _, buf := range [...]*buffer{&w.in, &w.out} {
		if err := buf.grow(s, s.tile); err != nil {
			return nil, err
		}
	}
	return w, w.room(&w.tile, scratch)
}

// room makes a list of at least n numbers.
func (w *worker) room(list *[]float32, n int64) error {
	have := int64(len(*list))
	if have >= n {
		return nil
	}
	if err := addressed(4 * n); err != nil {
		return err
	}
	w.s.drop(4 * have)
	*list = nil
	numbers, err := limits.Make[float32](w.s.b, int(n))
	if err != nil {
		return err
	}
	*list = numbers
	w.s.bytes.Add(4 * n)
	return nil
}

// lists makes the lists for n parts.
func (w *worker) lists(n int) (err error) {
	if n <= len(w.parts) {
		return nil
	}
	if w.parts, err = limits.Make[[]byte](w.s.b, n); err != nil {
		return err
	}
	if w.subs, err = limits.Make[[]byte](w.s.b, n); err != nil {
		return err
	}
	w.spans, err = limits.Make[tensor.Span](w.s.b, n)
	return err
}

// output returns a buffer for n bytes of an out that will be written at off.
func (w *worker) output(o *Out, off int64, n int64) ([]byte, error) {
	return w.out.at(w.s, o.off+off, n)
}

// write writes a range of an out, and sums it if the sink needs that.
func (w *worker) write(out int32, off int64, p []byte) error {
	o := &w.s.p.Outs[out]
	if w.s.sums != nil {
		if err := w.s.sums[out].add(w.s.b, off, p); err != nil {
			return err
		}
	}
	if w.s.on != nil {
		w.wrote(out, int(o.file), o.off+off, p)
	}
	return w.put(int(o.file), o.off+off, p)
}

// put writes to a file.
func (w *worker) put(file int, off int64, p []byte) error {
	w.s.writing.enter(file)
	defer w.s.writing.leave(file)
	if err := writeFull(w.s.files[file], p, off); err != nil {
		return err
	}
	w.s.p.done.Add(int64(len(p)))
	return nil
}

// writeFull writes all of p.
func writeFull(f io.WriterAt, p []byte, off int64) error {
	n, err := f.WriteAt(p, off)
	if err == nil && n != len(p) {
		err = io.ErrShortWrite
	}
	return err
}

// A buffer is aligned memory for reading and writing.
type buffer struct{ p []byte }

// grow makes room for n bytes at any offset in a cache line.
func (f *buffer) grow(s *stream, n int64) error {
	if n+tiles.Slack <= int64(len(f.p)) {
		return nil
	}
	if err := addressed(n + tiles.Slack); err != nil {
		return err
	}
	s.drop(int64(len(f.p)))
	f.p = nil
	if err := s.alloc(n + tiles.Slack); err != nil {
		return err
	}
	f.p = tiles.Bytes(int(n))
	return nil
}

// addressed returns an error if n does not fit an int.
func addressed(n int64) error {
	if n > math.MaxInt {
		return &limits.Error{Axis: limits.SingleAlloc, Want: n, Left: math.MaxInt}
	}
	return nil
}

// at returns n bytes aligned like the file's bytes at off.
func (f *buffer) at(s *stream, off, n int64) ([]byte, error) {
	if err := f.grow(s, n); err != nil {
		return nil, err
	}
	return tiles.Shift(f.p, off, int(n)), nil
}
