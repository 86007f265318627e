package pytorch

import (
	"fmt"
	"io"
	"slices"
	"strings"

	upstream "github.com/nlpodyssey/gopickle/pytorch"

	"github.com/anamnesis-go/anamnesis/adapters/gopickle/internal/values"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/vm"
)

// classes are the storages that gopickle has, by their class in torch.
var classes = map[string]struct {
	class upstream.StorageClassInterface
	width int64
}{
	"HalfStorage":     {&upstream.HalfStorageClass{}, 2},
	"BFloat16Storage": {&upstream.BFloat16StorageClass{}, 2},
	"FloatStorage":    {&upstream.FloatStorageClass{}, 4},
	"DoubleStorage":   {&upstream.DoubleStorageClass{}, 8},
	"CharStorage":     {&upstream.CharStorageClass{}, 1},
	"ShortStorage":    {&upstream.ShortStorageClass{}, 2},
	"IntStorage":      {&upstream.IntStorageClass{}, 4},
	"LongStorage":     {&upstream.LongStorageClass{}, 8},
	"ByteStorage":     {&upstream.ByteStorageClass{}, 1},
	"BoolStorage":     {&upstream.BoolStorageClass{}, 1},
}

// A loader makes gopickle's tensors of one checkpoint.
type loader struct {
	b        *limits.Budget
	r        io.ReaderAt
	f        *pth.File
	storages map[string]*stored
	order    []*stored
}

// object makes tensors; all else is the converter's.
func (l *loader) object(c *values.Converter, v vm.Value) (any, bool, error) {
	switch {
	case v.Is(vm.RebuildTensorV2) && v.Kind() == vm.KindObject:
		t, err := l.tensor(v)
		return t, true, err
	case v.Is(vm.RebuildParameter) && v.Kind() == vm.KindObject:
		t, err := c.Value(v.Args().At(0)) // gopickle knows no Parameter: its tensor
		return t, true, err
	case v.Kind() == vm.KindPersistent:
		s, err := l.storage(v)
		if err != nil {
			return nil, true, err
		}
		return s.made, true, nil
	}
	return nil, false, nil
}

// tensor makes a view of a storage: (storage, offset, size, stride, requires_grad, ...).
func (l *loader) tensor(v vm.Value) (*Tensor, error) {
	args := v.Args()
	if args.Len() > 6 && args.At(6).Len() > 0 {
		return nil, fmt.Errorf("%w: a view that negates or conjugates", ErrUnsupported)
	}
	s, err := l.storage(args.At(0))
	if err != nil {
		return nil, err
	}
	offset, _ := args.At(1).Int() // the reader has proven that these are numbers
	t := &Tensor{Source: s.made, StorageOffset: int(offset), RequiresGrad: args.At(4).Bool()}
	if t.Size, err = l.numbers(args.At(2)); err != nil {
		return nil, err
	}
	if t.Stride, err = l.numbers(args.At(3)); err != nil {
		return nil, err
	}
	if !slices.Contains(t.Size, 0) && (s.first < 0 || offset < s.first) {
		s.first = offset
	}
	return t, nil
}

func (l *loader) numbers(v vm.Value) ([]int, error) {
	n, _ := v.Dims()
	if err := l.b.Hold(int64(n) * 16); err != nil {
		return nil, err
	}
	wide, _ := v.Ints(nil)
	out := make([]int, len(wide))
	for i, n := range wide {
		out[i] = int(n)
	}
	return out, nil
}

// A stored is a storage that tensors are views of. Its elements are read at the end,
// when the smallest offset of a view is known.
type stored struct {
	made  StorageInterface
	name  string // of tensor.Info
	count int64
	width int64
	first int64 // the smallest offset of a view that has elements, or -1
}

// storage is what a persistent id names: ("storage", class, key, location, elements).
func (l *loader) storage(v vm.Value) (*stored, error) {
	pid := v.PID()
	global := pid.At(1).Global()
	key := pid.At(2).Text()
	if s, ok := l.storages[key]; ok {
		return s, nil
	}
	c, ok := classes[global.Name]
	if !ok || global.Module != "torch" {
		return nil, fmt.Errorf("%w: storages of %s", ErrUnsupported, global)
	}
	if pid.Len() > 5 && pid.At(5).Kind() != vm.KindNone {
		return nil, fmt.Errorf("%w: storage %q is a view of another", ErrUnsupported, key)
	}
	count, _ := pid.At(4).Int()
	if err := l.b.Hold(256 + int64(len(key))); err != nil {
		return nil, err
	}
	name := "data/" + key // as the reader calls it
	if l.f.Layout() == pth.Legacy {
		name = "storage/" + key
	}
	s := &stored{c.class.New(int(count), pid.At(3).Text()), name, count, c.width, -1}
	l.storages[key] = s
	l.order = append(l.order, s)
	return s, nil
}

// read fills the storages. The reader has proven that each lies in the file.
func (l *loader) read() error {
	begins, err := l.begins()
	if err != nil {
		return err
	}
	for _, s := range l.order {
		start, ok := begins[s.name]
		if !ok && s.count > 0 {
			return fmt.Errorf("%w: %q has elements, and no tensor shows where", ErrUnsupported, s.name)
		}
		if err := l.b.Hold(s.count * max(4, s.width)); err != nil {
			return err
		}
		body := io.NewSectionReader(l.r, start, s.count*s.width)
		if err := s.made.SetFromFileWithSize(body, int(s.count)); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}

// begins says where storages begin: records of an archive are listed; in a legacy file
// the tensors show it. One that is not row-major spans its whole storage, the others
// begin at their offset.
func (l *loader) begins() (map[string]int64, error) {
	at := map[string]int64{}
	if a := l.f.Container(); a != nil {
		for _, m := range a.Members {
			if _, name, ok := strings.Cut(m.Name, "/"); ok {
				at[name] = m.DataOff
			}
		}
		return at, l.b.Hold(64 * int64(len(a.Members)))
	}
	whole := map[string]bool{}
	for info := range l.f.Tensors() {
		if err := l.b.Hold(128); err != nil {
			return nil, err
		}
		off, seen := at[info.Storage]
		switch {
		case info.Span.Len == 0 || whole[info.Storage]:
		case info.Strides != nil:
			at[info.Storage], whole[info.Storage] = info.Span.Off, true
		case !seen || info.Span.Off < off:
			at[info.Storage] = info.Span.Off
		}
	}
	for _, s := range l.order {
		if !whole[s.name] && s.first > 0 {
			at[s.name] -= s.first * s.width
		}
	}
	return at, nil
}
