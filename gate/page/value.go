package page

import (
	"math"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// number is a scalar of metadata as JSON can hold it: what a reader of doubles would
// lose is text.
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

// float keeps the type: JSON has the fewest digits that make its bits.
func float(value any, v float64, bits int) any {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'g', -1, bits)
	}
	return value
}
