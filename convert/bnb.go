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

// BnbOptions say how weights are quantized.
type BnbOptions struct {
	Type   BnbType
	Block  int  // numbers that share a scale, of the four-bit types; 0 is 64
	Nested bool // the scales are quantized too
	// Include and Exclude choose by name, before the rule; nil chooses none.
	Include, Exclude func(name string) bool
	// Measure compares each weight with what it decodes to.
	Measure bool
	// Threads is the most that go through a weight at once before it is written;
	// 0 is one for each processor.
	Threads int
}

// A Bnb encodes weights as bitsandbytes stores them.
type Bnb struct {
	Weights []BnbWeight
	Kept    []BnbKept // matrices that are left alone

	o        BnbOptions
	rule     BnbRule
	b        *limits.Budget
	m        tensor.Model
	straight *straight // the same, as weights are read
	target   quant.Target
	compute  string // torch's name of the type that the modules compute in
}

// A BnbWeight is one that is quantized.
type BnbWeight struct {
	Name     string
	Shape    []int64 // as it is stored
	Elements int64
	Before   int64 // bytes in the source, or decoded from it
	After    int64 // bytes of all parts
	// Lost is what was measured. It is empty where nothing was: without Measure,
	// and where scales of a row are quantized with those of thousands of others.
	Lost quant.Distortion
}

// A BnbKept is a matrix that is left alone.
type BnbKept struct{ Name, Why string }

// NewBnb makes an encoder for the weights of one model: its Encode and Encodes go
// into [Options], and after NewPlan its Config.
func NewBnb(b *limits.Budget, m tensor.Model, target quant.Target, o BnbOptions) (*Bnb, error) {
	if o.Block == 0 {
		o.Block = 64
	}
	if err := (quant.Bnb4{Block: o.Block}).Check(); err != nil && o.Type != INT8 {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	if o.Nested && o.Type == INT8 {
		return nil, wire.At("convert", "", wire.NoOffset, wire.ErrUsage.With("scales of rows are never quantized themselves"))
	}
	e := &Bnb{o: o, b: b, m: m, straight: &straight{Model: m, b: b}, target: target}
	e.rule = BnbRule{Include: o.Include, Exclude: o.Exclude}
	if err := e.names(); err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	if err := e.modelTypes(); err != nil {
		return nil, wire.At("convert", "file "+wire.Quote(configName), wire.NoOffset, err)
	}
	return e, nil
}

// names makes the set of names that the rule asks.
func (e *Bnb) names() error {
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
func (e *Bnb) modelTypes() error {
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

func (e *Bnb) modelType(d *strictjson.Decoder) error {
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

// Encodes decides about a tensor by the rule; see [Options].
func (e *Bnb) Encodes(name string, shape []int64) (bool, error) {
	v := e.rule.Judge(name, shape)
	if v.Quantize || len(shape) != 2 || !strings.HasSuffix(name, ".weight") {
		return v.Quantize, nil
	}
	var err error
	e.Kept, err = limits.Append(e.b, e.Kept, BnbKept{name, v.Why})
	return false, err
}

// Encode plans a weight; see [Options].
func (e *Bnb) Encode(w *quant.Weight) (Encoding, error) {
	if w.Transposed() {
		return nil, wire.ErrUnsupported.With("its scheme stores it the other way round: remember it first")
	}
	dtype := torchNames[e.target]
	if floating(w.Parts[0].DType) && len(w.Parts) == 1 {
		dtype = torchTypes[w.Parts[0].DType]
	}
	if e.compute == "" {
		e.compute = dtype
	}
	if e.rule.Judge(w.Name, w.Shape).Transposed {
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
	one := BnbWeight{Name: w.Name, Shape: w.Shape, Elements: w.Rows() * w.Cols(), Before: w.Stored()}
	for _, o := range enc.Outs() {
		one.After += o.Size
	}
	e.Weights, err = limits.Append(e.b, e.Weights, one)
	return enc, err
}

// torchTypes are the types of unquantized weights as torch names them.
var torchTypes = map[tensor.DType]string{tensor.F32: "float32", tensor.F16: "float16", tensor.BF16: "bfloat16"}

// Lost sums up what was measured of all weights, in their order.
func (e *Bnb) Lost() quant.Distortion {
	var d quant.Distortion
	for i := range e.Weights {
		d.Merge(e.Weights[i].Lost)
	}
	return d
}

// Layout is what people are told of how weights are stored.
func (e *Bnb) Layout() string {
	if e.o.Type == INT8 {
		return "INT8, one scale per row"
	}
	text := strings.ToUpper(e.o.Type.String()) + ", blocks of " + strconv.Itoa(e.o.Block)
	if e.o.Nested {
		text += ", scales quantized"
	}
	return text
}
