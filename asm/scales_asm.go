//go:build !purego && (amd64 || arm64)

package asm

//lint:file-ignore U1000 the kernels read these variables

// The scales of MXFP4 and NVFP4 by their byte.
var (
	mxfp4Scales = scaleTable(e8m0Half)
	nvfp4Scales = scaleTable(ue4m3Half)
)

func scaleTable(of func(uint8) float32) (t [256]float32) {
	for i := range t {
		t[i] = of(uint8(i))
	}
	return t
}
