package form

import "github.com/anamnesis-go/anamnesis/asm"

// shift returns the bit offset of field k in a stored number.
func (f *Reshaped) shift(k int64) int {
	if f.Bits == 3 {
		return int(27 - 3*k)
	}
	return int(8 - f.Bits*(k+1))
}

// direct decodes whole groups together, and elements of other groups one by one.
func (f *Reshaped) direct(q request) bool {
	from, end, size := q.lo*f.cols, q.hi*f.cols, int64(q.to.Size())
	if f.ByColumn {
		return f.perElement(q, from, end)
	}
	first := min(CeilDiv(from, f.Width)*f.Width, end)
	last := max(first, end/f.Width*f.Width)
	return f.perElement(q.into(q.dst[:(first-from)*size]), from, first) &&
		f.groupwise(q.into(q.dst[(first-from)*size:][:(last-first)*size]), first, last) &&
		f.perElement(q.into(q.dst[(last-from)*size:]), last, end)
}

// groupwise decodes elements [from, end) in pieces that are in the same field of the
// stored numbers, group by group.
func (f *Reshaped) groupwise(q request, from, end int64) bool {
	size, stored := int64(q.to.Size()), f.storedSize()
	most := min(end-from, max(f.Width, reshapedAtOnce/f.Width*f.Width)) // numbers
	if 2*most/f.Width+CeilDiv(most, 4) > int64(len(q.scratch)) {
		return false
	}
	room, rest := asm.Raw(q.scratch[:CeilDiv(most, 4)]), q.scratch[CeilDiv(most, 4):]
	codebook := f.codebook()
	for row, last := from/f.Width, end/f.Width; row < last; {
		field := row / f.Stored
		n := min(last, (field+1)*f.Stored, row+most/f.Width) - row
		s, z := rest[:n], rest[n:2*n]
		f.numbers(q.o, s, q.parts[1], row)
		f.numbers(q.o, z, q.parts[2], row)
		codes := q.parts[0][row%f.Stored*f.Width*stored:][:n*f.Width*stored]
		out := q.dst[(row*f.Width-from)*size:][:n*f.Width*size]
		switch f.Bits {
		case 3:
			q.o.Pick(f.shift(field), 3, room[:n*f.Width], codes)
			q.o.Bytes(asm.Bytes{Op: asm.Shift}, q.to, out, room[:n*f.Width], asm.Runs{Scales: s, Seconds: z, Length: int(f.Width)})
		case 8:
			q.o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, q.to, out, codes, asm.Runs{Scales: s, Seconds: z, Length: int(f.Width)})
		default:
			q.o.HalfBytes(asm.HalfBytes{From: uint8(f.shift(field)), Codebook: &codebook}, q.to, out, codes, asm.Runs{Scales: s, Seconds: z, Length: int(f.Width)})
		}
		row += n
	}
	return true
}

// reshapedAtOnce is how many numbers are in scratch at a time.
const reshapedAtOnce = 2048

// codebook returns the values of the lowest bits of a byte.
func (f *Reshaped) codebook() (codebook [16]float32) {
	for i := range codebook {
		codebook[i] = float32(i & (1<<f.Bits - 1))
	}
	return codebook
}

// numbers reads scales or zero points from the i-th on.
func (f *Reshaped) numbers(o *asm.Ops, dst []float32, p []byte, i int64) {
	if f.Bulk != nil && o.Level() != asm.Generic {
		f.Bulk(o, dst, p[i*f.Size:][:int64(len(dst))*f.Size])
		return
	}
	for k := range dst {
		dst[k] = f.Read(p, i+int64(k))
	}
}

// perElement decodes the elements [from, end), each with a copy of its scale and zero
// point.
func (f *Reshaped) perElement(q request, from, end int64) bool {
	// An element takes its value, scale, zero point and one byte of code, which is 13/4
	// floats; two more are constants.
	most := min(end-from, reshapedAtOnce, (int64(len(q.scratch))-2)*4/13)
	if most < 1 {
		return from == end
	}
	size, codebook := int64(q.to.Size()), f.codebook()
	w := reshapedRoom{bytes: asm.Raw(q.scratch[3*most:]), none: q.scratch[len(q.scratch)-1:], codebook: &codebook}
	w.none[0] = 0
	for i := from; i < end; {
		row, col := i/f.Width, i%f.Width
		n := min(most, end-i, f.Width-col)
		codes, s, z := q.scratch[:n], q.scratch[most:][:n], q.scratch[2*most:][:n]
		f.plain(q, w, codes, row, col)
		if f.ByColumn {
			f.numbers(q.o, s, q.parts[1], col)
			f.numbers(q.o, z, q.parts[2], col)
		} else {
			asm.Repeat(s, f.Read(q.parts[1], row))
			asm.Repeat(z, f.Read(q.parts[2], row))
		}
		q.o.Each(q.to, q.dst[(i-from)*size:][:n*size], codes, s, z)
		i += n
	}
	return true
}

// reshapedRoom is the scratch in which codes become numbers: a byte for each, a zero, and the
// values of narrow codes.
type reshapedRoom struct {
	bytes    []byte
	none     []float32
	codebook *[16]float32
}

// plain decodes the codes of a row from column col on, without scales.
func (f *Reshaped) plain(q request, w reshapedRoom, dst []float32, row, col int64) {
	p, o := q.parts[0], q.o
	if o.Level() == asm.Generic { // Generic runs on any byte order
		for k := range dst {
			dst[k] = f.code(p, row, col+int64(k))
		}
		return
	}
	n, stored := len(dst), f.storedSize()
	codes, shift := p[(row%f.Stored*f.Width+col)*stored:][:int64(n)*stored], f.shift(row/f.Stored)
	switch f.Bits {
	case 3:
		o.Pick(shift, 3, w.bytes[:n], codes)
		o.Bytes(asm.Bytes{}, asm.F32, asm.Raw(dst), w.bytes[:n], asm.Runs{Scales: unitScale[:], Length: n})
	case 8:
		o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, asm.F32, asm.Raw(dst), codes, asm.Runs{Scales: unitScale[:], Seconds: w.none, Length: n})
	default:
		o.HalfBytes(asm.HalfBytes{From: uint8(shift), Codebook: w.codebook}, asm.F32, asm.Raw(dst), codes, asm.Runs{Scales: unitScale[:], Seconds: w.none, Length: n})
	}
}

// storedSize returns the size of a stored number in bytes.
func (f *Reshaped) storedSize() int64 {
	if f.Bits == 3 {
		return 4
	}
	return 1
}
