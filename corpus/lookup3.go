package corpus

import (
	"encoding/binary"
	"math/bits"
)

// lookup3 is hashlittle of Bob Jenkins's lookup3 with the seed 0, the checksum of HDF5's metadata.
func lookup3(p []byte) uint32 {
	v := [3]uint32{0xdeadbeef + uint32(len(p)), 0xdeadbeef + uint32(len(p)), 0xdeadbeef + uint32(len(p))}
	add := func(p []byte) {
		var words [12]byte
		copy(words[:], p)
		for i := range v {
			v[i] += binary.LittleEndian.Uint32(words[4*i:])
		}
	}
	for ; len(p) > 12; p = p[12:] {
		add(p)
		for i, turn := range [...]int{4, 6, 8, 16, 19, 4} {
			x, y, z := i%3, (i+1)%3, (i+2)%3
			v[x] = (v[x] - v[z]) ^ bits.RotateLeft32(v[z], turn)
			v[z] += v[y]
		}
	}
	if len(p) == 0 {
		return v[2]
	}
	add(p)
	for i, turn := range [...]int{14, 11, 25, 16, 4, 14, 24} {
		x, y := (i+2)%3, (i+1)%3
		v[x] = (v[x] ^ v[y]) - bits.RotateLeft32(v[y], turn)
	}
	return v[2]
}
