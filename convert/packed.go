package convert

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// packed gives the blocks and the scales of a weight that is stored as OpenAI stores
// MXFP4: [E, rows, cols/32, 16] and [E, rows, cols/32].
func (d *decoded) packed(i *tensor.Info) (blocks, scales tensor.Info, ok bool) {
	w := d.weight(i)
	if w == nil || len(w.Parts) != 2 {
		return blocks, scales, false
	}
	blocks, scales = w.Parts[0], w.Parts[1]
	if len(blocks.Shape) != 4 {
		blocks, scales = scales, blocks
	}
	ok = len(blocks.Shape) == 4 && len(scales.Shape) == 3 && blocks.Shape[3] == mxBlock-1 &&
		blocks.DType == tensor.U8 && scales.DType == tensor.U8 && blocks.Strides == nil && scales.Strides == nil &&
		blocks.Bytes() == (mxBlock-1)*scales.Bytes()
	return blocks, scales, ok
}

// mxBlock is a block of 32 numbers in MXFP4 of GGUF: a scale and 16 bytes.
const mxBlock = 17

// packedReader reads rows of MXFP4 as GGUF has them.
type packedReader struct {
	r              *rewritten
	p              *family.Packed
	blocks, scales io.ReaderAt
	row            int64 // blocks of one
}

func (r *rewritten) packed(t *family.Tensor) (io.ReaderAt, bool) {
	blocks, ok := r.decoded.Model.At(t.Packed.Blocks)
	scales, also := r.decoded.Model.At(t.Packed.Scales)
	if !ok || !also {
		return nil, false
	}
	return &packedReader{r, t.Packed, blocks, scales, t.Shape[len(t.Shape)-1] / 32}, true
}

// ReadAt implements [io.ReaderAt].
func (m *packedReader) ReadAt(p []byte, off int64) (int, error) {
	room, err := m.r.straight.room()
	if err != nil {
		return 0, err
	}
	defer m.r.straight.back(room)
	most := int64(len(room)) / mxBlock
	for done := 0; done < len(p); {
		at := off + int64(done)
		first, within := at/mxBlock, at%mxBlock
		// As many blocks as a row has left, and as are asked for.
		n := min(most, m.row-first%m.row, (int64(len(p)-done)+within+mxBlock-1)/mxBlock)
		src := (first/m.row*m.p.Step+m.p.First)*m.row + first%m.row
		codes, scales := room[:16*n], room[16*n:17*n]
		if err := wire.ReadFull(m.blocks, codes, 16*src); err != nil {
			return done, err
		}
		if err := wire.ReadFull(m.scales, scales, src); err != nil {
			return done, err
		}
		for k := range n {
			one := mxMoved(codes[16*k:16*k+16], scales[k])
			done += copy(p[done:], one[within:])
			within = 0
		}
	}
	return len(p), nil
}

// mxMoved makes a block that of GGUF: OpenAI has two neighbors in a byte, the first in
// the low half; ggml has the first half of the block in the low halves.
func mxMoved(codes []byte, scale byte) (out [mxBlock]byte) {
	out[0] = scale
	for j := range 8 {
		a, b := codes[j], codes[j+8]
		out[1+2*j] = a&15 | b<<4
		out[2+2*j] = a>>4 | b&0xF0
	}
	return out
}

// asBound gives all tensors as they are, where blocks are moved and what else was
// quantized is decoded already.
func (p *Plan) asBound(infos []tensor.Info) (*quant.Bound, bool) {
	r, ok := p.m.(*rewritten)
	return &quant.Bound{Plain: infos}, ok && r.moved
}
