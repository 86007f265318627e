package view

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
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

// print prints the metadata of one model, or the keys that the flags name.
func (f *metadataFlags) print(ctx context.Context, s *run.Run, r *report.Report) error {
	if r.Err != nil {
		return nil
	}
	if s.JSON {
		return fault.Usage("--metadata and --key print text: amn parse --json prints the metadata too")
	}
	b := s.Policy.Limits.Budget(ctx)
	defer b.Close()
	report.Heading(s, r)
	found := map[string]bool{}
	for key, v := range r.Model.Meta() {
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
			s.PrintError(r.Path, err)
		}
	}
	return s.Out.Flush()
}

// metadataLine prints one key on one line.
func metadataLine(s *run.Run, b *limits.Budget, key string, v any) error {
	text, err := report.ShortValue(b, v)
	if err != nil {
		return err
	}
	s.Out.WriteString(term.Name(key) + " " + report.KindText(v) + " " + text + "\n")
	return nil
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
		for _, e := range report.Elements(v, wire.MaxMessage) {
			s.Out.WriteString(e + "\n")
		}
	case pth.Bytes:
		return printValue(s, b, string(v))
	default:
		s.Out.WriteString(report.ElementText(v, wire.MaxMessage) + "\n")
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
			text := report.ElementText(e, math.MaxInt)
			if place != "" {
				text = place + " " + text
			}
			s.Out.WriteString(text + "\n")
		}
		i++
	}
	return nil
}
