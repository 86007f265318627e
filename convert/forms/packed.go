package forms

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/quant/mxfp4"
)

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
	most := int64(len(room)) / mxfp4.Block
	for done := 0; done < len(p); {
		at := off + int64(done)
		first, within := at/mxfp4.Block, at%mxfp4.Block
		// As many blocks as the row has left, and as are needed.
		n := min(most, m.row-first%m.row, (int64(len(p)-done)+within+mxfp4.Block-1)/mxfp4.Block)
		src := (first/m.row*m.p.Step+m.p.First)*m.row + first%m.row
		codes, scales := room[:mxfp4.Codes*n], room[mxfp4.Codes*n:mxfp4.Block*n]
		if err := wire.ReadFull(m.blocks, codes, mxfp4.Codes*src); err != nil {
			return done, err
		}
		if err := wire.ReadFull(m.scales, scales, src); err != nil {
			return done, err
		}
		for k := range n {
			one := mxfp4.ToGGML(codes[mxfp4.Codes*k:][:mxfp4.Codes], scales[k])
			done += copy(p[done:], one[within:])
			within = 0
		}
	}
	return len(p), nil
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
	each := int64(mxfp4.Codes)
	if m.scales {
		each = 1
	}
	for done := 0; done < len(p); {
		at := off + int64(done)
		first, within := at/each, at%each
		// As many blocks as the row has left, and as are needed.
		n := min(int64(len(room))/mxfp4.Block, m.row-first%m.row, (int64(len(p)-done)+within+each-1)/each)
		row, parts := first/m.row, int64(len(m.of))
		raw := room[:mxfp4.Block*n]
		if err := wire.ReadFull(m.of[row%parts], raw, (row/parts*m.row+first%m.row)*mxfp4.Block); err != nil {
			return done, err
		}
		for k := range n {
			block := raw[mxfp4.Block*k : mxfp4.Block*(k+1)]
			if m.scales {
				p[done] = block[0]
				done++
				continue
			}
			codes := mxfp4.FromGGML(block)
			done += copy(p[done:], codes[within:])
			within = 0
		}
	}
	return len(p), nil
}
