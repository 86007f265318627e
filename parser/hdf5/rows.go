package hdf5

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Rows read a dataset in chunks in order: the chunks along the first dimension are decoded into
// one buffer, a slab, and read from there.
type rows struct {
	b      *limits.Budget
	steps  limits.Steps
	src    io.ReaderAt
	s      *dataset
	p      *pipeline
	row    int64   // bytes of one index of the first dimension
	counts []int64 // chunks along each dimension
	each   uint64  // chunks of a slab
	at     int64   // the next index of the first dimension
	next   int     // chunk
	slab   []byte
	rest   []byte     // of the slab
	loops  [3][]int64 // of copy
	fill   []byte
}

func newRows(b *limits.Budget, src io.ReaderAt, s *dataset) (*rows, error) {
	r := &rows{b: b, steps: b.Steps(), src: src, s: s, row: int64(s.typ.size), each: 1, fill: s.fillBytes()}
	rank := len(s.space)
	all, err := limits.Make[int64](b, 4*rank)
	if err != nil {
		return nil, err
	}
	r.counts, r.loops[0], r.loops[1], r.loops[2] = all[:rank], all[rank:2*rank], all[2*rank:3*rank], all[3*rank:]
	for i, n := range s.space {
		if n == 0 {
			r.at = s.space[0] // nothing to read
			return r, nil
		}
		r.counts[i] = (n + s.chunk[i] - 1) / s.chunk[i]
		if i > 0 {
			r.row *= n
			r.each *= uint64(r.counts[i])
		}
	}
	size, ok := wire.Mul(uint64(r.row), uint64(min(s.chunk[0], s.space[0])))
	n, fits := wire.Int(size, wire.MaxSize)
	if !ok || !fits {
		return nil, wire.ErrUnsupported.Errorf("%d bytes along the first dimension", size)
	}
	if r.p, err = newPipeline(b, s); err != nil {
		return nil, err
	}
	r.slab, err = limits.Make[byte](b, n)
	return r, err
}

func (r *rows) Read(p []byte) (int, error) {
	if len(r.rest) == 0 {
		if r.at >= r.s.space[0] {
			return 0, io.EOF
		}
		if err := r.advance(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// advance decodes the next slab.
func (r *rows) advance() error {
	s := r.s
	high := min(s.chunk[0], s.space[0]-r.at)
	slab := r.slab[:high*r.row]
	first := uint64(r.at/s.chunk[0]) * r.each
	there := 0
	for k := r.next; k < len(s.chunks) && s.chunks[k].number < first+r.each; k++ {
		there++
	}
	if uint64(there) < r.each {
		if err := r.clear(slab); err != nil {
			return err
		}
	}
	for ; there > 0; there-- {
		c := &s.chunks[r.next]
		data, err := r.p.decode(r.src, c)
		if err != nil {
			return wire.At(Format, "chunk", c.off, err)
		}
		if err := r.put(slab, high, data, c.number-first); err != nil {
			return err
		}
		r.next++
	}
	r.at, r.rest = r.at+high, slab
	return nil
}

// clear fills a slab with the value of elements that were never written.
func (r *rows) clear(slab []byte) error {
	if err := r.b.Step(int64(len(slab)) / bytesOfStep); err != nil {
		return err
	}
	n := copy(slab, r.fill)
	for n < len(slab) {
		n += copy(slab[n:], slab[:n])
	}
	return nil
}

// put copies the part of a chunk that lies in the dataset into a slab. number is that of the
// chunk in the slab.
func (r *rows) put(slab []byte, high int64, data []byte, number uint64) error {
	s, rank := r.s, len(r.s.space)
	origin, extent, at := r.loops[0], r.loops[1], r.loops[2]
	origin[0], extent[0], at[0] = 0, high, 0
	for i := rank - 1; i > 0; i-- {
		origin[i] = int64(number%uint64(r.counts[i])) * s.chunk[i]
		number /= uint64(r.counts[i])
		extent[i], at[i] = min(s.chunk[i], s.space[i]-origin[i]), 0
	}
	// The last dimensions that a chunk has whole are copied in one run.
	run, last := int64(s.typ.size), rank-1
	for last > 0 && s.chunk[last] == s.space[last] {
		run *= s.space[last]
		last--
	}
	run *= extent[last]
	for {
		if err := r.steps.Step(); err != nil {
			return err
		}
		to, from := int64(0), int64(0)
		for i := range rank {
			to, from = to*s.space[i]+origin[i]+at[i], from*s.chunk[i]+at[i]
		}
		to, from = to*int64(s.typ.size), from*int64(s.typ.size)
		copy(slab[to:to+run], data[from:from+run])
		i := last - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < extent[i] {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}
