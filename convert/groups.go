package convert

import (
	"errors"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Grouped stores the weights of linear modules as codes in groups with scales, under the
// names of the format's library.
type Grouped struct {
	Format scaled.Groups
	// Include and Exclude choose by name and override the rules; nil chooses none.
	Include, Exclude func(name string) bool
	// Measure compares each weight with its decoded encoding.
	Measure bool
}

// groupedEncoder encodes the weights of one model.
type groupedEncoder struct {
	encode.Linear

	f     scaled.Groups
	mlx   *mlxModules         // of a model of mlx-lm
	eight []string            // its modules that have 8 bits
	overs map[string]*float32 // the shared global scale of matrices that loaders fuse

	listed bool // GPTQ's configuration lists the modules
}

// Check implements [Quantizer].
func (o Grouped) Check() error {
	if o.Format.Name == "" {
		return wire.ErrUsage.Errorf("no format is given")
	}
	return nil
}

func (o Grouped) Start(b *limits.Budget, m tensor.Model, opts *encode.Options) (encode.Encoder, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	rule := transformers.Rule{Include: o.Include, Exclude: o.Exclude}
	e := &groupedEncoder{Linear: encode.NewLinear(o.Format.Layout, o.Measure, rule), f: o.Format, overs: map[string]*float32{}}
	if rules := model.Of(m).Told().Rules; rules != nil {
		if o.Format.Library != scaled.MLX {
			return nil, wire.ErrUsage.Errorf("mlx-lm has its own formats, and %s is not one of them", o.Format.Name)
		}
		e.mlx = &mlxModules{rules, opts.Casts}
	}
	if err := e.Begin(b, m, opts); err != nil {
		return nil, err
	}
	e.Stores(o.Format.Library, o.Format.Name)
	leftByModelOpt(&e.Linear)
	e.Renames(o.Format.Name)
	e.Breaks(encode.LibraryNames[o.Format.Library])
	return e, nil
}

// Takes decides about a tensor. MLX quantizes embeddings and heads too.
func (e *groupedEncoder) Takes(name string, shape []int64) (encode.Verdict, error) {
	if e.mlx != nil {
		if _, ok := e.mlx.of(e.f, name, shape); ok && (e.Rule.Exclude == nil || !e.Rule.Exclude(name)) {
			return encode.EncodeIt, nil
		}
		return encode.DecodeIt, nil
	}
	if e.f.Library == scaled.GptOss {
		return e.takesOss(name, shape)
	}
	also := func(why transformers.Reason) bool {
		return e.f.Library == scaled.MLX && (why == transformers.Embedding || why == transformers.Head) || e.WithExperts(e.f.Name, why)
	}
	v, err := e.TakesAligned(name, shape, also, e.f.Fits, "groups")
	if n := len(e.Kept); e.f.Library == scaled.MLX && n > 0 && e.Kept[n-1].Name == name && e.Kept[n-1].Reason == transformers.Expert {
		e.Kept[n-1].Why = "expert: mlx-lm stacks them, and quantizes them in a model under its own names"
	}
	return v, err
}

// Encode plans a weight.
func (e *groupedEncoder) Encode(w *quant.Weight) (encode.Encoding, error) {
	one, err := e.Of(w)
	if err != nil {
		return nil, err
	}
	if e.f.Library == scaled.GptOss {
		if w, err = quant.Transpose(w); err != nil {
			return nil, err
		}
		one.Source = w
	}
	t := &groupedEncoding{LinearWeight: one, f: &e.f}
	t.d, t.rounds = e.Computed(w)
	if e.mlx != nil {
		if err := e.asModule(t); err != nil {
			return nil, err
		}
	}
	switch {
	case e.f.Half && t.d != asm.F16:
		t.d, t.rounds = asm.F16, true
	case e.f.Bfloat && t.d != asm.BF16:
		t.d, t.rounds = asm.BF16, true
	}
	if err := e.number(t); err != nil {
		return nil, err
	}
	if err := t.plan(); err != nil {
		return nil, err
	}
	return t, e.Planned(w, t)
}

// asModule sets the format that mlx-lm uses for the weight's module.
func (e *groupedEncoder) asModule(t *groupedEncoding) (err error) {
	f, _ := e.mlx.of(e.f, t.Source.Name, t.Source.Shape)
	t.f = &f
	if module := strings.TrimSuffix(t.Source.Name, ".weight"); e.mlx.rules.Eight(module) {
		if e.eight, err = limits.Append(e.Budget, e.eight, module); err != nil {
			return err
		}
	}
	if e.mlx.casts && t.d != kinds[e.Target] {
		t.d, t.rounds = kinds[e.Target], true
	}
	return nil
}

// number computes the global scale of a weight.
func (e *groupedEncoder) number(t *groupedEncoding) error {
	t.over = new(float32)
	if !e.f.Global {
		return nil
	}
	most := float32(0)
	err := e.Pass(t.Source, 1, func(int64) int64 { return 1 }, func(list, numbers []float32, lo int64) (err error) {
		if t.rounds {
			scaled.Round(numbers, t.d)
		}
		list[0], err = scaled.Most(0, numbers)
		return t.refused(err, lo)
	}, func(list []float32) { most = max(most, list[0]) })
	if err != nil {
		return err
	}
	*t.over = e.f.Over(most, t.d)
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

// groupedEncoding is one weight.
type groupedEncoding struct {
	encode.LinearWeight

	f       *scaled.Groups
	d       asm.Type // of the model's weights, which the library computes in
	rounds  bool     // the numbers are decoded or rounded from another type
	over    *float32 // the global scale, known once all weights are planned
	hold    int64
	parts   groupedParts
	columns []byte // what is stored by columns, until the end
}

// groupedParts has the index of each kind of out, -1 for none.
type groupedParts struct{ codes, scales, seconds, over, shape, order int }

// Block returns the numbers in the rows that are stored together.
func (e *groupedEncoding) Block() int64 { return e.f.Lines() * max(1, e.Source.Cols()) }
func (e *groupedEncoding) Hold() int64  { return e.hold }

// Open divides the memory: what is stored by columns comes before the sums.
func (e *groupedEncoding) Open(memory []byte) {
	n := int64(0)
	if e.f.Columns {
		for i := range e.List {
			n += e.List[i].Size
		}
		e.columns = memory[:n:n]
		clear(e.columns)
	}
	e.LinearWeight.Open(memory[n:])
}

// Put encodes one row after the other.
func (e *groupedEncoding) Put(dst [][]byte, lo int64, src []float32) error {
	cols := e.Source.Cols()
	if e.rounds {
		scaled.Round(src, e.d)
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
func (e *groupedEncoding) row(dst [][]byte, m *encode.Meter, row, k int64, x []float32) error {
	var codes [256]byte
	var after [256]float32
	step, count := e.f.Step(), e.f.Count(int64(len(x)))
	for at := int64(0); at < int64(len(x)); at += step {
		part := x[at:min(at+step, int64(len(x)))]
		c, err := e.f.Encode(codes[:len(part)], part, e.d, *e.over)
		if bad, ok := errors.AsType[*scaled.Bad](err); ok {
			return &scaled.Bad{Index: at + bad.Index, Value: bad.Value}
		}
		if err != nil {
			return err
		}
		if e.f.Columns {
			e.putColumn(row, at, count, &c)
		} else {
			e.putRow(dst, k, at, count, &c)
		}
		if e.Unit > 0 {
			e.f.Decode(after[:len(part)], &c, *e.over)
			m.Add(part, after[:len(part)])
		}
	}
	return nil
}

// refused says which number of the weight cannot be quantized.
func (e *groupedEncoding) refused(err error, lo int64) error {
	bad, ok := errors.AsType[*scaled.Bad](err)
	switch {
	case !ok:
		return err
	case bad.Finite():
		return wire.ErrUnsupported.Errorf("numbers from element %d on are too large for %s", lo+bad.Index, e.f.Layout)
	}
	return &encode.NotFinite{Index: lo + bad.Index, Value: bad.Value}
}
