package view

import (
	"context"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/internal/browse"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// open shows the page of a row.
func (v *viewer) open(ctx context.Context, at place) {
	row := at.row
	if row < 0 {
		v.model.Show(browse.Page{})
		return
	}
	switch at.tab {
	case tensorsTab:
		v.openTensor(ctx, row)
	case metaTab:
		v.openValue(row)
	case findingsTab:
		f := v.findings[row]
		lines := []browse.Line{{Text: f.kind, Style: f.style}, {Text: "Rule:   " + f.rule}}
		if f.where != "" {
			lines = append(lines, browse.Line{Text: "Where:  " + f.where})
		}
		if f.off >= 0 {
			lines = append(lines, browse.Line{Text: fmt.Sprintf("Offset: 0x%x", f.off)})
		}
		v.model.Show(browse.Page{Title: f.rule, Lines: append(lines, browse.Line{}, browse.Line{Text: f.text})})
	case summaryTab:
		v.model.Show(browse.Page{Title: "Summary", Lines: plainLines(v.summary())})
	default:
		g := &v.globals[row]
		v.model.Show(browse.Page{Title: wire.Clean(g.Name, 256), Lines: []browse.Line{
			{Text: g.Status, Style: globalStyles[g.Status]}, {Text: "Pickle: " + wire.Clean(g.Pickle, 256)},
			{Text: fmt.Sprintf("Offset: 0x%x", g.Offset)}, {Text: "Uses:   " + term.Count(g.Uses)},
		}})
	}
}

func plainLines(list []string) (lines []browse.Line) {
	for _, text := range list {
		lines = append(lines, browse.Line{Text: text})
	}
	return lines
}

// maxElements is the number of array elements that a page lists.
const maxElements = 5000

// openValue shows a whole value of the metadata; of a long array, the beginning.
func (v *viewer) openValue(row int) {
	m := &v.meta[row]
	var text []string
	switch value := m.value.(type) {
	case gguf.Array:
		n := 0
		for e, err := range value.All(v.b) {
			if err != nil {
				text = append(text, term.Tidy(err.Error(), wire.MaxMessage))
				break
			}
			if n++; n > maxElements {
				text = append(text, "... (amn parse --key prints all)")
				break
			}
			text = append(text, report.ElementText(e, wire.MaxMessage))
		}
	case []any, npy.Fields:
		if text = report.Elements(value, wire.MaxMessage); len(text) > maxElements {
			text = append(text[:maxElements], "... (amn parse --key prints all)")
		}
	default:
		text = capture(v.s, func(s *run.Run) { _ = printValue(s, v.b, value) })
	}
	lines := []browse.Line{{Text: report.KindText(m.value), Style: browse.Dim}, {}}
	v.model.Show(browse.Page{Title: term.Name(m.key), Lines: append(lines, plainLines(text)...)})
}

// tensorFacts returns what the container states about a tensor.
func tensorFacts(m tensor.Model, i *tensor.Info) []browse.Line {
	look := report.ViewOf(m)
	list := [][2]string{{"Type", term.Type(i.TypeName())}}
	if i.Stored != "" && i.Stored != i.TypeName() {
		list = append(list, [2]string{"Stored as", wire.Clean(i.Stored, 64)})
	}
	list = append(list, [2]string{"Shape", look.ShapeText(i)})
	if look.Shape != nil {
		list = append(list, [2]string{"", "(fastest dimension first)"})
	}
	if i.Strides != nil {
		list = append(list, [2]string{"Strides", fmt.Sprintf("%s, from element %s", term.Shape(i.Strides), term.Count(i.Offset))})
	}
	list = append(list, [2]string{"Elements", term.Count(i.Elements())}, [2]string{"Size", fmt.Sprintf("%s (%s bytes)", term.Bytes(i.Bytes()), term.Count(i.Bytes()))})
	place := fmt.Sprintf("0x%x, %s bytes", i.Span.Off, term.Count(i.Span.Len))
	if s, ok := m.(report.Sharded); ok && int(i.Part) < len(s.FileNames()) {
		place += " of " + term.Path(s.FileNames()[i.Part])
	}
	if _, ok := m.At(*i); !ok {
		place += ", inflated"
	}
	list = append(list, [2]string{"Offset", place})
	if i.Storage != "" {
		list = append(list, [2]string{"Storage", wire.Clean(i.Storage, 256)})
	}
	if i.Order == tensor.Big {
		list = append(list, [2]string{"Order", "big-endian"})
	}
	var lines []browse.Line
	for _, f := range list {
		label := ""
		if f[0] != "" {
			label = f[0] + ":"
		}
		lines = append(lines, browse.Line{Text: term.Pad(label, term.LabelWidth) + f[1]})
	}
	return lines
}

// judge asks the gate in the background, and shows the verdict among the findings.
func (v *viewer) judge(ctx context.Context) {
	if v.second != nil {
		v.model.SetStatus("Of two models none is judged here; amn scan judges both.")
		return
	}
	if v.r.Path == "-" || run.IsAddress(v.r.Path) || strings.HasPrefix(v.r.Path, "ollama:") {
		v.model.SetStatus("Only files and folders are judged here; amn scan judges other sources.")
		return
	}
	if v.judging {
		return
	}
	v.judging = true
	v.model.SetStatus("Judging: reading the whole file.")
	v.background(ctx, func(b *limits.Budget) func() {
		j, err := judge(v.s, b, v.r)
		if err == nil {
			defer j.Close()
		}
		if err != nil || j.v == nil {
			return func() {
				v.judging = false
				if err == nil {
					err = v.r.Err
				}
				v.model.SetStatus("Cannot be judged: " + term.Tidy(fault.Text(err), wire.MaxMessage))
			}
		}
		r, err := page.New(b, v.r.Path, j.size, nil, j.v)
		if err != nil {
			return func() { v.model.SetStatus(term.Tidy(fault.Text(err), wire.MaxMessage)) }
		}
		class := j.v.Class()
		return func() {
			v.s.Count.Worst = max(v.s.Count.Worst, class)
			v.showVerdict(r)
		}
	})
}

// showVerdict shows a verdict.
func (v *viewer) showVerdict(r *page.Report) {
	row := findingRow{"accepted", browse.Good, r.Verdict.Class, "", -1, "A scan accepts it"}
	if !r.Verdict.Accepted {
		row = findingRow{"refused", browse.Bad, r.Verdict.Class, "", -1, "A scan refuses it"}
	}
	v.model.SetVerdict(row.kind, row.style)
	row.text += ": data " + report.DataWords(r.Verdict.Bodies)
	if r.Verdict.WeightsOnly != "" {
		row.text += "; torch.load(weights_only=True): " + r.Verdict.WeightsOnly
	}
	if len(r.Verdict.Loaders) > 0 {
		row.text += "; loaders: " + strings.Join(r.Verdict.Loaders, ", ")
	}
	styles := map[string]browse.Style{"refusal": browse.Bad, "danger": browse.Bad, "warning": browse.Warning, "note": browse.Note}
	v.findings = []findingRow{row}
	for _, f := range r.Verdict.Findings {
		next := findingRow{f.Severity, styles[f.Severity], f.Rule, f.Where, -1, f.Text}
		if f.Offset != nil {
			next.off = *f.Offset
		}
		v.findings = append(v.findings, next)
	}
	v.model.SetTab(findingsTab, findingsList(v.findings))
	if v.at.tab == findingsTab {
		v.at = place{row: -1} // its page is another
	}
	if v.globals = r.Globals; len(r.Globals) > 0 {
		v.model.SetTab(globalsTab, globalsList(r.Globals))
	}
	v.model.SetStatus(row.text)
}
