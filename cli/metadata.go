package cli

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/pth"
)

// metadataFlags make amn parse print metadata instead of tensors.
type metadataFlags struct {
	Metadata bool     `help:"Print the metadata instead: key, type and value, one key per line, long texts and arrays cut."`
	Key      []string `placeholder:"KEY" help:"Print the whole value of a key: a text as it is, an array with one element per line. Repeatable."`
}

func (f *metadataFlags) enabled() bool { return f.Metadata || len(f.Key) > 0 }

// Of a long array, shownElements elements of at most shownBytes each are shown.
const (
	shownElements = 5
	shownBytes    = 24
)

// print prints the metadata of one model, or the keys that the flags name.
func (f *metadataFlags) print(ctx context.Context, s *run.Run, r *report) error {
	if r.err != nil {
		return nil
	}
	if s.JSON {
		return fault.Usage("--metadata and --key print text: amn parse --json prints the metadata too")
	}
	b := s.Policy.Limits.Budget(ctx)
	defer b.Close()
	heading(s, r)
	found := map[string]bool{}
	for key, v := range r.model.Meta() {
		if len(f.Key) == 0 {
			if err := metadataLine(s, b, key, v); err != nil {
				return err
			}
			continue
		}
		for _, want := range f.Key {
			if want == key && !found[key] {
				found[key] = true
				if err := printValue(s, b, v); err != nil {
					return err
				}
			}
		}
	}
	for _, want := range f.Key {
		if !found[want] {
			err := fault.Usage("no key " + wire.Quote(want) + "; --metadata lists them")
			s.Count.Note(err)
			s.PrintError(r.path, err)
		}
	}
	return s.Out.Flush()
}

// metadataLine prints one key on one line.
func metadataLine(s *run.Run, b *limits.Budget, key string, v any) error {
	text, err := shortValue(b, v)
	if err != nil {
		return err
	}
	s.Out.WriteString(term.Name(key) + " " + kindText(v) + " " + text + "\n")
	return nil
}

// kindText returns the type of a value, by the names of GGUF if it has the type.
func kindText(v any) string {
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

// shortValue returns a value, cut to one line.
func shortValue(b *limits.Budget, v any) (string, error) {
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
			list = append(list, elementText(e, shownBytes))
		}
		return "[" + strings.Join(list, ", ") + "]", nil
	case []any, npy.Fields:
		list := elements(v, shownBytes)
		if len(list) > shownElements {
			list = append(list[:shownElements], "...")
		}
		return "[" + strings.Join(list, ", ") + "]", nil
	default:
		return elementText(v, wire.MaxQuoted), nil
	}
}

// elements returns the elements of a list as text.
func elements(v any, most int) (list []string) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			list = append(list, elementText(e, most))
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
		text += "[" + strings.Join(elements(npy.Fields(f.Fields), most), ", ") + "]"
	}
	if f.Shape != nil {
		text += " " + term.Shape(f.Shape)
	}
	return text
}

// elementText returns one value. Text is quoted and cut; a number has all digits that it
// needs to be read back equal.
func elementText(v any, most int) string {
	switch v := v.(type) {
	case nil:
		return "none"
	case string:
		return `"` + wire.Clean(v, most) + `"`
	case pth.Bytes:
		return elementText(string(v), most)
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

// printValue prints a whole value: text line by line, arrays element by element.
func printValue(s *run.Run, b *limits.Budget, v any) error {
	switch v := v.(type) {
	case string:
		for line := range strings.SplitSeq(v, "\n") {
			s.Out.WriteString(term.Tidy(line, 16*len(line)+16) + "\n")
		}
	case gguf.Array:
		return printArray(s, b, v, "")
	case []any, npy.Fields:
		for _, e := range elements(v, wire.MaxMessage) {
			s.Out.WriteString(e + "\n")
		}
	case pth.Bytes:
		return printValue(s, b, string(v))
	default:
		s.Out.WriteString(elementText(v, wire.MaxMessage) + "\n")
	}
	return nil
}

// printArray prints the elements of an array. Those of nested arrays are preceded by place,
// their indices.
func printArray(s *run.Run, b *limits.Budget, a gguf.Array, place string) error {
	i := 0
	for e, err := range a.All(b) {
		if err != nil {
			return err
		}
		if inner, ok := e.(gguf.Array); ok {
			at := fmt.Sprintf("%s[%d]", place, i)
			if inner.Len() == 0 {
				s.Out.WriteString(at + " " + inner.String() + "\n")
			}
			if err := printArray(s, b, inner, at); err != nil {
				return err
			}
		} else {
			text := elementText(e, math.MaxInt)
			if place != "" {
				text = place + " " + text
			}
			s.Out.WriteString(text + "\n")
		}
		i++
	}
	return nil
}
