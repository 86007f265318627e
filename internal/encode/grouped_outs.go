package encode

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// FloatTypes are the types of the model's weights as tensors have them.
var FloatTypes = [...]tensor.DType{asm.F32: tensor.F32, asm.BF16: tensor.BF16, asm.F16: tensor.F16}

// ScaleType returns the type of stored scales, for the kernels and in the file.
func (e *GroupedWeight) ScaleType() (asm.Type, tensor.DType) {
	switch e.F.Scale {
	case scaled.Half:
		return asm.F16, tensor.F16
	case scaled.Exponent:
		return asm.F32, tensor.U8
	case scaled.Float8:
		return asm.F32, tensor.F8E4M3
	}
	return e.D, FloatTypes[e.D]
}

// scaleSize is the bytes of a stored scale.
func (e *GroupedWeight) scaleSize() int64 {
	if e.F.Scale == scaled.Exponent || e.F.Scale == scaled.Float8 {
		return 1
	}
	t, _ := e.ScaleType()
	return int64(t.Size())
}

// plan lists the tensors of the weight.
func (e *GroupedWeight) plan() error {
	e.Parts = GroupedParts{-1, -1, -1, -1, -1, -1}
	err := e.engine.Plan(e)
	if e.F.Columns { // the whole weight is held until the end, because each of its rows is a column of what is stored
		for i := range e.List {
			e.hold += e.List[i].Size
		}
	}
	e.hold += e.Measured(e.Block())
	return err
}

// Out plans a tensor and stores its index in which.
func (e *GroupedWeight) Out(which *int, name string, t tensor.DType, shape ...int64) error {
	*which = len(e.List)
	info := tensor.Info{DType: t, Shape: shape}
	return e.Add(name, t, info.Bytes(), shape...)
}

// Span implements encoding.
func (e *GroupedWeight) Span(i int, lo, hi int64) tensor.Span {
	if e.F.Columns {
		return tensor.Span{}
	}
	cols := e.Source.Cols()
	from, end, row := lo/cols, hi/cols, int64(0)
	switch i {
	case e.Parts.Codes:
		row = e.F.RowBytes(cols)
	case e.Parts.Scales:
		row = e.F.Count(cols) * e.scaleSize()
	case e.Parts.Seconds:
		row = e.F.Count(cols) * e.scaleSize()
		if e.F.Second == scaled.ZeroPoint {
			lines := e.F.Lines()
			from, end, row = from/lines, (end+lines-1)/lines, e.F.Count(cols)*4
		}
	default:
		return tensor.Span{}
	}
	return tensor.Span{Off: from * row, Len: (end - from) * row}
}

// PutScale writes a scale, or a bias, which has the same type.
func (e *GroupedWeight) PutScale(dst []byte, x float32) {
	switch e.F.Scale {
	case scaled.Exponent:
		dst[0] = scaled.ToE8M0(x)
	case scaled.Float8:
		dst[0] = scaled.ToE4M3(x)
	default:
		t, _ := e.ScaleType()
		asm.Best().Put(t, dst[:t.Size()], []float32{x})
	}
}

// putRow writes a group of row k that begins with number at.
func (e *GroupedWeight) putRow(dst [][]byte, k, at, count int64, c *scaled.Coded) {
	cols, bits := e.Source.Cols(), int64(e.F.Bits)
	scaled.Pack(dst[e.Parts.Codes][k*e.F.RowBytes(cols)+at*bits/8:], c.Codes, e.F.Bits)
	if e.Parts.Scales < 0 {
		return
	}
	group, size := at/e.F.Size, e.scaleSize()
	e.PutScale(dst[e.Parts.Scales][(k*count+group)*size:], c.Scale)
	switch e.F.Second {
	case scaled.Bias:
		e.PutScale(dst[e.Parts.Seconds][(k*count+group)*size:], c.Second)
	case scaled.ZeroPoint:
		lines := e.F.Lines()
		word := dst[e.Parts.Seconds][((k/lines)*count+group)*4:][:4]
		if k%lines == 0 {
			clear(word)
		}
		word[k%lines*bits/8] |= byte(int(c.Second) << (k % lines * bits % 8))
	}
}

// AddBits adds a code at a bit of words that are apart words from each other. A 3-bit
// code may continue in the next word.
func AddBits(p []byte, bit, apart int64, code uint32) {
	add := func(word int64, bits uint32) {
		at := p[word*apart*4:]
		binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)|bits)
	}
	add(bit/32, code<<(bit%32))
	if rest := code >> (32 - bit%32); rest != 0 {
		add(bit/32+1, rest)
	}
}

// Held returns the memory of an out that is stored by columns.
func (e *GroupedWeight) Held(out int) []byte {
	at := int64(0)
	for i := range out {
		at += e.List[i].Size
	}
	return e.columns[at:][:e.List[out].Size]
}

// End returns the outs that ranges of rows do not produce.
func (e *GroupedWeight) End() ([][]byte, error) {
	e.Finish()
	var list [4][]byte // the maximum of all formats
	ends := list[:len(e.List)]
	if e.F.Columns {
		for i := range e.List {
			ends[i] = e.Held(i)
		}
	}
	if i := e.Parts.Order; i >= 0 {
		for in := range e.Source.Cols() {
			binary.LittleEndian.PutUint32(ends[i][4*in:], uint32(in/e.F.Size))
		}
	}
	if i := e.Parts.Shape; i >= 0 {
		ends[i] = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(e.Source.Rows())), uint64(e.Source.Cols()))
	}
	if i := e.Parts.Over; i >= 0 {
		var p [4]byte
		t := asm.F32
		if e.List[i].DType != tensor.F32 {
			t = e.D
		}
		asm.Best().Put(t, p[:t.Size()], []float32{*e.over})
		ends[i] = p[:t.Size()]
	}
	return ends, nil
}
