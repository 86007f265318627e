package vm

import (
	"hash/maphash"
	"math"
	"math/bits"
)

// Python's hashes of numbers and tuples, which anybody can compute: Objects/longobject.c,
// Python/pyhash.c, Objects/tupleobject.c and Objects/complexobject.c of CPython 3.13.

const (
	hashBits    = 61
	hashModulus = 1<<hashBits - 1
	hashInf     = 314159
	hashImag    = 1000003
)

// signedHash returns the hash of an integer by that of its magnitude.
func signedHash(h uint64, negative bool) uint64 {
	if negative {
		h = -h
	}
	if h == math.MaxUint64 {
		h-- // -1 says that there was an error
	}
	return h
}

// floatHash returns the hash of a float that is a number.
func floatHash(f float64) uint64 {
	if math.IsInf(f, 0) {
		return signedHash(hashInf, f < 0)
	}
	fraction, exp := math.Frexp(math.Abs(f))
	h := uint64(fraction * (1 << 53)) // fraction = h / 2^53
	shift := (exp - 53) % hashBits
	if shift < 0 {
		shift += hashBits
	}
	h = h<<shift&hashModulus | h>>(hashBits-shift)
	if h == hashModulus {
		h = 0
	}
	return signedHash(h, f < 0)
}

// bigHash returns the hash of an integer in little-endian two's complement, byte by byte: it
// may be as long as the pickle.
func bigHash(text string) uint64 {
	shifted := func(h uint64) uint64 { return h<<8&hashModulus | h>>(hashBits-8) } // times 256
	h, power := uint64(0), uint64(1)
	for i := len(text) - 1; i >= 0; i-- {
		if h, power = shifted(h)+uint64(text[i]), shifted(power); h >= hashModulus {
			h -= hashModulus
		}
	}
	negative := len(text) > 0 && text[len(text)-1] >= 0x80
	if negative { // 256 to the length was added
		h = (power + hashModulus - h) % hashModulus
	}
	return signedHash(h, negative)
}

// numberHash returns the hash of a number.
func (m *matcher) numberHash(form keyForm) (uint64, bool) {
	switch form.kind {
	case keyInt:
		n := form.a
		if int64(n) < 0 {
			n = -n
		}
		return signedHash(n%hashModulus, int64(form.a) < 0), true
	case keyBig:
		m.cost += int64(len(form.text)/64) + 1
		return bigHash(form.text), true
	case keyFloat:
		return floatHash(math.Float64frombits(form.a)), true
	case keyComplex:
		h := floatHash(math.Float64frombits(form.a)) + hashImag*floatHash(math.Float64frombits(form.b))
		if h == math.MaxUint64 {
			h--
		}
		return h, true
	}
	return 0, false
}

// tupleHash returns the hash of a tuple, where the hash of a text, or of another value whose hash
// an attacker cannot choose, is a number of our own. Of a tuple with a set in it, it is not known.
func (m *machine) tupleHash(n *node) (h uint64, known bool, err error) {
	const first, second, fifth = 11400714785074694791, 14029467366897019727, 2870177450012600261
	acc := uint64(fifth)
	known = true
	for i := range n.n {
		m.cost++
		if err := m.settle(); err != nil {
			return 0, false, err
		}
		lane, ok, err := m.lane(m.g.elem(n.a + i))
		if err != nil {
			return 0, false, err
		}
		known = known && ok
		acc = bits.RotateLeft64(acc+lane*second, 31) * first
	}
	acc += uint64(n.n) ^ fifth ^ 3527539
	if acc == math.MaxUint64 {
		acc = 1546275796
	}
	return acc, known, nil
}

// lane returns the hash of an element of a tuple.
func (m *machine) lane(r ref) (h uint64, known bool, err error) {
	if n, ok := m.match.tuple(r); ok {
		return m.tupleHash(n)
	}
	form := m.match.keyForm(r)
	if h, ok := m.match.numberHash(form); ok {
		return h, true, nil
	}
	if (form.kind == keyText || form.kind == keyBytes) && form.text == "" {
		return 0, true, nil
	}
	if form.kind == keyText {
		return maphash.String(m.seed, form.text), true, nil
	}
	return maphash.Comparable(m.seed, form), form.kind != keyFamily, nil
}
