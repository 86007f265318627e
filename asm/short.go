package asm

// unscaled are the scale and the zero point or minimum that leave codes what they are.
var (
	unscaled = [1]float32{1}
	nothing  = [1]float32{0}
)

// short decodes runs that are too short for kernels: plain converts elements [from, end)
// of the codes to numbers, which are then joined with a copy of their scale each. It
// returns false if that does not help.
func (o *Ops) short(to Type, dst []byte, elems int, op Op, r Runs, plain func(dst []byte, from, end int)) bool {
	if r.Length >= kernelChunk || elems < 2*kernelChunk || o.each[to] == nil {
		return false
	}
	o.apiece(to, dst, elems, op, r, plain)
	return true
}

// apiece joins numbers with their scales, of which each number gets a copy.
func (o *Ops) apiece(to Type, dst []byte, elems int, op Op, runs Runs, plain func(dst []byte, from, end int)) {
	q, s, z := scratch(), scratch(), scratch()
	if op == Scale {
		clear(z.floats[:])
	}
	same := -1 // the run that all copies are of
	for from := 0; from < elems; from += tileElems {
		n := min(tileElems, elems-from)
		plain(Raw(q.floats[:n]), from, from+n)
		if r := from / runs.Length; r != same || from+n > (r+1)*runs.Length {
			widen(s.floats[:n], runs.Scales, false, from, runs.Length)
			if op != Scale {
				widen(z.floats[:n], runs.Seconds, op == Affine, from, runs.Length)
			}
			if same = -1; from+n <= (r+1)*runs.Length {
				same = r
			}
		}
		o.joinEach(to, dst[from*to.Size():][:n*to.Size()], q.floats[:n], s.floats[:n], z.floats[:n], op)
	}
	q.free()
	s.free()
	z.free()
}

// joinEach is Each for another operation. An added number is passed negated to be
// subtracted.
func (o *Ops) joinEach(to Type, dst []byte, q, s, z []float32, op Op) {
	if op != Affine {
		o.Each(to, dst, q, s, z)
		return
	}
	p := scratch()
	o.Each(F32, Raw(p.floats[:len(q)]), q, s, manyZeros[:len(q)])
	o.Each(to, dst, p.floats[:len(q)], manyOnes[:len(q)], z)
	p.free()
}

// manyZeros and manyOnes are for the numbers of a tile that have none.
var (
	manyZeros [tileElems]float32
	manyOnes  = func() (ones [tileElems]float32) {
		Repeat(ones[:], 1)
		return ones
	}()
)

// widen sets each element, from one on, to the number of its run, or to its negation.
func widen(dst, numbers []float32, opposite bool, from, run int) {
	for r := from / run; len(dst) > 0; r++ {
		n, f := min(len(dst), (r+1)*run-from), numbers[r]
		if opposite {
			f = -f
		}
		Repeat(dst[:n], f)
		dst, from = dst[n:], from+n
	}
}

// Repeat sets all numbers to f.
func Repeat(dst []float32, f float32) {
	for ; len(dst) >= 8; dst = dst[8:] {
		d := (*[8]float32)(dst)
		d[0], d[1], d[2], d[3], d[4], d[5], d[6], d[7] = f, f, f, f, f, f, f, f
	}
	for i := range dst {
		dst[i] = f
	}
}

// Float8Shift decodes codes of a format of eight bits: (code-zero)*scale. Rows with zero
// points are rare, so it has no kernel of its own.
func (o *Ops) Float8Shift(f Float, to Type, dst, src []byte, r Runs) {
	want(f < floats8 && len(dst) == len(src)*to.Size(), "codes and numbers differ in count")
	r.wantFor(len(src), Shift)
	apart(dst, src)
	if o.each[to] == nil {
		eachRun(len(src), r.Length, kernelChunk, 1, nil, func(run, start, end int) {
			scalarRun(to, dst[start*to.Size():], end-start, func(i int) float32 { return Shift.join(f.Value(src[start+i]), r.Scales[run], r.Seconds[run]) })
		})
		return
	}
	o.apiece(to, dst, len(src), Shift, r, func(dst []byte, from, end int) {
		o.Float8(f, F32, dst, src[from:end], unscaled[:], tileElems)
	})
}
