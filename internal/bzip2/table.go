package bzip2

const (
	maxSymbols = 258 // bytes, and two for runs, less one, and the end
	maxLen     = 20  // bits of a code
	// quick are the bits of a code that one look-up decodes.
	quick = 10
)

// A table decodes one prefix code. Codes count up from zero, shorter ones first.
type table struct {
	lens  [maxSymbols]uint8
	built bool
	whole bool // no code is unused

	shortest, longest uint
	limit             [maxLen + 1]uint32 // the first code that is longer, in 20 bits
	first             [maxLen + 1]int32  // the place of a length's first symbol, less its code
	symbols           [maxSymbols]uint16 // by their codes

	quick [1 << quick]uint16 // symbol<<5 | length, 0 for longer codes
	fast  bool
}

// read reads the lengths of n codes, which are given by their differences.
func (t *table) read(b *bits, n int) error {
	t.built = false
	l, err := b.read(5)
	if err != nil {
		return err
	}
	space := 0 // of codes, in codes of 20 bits
	for i := range n {
		for {
			if l < 1 || l > maxLen {
				return corrupt("a code has %d bits", l)
			}
			bit, err := b.read(1)
			if err != nil {
				return err
			}
			if bit == 0 {
				break
			}
			if bit, err = b.read(1); err != nil {
				return err
			}
			l += 1 - 2*bit
		}
		t.lens[i] = uint8(l)
		space += 1 << (maxLen - l)
	}
	t.whole = space == 1<<maxLen
	if space > 1<<maxLen {
		return corrupt("two symbols have the same code")
	}
	return nil
}

// build makes what decoding needs of the lengths of n codes. If many symbols follow, fast
// codes are looked up.
func (t *table) build(n int, many bool) error {
	if !t.whole {
		return corrupt("a code table leaves codes unused")
	}
	var count [maxLen + 1]int32
	for _, l := range t.lens[:n] {
		count[l]++
	}
	t.shortest, t.longest = 0, 0
	var next [maxLen + 1]int32
	code, place := uint32(0), int32(0)
	for l := uint(1); l <= maxLen; l++ {
		if count[l] > 0 {
			if t.longest = l; t.shortest == 0 {
				t.shortest = l
			}
		}
		next[l], t.first[l] = place, place-int32(code)
		code, place = code+uint32(count[l]), place+count[l]
		t.limit[l] = code << (maxLen - l)
		code <<= 1
	}
	for s, l := range t.lens[:n] {
		t.symbols[next[l]] = uint16(s)
		next[l]++
	}
	t.built, t.fast = true, many
	if many {
		t.lookUp()
	}
	return nil
}

// lookUp fills the table of short codes.
func (t *table) lookUp() {
	place, at := int32(0), 0
	for l := t.shortest; l <= min(t.longest, quick); l++ {
		for ; at < int(t.limit[l]>>(maxLen-quick)); place++ {
			for range 1 << (quick - l) {
				t.quick[at] = t.symbols[place]<<5 | uint16(l)
				at++
			}
		}
	}
	clear(t.quick[at:])
}

// next decodes a symbol.
func (t *table) next(b *bits) (uint, error) {
	code := b.peek(maxLen)
	if t.fast {
		if q := t.quick[code>>(maxLen-quick)]; q != 0 {
			return uint(q >> 5), b.skip(uint(q & 31))
		}
	}
	l := t.shortest
	for code >= t.limit[l] { // that of the longest is beyond every code
		l++
	}
	return uint(t.symbols[t.first[l]+int32(code>>(maxLen-l))]), b.skip(l)
}
