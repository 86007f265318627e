package encode

import (
	"errors"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Grouped is the part of encoders that targets share whose codes are in groups of a row
// under scales, or in a matrix under one.
type Grouped struct {
	Linear

	f     scaled.Groups
	overs map[string]*float32 // the shared global scale of matrices that loaders fuse

	// Plan lists the tensors of a weight.
	Plan func(*GroupedWeight) error
	// Column stores a group of one output that begins with input at, among count groups, where
	// codes are packed along the inputs. One worker encodes all outputs that share a word. The
	// group is a value: behind a pointer each would be allocated.
	Column func(e *GroupedWeight, out, at, count int64, c scaled.Coded)
	// Adjust changes how a weight is read or stored, before its tensors are listed; nil to
	// change nothing.
	Adjust func(*GroupedWeight) error
}

// Start begins the encoder of a target for a model.
func (e *Grouped) Start(j *Job) error {
	t, c, o := j.Target, &j.Choices, j.Options
	e.Linear = NewLinear(t.Groups.Layout, c.Measure, transformers.Rule{Include: c.Include, Exclude: c.Exclude})
	e.f, e.overs = *t.Groups, map[string]*float32{}
	if o.Rules != nil && !t.KeepsRules {
		return wire.ErrUsage.Errorf("%s has its own formats, and %s is not one of them", o.Rules.Library, t.Name)
	}
	if err := e.Begin(j.Budget, j.Model, o); err != nil {
		return err
	}
	e.StoresAs(t)
	return nil
}

// Format returns the format of the target.
func (e *Grouped) Format() *scaled.Groups { return &e.f }

// Takes decides about a tensor.
func (e *Grouped) Takes(name string, shape []int64) (Verdict, error) {
	return e.TakesAligned(name, shape, e.WithExperts, e.f.Fits, "groups")
}

// Encode plans a weight.
func (e *Grouped) Encode(w *scheme.Weight) (Encoding, error) {
	one, err := e.Of(w)
	if err != nil {
		return nil, err
	}
	t := &GroupedWeight{LinearWeight: one, F: &e.f, engine: e}
	t.D, t.Rounds = e.Computed(w)
	if e.Adjust != nil {
		if err := e.Adjust(t); err != nil {
			return nil, err
		}
		w = t.Source
	}
	switch {
	case e.f.Half && t.D != asm.F16:
		t.D, t.Rounds = asm.F16, true
	case e.f.Bfloat && t.D != asm.BF16:
		t.D, t.Rounds = asm.BF16, true
	}
	if err := e.number(t); err != nil {
		return nil, err
	}
	if err := t.plan(); err != nil {
		return nil, err
	}
	return t, e.Planned(w, t)
}

// number computes the global scale of a weight.
func (e *Grouped) number(t *GroupedWeight) error {
	t.over = new(float32)
	if !e.f.Global {
		return nil
	}
	most := float32(0)
	err := e.Pass(t.Source, 1, func(int64) int64 { return 1 }, func(list, numbers []float32, lo int64) (err error) {
		if t.Rounds {
			scaled.Round(numbers, t.D)
		}
		list[0], err = scaled.Most(0, numbers)
		return t.refused(err, lo)
	}, func(list []float32) { most = max(most, list[0]) })
	if err != nil {
		return err
	}
	*t.over = e.f.Over(most, t.D)
	together := fusedName(t.Source.Name)
	if together == "" || e.f.Size == 0 {
		return nil
	}
	if other := e.overs[together]; other != nil {
		*other = e.f.Fused(*other, *t.over)
		t.over = other
		return nil
	}
	e.overs[together] = t.over
	return e.Budget.Hold(int64(len(together)) + 64)
}

// fusedName returns the same name for all matrices that loaders fuse, which must share
// their global scale; "" for others. These are the groups of llm-compressor 0.14
// (observers/helpers.py, FUSED_LAYER_NAMES), which writes the same bytes.
func fusedName(name string) string {
	module := strings.TrimSuffix(name, ".weight")
	at := strings.LastIndexByte(module, '.') + 1
	switch module[at:] {
	case "q_proj", "k_proj", "v_proj":
		return module[:at] + "qkv"
	case "gate_proj", "up_proj":
		return module[:at] + "gate_up"
	case "q_a_proj", "kv_a_proj_with_mqa":
		return module[:at] + "qkv_a"
	case "w1", "w3":
		return module[:at] + "w13"
	}
	return ""
}

// A GroupedWeight is one weight.
type GroupedWeight struct {
	LinearWeight

	engine  *Grouped
	F       *scaled.Groups
	D       asm.Type // of the model's weights, which the library computes in
	Rounds  bool     // the numbers are decoded or rounded from another type
	over    *float32 // the global scale, known once all weights are planned
	hold    int64
	Parts   GroupedParts
	columns []byte // what is stored by columns, until the end
}

// GroupedParts has the index of each kind of out, -1 for none.
type GroupedParts struct{ Codes, Scales, Seconds, Over, Shape, Order int }

// Block returns the numbers in the rows that are stored together.
func (e *GroupedWeight) Block() int64 { return e.F.Lines() * max(1, e.Source.Cols()) }
func (e *GroupedWeight) Hold() int64  { return e.hold }

// Open divides the memory: what is stored by columns comes before the sums.
func (e *GroupedWeight) Open(memory []byte) {
	n := int64(0)
	if e.F.Columns {
		for i := range e.List {
			n += e.List[i].Size
		}
		e.columns = memory[:n:n]
		clear(e.columns)
	}
	e.LinearWeight.Open(memory[n:])
}

// Put encodes one row after the other.
func (e *GroupedWeight) Put(dst [][]byte, lo int64, src []float32) error {
	cols := e.Source.Cols()
	if e.Rounds {
		scaled.Round(src, e.D)
	}
	m := e.Meter(lo)
	for row, at := lo/cols, int64(0); at < int64(len(src)); row, at = row+1, at+cols {
		if err := e.row(dst, &m, row, row-lo/cols, src[at:at+cols]); err != nil {
			return e.refused(err, lo+at)
		}
	}
	if e.Unit > 0 {
		m.End()
	}
	return nil
}

// row encodes a row of the weight, which is row k of Put's numbers.
func (e *GroupedWeight) row(dst [][]byte, m *Meter, row, k int64, x []float32) error {
	var codes [256]byte
	var after [256]float32
	step, count := e.F.Step(), e.F.Count(int64(len(x)))
	for at := int64(0); at < int64(len(x)); at += step {
		part := x[at:min(at+step, int64(len(x)))]
		c, err := e.F.Encode(codes[:len(part)], part, e.D, *e.over)
		if bad, ok := errors.AsType[*scaled.Bad](err); ok {
			return &scaled.Bad{Index: at + bad.Index, Value: bad.Value}
		}
		if err != nil {
			return err
		}
		if e.F.Columns {
			e.engine.Column(e, row, at, count, c)
		} else {
			e.putRow(dst, k, at, count, &c)
		}
		if e.Unit > 0 {
			e.F.Decode(after[:len(part)], &c, *e.over)
			m.Add(part, after[:len(part)])
		}
	}
	return nil
}

// refused says which number of the weight cannot be quantized.
func (e *GroupedWeight) refused(err error, lo int64) error {
	bad, ok := errors.AsType[*scaled.Bad](err)
	switch {
	case !ok:
		return err
	case bad.Finite():
		return wire.ErrUnsupported.Errorf("numbers from element %d on are too large for %s", lo+bad.Index, e.F.Layout)
	}
	return &NotFinite{Index: lo + bad.Index, Value: bad.Value}
}
