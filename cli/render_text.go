package cli

import (
	"bufio"
	"bytes"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A printer prints text for people.
type printer struct {
	*bufio.Writer

	columns int    // width of the terminal, 0 if it is none
	colours bool   // text is coloured
	paint   string // colour of the first word of the next line, once
	printed bool   // a file was printed, so that an empty line precedes the next
}

// labelWidth is the column at which the values of a summary begin; with an indent it is one
// less.
const labelWidth = 13

// line prints one line, cut to the terminal's width.
func (p *printer) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.columns > 0 {
		text = cutColumns(text, p.columns)
	}
	p.WriteString(strings.TrimRight(text, " "))
	p.WriteByte('\n')
}

// bytes prints a formatted line.
func (p *printer) bytes(text []byte) {
	if p.columns > 0 {
		p.line("%s", text)
		return
	}
	p.Write(bytes.TrimRight(text, " "))
	p.WriteByte('\n')
}

// prose prints text, wrapped to the terminal's width. The lines after the first are indented
// to column.
func (p *printer) prose(column int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.columns > 0 {
		column = min(column, p.columns/2)
		for rest, width := text, p.columns; rest != ""; width = p.columns - column {
			if text, rest = breakColumns(rest, width); rest != "" {
				p.WriteString(p.colour(text) + "\n" + pad("", column))
			}
		}
	}
	p.WriteString(p.colour(strings.TrimRight(text, " ")))
	p.WriteByte('\n')
}

// fact prints a label and a value, wrapped.
func (p *printer) fact(indent, label, value string) {
	p.prose(len(indent)+labelWidth, "%s%s", factLabel(indent, label), value)
}

// cutFact prints a label and a value, cut to one line.
func (p *printer) cutFact(indent, label, value string) {
	p.line("%s%s", factLabel(indent, label), value)
}

func factLabel(indent, label string) string {
	width := labelWidth
	if indent != "" {
		width--
	}
	return indent + pad(label+":", width)
}

// heading prints the path if there may be several, after an empty line.
func (s *session) heading(r *report) {
	if !r.named {
		return
	}
	if s.out.printed {
		s.out.line("")
	}
	s.out.printed = true
	s.out.prose(0, "%s:", showPath(r.path))
}

// printInspect prints a summary.
func (s *session) printInspect(r *report) error {
	if r.err != nil {
		return s.printUsage(r)
	}
	s.heading(r)
	v := viewOf(r.model)
	s.out.fact("", "Format", v.title)
	for _, f := range v.facts {
		s.out.fact("", f.label, f.value)
	}
	s.out.fact("", "Tensors", formatCount(r.total.Tensors))
	s.out.fact("", "Elements", formatCount(r.total.Elements))
	s.out.fact("", "Total size", formatBytes(r.total.Bytes))
	if len(r.groups) > 0 {
		s.out.cutFact("", "Dtypes", dtypes(r.groups))
	}
	for _, f := range v.last {
		s.out.fact("", f.label, f.value)
	}
	s.printPlan(r.planned)
	s.printParameters(r)
	s.printMemory(r)
	if meta := metadata(r.model, &v); meta != "" {
		s.out.cutFact("", "Metadata", meta)
	}
	s.out.fact("", "Data", dataWords(r.bodies()))
	s.printFindings("", r)
	return s.printUsage(r)
}

// dtypes returns "BF16 (98, 12.5 GB), F32 (2, 24 B)", or only the type if there is one.
func dtypes(groups []group) string {
	if len(groups) == 1 {
		return typeText(groups[0].Type)
	}
	var list []string
	for _, g := range groups {
		list = append(list, fmt.Sprintf("%s (%s, %s)", typeText(g.Type), formatCount(g.Tensors), formatBytes(g.Bytes)))
	}
	return strings.Join(list, ", ")
}

// typeText returns the name of a type, which may come from the file.
func typeText(name string) string { return wire.Clean(name, 32) }

// metadata lists the keys, with their values if those are short.
func metadata(m tensor.Model, v *view) string {
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
			text += " (" + formatCount(list.Len()) + ")"
		}
		list = append(list, text)
	}
	if n > most {
		list = append(list, fmt.Sprintf("and %s more", formatCount(n-most)))
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

func (s *session) printFindings(indent string, r *report) {
	found := r.model.Findings()
	if len(found) == 0 {
		return
	}
	s.out.fact(indent, "Findings", formatCount(int64(len(found))))
	for severity, text := range fewOf(found) {
		s.out.prose(len(indent)+11, "%s", indent+"  "+pad(severity.String(), 9)+text)
	}
}

// mostFindings is how many findings of one code are listed; a file may have one for each
// tensor.
const mostFindings = 3

// fewOf yields the first findings of each code, and how many more there are.
func fewOf(found []tensor.Finding) iter.Seq2[tensor.Severity, string] {
	return func(yield func(tensor.Severity, string) bool) {
		count := map[string]int64{}
		for _, f := range found {
			if count[f.Code]++; count[f.Code] <= mostFindings && !yield(f.Severity, tidy(f.String(), wire.MaxMessage)) {
				return
			}
		}
		for _, f := range found { // in the order in which they were found
			more := count[f.Code] - mostFindings
			if delete(count, f.Code); more > 0 && !yield(f.Severity, fmt.Sprintf("%s: %s more; --json lists them", f.Code, formatCount(more))) {
				return
			}
		}
	}
}

// printUsage prints how much of each limit the model used.
func (s *session) printUsage(r *report) error {
	if r.usage == nil {
		return nil
	}
	if r.err != nil {
		s.heading(r)
	}
	s.out.line("Limits:      most at once, of")
	for _, u := range r.usage {
		s.out.line("  %-14s %10s  %s", u.Axis, axisText(u.Axis, u.Peak), axisText(u.Axis, u.Limit))
	}
	return nil
}

// axisText returns a number of an axis with its unit.
func axisText(a limits.Axis, n int64) string {
	switch a {
	case limits.SingleAlloc, limits.Total, limits.WorkingSet:
		return formatBytes(n)
	case limits.InflateRatio, limits.ExpandRatio:
		return formatCount(n) + ":1"
	case limits.Time:
		if n < 0 {
			return "none"
		}
		return time.Duration(n).Round(10 * time.Microsecond).String()
	default:
		return formatCount(n)
	}
}

// printParse prints a table of tensors and the totals of their types.
func (s *session) printParse(r *report, list iter.Seq[tensor.Info]) error {
	if r.err != nil {
		return s.printUsage(r)
	}
	if s.out.printed {
		s.out.line("")
	}
	s.out.printed = true
	v := viewOf(r.model)
	s.out.prose(4, "Parsed %s (%s)", showPath(r.path), v.title)
	for _, f := range v.facts {
		s.out.fact("  ", f.label, f.value)
	}
	s.out.fact("  ", "Tensors", tensorCount(r))
	s.out.fact("  ", "Total size", formatBytes(r.total.Bytes))
	if len(r.groups) > 0 {
		s.out.cutFact("  ", "Dtypes", dtypes(r.groups))
	}
	for _, f := range v.last {
		s.out.fact("  ", f.label, f.value)
	}
	if v.shape != nil && r.total.Tensors > 0 {
		s.out.fact("  ", "Shapes", "fastest dimension first")
	}
	if text := otherValues(r.model); text != "" {
		s.out.cutFact("  ", "Values", text)
	}
	s.printFindings("  ", r)
	if r.total.Tensors > 0 {
		s.out.line("")
		s.printTensors(v, list)
		s.out.line("")
		s.printTotals(r)
	}
	return s.printUsage(r)
}

// tensorCount returns the number of listed tensors, "3 of 24" if some are not listed.
func tensorCount(r *report) string {
	if all := int64(r.model.Len()); all != r.total.Tensors {
		return formatCount(r.total.Tensors) + " of " + formatCount(all)
	}
	return formatCount(r.total.Tensors)
}

// The least widths of the table's columns, and the widest that a shape gets.
const minName, minType, minShape, maxShape = 30, 6, 15, 48

// sizeWidth is the width of the column of sizes.
const sizeWidth = 9

// printTensors prints a row per tensor. Columns are as wide as their widest cell; names are
// cut to fit the terminal.
func (s *session) printTensors(v view, list iter.Seq[tensor.Info]) {
	name, typ, shape := 0, minType, 0
	shared := map[storage]int{}
	for i := range list {
		name = max(name, columns(nameText(i.Name)))
		typ = max(typ, columns(typeText(i.TypeName())))
		shape = min(max(shape, columns(v.shapeText(&i))), maxShape)
		if i.Storage != "" {
			shared[storage{i.Part, i.Storage}]++
		}
	}
	if rest := len("    ") + typ + shape + sizeWidth + 1; s.out.columns > 0 && name+rest > s.out.columns {
		name = max(s.out.columns-rest, 12)
	} else {
		name, shape = max(name, minName), max(shape, minShape)
		if s.out.columns > 0 {
			name = min(name, max(s.out.columns-len("    ")-typ-shape-sizeWidth-1, 12))
		}
	}
	for i := range list {
		s.out.line("  %s %s %s %s%s",
			pad(cutName(nameText(i.Name), name), name), pad(typeText(i.TypeName()), typ),
			pad(cutColumns(v.shapeText(&i), shape), shape), padLeft(sizeText(&i), sizeWidth), noteText(&i, shared))
	}
}

// nameText returns a whole name, cleaned for terminals.
func nameText(name string) string { return wire.Clean(name, 16*len(name)+16) }

func (v *view) shapeText(i *tensor.Info) string {
	if v.shape != nil {
		return formatShape(v.shape(i.Shape))
	}
	return formatShape(i.Shape)
}

func sizeText(i *tensor.Info) string { return formatBytes(i.Bytes()) }

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
func (s *session) printTotals(r *report) {
	rows := r.groups
	if len(rows) > 1 {
		rows = append(rows[:len(rows):len(rows)], r.total)
		rows[len(rows)-1].Type = "total"
	}
	typ, count, elems := minType, 0, 0
	for _, g := range rows {
		typ = max(typ, columns(typeText(g.Type)))
		count = max(count, len(plural(g.Tensors, "tensor")))
		elems = max(elems, len(plural(g.Elements, "element")))
	}
	for _, g := range rows {
		s.out.line("  %s  %-*s  %-*s %s", pad(typeText(g.Type), typ), count, plural(g.Tensors, "tensor"),
			elems, plural(g.Elements, "element"), padLeft(formatBytes(g.Bytes), sizeWidth))
	}
}
