package main

import (
	"math"
	"math/rand/v2"
)

// fills are kinds of rows: as models have them, and at the edges of the search.
var fills = []func(*rand.Rand, []float32){
	func(r *rand.Rand, x []float32) { each(x, func(int) float64 { return 0.02 * r.NormFloat64() }) },
	func(r *rand.Rand, x []float32) { // heavy tails
		each(x, func(int) float64 { return 0.01 * r.NormFloat64() * math.Exp(r.NormFloat64()) })
	},
	func(r *rand.Rand, x []float32) { // columns of other sizes
		each(x, func(i int) float64 { return r.NormFloat64() * math.Exp2(float64(i/32%9)-8) })
	},
	func(r *rand.Rand, x []float32) { // multiples of one step: ties
		step := math.Exp2(float64(r.IntN(12)) - 12)
		each(x, func(int) float64 { return step * float64(r.IntN(33)-16) })
	},
	func(r *rand.Rand, x []float32) { // all of one sign
		each(x, func(int) float64 { return 0.1 * r.Float64() })
	},
	func(r *rand.Rand, x []float32) { each(x, func(int) float64 { return -0.1 - 0.1*r.Float64() }) },
	func(r *rand.Rand, x []float32) { // constant
		v := r.NormFloat64()
		each(x, func(int) float64 { return v })
	},
	func(r *rand.Rand, x []float32) { // zeros of both signs, runs of them, few others
		each(x, func(i int) float64 {
			if i/16%3 == 0 && r.IntN(8) == 0 {
				return r.NormFloat64()
			}
			return math.Copysign(0, r.NormFloat64())
		})
	},
	func(r *rand.Rand, x []float32) { each(x, func(int) float64 { return 1e-14 * r.NormFloat64() }) }, // about the least group
	func(r *rand.Rand, x []float32) { each(x, func(int) float64 { return 1e-5 * r.NormFloat64() }) },  // subnormal scales in float16
	func(r *rand.Rand, x []float32) { each(x, func(int) float64 { return 8000 * r.NormFloat64() }) },
	func(r *rand.Rand, x []float32) { // subnormal numbers beside normal ones
		each(x, func(i int) float64 { return r.NormFloat64() * math.Exp2(-float64(i/64%3)*60) })
	},
	func(r *rand.Rand, x []float32) { // one outlier in each 64
		each(x, func(i int) float64 {
			if i%64 == 17 {
				return 3
			}
			return 0.01 * r.NormFloat64()
		})
	},
	func(r *rand.Rand, x []float32) { // just below powers of two
		each(x, func(int) float64 {
			v := math.Nextafter32(float32(math.Exp2(float64(r.IntN(8)-4))), 0)
			return math.Copysign(float64(v), r.NormFloat64())
		})
	},
}

func each(x []float32, f func(i int) float64) {
	for i := range x {
		x[i] = float32(f(i))
	}
}
