package compare

import (
	"bytes"
	"encoding/hex"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/elements"
	"github.com/anamnesis-go/anamnesis/internal/number"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// pieceElements is how many elements are compared at a time: a multiple of every type's
// block.
const pieceElements = 1 << 15

// pieceBytes is the size of a piece of the largest type.
const pieceBytes = pieceElements * 16

func (c *comparison) pieces() (err error) {
	for i := range c.piece {
		if c.piece[i], err = limits.Make[byte](c.b, pieceBytes); err != nil {
			return err
		}
		if c.values[i], err = limits.Make[number.Value](c.b, pieceElements); err != nil {
			return err
		}
	}
	if c.tile, err = limits.Make[float32](c.b, pieceElements); err != nil {
		return err
	}
	c.other, err = limits.Make[float32](c.b, pieceElements)
	return err
}

// elements compares two tensors of one shape. It returns nil if they are equal.
func (c *comparison) elements(a, b *Tensor) (*Difference, error) {
	account := c.b.Probe() // what reading them needs is given back
	defer account.Close()
	var r [2]elements.Source
	for i, t := range [...]*Tensor{a, b} {
		var err error
		if r[i], err = open(account, c.models[i], t); err != nil {
			return nil, err
		}
		defer r[i].Close()
	}
	how := c.how(r[0].DType(), r[1].DType(), a, b)
	if how == nil {
		return nil, wire.ErrUnsupported.Errorf("%s and %s cannot be compared by value", wire.Quote(a.Type), wire.Quote(b.Type))
	}
	d := &Difference{Kind: Elements, Name: a.Name, A: a, B: b}
	total := r[0].Elements()
	for at := int64(0); at < total; {
		n := min(pieceElements, total-at)
		var p [2][]byte
		for i := range r {
			p[i] = c.piece[i][:elements.Size(r[i].DType(), n)]
			if err := r[i].Read(p[i]); err != nil {
				return nil, err
			}
		}
		c.count(int64(len(p[0])))
		if r[0].DType() != r[1].DType() || !bytes.Equal(p[0], p[1]) {
			how.compare(d, at, n, p)
		}
		at += n
	}
	if d.Count == 0 {
		return nil, nil
	}
	var err error
	if d.Distance, err = c.distance(a, b); err != nil {
		return nil, err
	}
	c.result.Distance.Merge(d.Distance)
	return d, nil
}

func (c *comparison) count(n int64) {
	c.result.Bytes += n
	if c.o.Done != nil {
		c.o.Done.Add(n)
	}
}

// A manner compares elements of two types.
type manner interface {
	// compare adds to d the differences among n elements, the first of which has the
	// index at.
	compare(d *Difference, at, n int64, p [2][]byte)
}

// how returns the manner for two types: by bits or by numbers, nil if they cannot be
// compared.
func (c *comparison) how(x, y tensor.DType, a, b *Tensor) manner {
	byValue := c.o.Values || c.o.Tolerance.Given
	of := [2]number.Loader{number.Of(x), number.Of(y)}
	switch {
	case byValue && of[0] != nil && of[1] != nil:
		return &byNumber{c, of}
	case x == y && a.Type == b.Type:
		return &byBits{c, x, of[0]}
	default:
		return nil
	}
}

// byBits compares what is stored, block by block if the type has blocks.
type byBits struct {
	*comparison
	dtype tensor.DType
	of    number.Loader // nil if the type has no numbers
}

func (m *byBits) compare(d *Difference, at, n int64, p [2][]byte) {
	g, _ := m.dtype.Geometry()
	elems, size := int64(g.Elems), int(g.Bytes)
	for k := int64(0); k*elems < n; k++ {
		x, y := p[0][int(k)*size:][:size], p[1][int(k)*size:][:size]
		if bytes.Equal(x, y) {
			continue
		}
		if m.of == nil || elems > 1 {
			if d.note(at+k*elems, min(elems, n-k*elems), 0) {
				d.Values = [2]string{hexText(x), hexText(y)}
			}
			continue
		}
		m.of(m.values[0][:1], x, m.tile)
		m.of(m.values[1][:1], y, m.tile)
		u, v := m.values[0][0], m.values[1][0]
		if d.note(at+k, 1, u.Distance(v)) {
			d.Values = [2]string{u.Text(x), v.Text(y)}
		}
	}
}

// byNumber compares values.
type byNumber struct {
	*comparison
	of [2]number.Loader
}

func (m *byNumber) compare(d *Difference, at, n int64, p [2][]byte) {
	for i, load := range m.of {
		load(m.values[i][:n], p[i], m.tile)
	}
	for k, x := range m.values[0][:n] {
		y := m.values[1][k]
		if x.Same(y) || m.o.Tolerance.holds(x, y) {
			continue
		}
		if d.note(at+int64(k), 1, x.Distance(y)) {
			d.Values = [2]string{x.Text(nil), y.Text(nil)}
		}
	}
}

func (t *Tolerance) holds(x, y number.Value) bool {
	e := x.Distance(y)
	if !t.Given || math.IsNaN(e) || math.IsInf(e, 0) {
		return false
	}
	return e <= t.Absolute || e <= t.Relative*math.Max(math.Abs(x.F), math.Abs(y.F))
}

// note counts a difference, and reports whether it is the first.
func (d *Difference) note(at, n int64, distance float64) bool {
	first := d.Count == 0
	if first {
		d.First = index(d.A.Shape, at)
	}
	d.Count += n
	if distance > d.Max { // false for NaN
		d.Max = distance
	}
	return first
}

// index returns the indices of an element, one per dimension.
func index(shape []int64, at int64) []int64 {
	out := append([]int64(nil), shape...)
	for k := len(shape) - 1; k >= 0; k-- {
		out[k] = at % max(1, shape[k])
		at /= max(1, shape[k])
	}
	return out
}

// hexText returns a block as it is stored, in hex, cut if it is long.
func hexText(p []byte) string {
	if len(p) > 8 {
		return hex.EncodeToString(p[:8]) + "..."
	}
	return hex.EncodeToString(p)
}
