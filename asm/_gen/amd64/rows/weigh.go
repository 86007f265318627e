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
	f.weights(func(i Register, half func(value) value, x value) {
		each(VMULPS, x, x, x)
		each(VADDPS, half(mean), x, x)
		each(VSQRTPS, x, x)
		each(VMULPS, half(f.element(i, atW)), x, x)
	})
	f = begin("squares", "weighs sixteen groups by squares.", "For each element: w = x^2.")
	f.weights(func(_ Register, _ func(value) value, x value) { each(VMULPS, x, x, x) })
	f = begin("magnitudes", "weighs sixteen groups by magnitudes.", "For each element: w = |x|.")
	f.weights(func(_ Register, _ func(value) value, x value) { each(VANDPS, all(0x7FFFFFFF), x, x) })
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
	f.weights(func(_ Register, half func(value) value, x value) {
		each(VANDPS, all(0x7FFFFFFF), x, x)
		each(VADDPS, x, half(sum), x)
	})
}

// weights writes the weight of each element, made of it in place, and ends the kernel.
func (f *fit) weights(weight func(i Register, half func(value) value, x value)) {
	elements("more", 0, f.n, func(i Register, half func(value) value) {
		x := load(half(f.element(i, atX)))
		weight(i, half, x)
		move(x, half(f.element(i, atW)))
	})
	emit.End()
}
