package view

import (
	"context"
	"math"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/internal/browse"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A pair is a tensor of two models: nil for one that does not have it.
type pair struct {
	first, second *tensor.Info
	state         state
	snr           float64
}

// A state says how the numbers of a pair compare.
type state uint8

const (
	unknown state = iota
	equal
	differs
)

// words says how the two sides of a pair differ.
func (p *pair) words() string {
	switch {
	case p.second == nil:
		return "only first"
	case p.first == nil:
		return "only second"
	case !slices.Equal(p.first.Shape, p.second.Shape):
		return "shape"
	case p.state == differs && !math.IsNaN(p.snr) && !math.IsInf(p.snr, 0):
		return strconv.FormatFloat(p.snr, 'f', 1, 64) + " dB"
	case p.state == differs:
		return "numbers"
	case p.state == equal:
		return "equal"
	case p.first.TypeName() != p.second.TypeName():
		return "type"
	}
	return ""
}

func (p *pair) style() browse.Style {
	switch {
	case p.second == nil:
		return browse.Bad
	case p.first == nil:
		return browse.Good
	case p.state == equal:
		return browse.Plain
	case p.words() != "":
		return browse.Warning
	}
	return browse.Plain
}

// match lists the tensors of both models. Tensors of one name are one row.
func (v *viewer) match() (err error) {
	if v.pairs, err = limits.Make[pair](v.b, len(v.tensors)); err != nil {
		return err
	}
	if err = v.b.Items(int64(len(v.tensors))); err != nil {
		return err
	}
	byName := make(map[string]int, len(v.tensors))
	for k := range v.tensors {
		first := v.tensors[k]
		v.pairs[k].first = &first
		if _, ok := byName[first.Name]; !ok {
			byName[first.Name] = k
		}
	}
	for i := range v.second.Model.Tensors() {
		if err := v.b.Hold(int64(len(i.Shape))*8 + 128); err != nil { // the copy that a pair has
			return err
		}
		if k, ok := byName[i.Name]; ok && v.pairs[k].second == nil {
			v.pairs[k].second = &i
			continue
		}
		if v.tensors, err = limits.Append(v.b, v.tensors, i); err != nil {
			return err
		}
		if v.pairs, err = limits.Append(v.b, v.pairs, pair{second: &i}); err != nil {
			return err
		}
	}
	return nil
}

// changeText says how a row of two models differs, or how many rows of a module do.
func (v *viewer) changeText(n *browse.Node) string {
	if n.Row >= 0 {
		return v.pairs[n.Row].words()
	}
	if n.Flagged == 0 {
		return ""
	}
	return term.Count(int64(n.Flagged)) + " of " + term.Count(int64(n.Tensors))
}

// compare shows two marked tensors side by side, or compares the numbers of two models.
func (v *viewer) compare(ctx context.Context) {
	marked := v.model.Marked()
	switch {
	case v.second != nil:
		v.compareModels(ctx)
	case len(marked) == 2:
		l := &look{title: "Two tensors"}
		for k, row := range marked {
			i := v.tensors[row]
			name := [...]string{"First", "Second"}[k]
			l.facts = append(l.facts, browse.Line{Text: term.Pad(name+":", term.LabelWidth) + term.Name(i.Name)})
			w := v.planOf(0).owner[i.Name]
			l.subjects = append(l.subjects, &subject{title: name, name: i.Name, stored: w == nil || w.Name != i.Name})
		}
		v.closePage()
		v.readAll(ctx, l)
	default:
		v.model.SetStatus("Mark two tensors with m: c shows them side by side.")
	}
}

// compareModels compares all numbers of two models in the background.
func (v *viewer) compareModels(ctx context.Context) {
	if v.comparing {
		return
	}
	v.comparing = true
	v.model.SetStatus("Comparing: reading both models.")
	var read atomic.Int64
	total := v.r.Total.Bytes
	ended := make(chan struct{})
	v.working.Go(func() {
		tick := time.NewTicker(500 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ended:
				return
			case <-ctx.Done():
				return
			case <-tick.C:
				v.send(ctx, func() {
					if v.comparing {
						v.model.SetStatus("Comparing: " + strconv.FormatInt(100*read.Load()/max(total, 1), 10) + "%")
					}
				})
			}
		}
	})
	v.background(ctx, func(b *limits.Budget) func() {
		defer close(ended)
		found := map[string]compare.Difference{}
		result, err := compare.Models(b, v.r.Model, v.second.Model, compare.Options{Values: true, Done: &read}, func(d *compare.Difference) error {
			if err := b.Hold(256 + int64(len(d.Name))); err != nil {
				return err
			}
			found[d.Name] = *d
			return nil
		})
		parts := [2]*plan{v.planOf(0), v.planOf(1)}
		return func() {
			v.comparing = false
			if err != nil {
				v.model.SetStatus("Cannot be compared: " + term.Tidy(fault.Text(err), wire.MaxMessage))
				return
			}
			v.note(found, parts)
			v.model.SetStatus(term.Count(result.Equal) + " equal, " + term.Plural(result.Different, "difference"))
		}
	})
}

// note keeps what a comparison has found. A quantized weight is the tensor of its name, or the first
// that holds it.
func (v *viewer) note(found map[string]compare.Difference, plans [2]*plan) {
	for k := range v.pairs {
		p := &v.pairs[k]
		if p.first == nil || p.second == nil {
			continue
		}
		name := p.first.Name
		for _, known := range plans {
			if w := known.owner[name]; w != nil && w.Parts[0].Name == name {
				name = w.Name
			}
		}
		d, ok := found[name]
		switch {
		case ok && d.Kind == compare.Elements:
			p.state, p.snr = differs, d.Distance.SNR()
		case !ok && (plans[0].owner[name] == nil || plans[0].owner[name].Name == name):
			p.state = equal
		}
	}
	v.tree.Touch()
	v.at = place{row: -1} // its page says more now
}
