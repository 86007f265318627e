package page

import (
	"math"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// number returns a scalar of the metadata as JSON: as a string if a reader of doubles
// would lose digits.
func number(value any) any {
	switch v := value.(type) {
	case nil, bool:
		return v
	case float32:
		return float(v, float64(v), 32)
	case float64:
		return float(v, v, 64)
	case uint64:
		return strconv.FormatUint(v, 10)
	}
	if n, ok := wire.Integer(value); ok {
		return strconv.FormatInt(n, 10)
	}
	return nil
}

// float keeps the precision: JSON gets the fewest digits that restore the bits.
func float(value any, v float64, bits int) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, bits)
	}
	return value
}
