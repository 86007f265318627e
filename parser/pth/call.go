package pth

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A call is a global with arguments: an object of the pickle, or the function and
// arguments of _rebuild_from_type_v2.
type call struct {
	global *vm.Global
	args   vm.Value
	off    int64
}

func callOf(v vm.Value) call { return call{v.Global(), v.Args(), v.Off()} }

func (c *call) fail(cause error) error {
	return fail(wire.Clean(c.global.String(), wire.MaxQuoted), c.off, cause)
}

// wantArgs checks the number of arguments. The pickle machine has compared all arguments with the
// signature of their function, as every value that this package reads by its kind. A difference
// here is a bug of this program, and is reported as one.
func (c *call) wantArgs(low, high int) error {
	if n := c.args.Len(); n < low || n > high {
		return c.fail(wire.ErrInternal.Errorf("%d arguments", n))
	}
	return nil
}

// arg returns argument i, which must be of one of these kinds.
func (c *call) arg(i int, kinds ...vm.Kind) (vm.Value, error) {
	v := c.args.At(i)
	for _, k := range kinds {
		if v.Kind() == k {
			return v, nil
		}
	}
	return v, c.fail(wire.ErrInternal.Errorf("argument %d is a %v", i+1, v.Kind()))
}

func (c *call) int(i int) (int64, error) {
	v, err := c.arg(i, vm.KindInt)
	if err != nil {
		return 0, err
	}
	n, ok := v.Int()
	if !ok {
		return 0, c.fail(wire.ErrInternal.Errorf("argument %d passes 64 bits", i+1))
	}
	return n, nil
}

// isClass checks that argument i is one of these classes.
func (c *call) isClass(i int, classes ...string) error {
	v, err := c.arg(i, vm.KindGlobal)
	if err != nil || slices.Contains(classes, v.Global().String()) {
		return err
	}
	return c.fail(wire.ErrUnsupported.WithRule("pth.tensor-class").Errorf("tensor class %s", wire.Quote(v.Global().String())))
}

// device checks that argument i is a device on which tensors have bytes.
func (c *call) device(i int) error {
	v := c.args.At(i)
	if v.Kind() == vm.KindObject && v.Args().Len() > 0 {
		v = v.Args().At(0)
	}
	if err := isLocation(v.Text()); err != nil {
		return c.fail(err)
	}
	return nil
}
