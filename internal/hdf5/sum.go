package hdf5

import (
	"math/bits"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// sumPart is how many bytes of a structure are added at once, a multiple of the words of the sum.
const sumPart = 4092

// summed checks that size bytes at an address are followed by their checksum.
func (f *file) summed(where string, address, size uint64) error {
	return f.sumOf(where, address, size, size)
}

// sumOf checks the checksum of size bytes at an address, which stands behind them, or in them: then
// zeros take its place.
func (f *file) sumOf(where string, address, size, at uint64) error {
	const width = 4
	end, ok := wire.Add(address, max(size, at+width))
	if !ok || end > uint64(f.size) {
		return f.fail(where, int64(min(address, uint64(f.size))), wire.ErrTruncated.Errorf("%d bytes at %#x, in a file of %d", size, address, f.size))
	}
	if err := f.b.Step(int64(size / 64)); err != nil {
		return f.fail(where, int64(address), err)
	}
	s := newSum(size)
	var stored uint32
	for done := uint64(0); ; {
		n := min(sumPart, size-done)
		if err := f.c.MoveTo(int64(address + done)); err != nil {
			return err
		}
		p, err := f.c.View(int(n))
		if err != nil {
			return err
		}
		p = append(f.scratch[:0], p...)
		for i := range uint64(width) { // a sum in the bytes may stand in two parts
			if at+i >= done && at+i < done+n {
				stored |= uint32(p[at+i-done]) << (8 * i)
				p[at+i-done] = 0
			}
		}
		done += n
		if s.add(p, done == size); done == size {
			break
		}
	}
	if at == size {
		if err := f.c.MoveTo(int64(address + size)); err != nil {
			return err
		}
		var err error
		if stored, err = f.c.U32(); err != nil {
			return err
		}
	}
	if stored != s.c {
		return f.fail(where, int64(address), errStructure.Errorf("its checksum is %#x, and that of its bytes %#x", stored, s.c))
	}
	return nil
}

// A sum is the checksum of metadata: hashlittle of Bob Jenkins's lookup3, from 0.
type sum struct{ a, b, c uint32 }

func newSum(size uint64) *sum {
	const begin = 0xdeadbeef
	n := begin + uint32(size)
	return &sum{n, n, n}
}

// add adds bytes, a multiple of 12 but for the last ones.
func (s *sum) add(p []byte, last bool) {
	const words = 12
	for len(p) > words || len(p) == words && !last {
		s.three(p)
		s.mix()
		p = p[words:]
	}
	if last && len(p) > 0 {
		var end [words]byte
		copy(end[:], p)
		s.three(end[:])
		s.final()
	}
}

func (s *sum) three(p []byte) {
	s.a += uint32(p[0]) | uint32(p[1])<<8 | uint32(p[2])<<16 | uint32(p[3])<<24
	s.b += uint32(p[4]) | uint32(p[5])<<8 | uint32(p[6])<<16 | uint32(p[7])<<24
	s.c += uint32(p[8]) | uint32(p[9])<<8 | uint32(p[10])<<16 | uint32(p[11])<<24
}

func (s *sum) mix() {
	a, b, c := s.a, s.b, s.c
	a = (a - c) ^ bits.RotateLeft32(c, 4)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 6)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 8)
	b += a
	a = (a - c) ^ bits.RotateLeft32(c, 16)
	c += b
	b = (b - a) ^ bits.RotateLeft32(a, 19)
	a += c
	c = (c - b) ^ bits.RotateLeft32(b, 4)
	b += a
	s.a, s.b, s.c = a, b, c
}

func (s *sum) final() {
	a, b, c := s.a, s.b, s.c
	c = (c ^ b) - bits.RotateLeft32(b, 14)
	a = (a ^ c) - bits.RotateLeft32(c, 11)
	b = (b ^ a) - bits.RotateLeft32(a, 25)
	c = (c ^ b) - bits.RotateLeft32(b, 16)
	a = (a ^ c) - bits.RotateLeft32(c, 4)
	b = (b ^ a) - bits.RotateLeft32(a, 14)
	c = (c ^ b) - bits.RotateLeft32(b, 24)
	s.a, s.b, s.c = a, b, c
}
