package bnb

// NestedBlock is how many scales share a nested scale.
const NestedBlock = 256

// EncodeNested quantizes the scales of a tensor minus their mean. codes has a byte per
// scale, nested one number per [NestedBlock] scales. The first scale begins a block, and
// scales ends with one, unless it ends the tensor's. mean is the mean of all scales of
// the tensor, see [Mean], so it takes a first pass over the tensor.
func EncodeNested(codes []byte, nested, scales []float32, mean float32) {
	for b := 0; len(scales) > 0; b++ {
		n := min(NestedBlock, len(scales))
		nested[b] = nestedBlock(codes[:n], scales[:n], mean)
		codes, scales = codes[n:], scales[n:]
	}
}

// nestedBlock quantizes one block as bitsandbytes' C code does: numbers in [-1, 1] are
// rounded to one of 65,536 steps, and a step has the nearest code.
func nestedBlock(codes []byte, scales []float32, mean float32) float32 {
	var m float32
	for _, x := range scales {
		if d := x - mean; d > m {
			m = d
		} else if -d > m {
			m = -d
		}
	}
	if m == 0 {
		clear(codes)
		return 0
	}
	inverse := 1 / m
	for i, x := range scales {
		v := (x - mean) * inverse
		switch {
		case v != v: // 0 times infinity: the absmax is subnormal
			codes[i] = 0
			continue
		case v < -1:
			v = -1
		case v > 1:
			v = 1
		}
		// The library uses a fused multiply-add: exact in float64 and rounded once.
		step := float32(float64(float32(v+1)*0.5)*65535 + 0.5)
		codes[i] = nestedCode(uint16(step))
	}
	return m
}

// nestedCode returns the code of a step.
func nestedCode(step uint16) byte {
	n := 0
	for width := 128; width > 0; width /= 2 {
		if nestedSteps[n+width-1] <= step {
			n += width
		}
	}
	return byte(n)
}

// NestedCodebook returns the value of each code of a nested scale, as stored in
// nested_quant_map.
func NestedCodebook() []float32 { return append([]float32(nil), nestedCodebook[:]...) }
