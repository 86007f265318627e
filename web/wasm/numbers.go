//go:build js && wasm

package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"

	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/stats"
)

// An opened model has its tensors and weights listed once somebody asks for numbers. The account
// that it was opened with is never closed: the page ends the worker.
type opened struct {
	m     tensor.Model
	names []string
	bound *quant.Bound
	owner map[string]*quant.Weight // of the tensors that hold a weight
}

var errNothingOpen = errors.New("no model is open")

// account returns an account for one question: what a model was opened with has ended by then.
func account() *limits.Budget {
	p := policy.Limits
	p.Timeout = limits.NoTimeout // people wait as long as they like, and stop it
	return p.Budget(context.Background())
}

// prepare lists tensors and weights. A model whose quantization no scheme explains has no weights.
func (o *opened) prepare() error {
	if o.names != nil {
		return nil
	}
	b := account()
	if err := b.Items(int64(o.m.Len())); err != nil {
		return err
	}
	o.names = []string{}
	for i := range o.m.Tensors() {
		o.names = append(o.names, i.Name)
	}
	bound, err := quant.Plan(b, o.m, quant.Options{})
	if err != nil {
		bound = &quant.Bound{}
	}
	o.bound, o.owner = bound, map[string]*quant.Weight{}
	for _, w := range bound.Weights {
		for _, p := range slices.Concat(w.Parts, w.Extra) {
			o.owner[p.Name] = w
		}
	}
	return nil
}

// look reads one tensor: as it is stored, and the weight that it is a part of.
func (s *session) look(index int, whole bool) ([]byte, error) {
	o := s.opened
	if o == nil {
		return nil, errNothingOpen
	}
	if err := o.prepare(); err != nil {
		return nil, err
	}
	if index < 0 || index >= len(o.names) {
		return nil, errNothingOpen
	}
	name := o.names[index]
	b := account()
	defer b.Close()
	var out struct {
		Weight *numbers `json:"weight,omitempty"`
		Stored *numbers `json:"stored,omitempty"`
	}
	w := o.owner[name]
	// Blocks that hold their own scales have no numbers but the decoded ones.
	if w == nil || len(w.Parts)+len(w.Extra) > 1 {
		d, err := stats.DetailOf(b, o.m, name, stats.DetailOptions{Whole: whole, Stored: true, Bound: o.bound})
		if err != nil {
			return nil, err
		}
		out.Stored = of(d)
	}
	if w != nil {
		d, err := stats.DetailOf(b, o.m, w.Name, stats.DetailOptions{Whole: whole, Bound: o.bound})
		if err != nil {
			return nil, err
		}
		out.Weight = of(d)
	}
	return json.Marshal(out)
}

// numbers are a detail as the page reads it.
type numbers struct {
	Name     string   `json:"name"`
	Type     string   `json:"type"`
	Shape    []int64  `json:"shape"`
	Elements int64    `json:"elements"`
	Read     int64    `json:"read"`
	Numbers  bool     `json:"numbers"`
	Rows     int64    `json:"rows"`
	Cols     int64    `json:"cols"`
	Zeros    int64    `json:"zeros"`
	NaN      int64    `json:"nan"`
	Infinite int64    `json:"infinite"`
	First    int64    `json:"first"`
	Min      any      `json:"min"`
	Max      any      `json:"max"`
	Mean     any      `json:"mean"`
	Std      any      `json:"std"`
	Bins     [][3]any `json:"bins"`
	Grid     [2]int   `json:"grid"`
	Cells    []any    `json:"cells"`
	RowNorms []any    `json:"rowNorms"`
	ColNorms []any    `json:"colNorms"`
	Values   []any    `json:"values"`
	Largest  [][2]any `json:"largest"`
	Parts    [][4]any `json:"parts,omitempty"`
}

func of(d *stats.Detail) *numbers {
	n := &numbers{
		Name: wire.Text(d.Name, 1024), Type: d.Type, Shape: append([]int64{}, d.Shape...), Elements: d.Elements, Read: d.Read, Numbers: d.Numbers, Rows: d.Rows, Cols: d.Cols,
		Zeros: d.Zeros, NaN: d.NaN, Infinite: d.Infinite, First: d.First, Min: one(d.Min), Max: one(d.Max), Mean: one(d.Mean), Std: one(d.Std),
		Grid: [2]int{d.GridRows, d.GridCols}, Cells: all(d.Grid), RowNorms: all(d.RowNorms), ColNorms: all(d.ColNorms), Values: []any{},
		Bins: [][3]any{}, Largest: [][2]any{},
	}
	for _, x := range d.Values {
		n.Values = append(n.Values, named(x))
	}
	for _, b := range d.Bins {
		n.Bins = append(n.Bins, [3]any{b.Exp, b.Negative, b.Positive})
	}
	for _, e := range d.Largest {
		n.Largest = append(n.Largest, [2]any{e.Index, one(e.Value)})
	}
	if len(d.Parts) > 1 {
		for _, p := range d.Parts {
			n.Parts = append(n.Parts, [4]any{wire.Text(p.Name, 1024), p.TypeName(), append([]int64{}, p.Shape...), p.Bytes()})
		}
	}
	return n
}

// one returns a number for JSON, which has none that are not finite: nil for those.
func one(x float64) any {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return x
}

// named writes what is not finite as a word.
func named(x float64) any {
	switch {
	case math.IsNaN(x):
		return "NaN"
	case math.IsInf(x, 1):
		return "inf"
	case math.IsInf(x, -1):
		return "-inf"
	}
	return x
}

// all rounds for the page: what is drawn needs six digits.
func all(list []float64) []any {
	out := make([]any, len(list))
	for k, x := range list {
		if v := one(x); v != nil {
			out[k] = float32(x)
		}
	}
	return out
}

// compare reads both models, decoded, to their ends.
func (s *session) compare(from *source) ([]byte, error) {
	if s.opened == nil {
		return nil, errNothingOpen
	}
	b := account()
	defer b.Close()
	other, err := from.open(b)
	if err != nil {
		return nil, err
	}
	defer other.Close()
	type difference struct {
		Name   string    `json:"name"`
		Kind   string    `json:"kind"`
		Types  [2]string `json:"types"`
		Count  int64     `json:"count"`
		Max    any       `json:"max"`
		SNR    any       `json:"snr"`
		Before any       `json:"before"`
		Square any       `json:"square"`
	}
	var out struct {
		Equal     int64        `json:"equal"`
		SNR       any          `json:"snr"`
		Different []difference `json:"different"`
	}
	out.Different = []difference{}
	result, err := compare.Models(b, s.opened.m, other, compare.Options{Values: true}, func(d *compare.Difference) error {
		if err := b.Hold(256); err != nil {
			return err
		}
		one := difference{Name: wire.Text(d.Name, 1024), Kind: d.Kind.String(), Count: d.Count, Max: one(d.Max), SNR: one(d.Distance.SNR()), Before: one(d.Distance.Before), Square: one(d.Distance.Square)}
		if d.A != nil {
			one.Types[0] = d.A.Type
		}
		if d.B != nil {
			one.Types[1] = d.B.Type
		}
		out.Different = append(out.Different, one)
		return nil
	})
	if err != nil {
		return nil, err
	}
	out.Equal, out.SNR = result.Equal, one(result.Distance.SNR())
	return json.Marshal(out)
}
