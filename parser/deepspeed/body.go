package deepspeed

import (
	"encoding/binary"
	"io"
	"math"
	"sort"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A piece is a tensor of one file that is part of a vector.
type piece struct {
	off  int64 // of its first element in the file
	end  int64 // elements of the vector up to its end
	file int32
}

// A vector is pieces laid end to end.
type vector []piece

func (v vector) len() int64 {
	if len(v) == 0 {
		return 0
	}
	return v[len(v)-1].end
}

// A source says where the elements of a tensor are: element i is element first + i % share of vector
// i / share.
type source struct {
	vectors      []vector
	first, share int64
	size         int64 // of an element, in bytes
	// widen makes a float32 of a stored element; nil where elements are read as they are.
	widen func([]byte) float32
}

// made is the size of an element as it is read.
func (s *source) made() int64 {
	if s.widen != nil {
		return 4
	}
	return s.size
}

// run returns the piece with element i, its position there, and how many elements follow it in the tensor
// as in the piece, with itself.
func (s *source) run(i int64) (p *piece, first, count int64) {
	v := s.vectors[i/s.share]
	at := s.first + i%s.share
	k := sort.Search(len(v), func(k int) bool { return v[k].end > at })
	begin := int64(0)
	if k > 0 {
		begin = v[k-1].end
	}
	return &v[k], at - begin, min(v[k].end-at, s.share-i%s.share)
}

// A body reads a tensor in order, run by run.
type body struct {
	f    *File
	b    *limits.Budget
	s    *source
	name string
	at   int64 // bytes that were read
	left int64
}

func (r *body) Close() error { return nil }

// Read reads as many runs as fit, and charges a step for each.
func (r *body) Read(p []byte) (n int, err error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if err := r.b.Err(); err != nil {
		return 0, err
	}
	for n < len(p) && r.left > 0 {
		if err := r.b.Step(1); err != nil {
			return n, err
		}
		got, err := r.some(p[n:])
		if err != nil {
			return n, wire.At(Format, whereOf(r.name), wire.NoOffset, err)
		}
		n, r.at, r.left = n+got, r.at+int64(got), r.left-int64(got)
	}
	return n, nil
}

// some reads elements of one piece.
func (r *body) some(p []byte) (int, error) {
	size := r.s.made()
	piece, first, count := r.s.run(r.at / size)
	skip := r.at % size
	p = p[:min(int64(len(p)), count*size-skip, r.left)]
	h := r.f.handles[piece.file]
	if r.s.widen == nil {
		return len(p), wire.ReadFull(h, p, piece.off+first*size+skip)
	}
	return r.widened(p, h, piece.off+first*r.s.size, skip)
}

// widened reads elements that become float32, the first one from byte skip on.
func (r *body) widened(p []byte, h *tensor.Handle, off, skip int64) (int, error) {
	var in [1024]byte
	var out [4]byte
	size := r.s.size
	count := min((skip+int64(len(p))+3)/4, int64(len(in))/size)
	stored := in[:count*size]
	if err := wire.ReadFull(h, stored, off); err != nil {
		return 0, err
	}
	n := 0
	for ; len(stored) > 0 && n < len(p); stored = stored[size:] {
		binary.LittleEndian.PutUint32(out[:], math.Float32bits(r.s.widen(stored)))
		n += copy(p[n:], out[skip:])
		skip = 0
	}
	return n, nil
}

// widenings are the conversions of Tensor.float by type, as torch makes them.
var widenings = map[tensor.DType]func([]byte) float32{
	tensor.F32:  func(p []byte) float32 { return math.Float32frombits(binary.LittleEndian.Uint32(p)) },
	tensor.F64:  func(p []byte) float32 { return float32(math.Float64frombits(binary.LittleEndian.Uint64(p))) },
	tensor.BF16: func(p []byte) float32 { return math.Float32frombits(uint32(binary.LittleEndian.Uint16(p)) << 16) },
	tensor.F16:  func(p []byte) float32 { return half(binary.LittleEndian.Uint16(p)) },
}

// isFloat reports whether torch takes a type for one of floating-point numbers.
func isFloat(stored string) bool {
	return strings.HasPrefix(stored, "torch.float") || stored == "torch.bfloat16"
}

// half returns the value of a float16, which float32 has exactly.
func half(h uint16) float32 {
	sign, exponent, fraction := uint32(h>>15)<<31, uint32(h>>10)&31, uint32(h)&1023
	switch {
	case exponent == 31 && fraction != 0:
		return math.Float32frombits(sign | 0x7fc00000 | fraction<<13)
	case exponent == 31:
		return math.Float32frombits(sign | 0x7f800000)
	case exponent == 0:
		value := float32(fraction) / (1 << 24)
		return math.Float32frombits(sign | math.Float32bits(value))
	}
	return math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13)
}
