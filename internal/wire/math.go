package wire

import (
	"encoding/binary"
	"math/bits"
)

// MaxSize is the largest size or offset that a file may state: what an int64
// offset can reach.
const MaxSize = 1<<63 - 1

// Add returns a+b, or false when it passes [MaxSize].
func Add(a, b uint64) (uint64, bool) {
	sum, carry := bits.Add64(a, b, 0)
	return sum, carry == 0 && sum <= MaxSize
}

// AddCap adds counts or sizes, up to the largest number: tensors of no elements may state
// any shape.
func AddCap(a, b int64) int64 {
	if a > MaxSize-b {
		return MaxSize
	}
	return a + b
}

// Mul returns a*b, or false when it passes [MaxSize].
func Mul(a, b uint64) (uint64, bool) {
	hi, lo := bits.Mul64(a, b)
	return lo, hi == 0 && lo <= MaxSize
}

// Int converts a number from a file that must not pass limit.
func Int(n, limit uint64) (int, bool) {
	if n > limit || n > uint64(^uint(0)>>1) {
		return 0, false
	}
	return int(n), true
}

// Product multiplies dimensions: false when one is negative or the product
// passes [MaxSize]. A zero dimension gives zero, however large the others are.
func Product(dims []int64) (uint64, bool) {
	n, fits, empty := uint64(1), true, false
	for _, d := range dims {
		if d < 0 {
			return 0, false
		}
		empty = empty || d == 0
		if fits {
			n, fits = Mul(n, uint64(d))
		}
	}
	if empty {
		return 0, true
	}
	return n, fits
}

// Integer is a value of metadata as an integer, of any size; false for other values, and for an
// integer beyond 2^63.
func Integer(v any) (int64, bool) {
	switch v := v.(type) {
	case int:
		return int64(v), true
	case int8:
		return int64(v), true
	case int16:
		return int64(v), true
	case int32:
		return int64(v), true
	case int64:
		return v, true
	case uint8:
		return int64(v), true
	case uint16:
		return int64(v), true
	case uint32:
		return int64(v), true
	case uint64:
		return int64(v), v <= MaxSize
	}
	return 0, false
}

// NonZero returns the place of the first byte that is not zero, or -1.
func NonZero(p []byte) int {
	at := 0
	for len(p)-at >= 8 && binary.LittleEndian.Uint64(p[at:]) == 0 {
		at += 8
	}
	for ; at < len(p); at++ {
		if p[at] != 0 {
			return at
		}
	}
	return -1
}
