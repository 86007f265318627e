package npz

import (
	"io"
	"iter"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// A File is an archive whose structure and array headers have been proven.
type File struct {
	tensor.File
	// Archive is the container.
	Archive *zip.Archive

	arrays []array
	index  *wire.NameSet // names of the arrays
	other  []any         // names of the other members, as strings
}

// Container returns the archive of the arrays.
func (f *File) Container() *zip.Archive { return f.Archive }

// An array has what a tensor needs besides its Info.
type array struct {
	member uint32
	head   uint32 // bytes before the data
	fields []npy.Field
}

// Meta lists the members that are not arrays under "npz.members", and the fields of each
// structured array as npy.Fields under "NAME.fields".
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		if len(f.other) > 0 && !yield("npz.members", f.other) {
			return
		}
		for i := range f.arrays {
			if fields := f.arrays[i].fields; fields != nil && !yield(f.Infos[i].Name+".fields", npy.Fields(fields)) {
				return
			}
		}
	}
}

// Fields lists the fields of an array of a structured type, nil for any other.
func (f *File) Fields(i tensor.Info) []npy.Field {
	if k, ok := f.index.Find(i.Name); ok {
		return f.arrays[k].fields
	}
	return nil
}

// At returns random access to the data of a stored member; false for a deflated
// one.
func (f *File) At(i tensor.Info) (io.ReaderAt, bool) {
	k, ok := f.index.Find(i.Name)
	if !ok || !f.stored(k) {
		return nil, false
	}
	return f.File.At(f.Infos[k])
}

// Body reads an array's data in order. The last bytes of a deflated array come only once
// length and CRC are verified. A stored array is read without a checksum, as by
// [File.At]; [File.Verify] checks its CRC.
func (f *File) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	k, ok := f.index.Find(i.Name)
	if !ok {
		return nil, wire.At(format, "tensor "+wire.Quote(i.Name), wire.NoOffset, wire.ErrMissing.Errorf("no such array"))
	}
	if f.stored(k) {
		return f.File.Body(b, f.Infos[k])
	}
	if err := tensor.Readable(format, &f.Infos[k]); err != nil {
		return nil, err
	}
	body, err := f.Archive.Open(b, int(f.arrays[k].member))
	if err != nil {
		return nil, err
	}
	if _, err := io.CopyN(io.Discard, body, int64(f.arrays[k].head)); err != nil {
		body.Close()
		return nil, err
	}
	return body, nil
}

func (f *File) stored(k int) bool {
	return f.Archive.Members[f.arrays[k].member].Method == zip.Store
}

// Verify reads every member: CRC, real lengths, and nothing after a deflate
// stream's end.
func (f *File) Verify(b *limits.Budget) error { return f.Archive.Verify(b) }
