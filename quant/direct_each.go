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
	if !ok {
		return false
	}
	g, _, ok := gatheringOf(f.cols, f.scales.cols, w.rest)
	if !ok {
		return false
	}
	for c := range g.index {
		g.index[c] = uint16(u32(parts[len(parts)-1][4*c:]))
	}
	size := f.cols * int64(to.Size())
	clear(w.seconds)
	for r := lo; r < hi; r++ {
		f.fill(o, under{scales: g.s[:f.scales.cols], seconds: g.z[:f.scales.cols], codes: w.codes}, parts, lo, r, 0)
		if !f.plain(o, &w, parts, lo, r) {
			return false
		}
		g.look(o, &w, f.seconds != nil)
		o.Each(to, dst[(r-lo)*size:][:size], w.numbers, w.scales, w.seconds)
	}
	return true
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

// gathering is what looking numbers of groups up takes.
type gathering struct {
	s, z  []float32 // of the groups, with room behind them
	index []uint16
	zeros []byte
}

// gatheringOf takes scratch for columns in groups, and returns what is left.
func gatheringOf(cols, groups int64, scratch []float32) (g gathering, rest []float32, ok bool) {
	const least = 16 // numbers of a table
	room, half, words := ceilDiv(groups+least, least)*least, ceilDiv(cols, 2), ceilDiv(cols, 4)
	if groups >= 1<<16 || 2*room+half+words > int64(len(scratch)) {
		return g, nil, false
	}
	g.s, g.z, scratch = scratch[:room], scratch[room:2*room], scratch[2*room:]
	g.index, g.zeros, rest = asm.Raw16(scratch[:half])[:cols], asm.Raw(scratch[half:][:words])[:cols], scratch[half+words:]
	clear(g.zeros)
	return g, rest, true
}

// look gives each column the numbers of its group; without second ones those of
// the row stay.
func (g *gathering) look(o *asm.Ops, w *row, seconds bool) {
	o.Gather(asm.F32, asm.Raw(w.scales), g.zeros, g.index, asm.Raw(g.s))
	if seconds {
		o.Gather(asm.F32, asm.Raw(w.seconds), g.zeros, g.index, asm.Raw(g.z))
	}
}

// byGather decodes codes of any width, output by output, by the group of each
// input.
func (f *gptq) byGather(o *asm.Ops, dst []byte, to asm.Type, parts [][]byte, lo, hi int64, scratch []float32) bool {
	words, size := f.in*f.bits/32, f.in*int64(to.Size())
	stride := words + 16
	n := min(outputsAtOnce, hi-lo, int64(len(scratch))/2/stride)
	if n == 0 {
		return false
	}
	stream := asm.Raw(scratch[:n*stride])
	w, ok := rowOfScratch(f.in, scratch[n*stride:])
	if !ok {
		return false
	}
	g, rest, ok := gatheringOf(f.in, f.groups, w.rest)
	if !ok || 2*n*f.groups > int64(len(rest)) {
		return false
	}
	for i := range g.index {
		k := f.group(int32(u32(parts[gptqIndex][4*i:])))
		if k < 0 || k >= f.groups {
			return false
		}
		g.index[i] = uint16(k)
	}
	for at := lo; at < hi; at += n {
		n := min(n, hi-at)
		o.Transpose(4, stream, parts[gptqWeight][4*at:], int(words), int(n), int(4*stride), int(4*f.out))
		s, z := rest[:n*f.groups], rest[n*f.groups:2*n*f.groups]
		f.numbers(o, s, z, parts, at, n)
		for i := range n {
			copy(g.s, s[i*f.groups:][:f.groups])
			copy(g.z, z[i*f.groups:][:f.groups])
			f.plain(o, &w, stream[4*stride*i:][:4*words])
			g.look(o, &w, true)
			o.Each(to, dst[(at+i-lo)*size:][:size], w.numbers, w.scales, w.seconds)
		}
	}
	return true
}

// plain decodes the codes of an output as numbers.
func (f *gptq) plain(o *asm.Ops, w *row, stream []byte) {
	codes := stream
	if f.bits < 8 {
		codes = w.codes
		o.Fields(int(f.bits), 0, codes, stream)
	}
	if o.Level() == asm.Generic { // of any order of bytes
		for i, c := range codes {
			w.numbers[i] = float32(c)
		}
		return
	}
	o.Bytes(asm.Bytes{Op: asm.Shift, Unsigned: true}, asm.F32, asm.Raw(w.numbers), codes, w.one, w.none, len(codes))
}
