package convert

import (
	"cmp"
	"hash/crc32"
	"slices"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A sum is the CRC-32 of bytes whose ranges come in any order. Ranges that
// touch become one, so that few are kept.
type sum struct {
	mu     sync.Mutex
	ranges []summed
}

// A summed is a range [lo, hi) and its CRC-32.
type summed struct {
	lo, hi int64
	crc    uint32
}

// add sums up one range.
func (s *sum) add(b *limits.Budget, off int64, p []byte) error {
	return s.put(b, off, int64(len(p)), crc32.ChecksumIEEE(p))
}

// put adds a range whose sum is known.
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

// join makes the range at i and the next one one, if they touch.
func (s *sum) join(i int) {
	if i+1 >= len(s.ranges) || s.ranges[i].hi != s.ranges[i+1].lo {
		return
	}
	s.ranges[i].crc = joinCRC(s.ranges[i].crc, s.ranges[i+1].crc, s.ranges[i+1].hi-s.ranges[i+1].lo)
	s.ranges[i].hi = s.ranges[i+1].hi
	s.ranges = slices.Delete(s.ranges, i+1, i+2)
}

// whole is the sum of all n bytes.
func (s *sum) whole(n int64) (uint32, error) {
	switch {
	case n == 0 && len(s.ranges) == 0:
		return 0, nil
	case len(s.ranges) == 1 && s.ranges[0].lo == 0 && s.ranges[0].hi == n:
		return s.ranges[0].crc, nil
	}
	return 0, wire.ErrInternal.With("%d ranges of %d bytes were summed", len(s.ranges), n)
}

// joinCRC is the CRC-32 of two strings of bytes one after the other, from the
// sums of each and the length of the second. A CRC is a remainder of polynomials
// over GF(2), so the first is moved up by 8n bits: multiplied by x^8n.
func joinCRC(first, second uint32, n int64) uint32 {
	return product(power(8*uint64(n)), first) ^ second
}

// product is a*b modulo the polynomial; bits stand reversed, x^0 at the top.
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

// power is x^n modulo the polynomial.
func power(n uint64) uint32 {
	p, x := uint32(1)<<31, uint32(1)<<30 // one and x
	for ; n > 0; n >>= 1 {
		if n&1 != 0 {
			p = product(p, x)
		}
		x = product(x, x)
	}
	return p
}
