//go:build !purego

package asm

//lint:file-ignore U1000 the kernels read these tables, which staticcheck does not see

// The grids of four bytes a row as codes of their eight magnitudes.
var (
	iq3xxsCodes = [256]uint32(codesOf(iq3xxsGrid[:], 3))
	iq3sCodes   = [512]uint32(codesOf(iq3sGrid[:], 1))
)

func codesOf(grid []uint32, shift int) []uint32 {
	out := make([]uint32, len(grid))
	for i, row := range grid {
		out[i] = row >> shift & 0x07070707
	}
	return out
}

// The products of the values of FP4 with each scale of MXFP4 and of NVFP4 as
// words of BF16, which is exact: low bytes of sixteen, then the high ones.
var (
	mxfp4Tables = fp4Tables(&mxfp4Scales)
	nvfp4Tables = fp4Tables(&nvfp4Scales)
)

func fp4Tables(scales *[256]float32) (t [256][2][16]byte) {
	for i, d := range scales {
		for code, v := range fp4Doubled {
			w := FloatToBfloat(d * v)
			t[i][0][code], t[i][1][code] = byte(w), byte(w>>8)
		}
	}
	return t
}

// expansions says for each byte of a mask which number comes at each of its
// bits, C0 where there is none.
var expansions = expansionTable()

func expansionTable() (out [256][8]byte) {
	for mask := range out {
		next := byte(0)
		for i := range out[mask] {
			out[mask][i] = 0xC0
			if mask>>i&1 == 1 {
				out[mask][i] = next
				next++
			}
		}
	}
	return out
}
