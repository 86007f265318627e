package view

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/browse"
	"github.com/anamnesis-go/anamnesis/stats"
)

// labelColumns is the width of the labels of a table of statistics.
const labelColumns = 10

// statLines are the rows of the table of statistics.
var statLines = []struct {
	label string
	text  func(d *stats.Detail) string
}{
	{"type", func(d *stats.Detail) string { return term.Type(d.Type) }},
	{"shape", func(d *stats.Detail) string { return term.Shape(d.Shape) }},
	{"read", func(d *stats.Detail) string {
		if d.Read < d.Elements {
			return "a sample of " + short(d.Read)
		}
		return "all " + short(d.Elements)
	}},
	{"min", func(d *stats.Detail) string { return finite(d, d.Min) }},
	{"max", func(d *stats.Detail) string { return finite(d, d.Max) }},
	{"mean", func(d *stats.Detail) string { return finite(d, d.Mean) }},
	{"std", func(d *stats.Detail) string { return finite(d, d.Std) }},
	{"norm", func(d *stats.Detail) string {
		return finite(d, math.Sqrt(float64(d.Read-d.NaN-d.Infinite))*math.Hypot(d.Mean, d.Std))
	}},
	{"zeros", func(d *stats.Detail) string {
		return strconv.FormatFloat(100*float64(d.Zeros)/float64(max(d.Read, 1)), 'f', 1, 64) + "%"
	}},
	{"NaN", func(d *stats.Detail) string { return term.Count(d.NaN) }},
	{"inf", func(d *stats.Detail) string { return term.Count(d.Infinite) }},
}

// finite writes a number of those that are finite.
func finite(d *stats.Detail, x float64) string {
	if d.Read == d.NaN+d.Infinite {
		return "-"
	}
	return strconv.FormatFloat(x, 'g', 4, 64)
}

// drawLook draws what was read of a tensor: a column for each subject.
func drawLook(l *look, columns int) (lines []browse.Line) {
	add := func(style browse.Style, text string) { lines = append(lines, browse.Line{Text: text, Style: style}) }
	if l.bytes != "" {
		add(browse.Plain, term.Pad("Stored:", term.LabelWidth)+l.bytes)
	}
	add(browse.Plain, "")
	if len(l.subjects) == 0 {
		add(browse.Dim, "reading")
		return lines
	}
	room := max((columns-labelColumns)/len(l.subjects), 8)
	row := func(style browse.Style, label string, cell func(*subject) string) {
		text := term.Pad(label, labelColumns)
		for _, s := range l.subjects {
			text += term.Pad(term.Cut(cell(s), room-1), room)
		}
		add(style, strings.TrimRight(text, " "))
	}
	row(browse.Bold, "", func(s *subject) string { return s.title })
	known := false
	for _, f := range statLines {
		row(badly(l, f.label), f.label+":", func(s *subject) string {
			switch {
			case s.detail == nil && s.failed == "" && f.label == "type":
				return "reading"
			case s.detail == nil:
				return ""
			case !s.detail.Numbers && f.label != "type" && f.label != "shape":
				return "-"
			}
			known = known || s.detail.Numbers
			return f.text(s.detail)
		})
	}
	for _, s := range l.subjects {
		switch {
		case s.failed != "":
			add(browse.Bad, s.title+": "+s.failed)
		case s.detail != nil && !s.detail.Numbers:
			add(browse.Dim, s.title+": numbers of this type are not decoded")
		}
	}
	if known {
		row(browse.Plain, "histogram", func(s *subject) string { return sparkOf(s, room-1) })
		row(browse.Dim, "", func(s *subject) string { return rangeOf(s) })
	}
	for _, s := range l.subjects {
		if s.detail != nil && s.detail.Numbers && s.detail.Read > 0 {
			lines = append(lines, drawDetail(s, columns)...)
		}
	}
	return lines
}

// badly is the style of a count that should be 0.
func badly(l *look, label string) browse.Style {
	for _, s := range l.subjects {
		if d := s.detail; d != nil && (label == "NaN" && d.NaN > 0 || label == "inf" && d.Infinite > 0) {
			return browse.Warning
		}
	}
	return browse.Plain
}

func sparkOf(s *subject, columns int) string {
	if s.detail == nil {
		return ""
	}
	return sparkline(bars(s.detail.Bins), columns)
}

// rangeOf is what the histogram reaches from and to.
func rangeOf(s *subject) string {
	if s.detail == nil || len(s.detail.Bins) == 0 {
		return ""
	}
	bins := s.detail.Bins
	return fmt.Sprintf("2^%d to 2^%d", bins[0].Exp, bins[len(bins)-1].Exp+1)
}

// drawDetail draws one subject: numbers, histogram, norms and heat map.
func drawDetail(s *subject, columns int) (lines []browse.Line) {
	d := s.detail
	head := func(text string) {
		lines = append(lines, browse.Line{}, browse.Line{Text: s.title + ": " + text, Style: browse.Bold})
	}
	plain := func(list ...string) { lines = append(lines, plainLines(list)...) }
	head("First numbers")
	plain(grid(d.Values, columns)...)
	if int64(len(d.Values)) < d.Elements {
		plain("...")
	}
	head("By magnitude")
	plain(histogram(d.Bins, columns)...)
	if len(d.RowNorms) > 1 {
		head("Root mean squares")
		plain("rows     "+sparkline(d.RowNorms, columns-9), "columns  "+sparkline(d.ColNorms, columns-9))
	}
	if d.GridRows > 1 && d.GridCols > 1 {
		head("Heat map of magnitudes")
		plain(heat(d, columns)...)
	}
	head("Largest")
	var largest []string
	for _, e := range d.Largest {
		largest = append(largest, fmt.Sprintf("[%d, %d] %s", e.Index/max(d.Cols, 1), e.Index%max(d.Cols, 1), numeral(e.Value)))
	}
	plain(strings.Join(largest, "  "))
	return lines
}

// numeral writes a number with the digits that tell it from others of its type.
func numeral(x float64) string {
	if float64(float32(x)) == x {
		return strconv.FormatFloat(x, 'g', -1, 32)
	}
	return strconv.FormatFloat(x, 'g', -1, 64)
}

// grid writes numbers in columns.
func grid(values []float64, columns int) (lines []string) {
	texts, cell := make([]string, len(values)), 14
	for k, x := range values {
		texts[k] = numeral(x)
		cell = max(cell, len(texts[k])+1)
	}
	perLine := min(max(columns/cell, 1), 8)
	for at := 0; at < len(values); at += perLine {
		line := ""
		for _, text := range texts[at:min(at+perLine, len(texts))] {
			line += term.PadLeft(text, cell-1) + " "
		}
		lines = append(lines, strings.TrimRight(line, " "))
	}
	return lines
}

// histogram draws counts by powers of two, the largest first.
func histogram(bins []stats.Bin, columns int) (lines []string) {
	var most int64
	for _, b := range bins {
		most = max(most, b.Negative+b.Positive)
	}
	room := max(min(columns-15, chartWidth), 4)
	for k := len(bins) - 1; k >= 0; k-- {
		n := bins[k].Negative + bins[k].Positive
		bar := int(math.Ceil(float64(n) / float64(most) * float64(room)))
		lines = append(lines, fmt.Sprintf("%6s %s %s", "2^"+strconv.Itoa(bins[k].Exp), strings.Repeat("█", bar), short(n)))
	}
	return lines
}

// shades are the signs of a heat map.
var shades = []rune(" ░▒▓█")

// mapLines is the most lines that a heat map takes.
const mapLines = 12

// heat draws the mean magnitudes of a tensor as a matrix.
func heat(d *stats.Detail, columns int) (lines []string) {
	high, wide := min(d.GridRows, mapLines), min(d.GridCols, columns)
	cells, most := make([]float64, high*wide), 0.0
	for y := range high {
		for x := range wide {
			sum, n := 0.0, 0
			for i := y * d.GridRows / high; i < (y+1)*d.GridRows/high; i++ {
				for j := x * d.GridCols / wide; j < (x+1)*d.GridCols/wide; j++ {
					if c := d.Grid[i*d.GridCols+j]; !math.IsNaN(c) {
						sum, n = sum+c, n+1
					}
				}
			}
			cells[y*wide+x] = sum / float64(max(n, 1))
			most = max(most, cells[y*wide+x])
		}
	}
	for y := range high {
		line := make([]rune, wide)
		for x := range line {
			line[x] = shades[0]
			if c := cells[y*wide+x]; c > 0 && !math.IsInf(most, 0) {
				line[x] = shades[min(1+int(c/most*float64(len(shades)-1)), len(shades)-1)]
			}
		}
		lines = append(lines, string(line))
	}
	return lines
}
