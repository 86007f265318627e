package term

import (
	"bufio"
	"bytes"
	"fmt"
	"strings"
)

// A Printer prints text for people.
type Printer struct {
	*bufio.Writer

	Columns int    // width of the terminal, 0 for other outputs
	Colours bool   // text is coloured
	Paint   string // colour of the first word of the next line, once
	Printed bool   // a file was printed, so that an empty line precedes the next
}

// LabelWidth is the column at which the values of a summary begin; with an indent it is one
// less.
const LabelWidth = 13

// Line prints one line, cut to the terminal's width.
func (p *Printer) Line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.Columns > 0 {
		text = Cut(text, p.Columns)
	}
	p.WriteString(strings.TrimRight(text, " "))
	p.WriteByte('\n')
}

// LineOf prints a formatted line.
func (p *Printer) LineOf(text []byte) {
	if p.Columns > 0 {
		p.Line("%s", text)
		return
	}
	p.Write(bytes.TrimRight(text, " "))
	p.WriteByte('\n')
}

// Prose prints text, wrapped to the terminal's width. The lines after the first are indented
// to column.
func (p *Printer) Prose(column int, format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if p.Columns > 0 {
		column = min(column, p.Columns/2)
		for rest, width := text, p.Columns; rest != ""; width = p.Columns - column {
			if text, rest = Break(rest, width); rest != "" {
				p.WriteString(p.colour(text) + "\n" + Pad("", column))
			}
		}
	}
	p.WriteString(p.colour(strings.TrimRight(text, " ")))
	p.WriteByte('\n')
}

// Fact prints a label and a value, wrapped.
func (p *Printer) Fact(indent, label, value string) {
	p.Prose(len(indent)+LabelWidth, "%s%s", factLabel(indent, label), value)
}

// CutFact prints a label and a value, cut to one line.
func (p *Printer) CutFact(indent, label, value string) {
	p.Line("%s%s", factLabel(indent, label), value)
}

func factLabel(indent, label string) string {
	width := LabelWidth
	if indent != "" {
		width--
	}
	return indent + Pad(label+":", width)
}

// MinLast is the least width of a name in the last column of a table, since names differ at
// their ends.
const MinLast = 12

// LastName returns a name, cut for the last column of a table. If the other columns leave less
// than MinLast, the name stays whole, and the terminal breaks the line.
func (p *Printer) LastName(text string, used int) string {
	if p.Columns-used < MinLast {
		return text
	}
	return CutName(text, p.Columns-used)
}

// colour paints the first word of a line if p.Paint is set. It is called after the columns
// of the line were counted.
func (p *Printer) colour(line string) string {
	code := p.Paint
	p.Paint = ""
	if code == "" || !p.Colours {
		return line
	}
	word := strings.TrimLeft(line, " ")
	end := strings.IndexAny(word, " :")
	if end < 0 {
		end = len(word)
	}
	begin := len(line) - len(word)
	return line[:begin] + "\x1b[" + code + "m" + word[:end] + "\x1b[0m" + word[end:]
}
