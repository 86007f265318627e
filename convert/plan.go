package convert

import (
	"cmp"
	"io/fs"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/inputs"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Plan is a conversion that has not read any tensor yet. [NewPlan] decides everything but its
// progress.
type Plan struct {
	// What is written.

	Outs  []Out
	Files []File
	Size  int64 // bytes of all files

	// What becomes of the tensors of the source.

	Weights []*quant.Weight // decoded weights
	Read    []*quant.Weight // quantized weights that the source decodes when it is read
	Decoded Count           // what Weights become
	Cast    Count           // those of Decoded that were only cast, not quantized
	Encoded Count           // tensors that hold encoded weights
	Copied  Count           // tensors that are copied unchanged
	LeftOut []tensor.Info   // scales that only inference needs
	Ignored []string        // unknown parts, ignored at the caller's word
	// Quantized is the result of [Options.Quantize]; nil if that is nil.
	Quantized *encode.Quantized
	// Loads says of each library that could load the result whether it does. ModelType is the
	// model_type of config.json, or the architecture of a GGUF model.
	Loads     []encode.Loading
	ModelType string

	request
	discovery
	work
	progress
}

// A request is what the caller of [NewPlan] has asked for, with defaults filled in.
type request struct {
	b    *limits.Budget
	m    tensor.Model
	o    Options
	sink Sink
	tile int64
}

// A discovery is what planning finds out about the model.
type discovery struct {
	view     *model.Model    // the model, if it is made of others
	straight *model.Straight // the model for weights that are encoded
	encoder  encode.Encoder  // nil if nothing is quantized
	aliases  []Entry         // names left out, with the stored ones
	arch     string          // the architecture that a GGUF output names
	mlx      bool            // the output says that it is for mlx-lm
	named    []string        // the tensors and weights of the source that are written
	recoded  bool            // quantized weights are encoded in another form
}

// A work is what the workers do.
type work struct {
	tasks  []task
	whole  int64       // the most memory that a task needs at once
	counts []*specials // of Plan.Weights
}

// A progress is what changes while the files are written.
type progress struct {
	done   atomic.Int64 // bytes
	synced time.Duration
}

// A File is one output file.
type File struct {
	Name string // in a set of shards, else ""
	Size int64

	outs   []int32
	layout *Layout
}

// NewPlan binds the tensors of a model and lays out the output. The account and the model
// must stay open as long as the plan is used. The caller closes the plan.
func NewPlan(b *limits.Budget, m tensor.Model, o Options) (*Plan, error) {
	held := b.Holding()
	p, err := newPlan(held, m, o)
	if err != nil {
		held.Close()
		return nil, err
	}
	return p, nil
}

func newPlan(b *limits.Budget, m tensor.Model, o Options) (*Plan, error) {
	p := &Plan{
		request:   request{b: b, m: m, o: o, sink: o.Sink, tile: int64(o.Tile)},
		discovery: discovery{view: model.Of(m), straight: model.NewStraight(b, m)},
	}
	if p.sink == nil {
		p.sink = Safetensors{}
	}
	if p.tile <= 0 {
		p.tile = DefaultTile
	}
	if g, ok := p.sink.(GGUF); ok && !g.RawNames && isAdapter(m) {
		return nil, wire.At("convert", "", wire.NoOffset, wire.ErrUnsupported.Errorf("it is a PEFT adapter: merge it into its base first, or use convert_lora_to_gguf.py of llama.cpp"))
	}
	steps := [...]func() error{p.evaluated, p.pieces, p.quantize, p.bind, p.layout, p.order, p.plainLoadings}
	for _, step := range steps {
		if err := step(); err != nil {
			return nil, wire.At("convert", "", wire.NoOffset, err)
		}
	}
	return p, nil
}

// Close returns what the plan holds to the account. Closing twice is harmless.
func (p *Plan) Close() {
	if p != nil {
		p.b.Close()
	}
}

// evaluated refuses tensors that a library would evaluate as Python under their output
// names, since the output could not be read.
func (p *Plan) evaluated() error { return safetensors.VerifyTypes(p.b, p.m) }

// pieces refuses those of tensors.
func (p *Plan) pieces() error { return inputs.Pieces(p.b, p.m) }

// quantize starts the encoder.
func (p *Plan) quantize() (err error) {
	if p.o.Quantize == nil {
		return nil
	}
	if isAdapter(p.m) {
		return wire.ErrUnsupported.Errorf("it is a PEFT adapter, and PEFT does not read quantized ones: quantize the base, or merge the adapter into it first")
	}
	if p.encoder, err = p.o.Quantize.Start(p.b, p.m, p.encOptions()); err != nil {
		return err
	}
	p.Quantized = p.encoder.Result()
	return nil
}

// encOptions returns what the encoder needs to know.
func (p *Plan) encOptions() *encode.Options {
	o := &encode.Options{
		Straight: model.NewStraight(p.b, p.m), Threads: p.o.Threads, Zeroes: p.o.NaN == ZeroNaN, Target: p.o.Quant.Target, Casts: p.o.Cast != nil,
		Again: p.o.Requantize, Listed: p.o.Split != nil && p.o.Split.Kept, Rules: p.view.Told().Rules, Runs: gguf.Knows,
	}
	if p.o.Sink != nil {
		o.Format = p.o.Sink.Name()
	}
	return o
}

// isAdapter reports whether the tensors are those of a PEFT adapter; a base model may be
// beside it.
func isAdapter(m tensor.Model) bool {
	if _, err := fs.Stat(m.Configs(), "adapter_config.json"); err != nil {
		return false
	}
	for i := range m.Tensors() {
		return strings.HasPrefix(i.Name, "base_model.")
	}
	return false
}

// Progress returns how many bytes of the files were written so far, and the total. It may
// be called at any time.
func (p *Plan) Progress() (done, size int64) { return p.done.Load(), p.Size }

// Stores reports whether the output has a tensor of this type.
func (p *Plan) Stores(t tensor.DType) bool {
	return slices.ContainsFunc(p.Outs, func(o Out) bool { return o.DType == t })
}

// ranges returns about how many ranges there are, at most n+1.
func (p *Plan) ranges(n int) int { return int(min(p.Size/p.tile, int64(n))) + 1 }

// tail reports whether a part of a file depends on its tensors.
func (p *Plan) tail() bool {
	return slices.ContainsFunc(p.Files, func(f File) bool { return f.layout.Tail != nil })
}

// tensorSteps are those of a tensor, whatever its size: to plan it, and to open a reader for it.
const tensorSteps = 40

// bind decides what is written, in the order of the source.
func (p *Plan) bind() error {
	picks, err := p.picks()
	if err != nil {
		return err
	}
	if err := p.decide(picks); err != nil {
		return err
	}
	if p.named, err = limits.Make[string](p.b, len(picks)); err != nil {
		return err
	}
	p.named = p.named[:0]
	for i := range picks {
		if err := p.b.Step(tensorSteps); err != nil {
			return err
		}
		first := len(p.Outs)
		err := p.take(&picks[i])
		if len(p.Outs) > first {
			p.named = append(p.named, picks[i].name())
		}
		for k := first; k < len(p.Outs); k++ {
			p.Outs[k].part = picks[i].part()
		}
		if err != nil {
			return wire.At("convert", "tensor "+wire.Quote(picks[i].name()), wire.NoOffset, err)
		}
	}
	if err := p.stillWhole(picks); err != nil {
		return err
	}
	if err := p.loadings(); err != nil {
		return err
	}
	return p.unique()
}

// picks sorts the bound tensors and weights by their order in the source.
func (p *Plan) picks() ([]pick, error) {
	infos, err := limits.Make[tensor.Info](p.b, p.m.Len())
	if err != nil {
		return nil, err
	}
	places, err := wire.NewNameSet(p.b, p.m.Len(), func(i int) string { return infos[i].Name })
	if err != nil {
		return nil, err
	}
	n := 0
	for i := range p.m.Tensors() {
		infos[n] = i
		if _, added, err := places.Add(n); err != nil {
			return nil, err
		} else if !added {
			return nil, wire.ErrDuplicate.Errorf("tensor %s", wire.Quote(i.Name))
		}
		n++
	}
	bound, moved, err := p.asBound(infos)
	if err != nil {
		return nil, err
	}
	if !p.o.AsIs && !moved && quant.Any(p.m) {
		if bound, err = quant.Plan(p.b, p.m, p.o.Quant); err != nil {
			return nil, err
		}
	}
	p.LeftOut, p.Ignored = bound.LeftOut, bound.Ignored
	read := p.view.Told().Bound
	if p.o.Quant.As != "" && len(bound.Weights) == 0 && read == nil {
		return nil, quant.ErrNotMLX
	}
	if read != nil {
		p.LeftOut, p.Ignored, p.Read = read.LeftOut, read.Ignored, read.Weights
	}
	picks, err := limits.Make[pick](p.b, len(bound.Weights)+len(bound.Plain))
	if err != nil {
		return nil, err
	}
	picks = picks[:0]
	for _, w := range bound.Weights {
		if err := w.Check(p.b, p.m); err != nil {
			return nil, err
		}
		at, _ := places.Find(w.Parts[0].Name)
		picks = append(picks, pick{at: at, weight: w})
	}
	for i := range bound.Plain {
		at, _ := places.Find(bound.Plain[i].Name)
		picks = append(picks, pick{at: at, plain: bound.Plain[i]})
	}
	if err := limits.Sort(p.b, picks, func(a, b pick) int { return cmp.Compare(a.at, b.at) }); err != nil {
		return nil, err
	}
	return p.tie(picks)
}

// take plans one tensor.
func (p *Plan) take(k *pick) (err error) {
	if p.o.Keep != nil && !p.o.Keep(k.name()) {
		return nil
	}
	if p.encoder != nil {
		if k.encoded, err = p.encode(k); k.encoded || err != nil {
			return err
		}
		if done, err := p.widen(k); done || err != nil {
			return err
		}
	}
	eight := isFloat8(p.o.CastTo)
	if k.weight != nil {
		if eight {
			return p.castToFloat8(k.weight)
		}
		return p.decode(p.m, k.weight)
	}
	was := p.view.Weight(k.plain.Name)
	rounds := !p.neverCast(&k.plain) && ((was != nil || p.view.Told().CastsAll) && !p.wide(&k.plain) || p.o.Cast != nil && p.o.Cast(&k.plain))
	if rounds && k.plain.DType != p.castTarget() {
		w, err := castable(&k.plain)
		if err != nil {
			return err
		}
		if w != nil && eight {
			return p.castToFloat8(w)
		}
		if w != nil {
			if was == nil {
				p.Cast.add(w.Size(p.o.Quant.Target))
			}
			return p.decode(p.straight, w)
		}
	}
	return p.copy(&k.plain)
}

// neverCast reports whether the library leaves the type of a tensor.
func (p *Plan) neverCast(i *tensor.Info) bool {
	rules := p.view.Told().Rules
	return rules != nil && !rules.Casts(i)
}

// wide reports whether the library has a tensor in F32 whatever the type of the others.
func (p *Plan) wide(i *tensor.Info) bool {
	wide := p.view.Told().Wide
	return wide != nil && wide(i)
}

// castTarget returns the type that tensors are cast to.
func (p *Plan) castTarget() tensor.DType {
	if p.o.CastTo != tensor.Unknown {
		return p.o.CastTo
	}
	return p.o.Quant.Target.DType()
}

// castable returns a tensor as a weight to be rounded, nil if it holds no floating-point
// numbers.
func castable(i *tensor.Info) (*quant.Weight, error) {
	if i.DType == tensor.F64 {
		return nil, wire.ErrUnsupported.Errorf("F64 is not cast, because it would be rounded twice")
	}
	return quant.Cast(i)
}

// copy plans a tensor that is copied.
func (p *Plan) copy(i *tensor.Info) error {
	t, err := newCopyTask(p.m, i, int32(len(p.Outs)))
	if err != nil {
		return err
	}
	o := encode.Out{Name: i.Name, DType: i.DType, Shape: i.Shape, Size: i.Bytes()}
	for p.o.Lean && len(o.Shape) > 1 && o.Shape[0] == 1 {
		o.Shape = o.Shape[1:]
	}
	p.Copied.add(o.Size)
	return p.add(o, t)
}

func (p *Plan) add(o encode.Out, t task) (err error) {
	if err := p.store(o); err != nil {
		return err
	}
	p.tasks, err = limits.Append(p.b, p.tasks, t)
	return err
}

// store adds an out, if the sink can hold it.
func (p *Plan) store(o encode.Out) (err error) {
	if !p.sink.Stores(o.DType) {
		if p.o.AsIs {
			return wire.ErrUnsupported.Errorf("%s has no type %v; without %s quantized weights are decoded", p.sink.Name(), o.DType, wire.OptionAsIs)
		}
		return wire.ErrUnsupported.Errorf("%s has no type %v; %s sets the type of quantized weights only, other tensors keep theirs (%s leaves some out)", p.sink.Name(), o.DType, wire.OptionTarget, wire.OptionKeep)
	}
	p.Outs, err = limits.Append(p.b, p.Outs, Out{Out: o})
	return err
}

// unique returns an error if two tensors have the same name.
func (p *Plan) unique() error {
	names, err := wire.NewNameSet(p.b, len(p.Outs), func(i int) string { return p.Outs[i].Name })
	if err != nil {
		return err
	}
	for i := range p.Outs {
		if _, added, err := names.Add(i); err != nil {
			return err
		} else if !added {
			return wire.ErrDuplicate.Errorf("two tensors are to be written as %s", wire.Quote(p.Outs[i].Name))
		}
	}
	return nil
}

// order sorts the tasks by where they write, so that files grow from their beginning, and
// computes the most memory that a task needs whole.
func (p *Plan) order() error {
	err := limits.Sort(p.b, p.tasks, func(a, b task) int {
		i, from := a.first()
		j, to := b.first()
		x, y := &p.Outs[i], &p.Outs[j]
		return cmp.Or(cmp.Compare(x.file, y.file), cmp.Compare(x.off+from, y.off+to))
	})
	if err != nil {
		return err
	}
	for _, t := range p.tasks {
		p.whole = max(p.whole, t.whole())
	}
	return nil
}
