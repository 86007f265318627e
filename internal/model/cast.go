package model

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Change is arithmetic on each number x of a tensor, in F32; or in F16 with rounding after
// each step, if the numbers are stored in F16 and InF32 is not set. The zero Change changes nothing.
type Change struct {
	Times []float32 // factors, applied one after the other
	Add   float32
	Log   bool // log(-x), the inverse of Decay
	Decay bool // -exp(x)
	InF32 bool // numbers of F16 are changed in F32 too
}

func (c *Change) none() bool { return c.Times == nil && c.Add == 0 && !c.Log && !c.Decay }

// Cast is a tensor in another type, with changed numbers. The type is F32, or holds the
// numbers exactly, or is what changed numbers are rounded to.
type Cast struct {
	of     Source
	info   tensor.Info
	rooms  *Rooms[byte]
	change Change
}

// NewCast casts a tensor, or returns it if nothing is to be done. rooms has the memory for
// what is read of it.
func NewCast(of Source, rooms *Rooms[byte], to tensor.DType, c Change) Source {
	i := of.Info()
	if i.DType == to && c.none() {
		return of
	}
	return &Cast{of, Plain(i.Name, to, i.Shape), rooms, c}
}

// Info implements [Source], as do At, Body and Costly.
func (c *Cast) Info() *tensor.Info { return &c.info }

// At reads at any offset.
func (c *Cast) At() (io.ReaderAt, bool) {
	r, ok := c.of.At()
	return &castReader{c, r}, ok
}

// Costly is that of the tensor.
func (c *Cast) Costly() bool { return c.of.Costly() }

// castAtOnce is how many numbers are cast at once.
const castAtOnce = 4096

type castReader struct {
	*Cast
	r io.ReaderAt
}

// ReadAt implements [io.ReaderAt].
func (c *castReader) ReadAt(p []byte, off int64) (int, error) {
	from, to := elemOf(c.of.Info().DType), elemOf(c.info.DType)
	if off%to != 0 || int64(len(p))%to != 0 {
		return 0, errSplit
	}
	room, err := c.rooms.Take()
	if err != nil {
		return 0, err
	}
	defer c.rooms.Back(room)
	var numbers [castAtOnce]float32
	first, done := off/to, int64(0)
	for n := int64(len(p)) / to; done < n; {
		some := min(n-done, castAtOnce)
		raw := room[:some*from]
		if err := wire.ReadFull(c.r, raw, (first+done)*from); err != nil {
			return int(done * to), err
		}
		if err := c.cast(p[done*to:(done+some)*to], raw, numbers[:some]); err != nil {
			return int(done * to), err
		}
		done += some
	}
	return len(p), nil
}

// Body reads in order.
func (c *Cast) Body(b *limits.Budget) (io.ReadCloser, error) {
	body, err := c.of.Body(b)
	if err != nil {
		return nil, err
	}
	return &castBody{ReadCloser: body, c: c}, nil
}

type castBody struct {
	io.ReadCloser
	c    *Cast
	raw  [8 * castAtOnce]byte
	nums [castAtOnce]float32
}

// Read reads whole elements.
func (c *castBody) Read(p []byte) (int, error) {
	from, to := elemOf(c.c.of.Info().DType), elemOf(c.c.info.DType)
	n := min(int64(len(p))/to, castAtOnce)
	if n == 0 || from > 8 {
		return 0, errSplit
	}
	got, err := io.ReadFull(c.ReadCloser, c.raw[:n*from])
	if err == io.ErrUnexpectedEOF && int64(got)%from == 0 {
		err = nil
	}
	if n = int64(got) / from; err != nil || n == 0 {
		return 0, err
	}
	return int(n * to), c.c.cast(p[:n*to], c.raw[:n*from], c.nums[:n])
}

// cast converts stored numbers.
func (c *Cast) cast(dst, src []byte, numbers []float32) error {
	stored := c.of.Info().DType
	codec, ok := form.CodecOf(stored)
	to, known := kinds[c.info.DType]
	if !ok || !known {
		return wire.ErrInternal.Errorf("%v cannot be converted to %v", stored, c.info.DType)
	}
	codec.Decode(numbers, src)
	c.change.apply(numbers, stored == tensor.F16 && !c.change.InF32, codec)
	if to == asm.F32 {
		putF32(dst, numbers)
		return nil
	}
	var wide [4 * castAtOnce]byte
	putF32(wide[:], numbers)
	asm.Best().Cast(asm.F32, to, dst, wide[:4*len(numbers)])
	return nil
}

// apply changes numbers; half says that each step is rounded to F16, whose codec it is.
func (c *Change) apply(numbers []float32, half bool, codec form.Codec) {
	rounds := func() {}
	if half {
		rounds = func() {
			var wide [4 * castAtOnce]byte
			var narrow [2 * castAtOnce]byte
			putF32(wide[:], numbers)
			asm.Best().Cast(asm.F32, asm.F16, narrow[:2*len(numbers)], wide[:4*len(numbers)])
			codec.Decode(numbers, narrow[:2*len(numbers)])
		}
	}
	for _, t := range c.Times {
		for i := range numbers {
			numbers[i] *= t
		}
		rounds()
	}
	if c.Add != 0 {
		for i := range numbers {
			numbers[i] += c.Add
		}
		rounds()
	}
	if c.Log {
		for i := range numbers {
			numbers[i] = logarithm(-numbers[i])
		}
	}
	if c.Decay {
		for i := range numbers {
			numbers[i] = -exponential(numbers[i])
		}
		rounds()
	}
}

func putF32(dst []byte, numbers []float32) {
	for i, f := range numbers {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(f))
	}
}
