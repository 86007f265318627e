// Package values makes gopickle's values of the graph that the pickle machine built.
//
// A Python object that two places refer to is one value of gopickle, too. The graph is a
// finite one whose depth the account has bounded (MaxDepth), and each of its values is
// visited once, so the walk ends.
package values

import (
	"fmt"

	"github.com/nlpodyssey/gopickle/types"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A Converter turns values of one graph into those of gopickle.
type Converter struct {
	b    *limits.Budget
	seen map[vm.Value]any
	// Object makes a value of a call of a global that is no container, or of a
	// persistent id; false leaves it to the converter.
	Object func(c *Converter, v vm.Value) (made any, ok bool, err error)
}

// New returns a converter that charges an account.
func New(b *limits.Budget) *Converter { return &Converter{b: b, seen: map[vm.Value]any{}} }

// perValue is what a value costs here: its box, a slot of the container, a row of seen.
const perValue = 128

// Value converts one value and all below it.
func (c *Converter) Value(v vm.Value) (any, error) {
	switch v.Kind() {
	case vm.KindNone:
		return nil, nil
	case vm.KindBool:
		return v.Bool(), nil
	case vm.KindFloat:
		return v.Float(), nil
	case vm.KindInt:
		if n, ok := v.Int(); ok && int64(int(n)) == n {
			return int(n), nil
		}
		return v.Big(), nil
	}
	if made, ok := c.seen[v]; ok {
		return made, nil
	}
	if err := c.b.Hold(perValue + int64(v.Len())*perValue); err != nil {
		return nil, err
	}
	made, err := c.make(v)
	if err == nil {
		c.seen[v] = made
	}
	return made, err
}

func (c *Converter) make(v vm.Value) (any, error) {
	if c.Object != nil {
		if made, ok, err := c.Object(c, v); ok || err != nil {
			return made, err
		}
	}
	switch v.Kind() {
	case vm.KindText:
		return v.Text(), nil
	case vm.KindBytes:
		if v.Is(vm.ByteArray) {
			return types.NewByteArrayFromSlice([]byte(v.Text())), nil
		}
		return []byte(v.Text()), nil
	case vm.KindDict:
		return c.dict(v)
	case vm.KindTuple, vm.KindList, vm.KindSet:
		return c.sequence(v)
	case vm.KindGlobal:
		return types.NewGenericClass(v.Global().Module, v.Global().Name), nil
	case vm.KindObject:
		return c.object(v)
	default:
		return nil, fmt.Errorf("%s has no value in gopickle", v)
	}
}

// dict makes a dict in the order of its keys.
func (c *Converter) dict(v vm.Value) (any, error) {
	var out types.DictSetter
	switch {
	case v.Is(vm.OrderedDict):
		out = types.NewOrderedDict()
	case v.ID() == vm.NoID:
		out = types.NewDict()
	default:
		return nil, fmt.Errorf("%s has no value in gopickle", v)
	}
	for k, e := range v.Entries() {
		key, err := c.Value(k)
		if err != nil {
			return nil, err
		}
		if !hashable(key) {
			return nil, fmt.Errorf("a key %s has no value in gopickle", k)
		}
		value, err := c.Value(e)
		if err != nil {
			return nil, err
		}
		out.Set(key, value)
	}
	return out, c.attributes(v, out)
}

// attributes are those of an OrderedDict, such as the _metadata of a state dict.
func (c *Converter) attributes(v vm.Value, out types.DictSetter) error {
	state, ok := v.State()
	if !ok {
		return nil
	}
	o, ordered := out.(*types.OrderedDict)
	if !ordered || state.Kind() != vm.KindDict {
		return fmt.Errorf("%s has a state, and no value in gopickle", v)
	}
	for k, e := range state.Entries() {
		value, err := c.Value(e)
		if err != nil {
			return err
		}
		if err := o.PyDictSet(k.Text(), value); err != nil {
			return err
		}
	}
	return nil
}

// hashable says that Go can hold a value as a key: bytes cannot be one.
func hashable(v any) bool {
	_, bytes := v.([]byte)
	return !bytes
}

func (c *Converter) sequence(v vm.Value) (any, error) {
	all := make([]any, 0, v.Len()) // Value has charged it
	for e := range v.Elems() {
		value, err := c.Value(e)
		if err != nil {
			return nil, err
		}
		if v.Kind() == vm.KindSet && !hashable(value) {
			return nil, fmt.Errorf("an element %s has no value in gopickle", e)
		}
		all = append(all, value)
	}
	switch {
	case v.Kind() == vm.KindTuple:
		return types.NewTupleFromSlice(all), nil
	case v.Kind() == vm.KindList && v.ID() == vm.NoID:
		return types.NewListFromSlice(all), nil
	case v.Is(vm.FrozenSet):
		return types.NewFrozenSetFromSlice(all), nil
	case v.Kind() == vm.KindSet:
		return types.NewSetFromSlice(all), nil
	default:
		return nil, fmt.Errorf("%s has no value in gopickle", v)
	}
}

// object makes a class of a name and its arguments, as gopickle does of a class that
// nobody told it of.
func (c *Converter) object(v vm.Value) (any, error) {
	if _, ok := v.State(); ok || v.Global() == nil {
		return nil, fmt.Errorf("%s has a state, and no value in gopickle", v)
	}
	args := make([]any, 0, v.Args().Len())
	for e := range v.Args().Elems() {
		arg, err := c.Value(e)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return types.NewGenericClass(v.Global().Module, v.Global().Name).PyNew(args...)
}
