package form

import "github.com/anamnesis-go/anamnesis/asm"

// PackedZeroGrid returns a grid of zero points in fields of words, packed along the rows
// of each column, minus the middle of the codes.
func PackedZeroGrid(rows, cols, group, bits int64, loose bool) Grid {
	groups, per, bias := cols/group, 32/bits, []float32{float32(int32(1) << (bits - 1))}
	g := GroupGrid(rows, cols, group, 4, func(p []byte, i int64) float32 {
		row, group := i/groups, i%groups
		if loose {
			return float32(U32(p[4*(row/per*groups+group):])>>(row%per*bits)&(1<<bits-1)) - bias[0]
		}
		return float32(column(p, groups, bits, row, group)) - bias[0]
	})
	g.Whole = 4 * CeilDiv(rows*bits, 32) * groups
	if loose {
		g.Whole = 4 * CeilDiv(rows, per) * groups
	}
	g.pick = func(o *asm.Ops, dst []float32, p []byte, row, k int64, room []byte) bool {
		word, shift := row*bits/32, row*bits%32
		if loose {
			word, shift = row/per, row%per*bits
		}
		if shift+bits > 32 {
			return false
		}
		o.Pick(int(shift), int(bits), room, p[4*(word*groups+k):][:4*len(dst)])
		o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, asm.F32, asm.Raw(dst), room, asm.Runs{Scales: unitScale[:], Seconds: bias, Length: len(room)})
		return true
	}
	return g
}
