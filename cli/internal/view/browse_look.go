package view

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/browse"
	"github.com/anamnesis-go/anamnesis/internal/elements"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/stats"
)

// A plan knows the quantized weights of a model. It is made when somebody looks at a tensor.
type plan struct {
	once  sync.Once
	bound *quant.Bound
	owner map[string]*quant.Weight // of the tensors that hold a weight
}

// planOf returns the plan of the first or the second model. A model whose quantization no scheme
// explains has no weights.
func (v *viewer) planOf(k int) *plan {
	p := &v.plans[k]
	p.once.Do(func() {
		m := v.modelOf(k)
		p.owner = map[string]*quant.Weight{}
		bound, err := quant.Plan(v.b, m, quant.Options{})
		if err == nil {
			err = v.b.Items(int64(len(bound.Weights)))
		}
		if err != nil {
			bound = &quant.Bound{}
		}
		for _, w := range bound.Weights {
			for _, part := range slices.Concat(w.Parts, w.Extra) {
				p.owner[part.Name] = w
			}
		}
		p.bound = bound
	})
	return p
}

func (v *viewer) modelOf(k int) tensor.Model {
	if k > 0 {
		return v.second.Model
	}
	return v.r.Model
}

// A subject is one tensor of a model that is looked at, as it is stored or as the weight that it holds.
type subject struct {
	title  string
	model  int
	name   string
	stored bool
	whole  bool

	detail *stats.Detail
	failed string
	read   atomic.Int64 // elements so far
}

// A look is a page about a tensor, or about two.
type look struct {
	title    string
	facts    []browse.Line
	subjects []*subject
	bytes    string // the first stored bytes
}

// calm is how long a row is selected before its numbers are read: who scrolls reads none.
const calm = 60 * time.Millisecond

// openTensor shows what the header states about a tensor, and reads its numbers in the
// background.
func (v *viewer) openTensor(ctx context.Context, row int) {
	i := v.tensors[row]
	l := &look{title: term.Name(i.Name)}
	switch {
	case v.second == nil:
		l.facts = tensorFacts(v.r.Model, &i)
		v.look(ctx, l, 0, i)
	default:
		p := &v.pairs[row]
		l.facts = append(l.facts, browse.Line{Text: term.Pad("Change:", term.LabelWidth) + p.words(), Style: p.style()})
		for k, one := range []*tensor.Info{p.first, p.second} {
			if one == nil {
				continue
			}
			name := [...]string{"First", "Second"}[k]
			l.facts = append(append(l.facts, browse.Line{}, browse.Line{Text: name, Style: browse.Bold}), tensorFacts(v.modelOf(k), one)...)
			l.subjects = append(l.subjects, &subject{title: name, model: k, name: one.Name})
		}
		v.readAll(ctx, l)
	}
}

// look shows a tensor, stored beside decoded.
func (v *viewer) look(ctx context.Context, l *look, model int, i tensor.Info) {
	ctx, v.cancel = context.WithCancel(ctx)
	v.looked = l
	v.show(l)
	v.background(ctx, func(b *limits.Budget) func() {
		if !calmed(ctx) {
			return nil
		}
		w := v.planOf(model).owner[i.Name]
		first := firstBytes(b, v.modelOf(model), &i)
		return func() {
			if ctx.Err() != nil {
				return
			}
			l.bytes = first
			// Blocks that hold their own scales have no numbers but the decoded ones.
			if w == nil || len(w.Parts)+len(w.Extra) > 1 {
				l.subjects = append(l.subjects, &subject{title: "Stored", model: model, name: i.Name, stored: true})
			}
			if w != nil {
				l.subjects = append(l.subjects, &subject{title: "Decoded", model: model, name: w.Name})
				l.facts = append(l.facts, browse.Line{Text: term.Pad("Scheme:", term.LabelWidth) + wire.Clean(w.Scheme, 64) + ", weight " + term.Name(w.Name)})
				for _, part := range slices.Concat(w.Parts, w.Extra) {
					l.facts = append(l.facts, browse.Line{Text: term.Pad("", term.LabelWidth) + term.Name(part.Name) + " " + term.Type(part.TypeName()) + " " + term.Shape(part.Shape), Style: browse.Dim})
				}
			}
			v.readSubjects(ctx, l)
		}
	})
}

// readAll shows subjects that are known already.
func (v *viewer) readAll(ctx context.Context, l *look) {
	ctx, v.cancel = context.WithCancel(ctx)
	v.looked = l
	v.readSubjects(ctx, l)
}

// calmed waits, and reports whether the page is still shown.
func calmed(ctx context.Context) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(calm):
		return true
	}
}

// readSubjects reads the numbers in the background, one after the other.
func (v *viewer) readSubjects(ctx context.Context, l *look) {
	v.show(l)
	v.background(ctx, func(b *limits.Budget) func() {
		if !calmed(ctx) {
			return nil
		}
		for _, s := range l.subjects {
			d, err := stats.DetailOf(b, v.modelOf(s.model), s.name, stats.DetailOptions{
				Whole: s.whole, Stored: s.stored, Bound: v.planOf(s.model).bound, Done: func(n, of int64) { v.progress(ctx, s, n, of) },
			})
			if err == nil {
				err = parser.Unchanged(b, v.modelOf(s.model))
			}
			v.send(ctx, func() {
				if ctx.Err() != nil {
					return
				}
				if s.detail = d; err != nil {
					s.failed = term.Tidy(fault.Text(err), wire.MaxMessage)
				}
				v.show(l)
			})
		}
		return nil
	})
}

// progress says how much of a tensor was read, about once for each 64 million elements.
func (v *viewer) progress(ctx context.Context, s *subject, n, of int64) {
	const often = 1 << 26
	if s.whole && n/often != s.read.Swap(n)/often {
		v.send(ctx, func() {
			if ctx.Err() == nil {
				v.model.SetStatus(fmt.Sprintf("Reading %s: %d%%", term.ShortName(s.name), 100*n/max(of, 1)))
			}
		})
	}
}

// whole reads all numbers of what is shown.
func (v *viewer) whole(ctx context.Context) {
	l := v.looked
	if l == nil || len(l.subjects) == 0 {
		v.model.SetStatus("Select a tensor: e reads all of its numbers.")
		return
	}
	again := &look{title: l.title, facts: l.facts, bytes: l.bytes}
	for _, s := range l.subjects {
		again.subjects = append(again.subjects, &subject{title: s.title, model: s.model, name: s.name, stored: s.stored, whole: true})
	}
	v.cancel()
	v.readAll(ctx, again)
}

// show draws a look.
func (v *viewer) show(l *look) {
	v.model.Show(browse.Page{Title: l.title, Lines: l.facts, Drawn: func(columns int) []browse.Line { return drawLook(l, columns) }})
}

// openModule shows what a module holds.
func (v *viewer) openModule(n *browse.Node, name string) {
	type kind struct {
		name           string
		tensors, bytes int64
	}
	kinds := map[string]*kind{}
	v.model.Rows(n, func(row int) {
		i := &v.tensors[row]
		k := kinds[i.TypeName()]
		if k == nil {
			k = &kind{name: term.Type(i.TypeName())}
			kinds[i.TypeName()] = k
		}
		k.tensors, k.bytes = k.tensors+1, wire.AddCap(k.bytes, i.Bytes())
	})
	fact := func(label, text string) browse.Line {
		return browse.Line{Text: term.Pad(label+":", term.LabelWidth) + text}
	}
	lines := []browse.Line{
		fact("Tensors", term.Count(int64(n.Tensors))), fact("Numbers", term.Count(n.Elements)),
		fact("Size", fmt.Sprintf("%s (%s bytes)", term.Bytes(n.Size), term.Count(n.Size))),
	}
	if n.Of > 0 {
		lines = append(lines, fact("Share", strconv.FormatFloat(100*float64(n.Size)/float64(n.Of), 'f', 1, 64)+"% of the bytes"))
	}
	if n.Elements > 0 {
		lines = append(lines, fact("Bits", strconv.FormatFloat(8*float64(n.Size)/float64(n.Elements), 'f', 2, 64)+" a number"))
	}
	if v.second != nil {
		lines = append(lines, fact("Change", v.changeText(n)))
	}
	list := make([]*kind, 0, len(kinds))
	for _, k := range kinds {
		list = append(list, k)
	}
	slices.SortFunc(list, func(a, b *kind) int {
		if a.bytes != b.bytes {
			return int(max(min(b.bytes-a.bytes, 1), -1))
		}
		return strings.Compare(a.name, b.name)
	})
	lines = append(lines, browse.Line{}, browse.Line{Text: "Types", Style: browse.Bold})
	for _, k := range list[:min(len(list), 32)] {
		lines = append(lines, browse.Line{Text: term.Pad(k.name, term.LabelWidth) + term.PadLeft(term.Bytes(k.bytes), term.SizeWidth+1) + "  " + term.Plural(k.tensors, "tensor")})
	}
	v.model.Show(browse.Page{Title: term.Name(name), Lines: lines})
}

// shownBytes is how many stored bytes a page shows.
const shownBytes = 24

// firstBytes returns the first stored bytes of a tensor; of blocks with their own scales the first
// block.
func firstBytes(b *limits.Budget, m tensor.Model, i *tensor.Info) string {
	g, ok := i.DType.Geometry()
	if !ok || i.Elements() == 0 {
		return ""
	}
	src, err := elements.Open(b, m, *i)
	if err != nil {
		return ""
	}
	defer src.Close()
	n := int64(g.Elems)
	for n < i.Elements() && elements.Size(i.DType, n) < shownBytes {
		n += int64(g.Elems)
	}
	p := make([]byte, elements.Size(i.DType, min(n, i.Elements())))
	if src.Read(p) != nil {
		return ""
	}
	text := fmt.Sprintf("% x", p[:min(len(p), shownBytes)])
	if g.Elems > 1 {
		text = fmt.Sprintf("%d numbers in %d bytes, %.4g bits each; %s", g.Elems, g.Bytes, 8*float64(g.Bytes)/float64(g.Elems), text)
	}
	if len(p) > shownBytes {
		text += " ..."
	}
	return text
}

// A spark is a small histogram of a tensor in the tree.
type spark struct {
	text  string
	style browse.Style
}

// sparkWidth is the width of the histograms in the tree.
const sparkWidth = 12

// mostInflated bounds what is inflated for a small histogram.
const mostInflated = 16 << 20

// sample reads the histogram of the next tensor on the screen that has none, in the background.
func (v *viewer) sample(ctx context.Context) {
	if v.sampling || v.second != nil || v.r.Model == nil || !v.model.Shows("Histogram") {
		return
	}
	for _, row := range v.model.Visible() {
		if _, ok := v.sparks[row]; ok {
			continue
		}
		i := v.tensors[row]
		if _, open := v.r.Model.At(i); !open && i.Bytes() > mostInflated {
			v.sparks[row] = spark{text: "-"}
			continue
		}
		v.sampling = true
		v.background(ctx, func(b *limits.Budget) func() {
			p := v.planOf(0)
			w := p.owner[i.Name]
			d, err := stats.DetailOf(b, v.r.Model, i.Name, stats.DetailOptions{Stored: w == nil || w.Name != i.Name, Bound: p.bound})
			return func() {
				v.sampling = false
				one := spark{text: "-"}
				if err == nil && d.Numbers {
					one.text = sparkline(bars(d.Bins), sparkWidth)
					if d.NaN+d.Infinite > 0 {
						one.style = browse.Warning
						v.sparks[row] = one
						v.tree.Touch()
					}
				}
				v.sparks[row] = one
			}
		})
		return
	}
}

// bars are the counts of magnitudes from the least to the largest, with zeros between.
func bars(bins []stats.Bin) (out []float64) {
	for k, b := range bins {
		for k > 0 && len(out) <= b.Exp-bins[0].Exp-1 {
			out = append(out, 0)
		}
		out = append(out, float64(b.Negative+b.Positive))
	}
	return out
}

// levels are the signs of a sparkline.
var levels = []rune("▁▂▃▄▅▆▇█")

// sparkline draws values from 0 up, at most some columns wide; a column has the largest of its values.
// NaN is a space.
func sparkline(values []float64, columns int) string {
	if len(values) == 0 || columns < 1 {
		return ""
	}
	n := min(len(values), columns)
	tops, most := make([]float64, n), 0.0
	for k := range tops {
		tops[k] = math.NaN()
		for _, x := range values[k*len(values)/n : (k+1)*len(values)/n] {
			if !(x <= tops[k]) && !math.IsNaN(x) {
				tops[k] = x
			}
		}
		if tops[k] > most {
			most = tops[k]
		}
	}
	out := make([]rune, n)
	for k, x := range tops {
		switch {
		case math.IsNaN(x) || x <= 0:
			out[k] = ' '
		case math.IsInf(most, 0):
			out[k] = levels[0]
		default:
			out[k] = levels[min(int(x/most*float64(len(levels))), len(levels)-1)]
		}
	}
	return string(out)
}
