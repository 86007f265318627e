package convert

import (
	"errors"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/strictjson"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// A BnbType is how bitsandbytes stores a weight.
type BnbType uint8

// The types.
const (
	NF4 BnbType = iota
	FP4
	INT8
)

var bnbTypes = [...]string{"nf4", "fp4", "int8"}

func (t BnbType) String() string { return bnbTypes[t] }

// ParseBnbType reads a type's name as the command line spells it.
func ParseBnbType(name string) (BnbType, bool) {
	i := slices.Index(bnbTypes[:], name)
	return BnbType(max(0, i)), i >= 0
}

// Bnb stores weights as bitsandbytes does. The zero value is NF4 in blocks of 64.
type Bnb struct {
	Type   BnbType
	Block  int  // numbers that share a scale, of the four-bit types; 0 is 64
	Nested bool // the scales are quantized too
	// Include and Exclude choose by name, before the rule; nil chooses none.
	Include, Exclude func(name string) bool
	// Measure compares each weight with what it decodes to.
	Measure bool
}

// bnbEncoder encodes the weights of one model.
type bnbEncoder struct {
	Quantized

	o        Bnb
	threads  int
	rule     bnbRule
	b        *limits.Budget
	m        tensor.Model
	straight *straight // the same, as weights are read
	target   quant.Target
	compute  string // torch's name of the type that the modules compute in
}

// Check implements [Quantizer].
func (o Bnb) Check() error {
	switch err := (bnb.Quantizer{Block: o.block()}).Check(); {
	case o.Type == INT8 && o.Nested:
		return wire.ErrUsage.With("scales of rows are never quantized themselves")
	case o.Type == INT8 && o.Block != 0:
		return wire.ErrUsage.With("the scales of INT8 are those of rows, not of blocks")
	case o.Type != INT8:
		return err
	}
	return nil
}

// block is bitsandbytes' own where none is given.
func (o Bnb) block() int {
	if o.Block == 0 {
		return 64
	}
	return o.Block
}

func (o Bnb) start(b *limits.Budget, m tensor.Model, opts *Options) (encoder, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	o.Block = o.block()
	e := &bnbEncoder{o: o, threads: opts.Threads, b: b, m: m, straight: &straight{Model: m, b: b}, target: opts.Quant.Target}
	e.Layout = o.layout()
	e.rule = bnbRule{Include: o.Include, Exclude: o.Exclude}
	if err := e.names(); err != nil {
		return nil, err
	}
	if err := e.modelTypes(); err != nil {
		return nil, wire.At("convert", "file "+wire.Quote(configName), wire.NoOffset, err)
	}
	return e, nil
}

func (e *bnbEncoder) quantized() *Quantized { return &e.Quantized }

// names makes the set of names that the rule asks.
func (e *bnbEncoder) names() error {
	infos, err := limits.Make[string](e.b, e.m.Len())
	if err != nil {
		return err
	}
	set, err := wire.NewNameSet(e.b, e.m.Len(), func(i int) string { return infos[i] })
	if err != nil {
		return err
	}
	n := 0
	for i := range e.m.Tensors() {
		infos[n] = i.Name
		if _, _, err := set.Add(n); err != nil {
			return err
		}
		n++
	}
	e.rule.Has = func(name string) bool {
		_, ok := set.Find(name)
		return ok
	}
	return nil
}

// modelTypes reads the types of the model and of the models in it.
func (e *bnbEncoder) modelTypes() error {
	body, err := readText(e.b, e.m.Configs(), configName, maxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	doc := strictjson.Text{Format: configName, Body: body, Whole: true}
	return strictjson.Decode(e.b, doc, e.modelType)
}

func (e *bnbEncoder) modelType(d *strictjson.Decoder) error {
	return d.Object(func(key string) error {
		kind, err := d.Kind()
		switch {
		case err != nil:
			return err
		case key == "model_type" && kind == strictjson.String:
			name, err := d.String()
			if err != nil {
				return err
			}
			e.rule.ModelTypes, err = limits.Append(e.b, e.rule.ModelTypes, name)
			return err
		case strings.HasSuffix(key, "_config") && kind == strictjson.Object:
			return e.modelType(d)
		}
		return d.Skip()
	})
}

// takes decides about a tensor by the rule.
func (e *bnbEncoder) takes(name string, shape []int64) (verdict, error) {
	v := e.rule.judge(name, shape)
	switch {
	case v.Quantize:
		return encodeIt, nil
	case len(shape) != 2 || !strings.HasSuffix(name, ".weight"):
		return decodeIt, nil
	}
	var err error
	e.Kept, err = limits.Append(e.b, e.Kept, KeptMatrix{name, v.Why})
	return decodeIt, err
}

// encode plans a weight.
func (e *bnbEncoder) encode(w *quant.Weight) (encoding, error) {
	if w.Matrix().Transposed() {
		return nil, wire.ErrUnsupported.With("its scheme stores it transposed: decode the model first")
	}
	dtype := torchNames[e.target]
	if floating(w.Parts[0].DType) && len(w.Parts) == 1 {
		dtype = torchTypes[w.Parts[0].DType]
	}
	if e.compute == "" {
		e.compute = dtype
	}
	if e.rule.judge(w.Name, w.Shape).Transposed {
		var err error
		if w, err = quant.Transpose(w); err != nil {
			return nil, err
		}
	}
	base := bnbEncoding{bnb: e, w: w, index: len(e.Weights)}
	enc, err := base.of(dtype)
	if err != nil {
		return nil, err
	}
	one := QuantizedWeight{Name: w.Name, Type: enc.Outs()[0].DType, Shape: w.Shape, Elements: w.Rows() * w.Cols(), Before: w.Stored()}
	for _, o := range enc.Outs() {
		one.After += o.Size
	}
	e.Weights, err = limits.Append(e.b, e.Weights, one)
	return enc, err
}

// torchTypes are the types of unquantized weights as torch names them.
var torchTypes = map[tensor.DType]string{tensor.F32: "float32", tensor.F16: "float16", tensor.BF16: "bfloat16"}

// layout is what people are told of how weights are stored.
func (o Bnb) layout() string {
	if o.Type == INT8 {
		return "INT8, one scale per row"
	}
	text := strings.ToUpper(o.Type.String()) + ", blocks of " + strconv.Itoa(o.block())
	if o.Nested {
		text += ", scales quantized"
	}
	return text
}
