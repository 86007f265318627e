package cli

import (
	"context"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

// formatsCmd lists formats.
type formatsCmd struct{}

func (formatsCmd) Help() string {
	return `The content of a file decides its format, never its name. Files that are often found in place of
a model are refused by name, with advice.`
}

func (formatsCmd) Examples() []example {
	return []example{
		{"amn formats", "What is read, and what is not."},
	}
}

// Run implements the command.
func (formatsCmd) Run(_ context.Context, s *session) error {
	if s.json {
		jsonout.Write(s.out.Writer, func(o *jsonout.Object) {
			o.Field("schema", "amn.formats/1")
			o.List("formats", func(add func(func(*jsonout.Object))) {
				for _, f := range parser.Formats() {
					add(func(o *jsonout.Object) {
						o.Field("name", f.Name)
						o.Field("title", f.Title)
						o.Field("extensions", f.Extensions)
					})
				}
			})
			o.List("graphs", func(add func(func(*jsonout.Object))) {
				for _, f := range parser.Graphs() {
					add(func(o *jsonout.Object) {
						o.Field("name", f.Name)
						o.Field("title", f.Title)
						o.Field("extensions", f.Extensions)
					})
				}
			})
			schemes, refused := quant.Schemes()
			o.List("schemes", func(add func(func(*jsonout.Object))) {
				for _, q := range schemes {
					add(func(o *jsonout.Object) {
						o.Field("name", q.Name)
						o.Field("stores", q.Stores)
						o.Field("oracle", q.Oracle)
					})
				}
			})
			o.Field("schemes_refused", refused)
			o.Field("scaled", scaledNames())
			o.Field("mixes", mixNames())
			o.List("refused", func(add func(func(*jsonout.Object))) {
				for _, f := range parser.Recognized() {
					add(func(o *jsonout.Object) {
						o.Field("what", f.What)
						o.Field("advice", f.Advice)
					})
				}
			})
		})
		return s.out.WriteByte('\n')
	}
	s.printFormats()
	return nil
}

// printFormats writes the same for people.
func (s *session) printFormats() {
	s.out.Line("Read:")
	for _, f := range parser.Formats() {
		s.out.Line("  %-12s %-26s %s", f.Name, f.Title, strings.Join(f.Extensions, " "))
	}
	s.out.Line("")
	s.out.Line("Read too, of programs that carry their weights:")
	for _, f := range parser.Graphs() {
		s.out.Line("  %-12s %-26s %s", f.Name, f.Title, strings.Join(f.Extensions, " "))
	}
	schemes, refused := quant.Schemes()
	s.out.Line("")
	s.out.Line("Quantized weights decoded, bit for bit as by:")
	for _, q := range schemes {
		s.out.Line("  %-26s %s", q.Name, q.Oracle)
		s.out.Prose(6, "    %s", q.Stores)
	}
	s.out.Prose(4, "  known and refused: %s", strings.Join(refused, ", "))
	s.out.Line("")
	s.out.Line("Written by amn quantize --to:")
	for _, list := range byLibrary(targets(func(t *encode.Target) bool { return t.Layout() == "" })) {
		s.out.Line("  %s: %s", list[0].Library, strings.Join(namesOf(list), ", "))
	}
	for _, t := range scaledTargets() {
		s.out.Line("  %-26s %s", t.Name, t.Layout())
	}
	s.out.Prose(4, "  llama.cpp's mixes, of GGUF models: %s", strings.Join(mixNames(), ", "))
	s.out.Line("")
	s.out.Line("Refused by name, with what to do:")
	for _, f := range parser.Recognized() {
		s.out.Prose(4, "  %s: %s", f.What, f.Advice)
	}
}

// byLibrary groups targets by the library whose forms they are.
func byLibrary(all []*encode.Target) (lists [][]*encode.Target) {
	for i, t := range all {
		if i == 0 || t.Library != all[i-1].Library {
			lists = append(lists, nil)
		}
		last := &lists[len(lists)-1]
		*last = append(*last, t)
	}
	return lists
}

func namesOf(list []*encode.Target) (names []string) {
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names
}
