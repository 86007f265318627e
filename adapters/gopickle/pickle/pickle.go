// Package pickle has the surface of github.com/nlpodyssey/gopickle/pickle that reads a
// whole pickle, over the pickle machine of anamnesis: nothing is called, what is not
// understood is refused, and what a pickle may cost is bounded.
//
// An Unpickler whose classes are the caller's own is not there: such code is what the
// machine refuses to run.
package pickle

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/anamnesis-go/anamnesis/adapters/gopickle/internal/values"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/vm"
)

// Load reads the pickle that a file is.
func Load(filename string) (any, error) {
	data, err := os.Open(filename)
	if err != nil {
		return nil, err
	}
	defer data.Close()
	st, err := data.Stat()
	if err != nil {
		return nil, err
	}
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	return load(b, data, st.Size())
}

// Loads reads the pickle that a text is.
func Loads(s string) (any, error) {
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	return load(b, strings.NewReader(s), int64(len(s)))
}

func load(b *limits.Budget, r io.ReaderAt, size int64) (any, error) {
	g, err := vm.Load(b, r, 0, size)
	if err != nil {
		return nil, err
	}
	defer g.Release()
	if g.End() != size {
		return nil, fmt.Errorf("%w: %d bytes after the pickle", parser.ErrTrailing, size-g.End())
	}
	return values.New(b).Value(g.Root())
}
