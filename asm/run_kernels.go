package asm

// The kernels of runs: n runs of a number of chunks; flip, last and codebook are
// the same for all.
type (
	float8Kernel   = func(dst, src *byte, a, b *float32, chunks, n int)
	bytesKernel    = func(dst, src *byte, a, b *float32, flip *byte, last *float32, chunks, n int)
	codebookKernel = func(dst, src *byte, a, b *float32, codebook *float32, chunks, n int)
)

// Float8 decodes codes of a format of eight bits: code*scale.
func (o *Ops) Float8(f Float, to Type, dst, src []byte, scales []float32, run int) {
	want(f < floats8 && len(dst) == len(src)*to.Size(), "codes and numbers differ in count")
	r := Runs{Scales: scales, Length: run}
	r.wantFor(len(src), Scale)
	apart(dst, src)
	if o.short(to, dst, len(src), Scale, r, func(dst []byte, from, end int) {
		o.Float8(f, F32, dst, src[from:end], unscaled[:], tileElems)
	}) {
		return
	}
	var kernel func(r, runs, chunks, at int)
	if k := o.float8[to][f]; k != nil {
		kernel = func(r, runs, chunks, at int) {
			k(&dst[at*to.Size()], &src[at], &scales[r], &scales[r], chunks, runs)
		}
	}
	eachRun(len(src), run, kernelChunk, 1, kernel, func(r, from, to2 int) {
		scalarRun(to, dst[from*to.Size():], to2-from, func(i int) float32 { return f.Value(src[from+i]) * scales[r] })
	})
}

// scalarRun writes n numbers of a run.
func scalarRun(to Type, dst []byte, n int, number func(i int) float32) {
	var f [64]float32
	for at := 0; at < n; at += len(f) {
		m := min(n-at, len(f))
		for i := range m {
			f[i] = number(at + i)
		}
		to.put(dst[at*to.Size():], f[:m])
	}
}

// Bytes are codes of one byte each.
type Bytes struct {
	Op       Op
	Unsigned bool
	Less     uint8    // subtracted from each code first: 0, or 128 for unsigned ones
	Last     *float32 // another factor of each product, or nil
}

func (c *Bytes) value(b byte) float32 {
	if c.Unsigned {
		return float32(int(b) - int(c.Less))
	}
	return float32(int8(b))
}

// Bytes decodes codes of one byte each.
func (o *Ops) Bytes(c Bytes, to Type, dst, src []byte, r Runs) {
	want(len(dst) == len(src)*to.Size(), "codes and numbers differ in count")
	want(c.Op < opsN && (c.Last == nil || c.Op == Scale) && (c.Less == 0 || c.Unsigned && c.Less == 128), "no such bytes")
	r.wantFor(len(src), c.Op)
	apart(dst, src)
	if c.Last == nil && o.short(to, dst, len(src), c.Op, r, func(dst []byte, from, end int) {
		c := c
		c.Op = Shift
		o.Bytes(c, F32, dst, src[from:end], Runs{unscaled[:], nothing[:], tileElems})
	}) {
		return
	}
	which, flip, last := c.Op, &flips[0], &biases[0]
	if c.Unsigned {
		flip = &flips[1]
		if c.Less == 0 {
			last = &biases[1]
		}
	}
	if c.Last != nil {
		which, last = bytesTwice, c.Last
	}
	var kernel func(run, runs, chunks, at int)
	// An unsigned code times a scale has no kernel: its bias costs an addition
	// that Shift has anyway.
	if k := o.bytes[to][which]; k != nil && (c.Op != Scale || !c.Unsigned || c.Less != 0) && c.ordinaryLast() {
		kernel = func(run, runs, chunks, at int) {
			k(&dst[at*to.Size()], &src[at], &r.Scales[run], r.pointer(run), flip, last, chunks, runs)
		}
	}
	eachRun(len(src), r.Length, kernelChunk, 1, kernel, func(run, start, end int) {
		s, z := r.Scales[run], r.second(c.Op, run)
		scalarRun(to, dst[start*to.Size():], end-start, func(i int) float32 {
			v := c.Op.join(c.value(src[start+i]), s, z)
			if c.Last != nil {
				v *= *c.Last
			}
			return v
		})
	})
}

// ordinaryLast reports whether kernels can use Last: products of normal numbers by it must
// be normal unless the scale is small.
func (c *Bytes) ordinaryLast() bool {
	if c.Last == nil {
		return true
	}
	l := *c.Last
	return l >= 0x1p-40 && l <= 0x1p40 || l <= -0x1p-40 && l >= -0x1p40
}

// flips make signed codes of others, and biases make them again what they were.
var (
	flips  = [2]byte{0, 0x80}
	biases = [2]float32{0, 128}
)

// pointer returns the zero point or minimum of a run; kernels without one advance the
// pointer too.
func (r *Runs) pointer(run int) *float32 {
	if r.Seconds == nil {
		return &r.Scales[run]
	}
	return &r.Seconds[run]
}

// Nibbles are codes of four bits, two per byte, into a codebook of numbers.
type Nibbles struct {
	Op       Op
	High     bool // the first of two is the high nibble
	Codebook *[16]float32
}

// Nibbles decodes codes of four bits. If their number is odd, the last nibble is ignored.
func (o *Ops) Nibbles(c Nibbles, to Type, dst, src []byte, r Runs) {
	elems := len(dst) / to.Size()
	want(elems*to.Size() == len(dst) && (elems+1)/2 == len(src), "codes and numbers differ in count")
	want(c.Op < opsN && r.Length%2 == 0, "runs of nibbles end within a byte")
	r.wantFor(elems, c.Op)
	apart(dst, src)
	high := 0
	if c.High {
		high = 1
	}
	if k, pairs := o.pairs[to][high], elems/32; k != nil && r.Length == 16 && c.Op == Scale && pairs > 0 {
		k(&dst[0], &src[0], &r.Scales[0], &r.Scales[0], &c.Codebook[0], 1, pairs)
		dst, src, r.Scales, elems = dst[32*to.Size()*pairs:], src[16*pairs:], r.Scales[2*pairs:], elems-32*pairs
	}
	if o.short(to, dst, elems, c.Op, r, func(dst []byte, from, end int) {
		o.Nibbles(Nibbles{High: c.High, Codebook: c.Codebook}, F32, dst, src[from/2:(end+1)/2], Runs{unscaled[:], nil, tileElems})
	}) {
		return
	}
	var kernel func(run, runs, chunks, at int)
	if k := o.nibbles[to][high][c.Op]; k != nil {
		kernel = func(run, runs, chunks, at int) {
			k(&dst[at*to.Size()], &src[at/2], &r.Scales[run], r.pointer(run), &c.Codebook[0], chunks, runs)
		}
	}
	eachRun(elems, r.Length, kernelChunk, 2, kernel, func(run, start, end int) {
		s, z := r.Scales[run], r.second(c.Op, run)
		scalarRun(to, dst[start*to.Size():], end-start, func(i int) float32 {
			code := src[(start+i)/2]
			if (i+start)%2 == 1 != c.High {
				code >>= 4
			}
			return c.Op.join(c.Codebook[code&15], s, z)
		})
	})
}
