package asm

// eachChunk is how many numbers the kernels take in one step.
const eachChunk = 16

// Each decodes numbers with a scale and a zero point each: (q-z)*s.
func (o *Ops) Each(to Type, dst []byte, q, s, z []float32) {
	n := len(q)
	want(len(dst) == n*to.Size() && len(s) == n && len(z) == n, "numbers differ in count")
	for _, f := range [...][]float32{q, s, z} {
		apart(dst, Raw(f))
	}
	done := 0
	if kernel := o.each[to]; kernel != nil && n >= eachChunk {
		kernel(&dst[0], &q[0], &s[0], &z[0], n/eachChunk)
		done = n &^ (eachChunk - 1)
	}
	scalarRun(to, dst[done*to.Size():], n-done, func(i int) float32 { return Shift.join(q[done+i], s[done+i], z[done+i]) })
}
