package convert

import (
	"cmp"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A sum is a CRC-32 of ranges that come in any order. Adjacent ranges are joined, so that
// few are kept.
type sum struct {
	mu     sync.Mutex
	ranges []summed
}

// summed is a range [lo, hi) and its CRC-32.
type summed struct {
	lo, hi int64
	crc    uint32
}

// add adds the bytes of a range.
func (s *sum) add(b *limits.Budget, off int64, p []byte) error {
	return s.put(b, off, int64(len(p)), crc32.ChecksumIEEE(p))
}

// put adds a range whose CRC is known.
func (s *sum) put(b *limits.Budget, off, n int64, crc uint32) error {
	if n == 0 {
		return nil
	}
	r := summed{off, off + n, crc}
	s.mu.Lock()
	defer s.mu.Unlock()
	at, _ := slices.BinarySearchFunc(s.ranges, r.lo, func(x summed, lo int64) int { return cmp.Compare(x.lo, lo) })
	var err error
	if s.ranges, err = limits.Grow(b, s.ranges, 1); err != nil {
		return err
	}
	s.ranges = slices.Insert(s.ranges, at, r)
	s.join(at)
	if at > 0 {
		s.join(at - 1)
	}
	return nil
}

// join joins the range at i with the next one, if they are adjacent.
func (s *sum) join(i int) {
	if i+1 >= len(s.ranges) || s.ranges[i].hi != s.ranges[i+1].lo {
		return
	}
	s.ranges[i].crc = joinCRC(s.ranges[i].crc, s.ranges[i+1].crc, s.ranges[i+1].hi-s.ranges[i+1].lo)
	s.ranges[i].hi = s.ranges[i+1].hi
	s.ranges = slices.Delete(s.ranges, i+1, i+2)
}

// whole returns the CRC of all n bytes.
func (s *sum) whole(n int64) (uint32, error) {
	switch {
	case n == 0 && len(s.ranges) == 0:
		return 0, nil
	case len(s.ranges) == 1 && s.ranges[0].lo == 0 && s.ranges[0].hi == n:
		return s.ranges[0].crc, nil
	}
	return 0, wire.ErrInternal.Errorf("%d ranges of %d bytes were summed", len(s.ranges), n)
}

// joinCRC returns the CRC-32 of the concatenation of two byte strings, from the CRC of
// each and the length n of the second. A CRC is a remainder of polynomials over GF(2), so
// the first is multiplied by x^8n.
func joinCRC(first, second uint32, n int64) uint32 {
	return product(power(8*uint64(n)), first) ^ second
}

// product returns a*b modulo the polynomial. Bits are reversed, with x^0 at the top.
func product(a, b uint32) uint32 {
	var p uint32
	for m := uint32(1) << 31; m != 0; m >>= 1 {
		if a&m != 0 {
			p ^= b
		}
		b = b>>1 ^ crc32.IEEE&-(b&1)
	}
	return p
}

// power returns x^n modulo the polynomial.
func power(n uint64) uint32 {
	p, x := uint32(1)<<31, uint32(1)<<30 // 1 and x
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p = product(p, x)
		}
		x = product(x, x)
	}
	return p
}
