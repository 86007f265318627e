package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// Of a long array, shownElements elements of at most shownBytes each are shown.
const (
	shownElements = 5
	shownBytes    = 24
)

// KindText returns the type of a value, by the names of GGUF if it has the type.
func KindText(v any) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case bool:
		return "bool"
	case string:
		return "str"
	case pth.Bytes:
		return fmt.Sprintf("bytes[%d]", len(v))
	case float32:
		return "f32"
	case float64:
		return "f64"
	case complex128:
		return "c128"
	case gguf.Array:
		return v.String()
	case []any:
		return fmt.Sprintf("list[%d]", len(v))
	case npy.Fields:
		return fmt.Sprintf("fields[%d]", len(v))
	case pth.Array:
		return "array"
	case pth.Hollow:
		return "hollow"
	case pth.Sparse:
		return "sparse"
	default: // int8 to uint64
		return strings.Replace(strings.Replace(fmt.Sprintf("%T", v), "uint", "u", 1), "int", "i", 1)
	}
}

// ShortValue returns a value, cut to one line.
func ShortValue(b *limits.Budget, v any) (string, error) {
	switch v := v.(type) {
	case gguf.Array:
		var list []string
		for e, err := range v.All(b) {
			if err != nil {
				return "", err
			}
			if len(list) == shownElements {
				list = append(list, "...")
				break
			}
			list = append(list, ElementText(e, shownBytes))
		}
		return "[" + strings.Join(list, ", ") + "]", nil
	case []any, npy.Fields:
		list := Elements(v, shownBytes)
		if len(list) > shownElements {
			list = append(list[:shownElements], "...")
		}
		return "[" + strings.Join(list, ", ") + "]", nil
	default:
		return ElementText(v, wire.MaxQuoted), nil
	}
}

// Elements returns the elements of a list as text.
func Elements(v any, most int) (list []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			list = append(list, ElementText(e, most))
		}
	case npy.Fields:
		for _, f := range v {
			list = append(list, fieldText(&f, most))
		}
	}
	return list
}

// fieldText describes a field of a structured type: name, type, and the shape of an array.
func fieldText(f *npy.Field, most int) string {
	text := wire.Clean(f.Name, most) + " " + wire.Clean(f.Type, most)
	if f.Fields != nil {
		text += "[" + strings.Join(Elements(npy.Fields(f.Fields), most), ", ") + "]"
	}
	if f.Shape != nil {
		text += " " + term.Shape(f.Shape)
	}
	return text
}

// ElementText returns one value. Text is quoted and cut; a number has all digits that it
// needs to be read back equal.
func ElementText(v any, most int) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return `"` + wire.Clean(v, most) + `"`
	case pth.Bytes:
		return ElementText(string(v), most)
	case float32:
		return strconv.FormatFloat(float64(v), 'g', -1, 32)
	case pth.Array:
		return wire.Clean(v.DType, most) + " " + term.Shape(v.Shape)
	case pth.Hollow:
		return wire.Clean(v.Class, most) + " " + v.DType + " " + term.Shape(v.Shape)
	case pth.Sparse:
		return v.Layout + " " + term.Shape(v.Shape)
	default:
		return fmt.Sprint(v)
	}
}
