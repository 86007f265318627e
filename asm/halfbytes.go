package asm

// HalfBytes decodes codes of at most four bits, one in each byte, at bit From. The
// operation is Shift: (codebook[q]-z)*s.
type HalfBytes struct {
	From     uint8
	Codebook *[16]float32
}

// shifts are how far a code lies from the bottom.
var shifts = [8]uint64{0, 1, 2, 3, 4, 5, 6, 7}

// HalfBytes decodes one code of each byte.
func (o *Ops) HalfBytes(c HalfBytes, to Type, dst, src []byte, r Runs) {
	want(len(dst) == len(src)*to.Size(), "codes and numbers differ in count")
	want(c.From < 8, "a code above a byte")
	r.wantFor(len(src), Shift)
	apart(dst, src)
	if o.short(to, dst, len(src), Shift, r, func(dst []byte, from, end int) {
		o.HalfBytes(c, F32, dst, src[from:end], Runs{unscaled[:], nothing[:], tileElems})
	}) {
		return
	}
	shift := &shifts[c.From]
	codebook := c.Codebook
	if c.From > 4 { // what a kernel finds above the byte does not count
		codebook = new([16]float32)
		for i := range codebook {
			codebook[i] = c.Codebook[i&(0xFF>>c.From)]
		}
	}
	var kernel func(run, runs, chunks, at int)
	if k := o.halfBytes[to]; k != nil {
		kernel = func(run, runs, chunks, at int) {
			k(&dst[at*to.Size()], &src[at], &r.Scales[run], &r.Seconds[run], &codebook[0], shift, chunks, runs)
		}
	}
	eachRun(len(src), r.Length, kernelChunk, 1, kernel, func(run, start, end int) {
		scalarRun(to, dst[start*to.Size():], end-start, func(i int) float32 {
			return Shift.join(c.Codebook[src[start+i]>>*shift&15], r.Scales[run], r.Seconds[run])
		})
	})
}
