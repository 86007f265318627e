package cli

import (
	"context"
	"strings"

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

func (formatsCmd) examples() []example {
	return []example{
		{"amn formats", "What is read, and what is not."},
	}
}

// Run implements the command.
func (formatsCmd) Run(_ context.Context, s *session) error {
	if s.json {
		object(s.out.Writer, func(o *jsonObject) {
			o.field("schema", "amn.formats/1")
			o.list("formats", func(add func(func(*jsonObject))) {
				for _, f := range parser.Formats() {
					add(func(o *jsonObject) {
						o.field("name", f.Name)
						o.field("title", f.Title)
						o.field("extensions", f.Extensions)
					})
				}
			})
			o.list("graphs", func(add func(func(*jsonObject))) {
				for _, f := range parser.Graphs() {
					add(func(o *jsonObject) {
						o.field("name", f.Name)
						o.field("title", f.Title)
						o.field("extensions", f.Extensions)
					})
				}
			})
			schemes, refused := quant.Schemes()
			o.list("schemes", func(add func(func(*jsonObject))) {
				for _, q := range schemes {
					add(func(o *jsonObject) {
						o.field("name", q.Name)
						o.field("stores", q.Stores)
						o.field("oracle", q.Oracle)
					})
				}
			})
			o.field("schemes_refused", refused)
			o.field("scaled", scaledNames())
			o.field("mixes", mixNames())
			o.list("refused", func(add func(func(*jsonObject))) {
				for _, f := range parser.Recognized() {
					add(func(o *jsonObject) {
						o.field("what", f.What)
						o.field("advice", f.Advice)
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
	s.out.line("Read:")
	for _, f := range parser.Formats() {
		s.out.line("  %-12s %-26s %s", f.Name, f.Title, strings.Join(f.Extensions, " "))
	}
	s.out.line("")
	s.out.line("Read too, of programs that carry their weights:")
	for _, f := range parser.Graphs() {
		s.out.line("  %-12s %-26s %s", f.Name, f.Title, strings.Join(f.Extensions, " "))
	}
	schemes, refused := quant.Schemes()
	s.out.line("")
	s.out.line("Quantized weights decoded, bit for bit as by:")
	for _, q := range schemes {
		s.out.line("  %-26s %s", q.Name, q.Oracle)
		s.out.prose(6, "    %s", q.Stores)
	}
	s.out.prose(4, "  known and refused: %s", strings.Join(refused, ", "))
	s.out.line("")
	s.out.line("Written by amn quantize --to:")
	for _, list := range byLibrary(targets(func(t *encode.Target) bool { return t.Layout() == "" })) {
		s.out.line("  %s: %s", list[0].Library, strings.Join(namesOf(list), ", "))
	}
	for _, t := range scaledTargets() {
		s.out.line("  %-26s %s", t.Name, t.Layout())
	}
	s.out.prose(4, "  llama.cpp's mixes, of GGUF models: %s", strings.Join(mixNames(), ", "))
	s.out.line("")
	s.out.line("Refused by name, with what to do:")
	for _, f := range parser.Recognized() {
		s.out.prose(4, "  %s: %s", f.What, f.Advice)
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
