package family

import (
	"cmp"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Tensor is one of llama.cpp's tensors and what it is made of.
type Tensor struct {
	Name  string
	DType tensor.DType
	Shape []int64
	Parts []Part
	Add   float32 // added to each value
	Decay bool    // each value x becomes -exp(x)
	InF32 bool    // values of F16 are changed in F32 too
	Log   bool    // each value x becomes log(-x), the inverse of Decay
	Data  []byte  // the bytes, instead of parts
	// Turns is the number of elements taken from each part in turn, if parts are
	// interleaved.
	Turns int64
	// Wide says that llama.cpp stores the tensor in F32 whatever type the folder had.
	Wide bool
	// Zeros is the number of elements after the parts that are 0.
	Zeros int64
	// Packed are the blocks that the tensor is made of, instead of parts.
	Packed *Packed
	// Unpacked are the tensors whose blocks it is made of, instead of parts.
	Unpacked *Unpacked
}

// A Part is one tensor of the source, or some rows of it. Parts follow each other.
type Part struct {
	Info tensor.Info
	// Head is the number of rows of a head whose two halves become pairs: rows 0, n/2, 1,
	// n/2+1, ... of the source. Back is the inverse.
	Head int64
	Back bool
	// From and Rows select rows of the source; Rows is 0 for all.
	From, Rows int64
	// Times are factors of all values, applied one after the other.
	Times []float32
}

// A Key is one key of GGUF and its value.
type Key struct {
	Key   string
	Value any
}

// A Plan is a model under llama.cpp's names.
type Plan struct {
	Arch    string
	Tensors []Tensor
	Keys    []Key
	Moved   bool // some tensors are blocks that are copied unchanged

	numbers map[string][]float32 // elements of keys that tensors hold
}

// Options of a plan.
type Options struct {
	Name string // of the model
	Pre  string // the pre-tokenizer, if the caller knows it
	// Template says that the caller provides a chat template.
	Template bool
	// TensorsAlone omits the keys.
	TensorsAlone bool
	// Projector plans the vision part of a model instead of the text model.
	Projector bool
	// Decoded reports whether a tensor is quantized and read as F32, and the type that it
	// finally gets. It may be nil.
	Decoded func(*tensor.Info) (tensor.DType, bool)
	// Target is the folder of the model that a draft model predicts tokens of, or nil.
	Target fs.FS
	// Type is the type of all matrices, unless Unknown.
	Type tensor.DType
	// Packed returns the blocks of a weight that are copied unchanged. It may be nil.
	Packed func(*tensor.Info) (blocks, scales tensor.Info, ok bool)
}

const configName = "config.json"

// maxConfig bounds the bytes of a configuration.
const maxConfig = 16 << 20

// Stated reports whether a folder has a config.json.
func Stated(files fs.FS) bool {
	_, err := fs.Stat(files, configName)
	return err == nil
}

// New plans the conversion of a model of transformers. It refuses what the row does not
// explain.
func New(b *limits.Budget, m tensor.Model, o Options) (*Plan, error) {
	p, err := reading(b, m, o)
	if err != nil {
		return nil, err
	}
	p.o = o
	if err := p.detectReranker(); err != nil {
		return nil, err
	}
	if err := p.tensors(); err != nil {
		return nil, err
	}
	if err := p.derivedTensors(); err != nil {
		return nil, err
	}
	if o.TensorsAlone {
		return p.Plan, p.c.checkMembers()
	}
	k := &keys{b: b, c: p.c, files: m.Configs(), o: o, fileType: p.fileType(), plan: p.Plan, find: find}
	if err := cmp.Or(k.all(), p.c.checkMembers()); err != nil {
		return nil, err
	}
	p.Keys = k.list
	return p.Plan, nil
}

// maxLayers bounds the layers of a model.
const maxLayers = 512

// configOf returns the configuration with its row.
func configOf(root jsontree.Value) (*config, error) { return draftOf(root, jsontree.Value{}) }

// draftOf does the same for a model that may draft for another one, whose config.json is target.
func draftOf(root, target jsontree.Value) (*config, error) {
	list, text := root.Get("architectures").List(), textConfig(root)
	if own := text.Get("architectures").List(); len(own) > 0 && !rootDecides(list) {
		list = own
	}
	if class := root.Get("_class_name"); class.IsString() && len(list) == 0 {
		return nil, wire.ErrUnsupported.Errorf("the class %s of diffusers is not supported: there is no row for it yet (%s writes names as they are)", wire.Quote(class.String()), wire.OptionRawNames)
	}
	if len(list) != 1 {
		return nil, wire.ErrUnsupported.Errorf("the configuration names %d architectures: no GGUF that llama.cpp runs can be written (%s writes names as they are)", len(list), wire.OptionRawNames)
	}
	c := &config{root: root, text: text, targetRoot: target, row: find(list[0].String())}
	if c.row == nil {
		return nil, wire.ErrUnsupported.Errorf("the architecture %s is not supported: %s (%s writes names as they are)", wire.Quote(list[0].String()), lacking(list[0].String(), converterText), wire.OptionRawNames)
	}
	if c.row.choose != nil {
		c.row = cmp.Or(c.row.choose(c), c.row)
	}
	if err := c.needTarget(); err != nil {
		return nil, err
	}
	return c.bounded()
}

// lacking says who lacks a class that has no row: llama.cpp, whose converter takes the given
// ones, or this package.
func lacking(class string, taken []string) string {
	if _, found := slices.BinarySearch(taken, class); found {
		return "llama.cpp has it, but there is no row for it yet"
	}
	return converterName + " has none of that name"
}

// bounded refuses sizes that no model has.
func (c *config) bounded() (*config, error) {
	if c.row.linear {
		if err := checkLinear(c); err != nil {
			return nil, err
		}
	}
	if c.row.check != nil {
		if err := c.row.check(c); err != nil {
			return nil, err
		}
	}
	layers, hidden, head, experts := c.layers(), c.hidden(), c.headDim(), c.experts()
	if err := c.checkSizes(); err != nil {
		return nil, err
	}
	switch {
	case layers < 1 || layers > maxLayers || c.hiddenLayers() < 1:
		return nil, wire.ErrRange.Errorf("%d layers", layers)
	case c.heads() < 1 || c.heads() > 1<<16 || c.kvHeads() < 1 || c.kvHeads() > 1<<16:
		return nil, wire.ErrRange.Errorf("%d heads of attention, %d of keys", c.heads(), c.kvHeads())
	case hidden < 1 || head < 1 || head > 1<<20 || hidden > 1<<24:
		return nil, wire.ErrRange.Errorf("a width of %d, heads of %d", hidden, head)
	case experts > 1<<12:
		return nil, wire.ErrRange.Errorf("%d experts", experts)
	}
	c.readSizes()
	return c, c.checkSizes()
}

type planner struct {
	*Plan
	b *limits.Budget
	c *config
	m tensor.Model
	o Options

	nameOf func(*location) string // the name that is written
	skips  func(*location) bool   // reports tensors that are not written; nil for none
	form   *mlxForm               // how mlx-lm's tensors differ, or nil
	asIs   bool                   // values, order and types stay as they are

	stacks         map[stackKey]int           // index of the tensor that collects experts
	partial        map[stackKey][]tensor.Info // views whose tensor is not complete yet
	firstType      tensor.DType               // type of the first matrix
	keepBlocks     bool                       // MXFP4 blocks of experts are copied unchanged
	decodedExperts bool                       // some experts are decoded
	madeRankHead   bool                       // the head of a reranker was made
	aliasSeen      bool                       // one of the row's aliases was read
}

// tensors plans every tensor and refuses a model that lacks one.
func (p *planner) tensors() error {
	p.stacks = map[stackKey]int{}
	names, err := wire.NewNameSet(p.b, p.m.Len(), func(i int) string { return p.Tensors[i].Name })
	if err != nil {
		return err
	}
	for i := range p.m.Tensors() {
		if err := p.b.Step(1); err != nil {
			return err
		}
		if p.isUnneeded(i.Name) || p.isExtraLayer(i.Name) || p.isAlias(i.Name) {
			continue
		}
		n, plan := len(p.Tensors), p.tensor
		if p.isDraftTable(i.Name) {
			plan = p.draftTable
		}
		if err := plan(&i); err != nil {
			return wire.At(p.m.Format(), "tensor "+wire.Quote(i.Name), i.Span.Off, err)
		}
		for ; n < len(p.Tensors); n++ {
			if _, added, err := names.Add(n); err != nil {
				return err
			} else if !added {
				return wire.At(p.m.Format(), "tensor "+wire.Quote(i.Name), i.Span.Off, wire.ErrDuplicate.Errorf("another tensor would also be %s", wire.Quote(p.Tensors[n].Name)))
			}
		}
	}
	return p.checkComplete(names)
}

func itoa(n int64) string { return strconv.FormatInt(n, 10) }

// tensor plans one tensor of the source.
func (p *planner) tensor(i *tensor.Info) error {
	at, ok := p.locate(i.Name)
	switch {
	case !ok:
		return wire.ErrUnsupported.Errorf("llama.cpp's %s has no such tensor", p.c.row.arch)
	case !at.outer && at.layer >= p.c.layers():
		return wire.ErrMismatch.Errorf("the configuration states only %d layers", p.c.layers())
	case at.expert >= p.c.matrices(at.name) && at.expert >= 0:
		return wire.ErrMismatch.Errorf("the configuration states only %d experts", p.c.matrices(at.name))
	case !at.exists(p.c):
		return wire.ErrMismatch.Errorf("by the configuration, layer %d does not have it", at.layer)
	}
	if err := p.checkType(i); err != nil {
		return err
	}
	shape, err := p.shape(&at)
	if err != nil {
		return err
	}
	if err := sameShape(i.Shape, shape); err != nil {
		return err
	}
	if p.firstType == tensor.Unknown && len(i.Shape) >= 2 {
		p.firstType = i.DType
		if p.o.Decoded != nil {
			if to, is := p.o.Decoded(i); is {
				p.firstType = to
			}
		}
	}
	switch {
	case p.skips != nil && p.skips(&at):
		return nil
	case at.name.key != "" && p.hasNumber(&at):
		return wire.ErrDuplicate.Errorf("layer %d has it twice", at.layer)
	case at.name.key != "":
		return p.readNumber(i, &at)
	}
	if p.isRankSource(&at) && !at.bias {
		if err := p.makeRankHead(i); err != nil || !p.c.tied() {
			return err
		}
	}
	if at.bias && at.name.bias != "" {
		own := mapping{gguf: at.name.bias, shape: at.name.shape[:1]}
		if at.name.biasColumn {
			own.views, at.bias = columnView(at.name.bias, at.name.shape[0]), false
		}
		at.name = &own
	}
	switch {
	case at.name.op == stack:
		return p.stack(i, &at)
	case p.isSplit(&at):
		return p.split(i, &at)
	}
	return p.single(i, &at)
}

// checkType refuses a tensor of a type that is not written.
func (p *planner) checkType(i *tensor.Info) error {
	switch i.DType {
	case tensor.F32, tensor.F16, tensor.BF16:
		return nil
	}
	if p.asIs && i.DType != tensor.Unknown {
		return nil
	}
	return wire.ErrUnsupported.Errorf("it is %s, but only F32, F16 and BF16 are written for llama.cpp: save the model in one of these types", i.TypeName())
}

// single plans a tensor that is made of one tensor.
func (p *planner) single(i *tensor.Info, at *location) error {
	t := Tensor{Name: p.nameOf(at), Shape: i.Shape}
	part := Part{Info: *i}
	if p.asIs {
		t.Shape, t.DType, t.Parts = p.form.shape(p.c, at, i.Shape), i.DType, []Part{part}
		if at.name.op == addOne && !at.bias && p.form != nil && p.form.normsPlusOne {
			t.Add = 1
		}
		return p.add(t)
	}
	switch at.name.op {
	case permuteQ, permuteK:
		part.Head = p.c.headDim()
		if part.Head%2 != 0 {
			return wire.ErrUnsupported.Errorf("heads of %d numbers", part.Head)
		}
	case addOne:
		if !at.bias {
			t.Add = addend(at.name.plus, i.DType)
		}
	case decay, wideDecay:
		t.Decay, t.InF32 = true, at.name.op == wideDecay
	case transpose:
		if at.bias {
			break
		}
		if i.Strides != nil {
			return wire.ErrUnsupported.Errorf("a view that must be transposed")
		}
		rows, cols := i.Shape[0], i.Shape[1]
		t.Shape = []int64{cols, rows}
		part.Info.Shape, part.Info.Strides = t.Shape, []int64{1, cols}
	}
	var err error
	if part.Times, err = p.factors(at.name.factors); err != nil {
		return err
	}
	t.DType = p.dtypeFor(at.name, t.Name, len(t.Shape), i.DType)
	t.Parts = []Part{part}
	if at.name.rows != nil {
		if err := t.extend(at.name.rows(p.c)); err != nil {
			return err
		}
	}
	return p.add(t)
}

// addend returns what is added to norms of a type: 1, or a number that torch rounds to F16 for numbers of F16.
func addend(plus float32, of tensor.DType) float32 {
	if of != tensor.F16 {
		return cmp.Or(plus, 1)
	}
	fraction, exponent := math.Frexp(float64(cmp.Or(plus, 1)))
	return float32(math.Ldexp(math.RoundToEven(fraction*(1<<11)), exponent-11))
}

// maxZeroRows bounds the rows that are added: Gemma 3n lacks those of 256 tokens.
const maxZeroRows = 1 << 12

// extend adds rows of zeros to a matrix that has fewer than n.
func (t *Tensor) extend(n int64) error {
	have := t.Shape[0]
	if n <= have {
		return nil
	}
	if len(t.Shape) != 2 || n-have > maxZeroRows {
		return wire.ErrMismatch.Errorf("it has %d rows, and llama.cpp needs %d", have, n)
	}
	t.Zeros = (n - have) * t.Shape[1]
	t.Shape = []int64{n, t.Shape[1]}
	return nil
}

// add adds a tensor.
func (p *planner) add(t Tensor) (err error) {
	if err := p.b.Hold(int64(len(t.Name)) + 200); err != nil {
		return err
	}
	p.Tensors, err = limits.Append(p.b, p.Tensors, t)
	return err
}

// stack adds one expert to its stack.
func (p *planner) stack(i *tensor.Info, at *location) error {
	key := stackKey{at.index, at.layer, at.bias}
	n, ok := p.stacks[key]
	if !ok {
		count := p.c.matrices(at.name)
		if count < 1 || count > 1<<12 {
			return wire.ErrRange.Errorf("%d experts", count)
		}
		shape := append([]int64{count}, i.Shape...)
		if at.name.joined {
			shape = append([]int64{count * i.Shape[0]}, i.Shape[1:]...)
		}
		name := p.nameOf(at)
		t := Tensor{Name: name, Shape: shape, DType: stored(name, len(shape), i.DType)}
		var err error
		if t.Parts, err = limits.Make[Part](p.b, int(count)); err != nil {
			return err
		}
		if err := p.b.Hold(int64(len(name)) + 200); err != nil {
			return err
		}
		if p.Tensors, err = limits.Append(p.b, p.Tensors, t); err != nil {
			return err
		}
		n = len(p.Tensors) - 1
		p.stacks[key] = n
	}
	part := &p.Tensors[n].Parts[at.expert]
	switch {
	case part.Info.Name != "":
		return wire.ErrDuplicate.Errorf("expert %d", at.expert)
	case i.DType != p.Tensors[n].DType && stored(p.Tensors[n].Name, len(p.Tensors[n].Shape), i.DType) == i.DType:
		return wire.ErrUnsupported.Errorf("experts of the types %v and %s", p.Tensors[n].DType, i.TypeName())
	}
	part.Info = *i
	return nil
}

// fileType returns general.file_type: that of the first matrix, or MXFP4's if blocks are
// copied.
func (p *planner) fileType() uint32 {
	if p.Moved {
		return 38
	}
	one := p.firstType
	if p.o.Type != tensor.Unknown {
		one = p.o.Type
	}
	switch one {
	case tensor.F32:
		return 0
	case tensor.BF16:
		return 32
	}
	return 1
}
