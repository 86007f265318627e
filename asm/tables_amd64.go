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
// words, low bytes of sixteen, then the high ones: BF16, which is exact, and F16.
var (
	mxfp4Tables = fp4Tables(&mxfp4Scales, FloatToBfloat)
	nvfp4Tables = fp4Tables(&nvfp4Scales, FloatToBfloat)
	mxfp4Halves = fp4Tables(&mxfp4Scales, FloatToHalf)
	nvfp4Halves = fp4Tables(&nvfp4Scales, FloatToHalf)
)

func fp4Tables(scales *[256]float32, word func(float32) uint16) (t [256][2][16]byte) {
	for i, d := range scales {
		for code, v := range fp4Doubled {
			w := word(d * v)
			t[i][0][code], t[i][1][code] = byte(w), byte(w>>8)
		}
	}
	return t
}

// The grids of four bytes a row by planes: the first bytes of all rows, then the
// second ones.
var (
	iq3xxsPlanes = [4 * 256]byte(planes(iq3xxsGrid[:]))
	iq3sPlanes   = [4 * 512]byte(planes(iq3sGrid[:]))
)

func planes(grid []uint32) []byte {
	out := make([]byte, 4*len(grid))
	for i, row := range grid {
		for j := range 4 {
			out[j*len(grid)+i] = byte(row >> (8 * j))
		}
	}
	return out
}

// The same grids by planes of two bytes a row, each of two codes of three bits:
// one from bit 1 on, the other from bit 5 on.
var (
	iq3xxsPairs = [2 * 256]byte(pairsOf(iq3xxsCodes[:]))
	iq3sPairs   = [2 * 512]byte(pairsOf(iq3sCodes[:]))
)

func pairsOf(codes []uint32) []byte {
	out := make([]byte, 2*len(codes))
	for i, row := range codes {
		for j := range 2 {
			out[j*len(codes)+i] = byte(row>>(16*j)<<1 | row>>(16*j+8)<<5)
		}
	}
	return out
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
