package view

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/internal/browse"
	stored "github.com/anamnesis-go/anamnesis/internal/elements"
	"github.com/anamnesis-go/anamnesis/internal/number"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/stats"
)

// open shows the page of the selected row.
func (v *viewer) open(ctx context.Context) {
	v.closePage()
	tab, row := v.model.Place()
	if row < 0 {
		return
	}
	switch tab {
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

// openTensor shows what the header states about a tensor, and reads its numbers in the
// background.
func (v *viewer) openTensor(ctx context.Context, row int) {
	i := v.tensors[row]
	ctx, v.cancel = context.WithCancel(ctx)
	known := v.tensorFacts(&i)
	first, held := []string{"reading"}, []string{"reading"}
	show := func() {
		lines := append(slices.Clone(known), browse.Line{}, browse.Line{Text: "First numbers", Style: browse.Bold})
		lines = append(append(lines, plainLines(first)...), browse.Line{}, browse.Line{Text: "All numbers", Style: browse.Bold})
		v.model.Show(browse.Page{Title: term.Name(i.Name), Lines: append(lines, plainLines(held)...)})
	}
	show()
	later := func(set *[]string, read func(*limits.Budget) ([]string, error)) {
		v.background(ctx, func(b *limits.Budget) func() {
			text, err := read(b)
			if err != nil {
				text = []string{term.Tidy(fault.Text(err), wire.MaxMessage)}
			}
			return func() {
				if ctx.Err() == nil {
					*set = text
					show()
				}
			}
		})
	}
	later(&first, func(b *limits.Budget) ([]string, error) { return firstNumbers(b, v.r.Model, i) })
	later(&held, func(b *limits.Budget) ([]string, error) { return v.tensorStats(b, &i) })
}

// tensorFacts returns what the container states about a tensor.
func (v *viewer) tensorFacts(i *tensor.Info) []browse.Line {
	look := report.ViewOf(v.r.Model)
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
	if s, ok := v.r.Model.(report.Sharded); ok && int(i.Part) < len(s.FileNames()) {
		place += " of " + term.Path(s.FileNames()[i.Part])
	}
	if _, ok := v.r.Model.At(*i); !ok {
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

// firstCount is how many numbers of a tensor a page shows, and perLine how many in a line:
// those of float32 fit in 60 columns.
const (
	firstCount = 48
	perLine    = 4
)

// firstNumbers returns the first numbers of a tensor, as they are stored.
func firstNumbers(b *limits.Budget, m tensor.Model, i tensor.Info) ([]string, error) {
	load := number.Of(i.DType)
	if load == nil {
		return []string{"numbers of this type are not decoded"}, nil
	}
	n := min(i.Elements(), firstCount)
	if n == 0 {
		return []string{"none: it is empty"}, nil
	}
	src, err := stored.Open(b, m, i)
	if err != nil {
		return nil, err
	}
	defer src.Close()
	p := make([]byte, stored.Size(i.DType, n))
	if err := src.Read(p); err != nil {
		return nil, err
	}
	g, _ := i.DType.Geometry()
	values, tile := make([]number.Value, n), make([]float32, firstCount+int(g.Elems))
	load(values, p, tile)
	var text []string
	for at := 0; at < len(values); at += perLine {
		line := ""
		for _, x := range values[at:min(at+perLine, len(values))] {
			line += term.PadLeft(x.Text(nil), 13) + " "
		}
		text = append(text, strings.TrimRight(line, " "))
	}
	if n < i.Elements() {
		text = append(text, "...")
	}
	return text, nil
}

// tensorStats reads a whole tensor and returns its statistics.
func (v *viewer) tensorStats(b *limits.Budget, i *tensor.Info) ([]string, error) {
	taken := false // of several tensors of this name, the first counts
	list, err := stats.Tensors(b, v.r.Model, stats.Options{Stored: true, Keep: func(name string) bool {
		was := taken
		taken = taken || name == i.Name
		return name == i.Name && !was
	}})
	if err == nil {
		err = parser.Unchanged(b, v.r.Model)
	}
	if err != nil || len(list) == 0 {
		return nil, err
	}
	t := &list[0]
	if !t.Numbers {
		return []string{"numbers of this type are not decoded"}, nil
	}
	row := statRow(t)
	var text []string
	for k := 2; k < len(statHead)-1; k++ {
		text = append(text, term.Pad(statHead[k]+":", term.LabelWidth)+row[k])
	}
	return append(text, capture(v.s, func(s *run.Run) { chart(s, t) })...), nil
}

// judge asks the gate in the background, and shows the verdict among the findings.
func (v *viewer) judge(ctx context.Context) {
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
	if len(r.Globals) > 0 {
		v.model.SetTab(globalsTab, globalsList(r.Globals))
	}
	v.model.SetStatus(row.text)
}
