package pth

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A sparseLayout says which parts a sparse tensor has.
type sparseLayout struct {
	name   string
	parts  []string
	column bool // the second of the two dimensions is the compressed one
	block  int  // number of dimensions of one block of values
}

// sparseLayouts have the names of torch.serialization._get_layout.
var sparseLayouts = [...]sparseLayout{
	{"torch.sparse_coo", []string{"indices", "values"}, false, 0},
	{"torch.sparse_csr", []string{"crow_indices", "col_indices", "values"}, false, 0},
	{"torch.sparse_csc", []string{"ccol_indices", "row_indices", "values"}, true, 0},
	{"torch.sparse_bsr", []string{"crow_indices", "col_indices", "values"}, false, 2},
	{"torch.sparse_bsc", []string{"ccol_indices", "row_indices", "values"}, true, 2},
}

func (l *sparseLayout) coo() bool { return len(l.parts) == 2 }

// Sparse is the metadata of a sparse tensor: its parts are listed as tensors
// under its name.
type Sparse struct {
	Layout    string  // "torch.sparse_csr"
	Shape     []int64 // of the whole
	Coalesced bool    // for sparse_coo: the file says that the indices are sorted without duplicates
}

// A sparseCheck is a sparse tensor whose indices Verify checks.
type sparseCheck struct {
	layout    *sparseLayout
	first     int // index of its first part in the list of tensors
	shape     []int64
	coalesced bool
}

// sparseTensor reads a layout and a tuple of the parts, the size, and for COO whether the
// indices are coalesced.
func (w *walker) sparseTensor(c call) error {
	if err := c.wantArgs(2, 2); err != nil {
		return err
	}
	layout, err := layoutArg(&c)
	if err != nil {
		return err
	}
	data, err := c.arg(1, vm.KindTuple)
	if err != nil {
		return err
	}
	check, err := newSparseCheck(&c, layout, data)
	if err != nil {
		return err
	}
	check.first = len(w.infos)
	for i, name := range layout.parts {
		if err := w.part(name, func() error { return w.sparsePart(&c, layout, i, data.At(i)) }); err != nil {
			return err
		}
	}
	size := data.At(len(layout.parts))
	switch {
	case w.exact != nil:
		return nil
	case w.yield != nil:
		shape, _ := size.Ints(nil)
		w.yieldMeta("", Sparse{layout.name, shape, check.coalesced})
		return nil
	}
	if check.shape, err = w.dims(&c, size); err != nil {
		return err
	}
	if err := check.geometry(w.infos[check.first:]); err != nil {
		return c.fail(err)
	}
	return grow(w, &w.sparse, check)
}

// sparsePart reads one part. torch requires that compressed indices and their plain
// indices are contiguous, even if there is only one.
func (w *walker) sparsePart(c *call, layout *sparseLayout, i int, v vm.Value) error {
	if err := w.plainTensor(c, v); err != nil || !w.listing() || layout.coo() || i > 1 {
		return err
	}
	if w.packs || i > 0 && w.infos[len(w.infos)-1].Elements() == 0 {
		return nil
	}
	return c.fail(wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("%s are not contiguous", layout.parts[i]))
}

// newSparseCheck checks the number of parts, and reads whether indices are coalesced.
func newSparseCheck(c *call, layout *sparseLayout, data vm.Value) (sparseCheck, error) {
	check, n := sparseCheck{layout: layout}, len(layout.parts)+1
	switch {
	case data.Len() == n:
	case data.Len() == n+1 && layout.coo():
		flag := data.At(n)
		if flag.Kind() != vm.KindBool && flag.Kind() != vm.KindNone {
			return check, c.fail(wire.ErrSyntax.WithRule("pth.sparse-syntax").Errorf("is_coalesced is a %v, not a bool", flag.Kind()))
		}
		check.coalesced = flag.Kind() == vm.KindBool && flag.Bool()
	default:
		return check, c.fail(wire.ErrSyntax.WithRule("pth.sparse-syntax").Errorf("%d parts for a tensor of layout %s", data.Len(), layout.name))
	}
	return check, nil
}

func layoutArg(c *call) (*sparseLayout, error) {
	v, err := c.arg(0, vm.KindObject)
	if err != nil {
		return nil, err
	}
	if v.Is(vm.TorchLayout) && v.Args().Len() == 1 {
		for i := range sparseLayouts {
			if sparseLayouts[i].name == v.Args().At(0).Text() {
				return &sparseLayouts[i], nil
			}
		}
	}
	return nil, c.fail(wire.ErrUnsupported.WithRule("pth.sparse-layout").Errorf("layout of a sparse tensor"))
}

// plainTensor walks a part, which must be a dense tensor without anything else.
func (w *walker) plainTensor(c *call, v vm.Value) error {
	if v.Kind() == vm.KindObject {
		switch v.Global().ID {
		case vm.RebuildTensor, vm.RebuildTensorV2, vm.RebuildTensorV3:
			return w.value(v)
		}
	}
	return c.fail(wire.ErrSyntax.WithRule("pth.sparse-syntax").Errorf("a part of a sparse tensor is not a dense tensor"))
}

// geometry compares the shapes of the parts: all of torch's invariants that do not depend
// on index values.
func (s *sparseCheck) geometry(parts []tensor.Info) error {
	for i := range parts[:len(parts)-1] {
		p := &parts[i]
		wide := p.DType == tensor.I64 || p.DType == tensor.I32 && !s.layout.coo()
		if !wide || p.DType != parts[0].DType || !plainStorage(p.Storage) {
			return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("indices of type %s", p.TypeName())
		}
	}
	for _, n := range s.shape {
		if n < 0 {
			return wire.ErrRange.WithRule("pth.sparse-index").Errorf("negative size")
		}
	}
	if s.layout.coo() {
		return s.coordinates(parts[0].Shape, parts[1].Shape)
	}
	return s.compressed(parts[0].Shape, parts[1].Shape, parts[2].Shape)
}

func (s *sparseCheck) coordinates(indices, values []int64) error {
	if len(indices) != 2 || len(values) == 0 {
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("indices of %d dimensions, values of %d", len(indices), len(values))
	}
	sparse, dense := indices[0], values[1:]
	switch {
	case int64(len(s.shape)-len(dense)) != sparse:
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("%d sparse and %d dense dimensions of %d", sparse, len(dense), len(s.shape))
	case indices[1] != values[0]:
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("%d indices, %d values", indices[1], values[0])
	case !same(dense, s.shape[sparse:]):
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("values and size differ in the dense dimensions")
	}
	return nil
}

func (s *sparseCheck) compressed(compressed, plain, values []int64) error {
	batch, block := len(compressed)-1, s.layout.block
	if batch < 0 || len(plain) != batch+1 || len(values) < batch+1+block {
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("indices of %d and %d dimensions, values of %d", len(compressed), len(plain), len(values))
	}
	dense := values[batch+1+block:]
	if len(s.shape) != batch+2+len(dense) {
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("size of %d dimensions, but parts of %d", len(s.shape), batch+2+len(dense))
	}
	tile := [2]int64{1, 1}
	copy(tile[:], values[batch+1:batch+1+block])
	for i, n := range tile {
		if n == 0 || s.shape[batch+i]%n != 0 {
			return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("blocks of %d in a dimension of %d", n, s.shape[batch+i])
		}
	}
	rows := s.shape[batch] / tile[0]
	if s.layout.column {
		rows = s.shape[batch+1] / tile[1]
	}
	switch {
	case compressed[batch] != rows+1:
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("%d compressed indices for %d rows", compressed[batch], rows)
	case plain[batch] != values[batch]:
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("%d indices, %d values", plain[batch], values[batch])
	case !same(compressed[:batch], s.shape[:batch]) || !same(plain[:batch], s.shape[:batch]) || !same(values[:batch], s.shape[:batch]):
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("parts differ in the batch dimensions")
	case !same(dense, s.shape[batch+2:]):
		return wire.ErrMismatch.WithRule("pth.sparse-parts").Errorf("values and size differ in the dense dimensions")
	}
	return nil
}

// plainSize returns the bound of an uncompressed index.
func (s *sparseCheck) plainSize(values []int64, batch int) int64 {
	side := 1
	if s.layout.column {
		side = 0
	}
	n := s.shape[batch+side]
	if s.layout.block > 0 {
		n /= values[batch+1+side]
	}
	return n
}

func same(a, b []int64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
