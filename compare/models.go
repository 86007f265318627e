package compare

import (
	"cmp"
	"slices"
	"sync/atomic"

	"github.com/anamnesis-go/anamnesis/internal/number"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Options say what counts as equal. The zero value asks for the same names,
// shapes, types and bits.
type Options struct {
	// Values compares numbers, whatever type they are stored in; quantized weights
	// are decoded.
	Values bool
	// Tolerance compares numbers, which may differ within it.
	Tolerance Tolerance
	// Done, if set, counts the bytes read of the first model.
	Done *atomic.Int64
}

// A Tolerance is how far numbers may be apart, absolute and relative to the
// larger magnitude: either suffices. The zero Tolerance is not given.
type Tolerance struct {
	Given              bool
	Absolute, Relative float64
}

// A Kind says in what two models differ.
type Kind uint8

// The kinds.
const (
	OnlyFirst  Kind = iota // the second model does not have the tensor
	OnlySecond             // the first model does not have it
	Shape
	Type
	Elements
)

var kinds = [...]string{"only-first", "only-second", "shape", "type", "elements"}

func (k Kind) String() string { return kinds[k] }

// A Difference is one tensor that is not the same.
type Difference struct {
	Kind Kind
	Name string
	A, B *Tensor // nil for a model that does not have it
	// Of Elements: how many differ, where the first is, and what it is on each
	// side; the largest distance of two numbers, 0 where none can be told.
	Count  int64
	First  []int64
	Values [2]string
	Max    float64
	// Distance is over all elements, the equal ones too; empty where the types have
	// no numbers.
	Distance quant.Distortion
}

// A Tensor is one side's.
type Tensor struct {
	Name  string
	Type  string // of the tensor, or the scheme that decoded it
	Shape []int64

	info   tensor.Info
	weight *quant.Weight
}

// A Result counts tensors and the bytes that were read of the first model.
type Result struct {
	Equal, Different int64
	Bytes            int64
	// Distance is that of the tensors whose elements differ, in all.
	Distance quant.Distortion
}

// Models compares two models and calls found for each difference: of the first's
// tensors in the natural order of names, then of those that only the second has. An
// error of found ends it.
func Models(b *limits.Budget, first, second tensor.Model, o Options, found func(*Difference) error) (Result, error) {
	c := &comparison{b: b, o: o, found: found, models: [2]tensor.Model{first, second}}
	err := c.run()
	if c.ended == nil {
		err = wire.At("compare", "", wire.NoOffset, err)
	}
	return c.result, err
}

func (c *comparison) run() error {
	for side := range c.models {
		if err := c.list(side); err != nil {
			return err
		}
	}
	if err := c.pieces(); err != nil {
		return err
	}
	for i := range c.tensors[0] {
		if err := c.match(&c.tensors[0][i]); err != nil {
			return err
		}
	}
	for i := range c.tensors[1] {
		if t := &c.tensors[1][i]; !c.matched[i] {
			if err := c.differ(&Difference{Kind: OnlySecond, Name: t.Name, B: t}); err != nil {
				return err
			}
		}
	}
	return nil
}

type comparison struct {
	b       *limits.Budget
	o       Options
	found   func(*Difference) error
	ended   error // of found, which is returned as it is
	models  [2]tensor.Model
	tensors [2][]Tensor
	byName  []int32 // of the second side's tensors
	matched []bool
	piece   [2][]byte
	values  [2][]number.Value
	tile    []float32
	other   []float32
	result  Result
}

// list lists the tensors of one side.
func (c *comparison) list(side int) (err error) {
	m := c.models[side]
	list, err := limits.Make[Tensor](c.b, m.Len())
	if err != nil {
		return err
	}
	list = list[:0]
	if c.o.Values && quant.Any(m) {
		bound, err := quant.Plan(c.b, m, quant.Options{Target: quant.F32})
		if err != nil {
			return err
		}
		for _, w := range bound.Weights {
			list = append(list, Tensor{Name: w.Name, Type: w.Scheme, Shape: w.Shape, weight: w})
		}
		for _, i := range bound.Plain {
			list = append(list, plain(i))
		}
	} else {
		for i := range m.Tensors() {
			list = append(list, plain(i))
		}
	}
	if err := limits.Sort(c.b, list, func(x, y Tensor) int { return wire.Natural(x.Name, y.Name) }); err != nil {
		return err
	}
	c.tensors[side] = list
	if side == 0 {
		return nil
	}
	if c.byName, err = limits.Make[int32](c.b, len(list)); err != nil {
		return err
	}
	for i := range c.byName {
		c.byName[i] = int32(i)
	}
	if err := limits.Sort(c.b, c.byName, func(x, y int32) int { return cmp.Compare(list[x].Name, list[y].Name) }); err != nil {
		return err
	}
	c.matched, err = limits.Make[bool](c.b, len(list))
	return err
}

func plain(i tensor.Info) Tensor {
	return Tensor{Name: i.Name, Type: i.TypeName(), Shape: i.Shape, info: i}
}

// tensorSteps are those of a tensor, whatever its size: it is looked for, and two readers are opened.
const tensorSteps = 40

// match finds the tensor of the same name on the second side and compares the two.
func (c *comparison) match(a *Tensor) error {
	if err := c.b.Step(tensorSteps); err != nil {
		return err
	}
	at, ok := slices.BinarySearchFunc(c.byName, a.Name, func(i int32, name string) int {
		return cmp.Compare(c.tensors[1][i].Name, name)
	})
	if !ok {
		return c.differ(&Difference{Kind: OnlyFirst, Name: a.Name, A: a})
	}
	i := c.byName[at]
	c.matched[i] = true
	b := &c.tensors[1][i]
	switch {
	case !slices.Equal(a.Shape, b.Shape):
		return c.differ(&Difference{Kind: Shape, Name: a.Name, A: a, B: b})
	case !c.o.Values && a.Type != b.Type:
		return c.differ(&Difference{Kind: Type, Name: a.Name, A: a, B: b})
	}
	d, err := c.elements(a, b)
	if err != nil {
		return wire.At("compare", "tensor "+wire.Quote(a.Name), wire.NoOffset, err)
	}
	if d != nil {
		return c.differ(d)
	}
	c.result.Equal++
	return nil
}

func (c *comparison) differ(d *Difference) error {
	c.result.Different++
	c.ended = c.found(d)
	return c.ended
}
