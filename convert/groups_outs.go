package convert

import (
	"encoding/binary"
	"errors"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// floatNames are the types of the model's weights as tensors have them.
var floatNames = [...]tensor.DType{asm.F32: tensor.F32, asm.BF16: tensor.BF16, asm.F16: tensor.F16}

// scaleType returns the type of stored scales, for the kernels and in the file.
func (e *groupedEncoding) scaleType() (asm.Type, tensor.DType) {
	switch e.f.Scale {
	case scaled.Half:
		return asm.F16, tensor.F16
	case scaled.Exponent:
		return asm.F32, tensor.U8
	case scaled.Float8:
		if e.f.Library == scaled.MLX {
			return asm.F32, tensor.U8
		}
		return asm.F32, tensor.F8E4M3
	}
	return e.d, floatNames[e.d]
}

// scaleSize is the bytes of a stored scale.
func (e *groupedEncoding) scaleSize() int64 {
	if e.f.Scale == scaled.Exponent || e.f.Scale == scaled.Float8 {
		return 1
	}
	t, _ := e.scaleType()
	return int64(t.Size())
}

// plan lists the tensors of the weight.
func (e *groupedEncoding) plan() error {
	e.parts = groupedParts{-1, -1, -1, -1, -1, -1}
	var err error
	switch e.f.Library {
	case scaled.MLX:
		err = e.planMLX()
	case scaled.GPTQModel, scaled.AutoAWQ:
		err = e.planColumns()
	default:
		err = e.planCompressed()
	}
	e.hold += e.Measured(e.Block())
	return err
}

// out plans a tensor and stores its index in which.
func (e *groupedEncoding) out(which *int, name string, t tensor.DType, shape ...int64) error {
	*which = len(e.List)
	info := tensor.Info{DType: t, Shape: shape}
	return e.Add(name, t, info.Bytes(), shape...)
}

// planCompressed plans the tensors of compressed-tensors and ModelOpt.
func (e *groupedEncoding) planCompressed() error {
	p, name, rows, cols := &e.parts, e.Source.Name, e.Source.Rows(), e.Source.Cols()
	_, scale := e.scaleType()
	count := e.f.Count(cols)
	switch {
	case e.f.Library == scaled.GptOss:
		experts, outs := e.Source.Shape[0], e.Source.Shape[1]
		return errors.Join(e.out(&p.codes, name+"_blocks", tensor.U8, experts, outs, count, e.f.Size/2), e.out(&p.scales, name+"_scales", scale, experts, outs, count))
	case e.f.Library == scaled.TorchAO:
		return errors.Join(e.out(&p.codes, torchaoName(name, "_qdata"), tensor.F8E5M2, rows, cols), e.out(&p.over, torchaoName(name, "_scale"), tensor.F32, 1, 1))
	case e.f.Size == 0 && e.f.Library == scaled.ModelOpt:
		return errors.Join(e.out(&p.codes, name, tensor.F8E4M3, rows, cols), e.out(&p.over, name+"_scale", tensor.F32))
	case e.f.Size == 0:
		return errors.Join(e.out(&p.codes, name, tensor.F8E4M3, rows, cols), e.out(&p.over, name+"_scale", scale, 1))
	case e.f.Library == scaled.ModelOpt && e.f.Global:
		return errors.Join(e.out(&p.codes, name, tensor.U8, rows, cols/2), e.out(&p.scales, name+"_scale", scale, rows, count), e.out(&p.over, name+"_scale_2", tensor.F32))
	case e.f.Second == scaled.ZeroPoint:
		lines := e.f.Lines()
		return errors.Join(e.out(&p.codes, name+"_packed", tensor.I32, rows, e.f.RowBytes(cols)/4), e.out(&p.scales, name+"_scale", scale, rows, count),
			e.out(&p.seconds, name+"_zero_point", tensor.I32, (rows+lines-1)/lines, count), e.out(&p.shape, name+"_shape", tensor.I64, 2))
	case e.f.Bits == 8:
		return errors.Join(e.out(&p.codes, name, tensor.F8E4M3, rows, cols), e.out(&p.scales, name+"_scale", scale, rows, count))
	}
	err := errors.Join(e.out(&p.codes, name+"_packed", tensor.U8, rows, cols/2), e.out(&p.scales, name+"_scale", scale, rows, count))
	if e.f.Global {
		err = errors.Join(err, e.out(&p.over, name+"_global_scale", tensor.F32, 1))
	}
	return err
}

// planMLX plans the tensors of MLX: words, scales and biases.
func (e *groupedEncoding) planMLX() error {
	p, stem, cols := &e.parts, strings.TrimSuffix(e.Source.Name, "weight"), e.Source.Cols()
	_, scale := e.scaleType()
	rows := e.Source.Shape[:len(e.Source.Shape)-1] // and those of a stack
	each := func(n int64) []int64 { return append(slices.Clone(rows), n) }
	err := errors.Join(e.out(&p.codes, e.Source.Name, tensor.U32, each(e.f.RowBytes(cols)/4)...), e.out(&p.scales, stem+"scales", scale, each(e.f.Count(cols))...))
	if e.f.Second == scaled.Bias {
		err = errors.Join(err, e.out(&p.seconds, stem+"biases", scale, each(e.f.Count(cols))...))
	}
	return err
}

// planColumns plans the tensors of GPTQ and AWQ. The whole weight is held until the end,
// because each of its rows is a column of what is stored.
func (e *groupedEncoding) planColumns() error {
	p, stem, outs, in := &e.parts, strings.TrimSuffix(e.Source.Name, "weight"), e.Source.Rows(), e.Source.Cols()
	_, scale := e.scaleType()
	bits, count := int64(e.f.Bits), e.f.Count(in)
	codes := []int64{in * bits / 32, outs}
	if e.f.Library == scaled.AutoAWQ {
		codes = []int64{in, outs * bits / 32}
	}
	err := errors.Join(e.out(&p.codes, stem+"qweight", tensor.I32, codes...), e.out(&p.seconds, stem+"qzeros", tensor.I32, count, outs*bits/32),
		e.out(&p.scales, stem+"scales", scale, count, outs))
	if e.f.Library == scaled.GPTQModel {
		err = errors.Join(err, e.out(&p.order, stem+"g_idx", tensor.I32, in))
	}
	for i := range e.List {
		e.hold += e.List[i].Size
	}
	return err
}

// Span implements encoding.
func (e *groupedEncoding) Span(i int, lo, hi int64) tensor.Span {
	if e.f.Columns {
		return tensor.Span{}
	}
	cols := e.Source.Cols()
	from, end, row := lo/cols, hi/cols, int64(0)
	switch i {
	case e.parts.codes:
		row = e.f.RowBytes(cols)
	case e.parts.scales:
		row = e.f.Count(cols) * e.scaleSize()
	case e.parts.seconds:
		row = e.f.Count(cols) * e.scaleSize()
		if e.f.Second == scaled.ZeroPoint {
			lines := e.f.Lines()
			from, end, row = from/lines, (end+lines-1)/lines, e.f.Count(cols)*4
		}
	default:
		return tensor.Span{}
	}
	return tensor.Span{Off: from * row, Len: (end - from) * row}
}

// putScale writes a scale, or a bias, which has the same type.
func (e *groupedEncoding) putScale(dst []byte, x float32) {
	switch e.f.Scale {
	case scaled.Exponent:
		dst[0] = scaled.ToE8M0(x)
	case scaled.Float8:
		dst[0] = scaled.ToE4M3(x)
	default:
		t, _ := e.scaleType()
		asm.Best().Put(t, dst[:t.Size()], []float32{x})
	}
}

// putRow writes a group of row k that begins with number at.
func (e *groupedEncoding) putRow(dst [][]byte, k, at, count int64, c *scaled.Coded) {
	cols, bits := e.Source.Cols(), int64(e.f.Bits)
	scaled.Pack(dst[e.parts.codes][k*e.f.RowBytes(cols)+at*bits/8:], c.Codes, e.f.Bits)
	if e.parts.scales < 0 {
		return
	}
	group, size := at/e.f.Size, e.scaleSize()
	e.putScale(dst[e.parts.scales][(k*count+group)*size:], c.Scale)
	switch e.f.Second {
	case scaled.Bias:
		e.putScale(dst[e.parts.seconds][(k*count+group)*size:], c.Second)
	case scaled.ZeroPoint:
		lines := e.f.Lines()
		word := dst[e.parts.seconds][((k/lines)*count+group)*4:][:4]
		if k%lines == 0 {
			clear(word)
		}
		word[k%lines*bits/8] |= byte(int(c.Second) << (k % lines * bits % 8))
	}
}

// awqOrder has the positions of the codes of eight outputs in a word.
var awqOrder = [8]int64{0, 4, 1, 5, 2, 6, 3, 7}

// putColumn writes a group of one output that begins with input at. One worker encodes
// all outputs that share a word.
func (e *groupedEncoding) putColumn(out, at, count int64, c *scaled.Coded) {
	outs, bits, group := e.Source.Rows(), int64(e.f.Bits), at/e.f.Size
	codes, zeros, scales := e.column(e.parts.codes), e.column(e.parts.seconds), e.column(e.parts.scales)
	words := outs * bits / 32 // in a row of zero points, or of AWQ's codes
	if e.f.Library == scaled.AutoAWQ {
		field := out/8*32 + awqOrder[out%8]*bits
		for i, code := range c.Codes {
			addBits(codes[(at+int64(i))*words*4:], field, 1, uint32(code))
		}
		addBits(zeros[group*words*4:], field, 1, uint32(c.Second))
	} else {
		for i, code := range c.Codes {
			addBits(codes[out*4:], (at+int64(i))*bits, outs, uint32(code))
		}
		addBits(zeros[group*words*4:], out*bits, 1, uint32(c.Second)-1) // stored minus one, as in the first version of GPTQ's layout
	}
	e.putScale(scales[(group*outs+out)*2:], c.Scale)
}

// addBits adds a code at a bit of words that are apart words from each other. A 3-bit
// code may continue in the next word.
func addBits(p []byte, bit, apart int64, code uint32) {
	add := func(word int64, bits uint32) {
		at := p[word*apart*4:]
		binary.LittleEndian.PutUint32(at, binary.LittleEndian.Uint32(at)|bits)
	}
	add(bit/32, code<<(bit%32))
	if rest := code >> (32 - bit%32); rest != 0 {
		add(bit/32+1, rest)
	}
}

// column returns the memory of an out that is stored by columns.
func (e *groupedEncoding) column(out int) []byte {
	at := int64(0)
	for i := range out {
		at += e.List[i].Size
	}
	return e.columns[at:][:e.List[out].Size]
}

// End returns the outs that ranges of rows do not produce.
func (e *groupedEncoding) End() ([][]byte, error) {
	e.Finish()
	var list [4][]byte // the maximum of all formats
	ends := list[:len(e.List)]
	if e.f.Columns {
		for i := range e.List {
			ends[i] = e.column(i)
		}
	}
	if i := e.parts.order; i >= 0 {
		for in := range e.Source.Cols() {
			binary.LittleEndian.PutUint32(ends[i][4*in:], uint32(in/e.f.Size))
		}
	}
	if i := e.parts.shape; i >= 0 {
		ends[i] = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, uint64(e.Source.Rows())), uint64(e.Source.Cols()))
	}
	if i := e.parts.over; i >= 0 {
		var p [4]byte
		t := asm.F32
		if e.List[i].DType != tensor.F32 {
			t = e.d
		}
		asm.Best().Put(t, p[:t.Size()], []float32{*e.over})
		ends[i] = p[:t.Size()]
	}
	return ends, nil
}
