package about

import (
	"context"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/targets"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Formats lists formats.
type Formats struct{}

func (Formats) Help() string {
	return `The content of a file decides its format, never its name. Files that are often found in place of
a model are refused by name, with advice.`
}

func (Formats) Examples() []run.Example {
	return []run.Example{
		{Command: "amn formats", What: "What is read, and what is not."},
	}
}

// Run implements the command.
func (Formats) Run(_ context.Context, s *run.Run) error {
	if s.JSON {
		jsonout.Write(s.Out.Writer, func(o *jsonout.Object) {
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
			o.Field("scaled", targets.ScaledNames())
			o.Field("mixes", targets.MixNames())
			o.List("refused", func(add func(func(*jsonout.Object))) {
				for _, f := range parser.Recognized() {
					add(func(o *jsonout.Object) {
						o.Field("what", f.What)
						o.Field("advice", f.Advice)
					})
				}
			})
		})
		return s.Out.WriteByte('\n')
	}
	printFormats(s)
	return nil
}

// printFormats writes the same for people.
func printFormats(s *run.Run) {
	s.Out.Line("Read:")
	for _, f := range parser.Formats() {
		s.Out.Line("  %-12s %-26s %s", f.Name, f.Title, strings.Join(f.Extensions, " "))
	}
	s.Out.Line("")
	s.Out.Line("Read too, of programs that carry their weights:")
	for _, f := range parser.Graphs() {
		s.Out.Line("  %-12s %-26s %s", f.Name, f.Title, strings.Join(f.Extensions, " "))
	}
	schemes, refused := quant.Schemes()
	s.Out.Line("")
	s.Out.Line("Quantized weights decoded, bit for bit as by:")
	for _, q := range schemes {
		s.Out.Line("  %-26s %s", q.Name, q.Oracle)
		s.Out.Prose(6, "    %s", q.Stores)
	}
	s.Out.Prose(4, "  known and refused: %s", strings.Join(refused, ", "))
	s.Out.Line("")
	s.Out.Line("Written by amn quantize --to:")
	for _, list := range byLibrary(targets.Of(func(t *encode.Target) bool { return t.Layout() == "" })) {
		s.Out.Line("  %s: %s", list[0].Library, strings.Join(targets.NamesOf(list), ", "))
	}
	for _, t := range targets.ScaledTargets() {
		s.Out.Line("  %-26s %s", t.Name, t.Layout())
	}
	s.Out.Prose(4, "  llama.cpp's mixes, of GGUF models: %s", strings.Join(targets.MixNames(), ", "))
	s.Out.Line("")
	s.Out.Line("Refused by name, with what to do:")
	for _, f := range parser.Recognized() {
		s.Out.Prose(4, "  %s: %s", f.What, f.Advice)
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
