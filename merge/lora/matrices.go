package lora

import (
	"math"

	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// matrices are the factors of a product: for each matrix of the batch, left has a row of rank
// numbers for each row of the weight, and right a row of cols numbers for each rank.
type matrices struct {
	*product
	left, right []float32
	factor      []float32 // DoRA's magnitude/norm for each row or column
}

// load reads the matrices of a product.
func (p *product) load(b *limits.Budget, m tensor.Model, rooms *model.Rooms[float32]) (*matrices, error) {
	x := &matrices{product: p}
	var err error
	if x.left, err = floats(b, p.batch*p.rows, p.rank); err != nil {
		return nil, err
	}
	if x.right, err = floats(b, p.batch*p.rank, p.cols); err != nil {
		return nil, err
	}
	e, rank := p.batch, p.rank
	into := func(dst []float32, i tensor.Info, place func(x, y int64) int64) error {
		return readMatrix(b, rooms, m, i, dst, place)
	}
	if p.experts > 0 {
		return x, x.loadExpert(func(dst []float32, part matrixPart) error { return readPart(b, rooms, m, part, dst) })
	}
	switch p.kind {
	case vector:
		x.left[0] = 1
		return x, into(x.right, p.b, nil)
	case plain:
		err = into(x.left, p.b, nil)
		if err == nil {
			err = into(x.right, p.a, nil)
		}
	case transposed, rowsOfA:
		var turn func(x, y int64) int64
		if p.kind == transposed {
			turn = func(r, row int64) int64 { return row*rank + r }
		}
		err = into(x.left, p.a, turn)
		if err == nil {
			err = into(x.right, p.b, func(col, r int64) int64 { return r*p.cols + col })
		}
	case experts:
		err = into(x.right, p.a, nil)
		if err == nil {
			err = into(x.left, p.b, func(row, k int64) int64 { return (k%e*p.rows+row)*rank + k/e })
		}
	case expertsTransposed:
		err = into(x.left, p.a, func(k, row int64) int64 { return (k/rank*p.rows+row)*rank + k%rank })
		if err == nil {
			err = into(x.right, p.b, func(col, k int64) int64 { return (k%e*rank+k/e)*p.cols + col })
		}
	}
	return x, err
}

// floats allocates a matrix.
func floats(b *limits.Budget, rows, cols int64) ([]float32, error) {
	n, ok := wire.Mul(uint64(rows), uint64(cols))
	size, fits := wire.Int(n, wire.MaxSize/4)
	if !ok || !fits {
		return nil, wire.ErrUnsupported.Errorf("a matrix of %d by %d numbers", rows, cols)
	}
	return limits.Make[float32](b, size)
}

// readMatrix reads a tensor into dst. The number in row x and column y, the index in the last
// dimension, goes to index place(x, y); a nil place keeps the order.
func readMatrix(b *limits.Budget, rooms *model.Rooms[float32], m tensor.Model, i tensor.Info, dst []float32, place func(x, y int64) int64) error {
	if i.Elements() != int64(len(dst)) {
		return wire.ErrInternal.Errorf("%d numbers for %d", i.Elements(), len(dst))
	}
	return readPart(b, rooms, m, matrixPart{i, 0, int64(len(dst)), place}, dst)
}

// A matrixPart is n numbers of a tensor from index first on.
type matrixPart struct {
	info     tensor.Info
	first, n int64
	place    func(x, y int64) int64 // as of readMatrix; -1 leaves a number out
}

// readPart reads a part of a tensor into dst.
func readPart(b *limits.Budget, rooms *model.Rooms[float32], m tensor.Model, part matrixPart, dst []float32) error {
	i, place := part.info, part.place
	numbers, err := model.NewNumbers(m, i)
	if err != nil {
		return wire.At("adapter", "tensor "+wire.Quote(i.Name), wire.NoOffset, err)
	}
	read, err := rooms.Take()
	if err != nil {
		return err
	}
	defer rooms.Back(read)
	raw, err := rooms.Take()
	if err != nil {
		return err
	}
	defer rooms.Back(raw)
	cols := int64(1)
	if len(i.Shape) == 2 {
		cols = i.Shape[1]
	}
	for at := part.first; at < part.first+part.n; {
		if err := b.Step(1); err != nil {
			return err
		}
		n := min(int64(len(read)), part.first+part.n-at)
		if err := numbers.Read(read[:n], rawBytes(raw), at); err != nil {
			return err
		}
		for k, f := range read[:n] {
			if infinite(f) {
				return wire.At("adapter", "tensor "+wire.Quote(i.Name), wire.NoOffset, wire.ErrRange.Errorf("element %d is not a finite number", at+int64(k)))
			}
			to := at + int64(k)
			if place != nil {
				to = place(to/cols, to%cols)
			} else {
				to -= part.first
			}
			if to >= 0 {
				dst[to] = f
			}
		}
		at += n
	}
	return nil
}

// computeFactors computes DoRA's factors: magnitudes divided by the norms of the rows or columns
// of the base's weight plus the product.
func (x *matrices) computeFactors(b *limits.Budget, m tensor.Model, w *weight, rooms *model.Rooms[float32]) error {
	n := x.rows
	if x.byColumn() {
		n = x.cols
	}
	var err error
	if x.factor, err = floats(b, n, 1); err != nil {
		return err
	}
	sums, err := limits.Make[float64](b, len(x.factor))
	if err != nil {
		return err
	}
	if err := readMatrix(b, rooms, m, x.magnitude, x.factor, nil); err != nil {
		return err
	}
	r, err := w.takeBuffers()
	if err != nil {
		return err
	}
	defer r.release()
	for at := int64(0); at < w.elements; at += int64(len(r.w)) {
		if err := b.Step(1); err != nil {
			return err
		}
		n := min(int64(len(r.w)), w.elements-at)
		if err := w.readBase(r.w[:n], r, at); err != nil {
			return err
		}
		x.multiply(r.sum[:n], at)
		for k, f := range r.w[:n] {
			to := (at + int64(k)) / x.cols
			if x.byColumn() {
				to = (at + int64(k)) % x.cols
			}
			v := float64(f + r.sum[k])
			sums[to] += float64(v * v)
		}
	}
	for k := range x.factor {
		x.factor[k] /= float32(math.Sqrt(sums[k]))
	}
	return nil
}

// multiply computes the scaled numbers of the product from index first of the weight on.
func (x *matrices) multiply(dst []float32, first int64) {
	for len(dst) > 0 {
		row, col := first/x.cols, first%x.cols
		n := min(int64(len(dst)), x.cols-col)
		left := x.left[row*x.rank:][:x.rank]
		right := x.right[row/x.rows*x.rank*x.cols:][:x.rank*x.cols]
		accumulate(dst[:n], left, right[col:], x.cols)
		for k := range dst[:n] {
			dst[k] *= x.scale
		}
		dst, first = dst[n:], first+n
	}
}

// accumulate computes the sum over r of left[r] times row r of right, in that order; rows are
// stride numbers apart, and every product is rounded.
func accumulate(dst, left, right []float32, stride int64) {
	clear(dst)
	r := 0
	for ; r+4 <= len(left); r += 4 {
		at := int64(r) * stride
		a, b, c, d := left[r], left[r+1], left[r+2], left[r+3]
		p, q := right[at:][:len(dst)], right[at+stride:][:len(dst)]
		s, t := right[at+2*stride:][:len(dst)], right[at+3*stride:][:len(dst)]
		for k := range dst {
			sum := dst[k] + float32(a*p[k])
			sum += float32(b * q[k])
			sum += float32(c * s[k])
			dst[k] = sum + float32(d*t[k])
		}
	}
	for ; r < len(left); r++ {
		p := right[int64(r)*stride:][:len(dst)]
		for k := range dst {
			dst[k] += float32(left[r] * p[k])
		}
	}
}
