package main

const (
	// littleMost is the scale, as bits, below which products of numbers from 2^-20
	// on may be subnormal.
	littleMost = (127 - 100) << 23
	// wholeMost is that of products of whole numbers.
	wholeMost = 1 << 23
	// leastShift is a shift that changes no code but zero.
	leastShift = (127 - 26) << 23
	smallShift = 64
)
