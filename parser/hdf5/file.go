package hdf5

import (
	"io"
	"iter"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A File is one whose structure has been proven.
type File struct {
	tensor.File

	// Elements and Bytes sum up all datasets, by their shapes and types.
	Elements, Bytes int64
	// Start is where it begins, after bytes of its user.
	Start int64

	datasets []*dataset
	of       []int32 // the dataset of each tensor
	index    *wire.NameSet
	texts    []Text
	values   []value
}

// Texts lists the attributes that are one text, of all objects: libraries read some as
// configurations, or run them as pickles.
func (f *File) Texts() iter.Seq[Text] { return slices.Values(f.texts) }

// Meta lists the attributes of the root that are one text or number.
func (f *File) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for _, v := range f.values {
			if !yield(v.name, v.is) {
				return
			}
		}
	}
}

// named adds a tensor: a name of a dataset.
func (d *decoder) named(l link, of int32) error {
	s := d.out.datasets[of]
	if err := d.b.Items(1); err != nil {
		return d.fail("dataset "+wire.Quote(l.name), s.at, err)
	}
	var err error
	if d.out.of, err = limits.Append(d.b, d.out.of, of); err != nil {
		return d.fail("dataset "+wire.Quote(l.name), s.at, err)
	}
	info := tensor.Info{
		Name: l.name, Stored: s.typ.stored, Shape: s.dims, DType: s.typ.dtype, Order: s.typ.order, Storage: s.storage,
		Span: tensor.Span{Off: s.at},
	}
	if info.Span.Len = info.Bytes(); s.place == inOne {
		info.Span = tensor.Span{Off: s.off, Len: s.length}
	} else if info.DType == tensor.Unknown {
		info.Span.Len = 0
	}
	if s.storage == "" {
		s.storage, s.first = l.name, len(d.out.Infos)
	} else {
		d.out.Infos[s.first].Storage = s.storage
	}
	d.out.Infos, err = limits.Append(d.b, d.out.Infos, info)
	return d.fail("dataset "+wire.Quote(l.name), s.at, err)
}

// names indexes the tensors by name. No two have one: paths differ.
func (d *decoder) names() (err error) {
	f := d.out
	if f.index, err = wire.NewNameSet(d.b, len(f.Infos), func(i int) string { return f.Infos[i].Name }); err != nil {
		return err
	}
	for i := range f.Infos {
		if _, added, err := f.index.Add(i); err != nil {
			return err
		} else if !added {
			return wire.ErrInternal.Errorf("two tensors %s", wire.Quote(f.Infos[i].Name))
		}
	}
	return nil
}

// find returns the dataset of a tensor.
func (f *File) find(name string) *dataset {
	if k, ok := f.index.Find(name); ok {
		return f.datasets[f.of[k]]
	}
	return nil
}

// At returns random access to data in one piece.
func (f *File) At(i tensor.Info) (io.ReaderAt, bool) {
	s := f.find(i.Name)
	if s == nil || s.place != inOne {
		return nil, false
	}
	return io.NewSectionReader(f.Source, s.off, s.length), true
}

// Body reads a dataset in order, whatever it is stored as.
func (f *File) Body(b *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	where := "dataset " + wire.Quote(i.Name)
	s := f.find(i.Name)
	if s == nil {
		return nil, wire.At(Format, where, wire.NoOffset, wire.ErrMissing.Errorf("no such dataset"))
	}
	if err := tensor.Readable(Format, &i); err != nil {
		return nil, err
	}
	if s.place == inOne {
		return f.File.Body(b, i)
	}
	held := b.Holding()
	r, err := f.open(held, s, i.Bytes())
	if err != nil {
		held.Close()
		return nil, wire.At(Format, where, s.at, err)
	}
	return &body{r, held, where, s.at}, nil
}

// open returns the elements of a dataset in chunks, or of one that was never written.
func (f *File) open(b *limits.Budget, s *dataset, bytes int64) (io.Reader, error) {
	if s.fill != nil && s.fill.undefined && bytes > 0 && !s.whole() {
		return nil, errFeature.Errorf("elements that were never written, and no value for them")
	}
	if s.place == nowhere {
		return &filled{b: b, value: s.fillBytes(), left: bytes}, nil
	}
	return newRows(b, f.Source, s)
}

// whole reports whether all chunks were written.
func (s *dataset) whole() bool {
	if s.place != inChunks {
		return false
	}
	n := uint64(1)
	for i, dim := range s.space {
		n *= uint64((dim + s.chunk[i] - 1) / s.chunk[i])
	}
	return uint64(len(s.chunks)) == n
}

// fillBytes returns the value of an element that was never written.
func (s *dataset) fillBytes() []byte {
	if s.fill == nil || len(s.fill.bytes) == 0 {
		return make([]byte, 1) // zeros, of whatever size
	}
	return s.fill.bytes
}

// Verify decodes all chunks that pass through filters: they have the bytes and the checksums
// that they must have.
func (f *File) Verify(b *limits.Budget) error {
	for _, s := range f.datasets {
		if len(s.filters) == 0 || s.decodable() != nil {
			continue
		}
		if err := f.verify(b, s); err != nil {
			return wire.At(Format, "dataset "+wire.Quote(f.Infos[s.first].Name), s.at, err)
		}
	}
	return nil
}

func (f *File) verify(b *limits.Budget, s *dataset) error {
	held := b.Holding()
	defer held.Close()
	p, err := newPipeline(held, s)
	if err != nil {
		return err
	}
	for i := range s.chunks {
		if _, err := p.decode(f.Source, &s.chunks[i]); err != nil {
			return wire.At(Format, "chunk", s.chunks[i].off, err)
		}
	}
	return nil
}

// A body is an open tensor.
type body struct {
	io.Reader

	held  *limits.Budget
	where string
	at    int64
}

func (r *body) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if err != nil && err != io.EOF {
		err = wire.At(Format, r.where, r.at, err)
	}
	return n, err
}

func (r *body) Close() error {
	r.held.Close()
	return nil
}

// filled reads one value again and again.
type filled struct {
	b     *limits.Budget
	value []byte
	at    int
	left  int64
}

func (r *filled) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, io.EOF
	}
	if err := r.b.Step(int64(len(p) / bytesOfStep)); err != nil {
		return 0, err
	}
	p = p[:min(int64(len(p)), r.left)]
	for i := range p {
		p[i] = r.value[r.at]
		if r.at++; r.at == len(r.value) {
			r.at = 0
		}
	}
	r.left -= int64(len(p))
	return len(p), nil
}
