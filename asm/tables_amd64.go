//go:build !purego

package asm

//lint:file-ignore U1000 the kernels read these tables, which staticcheck does not see

// The sign sets of the grid types as bytes of 1 and -1, by eight bits, and by
// seven of which the eighth makes the number of minuses even; and the shifts of
// the ternary grids in eighths.
var (
	signBytes     = signTable()
	evenSignBytes = evenSignTable()
	eighthBytes   = [2]uint64{0x0101010101010101, 0xFFFFFFFFFFFFFFFF}
)

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

func signTable() (t [256]uint64) {
	for i := range t {
		for j := range 8 {
			b := uint64(1)
			if i>>j&1 == 1 {
				b = 0xFF
			}
			t[i] |= b << (8 * j)
		}
	}
	return t
}

func evenSignTable() (t [128]uint64) {
	all := signTable()
	for i := range t {
		t[i] = all[evenSigns(uint32(i))]
	}
	return t
}
