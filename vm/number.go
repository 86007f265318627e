package vm

import (
	"math/big"
	"slices"
)

// decodeBig reads little-endian two's complement.
func decodeBig(s string) *big.Int {
	p := []byte(s)
	slices.Reverse(p)
	n := new(big.Int).SetBytes(p)
	if len(p) > 0 && p[0] >= 0x80 {
		n.Sub(n, new(big.Int).Lsh(big.NewInt(1), uint(8*len(p))))
	}
	return n
}

// encodeBig converts a decimal integer of at most [maxDigits] digits to little-endian
// two's complement of minimal length.
func encodeBig(decimal string) string {
	n, _ := new(big.Int).SetString(decimal, 10)
	if n.Sign() < 0 {
		size := n.BitLen()/8 + 1
		n.Add(n, new(big.Int).Lsh(big.NewInt(1), uint(8*size)))
		p := n.Bytes()
		slices.Reverse(p)
		return trim(string(p))
	}
	p := append(n.Bytes(), 0)
	slices.Reverse(p[:len(p)-1])
	return trim(string(p))
}

func trim(s string) string {
	for len(s) > 1 && redundant(s[len(s)-1], s[len(s)-2]) {
		s = s[:len(s)-1]
	}
	return s
}
