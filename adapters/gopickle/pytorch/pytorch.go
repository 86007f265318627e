// Package pytorch has the surface of github.com/nlpodyssey/gopickle/pytorch that reads a
// checkpoint, over the reader of anamnesis: nothing of the checkpoint is run, every
// storage is proven to lie in the file, and what is not understood is refused.
//
//	state, err := pytorch.Load("consolidated.00.pth")
//	for _, key := range state.(*types.Dict).Keys() { ... }
//
// Tensors and storages are gopickle's own types. LoadWithUnpickler is not there: classes
// of the caller's own are what the reader refuses to run.
package pytorch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	upstream "github.com/nlpodyssey/gopickle/pytorch"

	"github.com/anamnesis-go/anamnesis/adapters/gopickle/internal/values"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The types of gopickle.
type (
	Tensor           = upstream.Tensor
	StorageInterface = upstream.StorageInterface
	BaseStorage      = upstream.BaseStorage
	HalfStorage      = upstream.HalfStorage
	FloatStorage     = upstream.FloatStorage
	DoubleStorage    = upstream.DoubleStorage
	CharStorage      = upstream.CharStorage
	ShortStorage     = upstream.ShortStorage
	IntStorage       = upstream.IntStorage
	LongStorage      = upstream.LongStorage
	ByteStorage      = upstream.ByteStorage
	BoolStorage      = upstream.BoolStorage
	BFloat16Storage  = upstream.BFloat16Storage
)

// ErrUnsupported is a checkpoint that is read here but has no form in gopickle's types.
var ErrUnsupported = errors.New("gopickle has no type for this")

// Load reads a checkpoint: a ZIP archive, or what torch.save wrote before it. The
// elements of all storages are read into memory, which a file of its size may take.
func Load(filename string) (any, error) {
	f, err := os.Open(filename)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	// Storages are bytes of the file; as elements of Go they are charged at most four times that.
	p := limits.Policy{MaxTotalBytes: limits.DefaultMaxTotalBytes + 4*st.Size()}
	b := p.Budget(context.Background())
	defer b.Close()
	return Read(b, f, st.Size())
}

// Read is Load of any source, under the account of the caller.
func Read(b *limits.Budget, r io.ReaderAt, size int64) (any, error) {
	f, err := pth.Decode(b, r, size)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := parser.Verify(b, f); err != nil { // checksums, indices of sparse tensors
		return nil, err
	}
	if f.Order() != tensor.Little {
		return nil, fmt.Errorf("%w: a checkpoint of a big endian machine", ErrUnsupported)
	}
	l := &loader{b: b, r: r, f: f, storages: map[string]*stored{}}
	c := values.New(b)
	c.Object = l.object
	made, err := c.Value(f.Graph().Root())
	if err != nil {
		return nil, err
	}
	return made, l.read()
}
