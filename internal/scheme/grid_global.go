package scheme

import (
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// GlobalGrid binds a global scale: one number, or one per matrix of a stack.
func (s *Set) GlobalGrid(w *Weight, name string) (*form.Grid, error) {
	info, ok := s.Find(name)
	if !ok {
		return nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(name))
	}
	if info.DType != tensor.F32 {
		return nil, wire.ErrUnsupported.Errorf("its companion %s is %s", wire.Quote(name), info.TypeName())
	}
	n, _ := wire.Product(w.Shape[:len(w.Shape)-1])
	rows := int64(n)
	g := &form.Grid{MatrixRows: rows, BlockRows: rows, BlockCols: w.Shape[len(w.Shape)-1], Cols: 1, Size: 4, Read: form.Numbers[tensor.F32]}
	switch {
	case info.Elements() == 1:
	case len(w.Shape) == 3 && info.Elements() == w.Shape[0]:
		g.MatrixRows, g.BlockRows = w.Shape[1], w.Shape[1]
	default:
		return nil, wire.ErrMismatch.Errorf("its companion %s has shape %v beside %v", wire.Quote(name), info.Shape, w.Shape)
	}
	w.Parts = append(w.Parts, *info)
	return g, nil
}

// SwizzledGrid binds scales in the order of the GPU's block-scaled product: tiles of 128 rows
// and 4 blocks, in which rows r, r+32, r+64 and r+96 are adjacent.
func (s *Set) SwizzledGrid(name string, rows, cols, group int64, read form.Number, types ...tensor.DType) (form.Grid, *tensor.Info, error) {
	groups := cols / group
	if cols%group != 0 || groups == 0 {
		return form.Grid{}, nil, wire.ErrMismatch.Errorf("%d columns are not whole groups of %d", cols, group)
	}
	tiles := form.CeilDiv(groups, 4)
	info, ok := s.Find(name)
	if !ok {
		return form.Grid{}, nil, wire.ErrMissing.Errorf("its companion %s", wire.Quote(name))
	}
	if info.Elements() != form.CeilDiv(rows, 128)*tiles*512 {
		return form.Grid{}, nil, wire.ErrMismatch.Errorf("its companion %s has shape %v for %d rows of %d groups", wire.Quote(name), info.Shape, rows, groups)
	}
	if _, err := s.Companion(name, info.Shape, types...); err != nil {
		return form.Grid{}, nil, err
	}
	return form.SwizzledGrid(rows, cols, group, info.Span.Len, read), info, nil
}
