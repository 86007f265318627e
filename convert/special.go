package convert

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/quant"
)

// exponents is the exponent bits of each number in 8 bytes of a target, and the
// lowest of them: added to one that is all ones, it carries into the sign.
var exponents = [...]struct{ mask, low uint64 }{
	quant.BF16: {0x7F80_7F80_7F80_7F80, 0x0080_0080_0080_0080},
	quant.F16:  {0x7C00_7C00_7C00_7C00, 0x0400_0400_0400_0400},
	quant.F32:  {0x7F80_0000_7F80_0000, 0x0080_0000_0080_0000},
}

const signs = 0x8000_8000_8000_8000

// hasSpecial reports an infinity or a NaN among the numbers of p. Of two bytes
// before a sign of F32 nothing is carried, so one mask of signs serves all.
func hasSpecial(p []byte, to quant.Target) bool {
	e := exponents[to]
	var found uint64
	for len(p) >= 32 {
		a, b := binary.LittleEndian.Uint64(p), binary.LittleEndian.Uint64(p[8:])
		c, d := binary.LittleEndian.Uint64(p[16:]), binary.LittleEndian.Uint64(p[24:])
		found |= (a&e.mask + e.low) | (b&e.mask + e.low) | (c&e.mask + e.low) | (d&e.mask + e.low)
		p = p[32:]
	}
	var rest [32]byte
	copy(rest[:], p)
	for i := 0; i < len(rest); i += 8 {
		found |= binary.LittleEndian.Uint64(rest[i:])&e.mask + e.low
	}
	return found&signs != 0
}

// count looks at the numbers of some rows in full precision.
func (t *weightTask) count(w *worker, lo, hi int64) error {
	full, err := t.numbers(w, lo, hi)
	if err != nil {
		return err
	}
	var over, nan, inf int64
	most := largest[t.to]
	for _, x := range full {
		switch f := float64(x); {
		case f != f:
			nan++
		case math.IsInf(f, 0):
			inf++
		case math.Abs(f) >= most:
			over++
		}
	}
	t.over.Add(over)
	t.nan.Add(nan)
	t.inf.Add(inf)
	return nil
}

// largest is, by target, the least number that becomes infinite: half a step
// above the largest one, which ties to even round up.
var largest = [...]float64{
	quant.BF16: 0x1.FFp127,
	quant.F16:  65520,
	quant.F32:  math.Inf(1),
}
