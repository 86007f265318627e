package config

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Parse reads a JSON value whole.
func Parse(b *limits.Budget, text strictjson.Text) (v jsontree.Value, err error) {
	err = strictjson.Decode(b, text, func(d *strictjson.Decoder) error {
		v, err = jsontree.Decode(b, d)
		return err
	})
	return v, err
}

// NodeCost is what an entry of a map or a slot of a list takes beside its text.
const NodeCost = 64

// Says returns a value as text: "" for null, false and what is empty, and "..." for a list or an
// object with something in it.
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
