package convert

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// mxParts returns the blocks and scales of a weight in OpenAI's MXFP4: [E, rows, cols/32,
// 16] and [E, rows, cols/32].
func mxParts(w *quant.Weight) (blocks, scales tensor.Info, ok bool) {
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

// mxBlock is the size of a block of 32 numbers in GGUF's MXFP4: a scale and 16 bytes of
// codes.
const mxBlock = 17

// packedReader reads rows of MXFP4 in GGUF's form.
type packedReader struct {
	rooms          *model.Rooms[byte]
	p              *family.Packed
	blocks, scales io.ReaderAt
	row            int64 // blocks in a row
}

// packed opens a tensor in GGUF's form, whose blocks and scales are below the decoded
// weights.
func (p *composer) packed(t *family.Tensor) func() (io.ReaderAt, bool) {
	return func() (io.ReaderAt, bool) {
		stored := p.view.Sources()[0]
		blocks, ok := stored.At(t.Packed.Blocks)
		scales, also := stored.At(t.Packed.Scales)
		return &packedReader{p.straight.Rooms(), t.Packed, blocks, scales, t.Shape[len(t.Shape)-1] / 32}, ok && also
	}
}

// ReadAt implements [io.ReaderAt].
func (m *packedReader) ReadAt(p []byte, off int64) (int, error) {
	room, err := m.rooms.Take()
	if err != nil {
		return 0, err
	}
	defer m.rooms.Back(room)
	most := int64(len(room)) / mxBlock
	for done := 0; done < len(p); {
		at := off + int64(done)
		first, within := at/mxBlock, at%mxBlock
		// As many blocks as the row has left, and as are needed.
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

// mxMoved converts a block to GGUF's form. OpenAI puts neighbors in a byte, the first in
// the low half; ggml puts the first half of the block in the low halves.
func mxMoved(codes []byte, scale byte) (out [mxBlock]byte) {
	out[0] = scale
	for j := range 8 {
		a, b := codes[j], codes[j+8]
		out[1+2*j] = a&15 | b<<4
		out[2+2*j] = a>>4 | b&0xF0
	}
	return out
}

// unpackedReader reads codes or scales of MXFP4 in OpenAI's form.
type unpackedReader struct {
	rooms  *model.Rooms[byte]
	of     []io.ReaderAt
	scales bool
	row    int64 // blocks in a row
}

// unpacked opens a tensor in OpenAI's form.
func (p *composer) unpacked(t *family.Tensor) func() (io.ReaderAt, bool) {
	return func() (io.ReaderAt, bool) {
		u := &unpackedReader{rooms: p.straight.Rooms(), scales: t.Unpacked.Scales, row: t.Shape[2]}
		for _, i := range t.Unpacked.Of {
			one, ok := p.m.At(i)
			if !ok {
				return nil, false
			}
			u.of = append(u.of, one)
		}
		return u, true
	}
}

// ReadAt implements [io.ReaderAt].
func (m *unpackedReader) ReadAt(p []byte, off int64) (int, error) {
	room, err := m.rooms.Take()
	if err != nil {
		return 0, err
	}
	defer m.rooms.Back(room)
	each := int64(mxBlock - 1) // bytes of codes in a block
	if m.scales {
		each = 1
	}
	for done := 0; done < len(p); {
		at := off + int64(done)
		first, within := at/each, at%each
		// As many blocks as the row has left, and as are needed.
		n := min(int64(len(room))/mxBlock, m.row-first%m.row, (int64(len(p)-done)+within+each-1)/each)
		row, parts := first/m.row, int64(len(m.of))
		raw := room[:mxBlock*n]
		if err := wire.ReadFull(m.of[row%parts], raw, (row/parts*m.row+first%m.row)*mxBlock); err != nil {
			return done, err
		}
		for k := range n {
			block := raw[mxBlock*k : mxBlock*(k+1)]
			if m.scales {
				p[done] = block[0]
				done++
				continue
			}
			codes := mxLaid(block)
			done += copy(p[done:], codes[within:])
			within = 0
		}
	}
	return len(p), nil
}

// mxLaid is the inverse of mxMoved: it converts the codes of a GGUF block to OpenAI's
// form.
func mxLaid(block []byte) (codes [mxBlock - 1]byte) {
	for j := range 8 {
		x, y := block[1+2*j], block[2+2*j]
		codes[j], codes[j+8] = x&15|y<<4, x>>4|y&0xF0
	}
	return codes
}

// asBound returns all tensors to be written as they are, if blocks are moved and
// everything else is decoded already. In the other direction, other tensors may still be
// quantized.
func (p *Plan) asBound(infos []tensor.Info) (bound *quant.Bound, moved bool, err error) {
	switch {
	case !p.view.Stays():
		return &quant.Bound{Plain: infos}, false, nil
	case p.view.Told().Bound != nil || p.o.AsIs:
		return &quant.Bound{Plain: infos}, true, nil
	}
	rest, err := p.view.Select(p.b, func(t *model.Tensor) bool { return !t.Stays })
	if err != nil {
		return nil, false, err
	}
	if bound, err = quant.Plan(p.b, rest, p.o.Quant); err != nil {
		return nil, false, err
	}
	for i := range infos {
		if p.view.Tensor(infos[i].Name).Stays {
			if bound.Plain, err = limits.Append(p.b, bound.Plain, infos[i]); err != nil {
				return nil, false, err
			}
		}
	}
	return bound, true, nil
}

// unpacked reports whether the model has experts in MXFP4 blocks from a GGUF file.
func (p *Plan) unpacked() bool { return p.view.Stays() && p.view.Told().Bound == nil }
