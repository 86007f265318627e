package form

import "github.com/anamnesis-go/anamnesis/asm"

// perElement decodes n numbers of each of some rows, starting with element at, with a
// copy of its scale for every element, so that blocks may begin and end anywhere. The
// parts begin with the bytes that element base needs.
func (f *Coded4) perElement(q request, base, at, n, rows int64) bool {
	stored, size := n/2+1, int64(q.to.Size()) // bytes of a row, which may begin with half a byte
	most := min(rows, max(1, 2048/n), (int64(len(q.scratch))-2*n-17)/(2*stored+CeilDiv(stored, 4)))
	if q.o.Level() == asm.Generic || most < 1 {
		return false
	}
	codebook, s, none, rest := (*[16]float32)(q.scratch), q.scratch[16:][:n], q.scratch[16+n:][:n], q.scratch[16+2*n:]
	*codebook = f.codebook(q.parts)
	clear(none)
	numbers, codes := rest[:most*2*stored], asm.Raw(rest[most*2*stored:])[:most*stored]
	for r := int64(0); r < rows; r += most {
		k := min(most, rows-r)
		for i := range k {
			copy(codes[i*stored:][:stored], q.parts[codedCodes][(at+i*f.Cols)/2-base/2:])
		}
		q.o.Nibbles(asm.Nibbles{High: true, Codebook: codebook}, asm.F32, asm.Raw(numbers[:k*2*stored]), codes[:k*stored], asm.Runs{Scales: unitScale[:], Length: int(k * 2 * stored)})
		for i := range k {
			f.repeatScales(s, q.parts, base/f.Block, at)
			q.o.Each(q.to, q.dst[:n*size], numbers[i*2*stored+at%2:][:n], s, none)
			at, q.dst = at+f.Cols, q.dst[n*size:]
		}
	}
	return true
}

// repeatScales fills dst with the scale of each element from at on; the parts begin with
// the scale of block base.
func (f *Coded4) repeatScales(dst []float32, parts [][]byte, base, at int64) {
	for len(dst) > 0 {
		block := at / f.Block
		n := min(int64(len(dst)), (block+1)*f.Block-at)
		asm.Repeat(dst[:n], f.absmax(parts, block, base))
		dst, at = dst[n:], at+n
	}
}

// unaligned decodes the elements [first, end) if they or the blocks begin within a byte.
func (f *Coded4) unaligned(q request, first, end int64) bool {
	most := min(1024, (int64(len(q.scratch))-32)/4)
	for at := first; at < end; at += most {
		n := min(most, end-at)
		if most < 1 || !f.perElement(q.into(q.dst[(at-first)*int64(q.to.Size()):]), first, at, n, 1) {
			return false
		}
	}
	return true
}
