package convert

import (
	"cmp"
	"errors"
	"io"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A preview is a file before any tensor is written: its patches, and zeros. The patches
// of each list are in order.
type preview struct{ patches [][]Patch }

// ReadAt implements [io.ReaderAt] for an endless file.
func (f *preview) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, io.EOF
	}
	clear(p)
	for _, list := range f.patches {
		at, _ := slices.BinarySearchFunc(list, off, func(x Patch, off int64) int {
			return cmp.Compare(x.Off+int64(len(x.Data)), off+1)
		})
		for ; at < len(list) && list[at].Off < off+int64(len(p)); at++ {
			x := &list[at]
			if x.Off >= off {
				copy(p[x.Off-off:], x.Data)
			} else {
				copy(p, x.Data[off-x.Off:])
			}
		}
	}
	return len(p), nil
}

// unreadable says that a layout could not be read. An error about a limit stays one,
// without its place.
func unreadable(format string, err error) error {
	if err == nil {
		return nil
	}
	if limit, ok := errors.AsType[*limits.Error](err); ok {
		return limit
	}
	if wire.ClassOf(err) == wire.Internal {
		return err
	}
	return wire.At(format, "", wire.NoOffset, wire.ErrUnsupported.Errorf("its readers would refuse the result: %s", wire.Message(err)))
}
