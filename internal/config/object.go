package config

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Parse reads a whole JSON value into memory.
func Parse(b *limits.Budget, text strictjson.Text) (v jsontree.Value, err error) {
	err = strictjson.Decode(b, text, func(d *strictjson.Decoder) error {
		v, err = jsontree.Decode(b, d)
		return err
	})
	return v, err
}

// NodeCost is the memory of a map entry or a list slot, without its text.
const NodeCost = 64

// Says returns a value as text: "" for null, false and empty values, "..." for a list or an object
// that is not empty.
func Says(v jsontree.Value) string {
	if !v.There {
		return ""
	}
	switch v.Kind {
	case strictjson.Bool:
		if v.True() {
			return "true"
		}
		return ""
	case strictjson.String:
		return v.String()
	case strictjson.Number:
		f, _ := v.Float()
		return strconv.FormatFloat(f, 'g', -1, 64)
	case strictjson.Array:
		if len(v.List()) > 0 {
			return "..."
		}
	case strictjson.Object:
		if len(v.Names()) > 0 {
			return "..."
		}
	}
	return ""
}
