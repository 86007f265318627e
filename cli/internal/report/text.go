package report

import (
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Heading prints the path if there may be several, after an empty line.
func Heading(s *run.Run, r *Report) {
	if !r.named {
		return
	}
	if s.Out.Printed {
		s.Out.Line("")
	}
	s.Out.Printed = true
	s.Out.Prose(0, "%s:", term.Path(r.Path))
}

// PrintInspect prints a summary.
func PrintInspect(s *run.Run, r *Report) error {
	if r.Err != nil {
		return PrintUsage(s, r)
	}
	Heading(s, r)
	v := ViewOf(r.Model)
	s.Out.Fact("", "Format", v.Title)
	for _, f := range v.facts {
		s.Out.Fact("", f.label, f.value)
	}
	s.Out.Fact("", "Tensors", term.Count(r.Total.Tensors))
	s.Out.Fact("", "Elements", term.Count(r.Total.Elements))
	s.Out.Fact("", "Total size", term.Bytes(r.Total.Bytes))
	if len(r.groups) > 0 {
		s.Out.CutFact("", "Dtypes", dtypes(r.groups))
	}
	for _, f := range v.last {
		s.Out.Fact("", f.label, f.value)
	}
	printPlan(s, r.planned)
	printParameters(s, r)
	printMemory(s, r)
	if meta := metadata(r.Model, &v); meta != "" {
		s.Out.CutFact("", "Metadata", meta)
	}
	s.Out.Fact("", "Data", DataWords(r.Bodies()))
	printFindings(s, "", r)
	return PrintUsage(s, r)
}

// dtypes returns "BF16 (98, 12.5 GiB), F32 (2, 24 B)", or only the type if there is one.
func dtypes(groups []Group) string {
	if len(groups) == 1 {
		return term.Type(groups[0].Type)
	}
	var list []string
	for _, g := range groups {
		list = append(list, fmt.Sprintf("%s (%s, %s)", term.Type(g.Type), term.Count(g.Tensors), term.Bytes(g.Bytes)))
	}
	return strings.Join(list, ", ")
}

// metadata lists the keys, with their values if those are short.
func metadata(m tensor.Model, v *View) string {
	const most = 8
	var list []string
	n := int64(0)
	for key, value := range m.Meta() {
		if v.hidden != nil && v.hidden(key) {
			continue
		}
		if n++; n > most {
			continue
		}
		text := wire.Clean(key, wire.MaxQuoted)
		if short := scalarText(value); short != "" {
			text += "=" + short
		} else if list, ok := value.(interface{ Len() int64 }); ok {
			text += " (" + term.Count(list.Len()) + ")"
		}
		list = append(list, text)
	}
	if n > most {
		list = append(list, fmt.Sprintf("and %s more", term.Count(n-most)))
	}
	return strings.Join(list, ", ")
}

// scalarText returns a value of metadata that fits on a line, else "".
func scalarText(v any) string {
	switch v := v.(type) {
	case string:
		return wire.Clean(v, wire.MaxQuoted)
	case bool, int8, int16, int32, int64, int, uint8, uint16, uint32, uint64, uint, float32, float64:
		return fmt.Sprint(v)
	default:
		return ""
	}
}

func printFindings(s *run.Run, indent string, r *Report) {
	found := r.Model.Findings()
	if len(found) == 0 {
		return
	}
	s.Out.Fact(indent, "Findings", term.Count(int64(len(found))))
	for severity, text := range FewOf(found) {
		s.Out.Prose(len(indent)+11, "%s", indent+"  "+term.Pad(severity.String(), 9)+text)
	}
}

// mostFindings is how many findings of one code are listed; a file may have one for each
// tensor.
const mostFindings = 3

// FewOf yields the first findings of each code, and how many more there are.
func FewOf(found []tensor.Finding) iter.Seq2[tensor.Severity, string] {
	return func(yield func(tensor.Severity, string) bool) {
		count := map[string]int64{}
		for _, f := range found {
			if count[f.Code]++; count[f.Code] <= mostFindings && !yield(f.Severity, term.Tidy(f.String(), wire.MaxMessage)) {
				return
			}
		}
		for _, f := range found { // in the order in which they were found
			more := count[f.Code] - mostFindings
			if delete(count, f.Code); more > 0 && !yield(f.Severity, fmt.Sprintf("%s: %s more; --json lists them", f.Code, term.Count(more))) {
				return
			}
		}
	}
}

// PrintUsage prints how much of each limit the model used.
func PrintUsage(s *run.Run, r *Report) error {
	if r.usage == nil {
		return nil
	}
	if r.Err != nil {
		Heading(s, r)
	}
	s.Out.Line("Limits:      most at once, of")
	for _, u := range r.usage {
		s.Out.Line("  %-14s %10s  %s", u.Axis, axisText(u.Axis, u.Peak), axisText(u.Axis, u.Limit))
	}
	return nil
}

// axisText returns a number of an axis with its unit.
func axisText(a limits.Axis, n int64) string {
	switch a {
	case limits.SingleAlloc, limits.Total, limits.WorkingSet:
		return term.Bytes(n)
	case limits.InflateRatio, limits.ExpandRatio:
		return term.Count(n) + ":1"
	case limits.Time:
		if n < 0 {
			return "none"
		}
		return time.Duration(n).Round(10 * time.Microsecond).String()
	default:
		return term.Count(n)
	}
}

// PrintParse prints a table of tensors and the totals of their types.
func PrintParse(s *run.Run, r *Report, list iter.Seq[tensor.Info]) error {
	if r.Err != nil {
		return PrintUsage(s, r)
	}
	if s.Out.Printed {
		s.Out.Line("")
	}
	s.Out.Printed = true
	v := ViewOf(r.Model)
	s.Out.Prose(4, "Parsed %s (%s)", term.Path(r.Path), v.Title)
	for _, f := range v.facts {
		s.Out.Fact("  ", f.label, f.value)
	}
	s.Out.Fact("  ", "Tensors", tensorCount(r))
	s.Out.Fact("  ", "Total size", term.Bytes(r.Total.Bytes))
	if len(r.groups) > 0 {
		s.Out.CutFact("  ", "Dtypes", dtypes(r.groups))
	}
	for _, f := range v.last {
		s.Out.Fact("  ", f.label, f.value)
	}
	if v.Shape != nil && r.Total.Tensors > 0 {
		s.Out.Fact("  ", "Shapes", "fastest dimension first")
	}
	if text := OtherValues(r.Model); text != "" {
		s.Out.CutFact("  ", "Values", text)
	}
	printFindings(s, "  ", r)
	if r.Total.Tensors > 0 {
		s.Out.Line("")
		printTensors(s, v, list)
		s.Out.Line("")
		printTotals(s, r)
	}
	return PrintUsage(s, r)
}

// tensorCount returns the number of listed tensors, "3 of 24" if some are not listed.
func tensorCount(r *Report) string {
	if all := int64(r.Model.Len()); all != r.Total.Tensors {
		return term.Count(r.Total.Tensors) + " of " + term.Count(all)
	}
	return term.Count(r.Total.Tensors)
}

// The least widths of the table's columns, and the widest that a shape gets.
const minName, minType, minShape, maxShape = 30, 6, 15, 48

// printTensors prints a row per tensor. Columns are as wide as their widest cell; names are
// cut to fit the terminal.
func printTensors(s *run.Run, v View, list iter.Seq[tensor.Info]) {
	name, typ, shape := 0, minType, 0
	shared := map[storage]int{}
	for i := range list {
		name = max(name, term.Width(term.Name(i.Name)))
		typ = max(typ, term.Width(term.Type(i.TypeName())))
		shape = min(max(shape, term.Width(v.ShapeText(&i))), maxShape)
		if i.Storage != "" {
			shared[storage{i.Part, i.Storage}]++
		}
	}
	if rest := len("    ") + typ + shape + term.SizeWidth + 1; s.Out.Columns > 0 && name+rest > s.Out.Columns {
		name = max(s.Out.Columns-rest, 12)
	} else {
		name, shape = max(name, minName), max(shape, minShape)
		if s.Out.Columns > 0 {
			name = min(name, max(s.Out.Columns-len("    ")-typ-shape-term.SizeWidth-1, 12))
		}
	}
	for i := range list {
		s.Out.Line("  %s %s %s %s%s",
			term.Pad(term.CutName(term.Name(i.Name), name), name), term.Pad(term.Type(i.TypeName()), typ),
			term.Pad(term.Cut(v.ShapeText(&i), shape), shape), term.PadLeft(SizeText(&i), term.SizeWidth), noteText(&i, shared))
	}
}

func (v *View) ShapeText(i *tensor.Info) string {
	if v.Shape != nil {
		return term.Shape(v.Shape(i.Shape))
	}
	return term.Shape(i.Shape)
}

func SizeText(i *tensor.Info) string { return term.Bytes(i.Bytes()) }

// A storage identifies bytes that several tensors may share.
type storage struct {
	part int32
	name string
}

// noteText returns what is unusual about the storage of a tensor.
func noteText(i *tensor.Info, shared map[storage]int) string {
	var notes []string
	if i.Order == tensor.Big {
		notes = append(notes, "big-endian")
	}
	if i.Strides != nil {
		notes = append(notes, "strided")
	}
	if i.Storage != "" && shared[storage{i.Part, i.Storage}] > 1 {
		notes = append(notes, "shared storage")
	}
	if len(notes) == 0 {
		return ""
	}
	return "  " + strings.Join(notes, ", ")
}

// printTotals prints a row per type.
func printTotals(s *run.Run, r *Report) {
	rows := r.groups
	if len(rows) > 1 {
		rows = append(rows[:len(rows):len(rows)], r.Total)
		rows[len(rows)-1].Type = "total"
	}
	typ, count, elems := minType, 0, 0
	for _, g := range rows {
		typ = max(typ, term.Width(term.Type(g.Type)))
		count = max(count, len(term.Plural(g.Tensors, "tensor")))
		elems = max(elems, len(term.Plural(g.Elements, "element")))
	}
	for _, g := range rows {
		s.Out.Line("  %s  %-*s  %-*s %s", term.Pad(term.Type(g.Type), typ), count, term.Plural(g.Tensors, "tensor"),
			elems, term.Plural(g.Elements, "element"), term.PadLeft(term.Bytes(g.Bytes), term.SizeWidth))
	}
}
