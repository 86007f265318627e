package quant

import "github.com/anamnesis-go/anamnesis/asm"

// Where each number of a row has a scale of its own the codes are decoded as
// they are, and then joined with their scales.

// A row has what a row of a weight takes beside its bytes, of scratch.
type row struct {
	numbers, scales, seconds []float32 // of each column
	codes                    []byte    // room for a byte for each column
	one, none                []float32 // the numbers of codes that have none
	rest                     []float32
}

// rowOfScratch is false where there is less.
func rowOfScratch(cols int64, scratch []float32) (w row, ok bool) {
	words := ceilDiv(cols, 4)
	if 3*cols+words+2 > int64(len(scratch)) {
		return w, false
	}
	w = row{
		numbers: scratch[:cols], scales: scratch[cols : 2*cols], seconds: scratch[2*cols : 3*cols],
		codes: asm.Raw(scratch[3*cols:][:words])[:cols],
		one:   scratch[3*cols+words:][:1], none: scratch[3*cols+words+1:][:1], rest: scratch[3*cols+words+2:],
	}
	w.one[0], w.none[0] = 1, 0
	return w, true
}

// plain decodes the codes of row r as numbers.
func (f *scaled) plain(o *asm.Ops, w *row, parts [][]byte, lo, r int64) bool {
	if o.Level() == asm.Generic { // of any order of bytes
		f.codes.row(w.numbers, parts[0], lo, r)
		return true
	}
	u := under{scales: w.one, seconds: w.none, run: len(w.numbers), codes: w.codes, sub: r % f.codes.perRow}
	return f.codes.under(o, asm.F32, asm.Raw(w.numbers), f.stored(parts[0], lo, r), u)
}

// stored is the stored row of row r.
func (f *scaled) stored(p []byte, lo, r int64) []byte {
	if f.codes.perRow == 1 {
		return p[(r-lo)*f.codes.rowBytes:][:f.codes.rowBytes]
	}
	return p[(r/f.codes.perRow-lo/f.codes.perRow)*f.codes.rowBytes:][:f.codes.rowBytes]
}

// byColumn is a scale for each column.
func (f *scaled) byColumn(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	w, ok := rowOfScratch(f.cols, scratch)
	if !ok || f.op > opShift {
		return false
	}
	clear(w.seconds)
	size := f.cols * int64(to.Size())
	for r := lo; r < hi; r++ {
		if r == lo || f.changes(r) {
			f.fill(o, under{scales: w.scales, seconds: w.seconds, codes: w.codes}, parts, lo, r, 0)
		}
		if !f.plain(o, &w, parts, lo, r) {
			return false
		}
		o.Each(to, dst[(r-lo)*size:][:size], w.numbers, w.scales, w.seconds)
	}
	return true
}

// indexed is a group for each column.
func (f *scaled) indexed(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	switch {
	case f.op > opShift:
		return false
	case f.codes.counts && f.codes.bits == 4 && f.cols%8 == 0:
		return f.byWords(o, dst, to, parts, lo, hi, scratch)
	}
	w, ok := rowOfScratch(f.cols, scratch)
	words := ceilDiv(f.cols, 2)
	if !ok || f.scales.cols >= 1<<16 || words > int64(len(w.rest)) {
		return false
	}
	index, rest := asm.Raw16(w.rest[:words])[:f.cols], w.rest[words:]
	for c := range index {
		index[c] = uint16(u32(parts[len(parts)-1][4*c:]))
	}
	return f.byGather(o, dst, to, parts, lo, hi, &w, index, rest)
}

// byWords turns rows of words into columns, as GPTQ has them: one load brings
// the numbers of a column's group for several rows.
func (f *scaled) byWords(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	words, groups, size, n := f.cols/8, f.scales.cols, f.cols*int64(to.Size()), min(outputsAtOnce, hi-lo)
	m := n * groups
	if f.cols+n*words+4*m > int64(len(scratch)) {
		return false
	}
	index, stream, rest := asm.Raw32(scratch[:f.cols]), asm.Raw(scratch[f.cols:][:n*words]), scratch[f.cols+n*words:]
	for c := range index {
		index[c] = u32(parts[len(parts)-1][4*c:])
	}
	for at := lo; at < hi; at += n {
		n := min(n, hi-at)
		m := n * groups
		s, z, room := rest[:m], rest[m:2*m], rest[2*m:4*m]
		f.groupsOfRows(o, s, z, room, parts, lo, at, n)
		o.Transpose(4, stream, parts[0][(at-lo)*f.codes.rowBytes:], int(n), int(words), int(4*n), int(f.codes.rowBytes))
		c := asm.Columns{Words: int(words), Count: int(n), Groups: index, Scales: s, Zeros: z, Room: room}
		o.Columns(c, to, dst[(at-lo)*size:][:n*size], stream[:4*n*words], int(size), int(4*n))
	}
	return true
}

// groupsOfRows fills in the numbers of n rows, those of a group together.
func (f *scaled) groupsOfRows(o *asm.Ops, s, z, room []float32, parts [][]byte, lo, at, n int64) {
	groups := f.scales.cols
	scales, seconds := room[:n*groups], room[n*groups:2*n*groups]
	clear(seconds)
	for i := range n {
		f.fill(o, under{scales: scales[i*groups:][:groups], seconds: seconds[i*groups:][:groups]}, parts, lo, at+i, 0)
	}
	for i := range seconds { // both are small whole numbers
		seconds[i] += float32(f.codes.bias)
	}
	o.Transpose(4, asm.Raw(s), asm.Raw(scales), int(n), int(groups), int(4*n), int(4*groups))
	o.Transpose(4, asm.Raw(z), asm.Raw(seconds), int(n), int(groups), int(4*n), int(4*groups))
}

// byGather gathers the numbers of each column.
func (f *scaled) byGather(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, w *row, index []uint16, rest []float32) bool {
	const least = 16 // numbers of a table
	groups, size := f.scales.cols, f.cols*int64(to.Size())
	room, words := ceilDiv(groups+least, least)*least, ceilDiv(f.cols, 4)
	if 2*room+words > int64(len(rest)) {
		return false
	}
	s, z, zeros := rest[:room], rest[room:2*room], asm.Raw(rest[2*room:][:words])[:f.cols]
	clear(zeros)
	clear(w.seconds)
	for r := lo; r < hi; r++ {
		f.fill(o, under{scales: s[:groups], seconds: z[:groups], codes: w.codes}, parts, lo, r, 0)
		if !f.plain(o, w, parts, lo, r) {
			return false
		}
		o.Gather(asm.F32, asm.Raw(w.scales), zeros, index, asm.Raw(s))
		if f.seconds != nil {
			o.Gather(asm.F32, asm.Raw(w.seconds), zeros, index, asm.Raw(z))
		}
		o.Each(to, dst[(r-lo)*size:][:size], w.numbers, w.scales, w.seconds)
	}
	return true
}
