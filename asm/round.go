package asm

// Round writes float32 numbers in a type.
func (o *Ops) Round(to Type, dst, src []byte) {
	n := len(src) / 4
	want(4*n == len(src) && n*to.Size() == len(dst), "numbers differ in count")
	apart(dst, src)
	for i := 0; i < n; i += tileElems {
		scalarRound(to, dst[i*to.Size():], src[4*i:4*min(n, i+tileElems)])
	}
}

func scalarRound(to Type, dst, src []byte) {
	var f [tileElems]float32
	floats := f[:len(src)/4]
	F32.get(floats, src)
	to.put(dst, floats)
}

// Put is Round from numbers in memory.
func (o *Ops) Put(to Type, dst []byte, src []float32) {
	want(len(src)*to.Size() == len(dst), "numbers differ in count")
	to.put(dst, src)
}
