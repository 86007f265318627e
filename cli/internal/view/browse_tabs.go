package view

import (
	"bufio"
	"bytes"
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate/page"
	"github.com/anamnesis-go/anamnesis/internal/browse"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The tabs, in their order; the globals are added by a verdict about pickles.
const (
	tensorsTab = iota
	metaTab
	findingsTab
	summaryTab
	globalsTab
)

// A metaRow is an entry of the metadata.
type metaRow struct {
	key   string
	value any
}

// A findingRow is a finding, a refusal, or the verdict.
type findingRow struct {
	kind  string
	style browse.Style
	rule  string
	where string
	off   int64
	text  string
}

// load lists tensors and metadata, charged to the budget of the model.
func (v *viewer) load() (err error) {
	v.sparks = map[int]spark{}
	if v.r.Model == nil || v.r.Err != nil {
		return nil
	}
	if v.tensors, err = limits.Make[tensor.Info](v.b, v.r.Model.Len()); err != nil {
		return err
	}
	v.tensors = v.tensors[:0]
	for i := range v.r.Model.Tensors() {
		if v.tensors, err = limits.Append(v.b, v.tensors, i); err != nil {
			return err
		}
	}
	if v.second != nil {
		if err := v.match(); err != nil {
			return err
		}
	}
	for key, value := range v.r.Model.Meta() {
		if v.meta, err = limits.Append(v.b, v.meta, metaRow{key, value}); err != nil {
			return err
		}
	}
	return v.plant()
}

// plant makes the tree of the tensors.
func (v *viewer) plant() error {
	rows, err := limits.Make[browse.Row](v.b, len(v.tensors))
	if err != nil {
		return err
	}
	for k := range v.tensors {
		i := &v.tensors[k]
		rows[k] = browse.Row{Name: i.Name, Kind: term.Type(i.TypeName()), Size: i.Bytes(), Elements: i.Elements()}
	}
	const perRow = 2*4 + 2*8 // orders and sums of the tree
	if err := v.b.Hold(perRow * int64(len(rows))); err != nil {
		return err
	}
	if v.tree, err = browse.NewTree(rows, v.b.Step); err != nil {
		return err
	}
	v.tree.Columns = []browse.Column{
		{Title: "Module"}, {Title: "Type", Width: 11, Drop: 3}, {Title: "Numbers", Width: 8, Right: true, Drop: 4},
		{Title: "Bits", Width: 5, Right: true, Drop: 5}, {Title: "Histogram", Width: sparkWidth, Drop: 6},
		{Title: "Share", Width: 6, Right: true, Drop: 2}, {Title: "Size", Width: term.SizeWidth + 1, Right: true, Drop: 1, Compare: func(_, _ int) int { return 0 }},
	}
	if v.second != nil {
		v.tree.Columns[4] = browse.Column{Title: "Change", Width: 13}
	}
	v.tree.Cell, v.tree.Style = v.nodeCell, v.rowStyle()
	return nil
}

// nodeCell is a cell of the tree.
func (v *viewer) nodeCell(n *browse.Node, column int) string {
	switch column {
	case 1:
		return n.Kind
	case 2:
		return short(n.Elements)
	case 3:
		if n.Elements == 0 {
			return "-"
		}
		return strconv.FormatFloat(8*float64(n.Size)/float64(n.Elements), 'f', 1, 64)
	case 4:
		if v.second != nil {
			return v.changeText(n)
		}
		return v.sparks[n.Row].text
	case 5:
		if n.Of == 0 {
			return "-"
		}
		return strconv.FormatFloat(100*float64(n.Size)/float64(n.Of), 'f', 1, 64) + "%"
	}
	return term.Bytes(n.Size)
}

// short writes a number with three digits and a unit: 7.24B.
func short(n int64) string {
	x, unit := float64(n), ""
	for _, u := range []string{"K", "M", "B", "T"} {
		if x < 999.5 {
			break
		}
		x, unit = x/1000, u
	}
	if unit == "" {
		return strconv.FormatInt(n, 10)
	}
	if x >= 999.5 {
		return strconv.FormatFloat(x, 'f', 0, 64) + unit
	}
	return strconv.FormatFloat(x, 'g', 3, 64) + unit
}

// rowStyle returns the style of rows: what findings say about a tensor, or how two models differ.
func (v *viewer) rowStyle() func(row int) browse.Style {
	if v.second != nil {
		return func(row int) browse.Style { return v.pairs[row].style() }
	}
	worst := map[string]tensor.Severity{}
	for _, f := range v.r.Model.Findings() {
		from, to := strings.IndexByte(f.Where, '"'), strings.LastIndexByte(f.Where, '"')
		if from < 0 || to <= from {
			continue
		}
		if name, err := strconv.Unquote(f.Where[from : to+1]); err == nil {
			worst[name] = max(worst[name], f.Severity)
		}
	}
	return func(row int) browse.Style {
		if s, ok := worst[v.tensors[row].Name]; ok {
			return severityStyles[s]
		}
		return v.sparks[row].style
	}
}

// build creates the browser.
func (v *viewer) build() {
	title := term.Path(v.r.Path)
	if v.r.Model != nil && v.r.Err == nil {
		title += "  " + report.ViewOf(v.r.Model).Title + ", " + term.Plural(v.r.Total.Tensors, "tensor") + ", " + term.Bytes(v.r.Total.Bytes)
		for _, f := range v.r.Model.Findings() {
			v.findings = append(v.findings, findingRowOf(&f))
		}
	} else {
		v.findings = []findingRow{refusalRow(v.r.Err)}
	}
	if v.second != nil {
		title = term.Path(v.r.Path) + " and " + term.Path(v.second.Path)
	}
	summary := v.summary()
	v.model = browse.New(title, []browse.TabOf{
		tensorsTab: v.tensorsList(), metaTab: v.metaList(), findingsTab: findingsList(v.findings),
		summaryTab: {
			Title: "Summary", Len: len(summary), Columns: []browse.Column{{Title: ""}}, Empty: "No summary.",
			Cell: func(row, _ int) string { return summary[row] }, Search: func(row int) string { return strings.ToLower(summary[row]) },
		},
	})
	if v.r.Err != nil {
		v.model.GoTo(findingsTab)
		v.model.SetVerdict("refused", browse.Bad)
	}
}

// capture returns the lines that print writes, unwrapped and without colours.
func capture(s *run.Run, print func(*run.Run)) []string {
	var text bytes.Buffer
	sub := *s
	sub.Out = &term.Printer{Writer: bufio.NewWriter(&text)}
	print(&sub)
	sub.Out.Flush()
	return strings.Split(strings.TrimRight(text.String(), "\n"), "\n")
}

// summary returns what amn inspect prints.
func (v *viewer) summary() []string {
	if v.r.Err != nil {
		return []string{v.r.Path, "Refused: " + term.Tidy(fault.Message("", v.r.Err), wire.MaxMessage)}
	}
	return capture(v.s, func(s *run.Run) { _ = report.PrintInspect(s, v.r) })
}

// sampledRows is how many rows determine the widths of columns; a model may have millions.
const sampledRows = 10_000

func (v *viewer) tensorsList() browse.TabOf {
	look, list := report.View{}, v.tensors
	if v.r.Model != nil {
		look = report.ViewOf(v.r.Model)
	}
	var style func(int) browse.Style
	if v.tree != nil {
		style = v.tree.Style
	}
	typ, shape := len("Type"), len("Shape ▲")
	for i := range list[:min(len(list), sampledRows)] {
		typ = max(typ, term.Width(term.Type(list[i].TypeName())))
		shape = min(max(shape, term.Width(look.ShapeText(&list[i]))), 28)
	}
	return browse.TabOf{
		Title: "Tensors " + term.Count(int64(len(list))), Len: len(list), Empty: "No tensors.", Tree: v.tree, Detail: true,
		Columns: []browse.Column{
			{Title: "Name", Names: true, Compare: func(a, b int) int { return wire.Natural(list[a].Name, list[b].Name) }},
			{Title: "Type", Width: typ + 2, Drop: 1, Compare: func(a, b int) int { return cmp.Compare(list[a].TypeName(), list[b].TypeName()) }},
			{Title: "Shape", Width: shape, Drop: 2},
			{Title: "Size", Width: term.SizeWidth + 1, Right: true, Drop: 3, Compare: func(a, b int) int { return cmp.Compare(list[a].Bytes(), list[b].Bytes()) }},
		},
		Cell: func(row, column int) string {
			i := &list[row]
			return [...]func() string{
				func() string { return term.Name(i.Name) }, func() string { return term.Type(i.TypeName()) },
				func() string { return look.ShapeText(i) }, func() string { return report.SizeText(i) },
			}[column]()
		},
		Search: func(row int) string { return strings.ToLower(list[row].Name + " " + list[row].TypeName()) },
		Style:  style,
	}
}

func (v *viewer) metaList() browse.TabOf {
	list, key := v.meta, len("Key")
	for i := range list[:min(len(list), sampledRows)] {
		key = min(max(key, term.Width(term.Name(list[i].key))), 48)
	}
	return browse.TabOf{
		Title: "Metadata " + term.Count(int64(len(list))), Len: len(list), Empty: "No metadata.", Detail: true,
		Columns: []browse.Column{{Title: "Key", Width: key, Names: true}, {Title: "Kind", Width: 12, Drop: 1}, {Title: "Value"}},
		Cell: func(row, column int) string {
			switch column {
			case 0:
				return term.Name(list[row].key)
			case 1:
				return report.KindText(list[row].value)
			}
			text, err := report.ShortValue(v.b, list[row].value)
			if err != nil {
				return err.Error()
			}
			return text
		},
		Search: func(row int) string {
			text, _ := list[row].value.(string)
			return strings.ToLower(list[row].key + " " + text)
		},
	}
}

// severityStyles are the browser's colours of findings; term.SeverityColours are those of text.
var severityStyles = map[tensor.Severity]browse.Style{tensor.Danger: browse.Bad, tensor.Warning: browse.Warning, tensor.Note: browse.Note}

func findingRowOf(f *tensor.Finding) findingRow {
	return findingRow{f.Severity.String(), severityStyles[f.Severity], f.Code, f.Where, f.Off, f.Text}
}

func refusalRow(err error) findingRow {
	row := findingRow{"refused", browse.Bad, fault.ClassOf(err).String(), "", -1, fault.Message("", err)}
	if e, ok := fault.Located(err); ok {
		row.where, row.off = e.Where, e.Off
	}
	return row
}

func findingsList(list []findingRow) browse.TabOf {
	return browse.TabOf{
		Title: "Findings " + term.Count(int64(len(list))), Len: len(list), Detail: true, Empty: "No findings. v judges the file as amn scan does, which reads all of it.",
		Columns: []browse.Column{
			{Title: "Severity", Width: 9}, {Title: "Rule", Width: 26, Drop: 1, Names: true}, {Title: "What"},
		},
		Cell: func(row, column int) string {
			return [...]string{list[row].kind, list[row].rule, list[row].text}[column]
		},
		Search: func(row int) string {
			return strings.ToLower(list[row].kind + " " + list[row].rule + " " + list[row].text)
		},
		Style: func(row int) browse.Style { return list[row].style },
	}
}

// globalStyles are the colours of the globals of pickles.
var globalStyles = map[string]browse.Style{"allowed": browse.Good, "dangerous": browse.Bad, "unknown": browse.Warning}

func globalsList(list []page.Global) browse.TabOf {
	return browse.TabOf{
		Title: "Globals " + term.Count(int64(len(list))), Len: len(list), Detail: true, Empty: "The pickles name no globals.",
		Columns: []browse.Column{{Title: "Status", Width: 10}, {Title: "Global", Names: true}, {Title: "Uses", Width: 8, Right: true, Drop: 1}, {Title: "Place", Width: 24, Drop: 2}},
		Cell: func(row, column int) string {
			g := &list[row]
			return [...]string{g.Status, g.Name, term.Count(g.Uses), fmt.Sprintf("%s 0x%x", g.Pickle, g.Offset)}[column]
		},
		Search: func(row int) string { return strings.ToLower(list[row].Status + " " + list[row].Name) },
		Style:  func(row int) browse.Style { return globalStyles[list[row].Status] },
	}
}
