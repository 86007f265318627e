package rows

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/reg"
)

// symmetric finds scales.
func symmetric() {
	f := begin("symmetric", "searches the scales of sixteen groups: searchSymmetric.",
		"For each group: the number of largest magnitude, the first of equals; w*x of all.",
		"For each trial: inverse = trial/largest; codes l = round(x*inverse); xl, ll = the sums of w*x*l and w*l*l.",
		"If xl^2/ll is the largest yet, the scale is xl/ll.")
	largest, most, total := zero(), zero(), zero()
	elements("largest", 0, f.n, func(i Register, half func(value) value) {
		w := load(half(f.element(i, atW)))
		each(VADDPS, w, half(total), half(total))
		each(VMULPS, half(f.element(i, atX)), w, w)
		move(w, half(f.element(i, atWX)))
		f.largest(i, half, largest, most)
	})
	move(most, f.field(atHigh))
	move(largest, f.field(atLargest))
	move(total, f.field(atSum))
	m := f.limits()
	xl, ll := f.sums(m)
	some, scale := zero(), zero()
	compare(other, ll, some, some)
	f.first(xl, ll, some, scale)
	f.eachTrial(func() { f.better(f.sums(m)) })
}

// sums are those of the next trial.
func (f *fit) sums(m limits) (xl, ll value) {
	largest := load(f.field(atLargest))
	inverse := f.try(largest)
	xl, ll = zero(), zero()
	elements("sums", 0, f.n, func(i Register, half func(value) value) {
		l, wl := one(), one()
		m.code(half(f.element(i, atX)), half(inverse), l)
		each(VMULPS, half(f.element(i, atW)), l, wl)
		each(VMULPS, l, wl, wl)
		each(VMULPS, half(f.element(i, atWX)), l, l)
		each(VADDPS, wl, half(ll), half(ll))
		each(VADDPS, l, half(xl), half(xl))
	})
	return xl, ll
}
