package convert

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A gather reads the rows of a part in a new order.
type gather struct {
	r    io.ReaderAt
	part *family.Part
	// whole has room for all rows of a head. It is used for decoded weights, where
	// reading rows one by one is slow.
	whole []byte
}

// read fills p with the bytes of the part from off on.
func (g *gather) read(p []byte, off int64) error {
	rows := int64(1)
	if len(g.part.Info.Shape) > 0 {
		rows = max(1, g.part.Info.Shape[0])
	}
	row := g.part.Info.Bytes() / rows
	if g.part.Head == 0 {
		return wire.ReadFull(g.r, p, off+g.part.From*row)
	}
	head, begin := g.part.Head*row, g.part.From*row
	for len(p) > 0 {
		within := off % head
		n := min(int64(len(p)), head-within)
		var err error
		if int64(len(g.whole)) >= head || row < shortRead && head <= DefaultTile {
			err = g.small(p[:n], begin+off-within, within, row)
		} else {
			err = g.large(p[:n], begin+off-within, within, row)
		}
		if err != nil {
			return err
		}
		p, off = p[n:], off+n
	}
	return nil
}

// source returns which row of its head becomes row at.
func (g *gather) source(at int64) int64 {
	half := g.part.Head / 2
	if g.part.Back {
		return at%half*2 + at/half
	}
	return at%2*half + at/2
}

// large reads row by row.
func (g *gather) large(p []byte, base, within, row int64) error {
	for len(p) > 0 {
		at, in := within/row, within%row
		n := min(int64(len(p)), row-in)
		if err := wire.ReadFull(g.r, p[:n], base+g.source(at)*row+in); err != nil {
			return err
		}
		p, within = p[n:], within+n
	}
	return nil
}

// small reads pieces of a head that hold several rows.
func (g *gather) small(p []byte, base, within, row int64) error {
	var own [16 << 10]byte
	buf := own[:]
	if len(g.whole) > 0 {
		buf = g.whole
	}
	per := min(max(1, int64(len(buf))/row), g.part.Head)
	half := g.part.Head / 2
	for lo := int64(0); lo < g.part.Head; lo += per {
		hi := min(lo+per, g.part.Head)
		raw := buf[:(hi-lo)*row]
		if err := wire.ReadFull(g.r, raw, base+lo*row); err != nil {
			return err
		}
		for s := lo; s < hi; s++ {
			to := s%half*2 + s/half // the place of this row of the source
			if g.part.Back {
				to = s%2*half + s/2
			}
			// The part of the row that was asked for.
			from, end := max(to*row, within), min(to*row+row, within+int64(len(p)))
			if from < end {
				copy(p[from-within:end-within], raw[(s-lo)*row+from-to*row:])
			}
		}
	}
	return nil
}

func putF32(dst []byte, numbers []float32) {
	for i, f := range numbers {
		binary.LittleEndian.PutUint32(dst[4*i:], math.Float32bits(f))
	}
}

// shortRead is the size of a row below which the call costs more than the bytes.
const shortRead = 512
