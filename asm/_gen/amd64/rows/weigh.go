package rows

import (
	"github.com/anamnesis-go/anamnesis/asm/_gen/amd64/emit"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"
)

// weigh writes the weights of sixteen groups.
func weigh() {
	f := begin("importance", "weighs sixteen groups by columns, which lie where the weights come to lie: importance.",
		"For each element: w = w*sqrt(mean+x^2).")
	mean := load(f.field(atMean))
	elements("more", 0, f.n, func(i Register, half func(value) value) {
		x := load(half(f.element(i, atX)))
		each(VMULPS, x, x, x)
		each(VADDPS, half(mean), x, x)
		each(VSQRTPS, x, x)
		each(VMULPS, half(f.element(i, atW)), x, x)
		move(x, half(f.element(i, atW)))
	})
	emit.End()
	f = begin("squares", "weighs sixteen groups by squares.", "For each element: w = x^2.")
	elements("more", 0, f.n, func(i Register, half func(value) value) {
		x := load(half(f.element(i, atX)))
		each(VMULPS, x, x, x)
		move(x, half(f.element(i, atW)))
	})
	emit.End()
	f = begin("magnitudes", "weighs sixteen groups by magnitudes.", "For each element: w = |x|.")
	elements("more", 0, f.n, func(i Register, half func(value) value) {
		x := load(half(f.element(i, atX)))
		each(VANDPS, all(0x7FFFFFFF), x, x)
		move(x, half(f.element(i, atW)))
	})
	emit.End()
	f = begin("near", "weighs sixteen groups of 32 elements: nearGroup.",
		"For each group: rms = the root of the mean of squares.", "For each element: w = rms+|x|.")
	sum := zero()
	elements("squares", 0, f.n, func(i Register, half func(value) value) {
		x := load(half(f.element(i, atX)))
		each(VMULPS, x, x, x)
		each(VADDPS, x, half(sum), half(sum))
	})
	each(VMULPS, number(1.0/32), sum, sum)
	each(VSQRTPS, sum, sum)
	elements("more", 0, f.n, func(i Register, half func(value) value) {
		x := load(half(f.element(i, atX)))
		each(VANDPS, all(0x7FFFFFFF), x, x)
		each(VADDPS, x, half(sum), x)
		move(x, half(f.element(i, atW)))
	})
	emit.End()
}
