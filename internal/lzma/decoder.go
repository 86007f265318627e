package lzma

import (
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	minMatch   = 2
	posStates  = 16
	numStates  = 12
	endOfMark  = 0xffffffff
	startModel = 4
	endModel   = 14
	// Held is what a decoder holds besides a dictionary of more than minWindow.
	Held = 64 << 10
	// kept is how many memories wait for the next decoder: one for each of a few judgements.
	kept = 8
)

// lengths are the chances of a match's length.
type lengths struct {
	choice, above prob
	low, mid      [posStates][8]prob
	high          [256]prob
}

// chances are those of all symbols.
type chances struct {
	match    [numStates][posStates]prob
	rep      [numStates]prob
	rep0     [numStates]prob
	rep0Long [numStates][posStates]prob
	rep1     [numStates]prob
	rep2     [numStates]prob
	slot     [4][64]prob
	special  [endModel - startModel][64]prob
	align    [16]prob
	lens     lengths
	repLens  lengths
	literal  [0x300 << maxContexts]prob
}

// maxContexts is how many bits choose the chances of a literal.
const maxContexts = 4

// fresh are the chances that a stream begins with.
var fresh = func() (c chances) {
	even := func(list []prob) {
		for i := range list {
			list[i] = probInit
		}
	}
	for _, list := range [][]prob{c.rep[:], c.rep0[:], c.rep1[:], c.rep2[:], c.align[:], c.literal[:]} {
		even(list)
	}
	for i := range numStates {
		even(c.match[i][:])
		even(c.rep0Long[i][:])
	}
	for i := range c.slot {
		even(c.slot[i][:])
	}
	for i := range c.special {
		even(c.special[i][:])
	}
	for _, l := range []*lengths{&c.lens, &c.repLens} {
		l.choice, l.above = probInit, probInit
		even(l.high[:])
		for i := range posStates {
			even(l.low[i][:])
			even(l.mid[i][:])
		}
	}
	return c
}()

// A memory is what decoders use one after another: an archive of thousands of small streams
// would allocate it for each of them. A decoder reads nothing of it that it did not write
// itself: chances only after restart, a dictionary only as far as it is full.
type memory struct {
	chances

	small [minWindow]byte // what a dictionary begins with
}

var memories = make(chan *memory, kept)

// A Decoder inflates LZMA.
type Decoder struct {
	win window
	rc  ranger
	*memory
	lc, lp    uint32
	posMask   uint32
	state     uint32
	distances [4]uint32 // the last four, less one
	left      int       // of the match at hand
	read      int64     // symbols that are not paid
}

// NewDecoder makes one whose dictionary is charged to an account. Close gives it
// back.
func NewDecoder(b *limits.Budget) *Decoder {
	var m *memory
	select {
	case m = <-memories:
	default:
		m = new(memory)
	}
	return &Decoder{win: window{b: b, small: m.small[:]}, memory: m}
}

// Close gives back what the account was charged, and its memory to the next decoder. A
// decoder that is closed must not be used; closing twice is harmless.
func (d *Decoder) Close() {
	d.win.close()
	if d.memory == nil {
		return
	}
	select {
	case memories <- d.memory:
	default:
	}
	d.memory = nil
}

// Reset begins a stream whose dictionary has this size.
func (d *Decoder) Reset(dictionary uint64) {
	d.left = 0
	d.win.resize(dictionary)
}

// props sets the parameters that a byte states.
func (d *Decoder) props(c byte) error {
	if c >= 9*5*5 {
		return errCorrupt.Errorf("properties %#02x", c)
	}
	d.lc, d.lp, d.posMask = uint32(c%9), uint32(c/9%5), 1<<(c/45)-1
	if d.lc+d.lp > maxContexts {
		return errCorrupt.Errorf("properties %#02x: more literal context and position bits than decoders support", c)
	}
	return nil
}

// restart forgets what was learned.
func (d *Decoder) restart() error {
	d.chances, d.state, d.distances, d.left = fresh, 0, [4]uint32{}, 0
	return d.win.b.Step(restartSteps)
}

// restartSteps are those of a copy of all chances.
const restartSteps = 256

// run makes up to n bytes, and fewer only where a mark ends the stream, which it
// reports. n is at most maxRun.
func (d *Decoder) run(n int) (made int, ended bool, err error) {
	if err := d.win.room(n); err != nil {
		return 0, false, err
	}
	made, ended, err = d.symbols(n)
	if steps := d.read / symbolsOfStep; steps > 0 && err == nil {
		d.read -= steps * symbolsOfStep
		err = d.win.b.Step(steps)
	}
	return made, ended, err
}

// symbolsOfStep are the literals that are decoded in the time of a step, some 40 ns each. A
// match counts for two.
const symbolsOfStep = 8

// symbols is run in a dictionary that has room.
func (d *Decoder) symbols(n int) (made int, ended bool, err error) {
	for made < n {
		if d.left > 0 {
			k := min(d.left, n-made)
			d.win.repeat(int(d.distances[0])+1, k)
			d.left, made = d.left-k, made+k
			continue
		}
		pos := d.win.made & d.posMask
		if d.rc.bit(&d.match[d.state][pos]) == 0 {
			d.oneLiteral()
			made++
			d.read++
		} else {
			d.read += 2
			if ended, err = d.oneMatch(pos); ended || err != nil {
				return made, ended, err
			}
		}
		if d.rc.short {
			return made, false, d.rc.err()
		}
	}
	return made, false, nil
}

// oneLiteral makes a byte. After a match it is read beside the byte that would have
// continued it.
func (d *Decoder) oneLiteral() {
	prev := uint32(d.win.back(1))
	at := (d.win.made&(1<<d.lp-1)<<d.lc | prev>>(8-d.lc)) * 0x300
	p := d.literal[at : at+0x300]
	m := uint32(1)
	if d.state >= 7 {
		beside := uint32(d.win.back(int(d.distances[0]) + 1))
		for same := uint32(0x100); m < 0x100; {
			beside <<= 1
			c := d.rc.bit(&p[same+beside&same+m])
			m = m<<1 | c
			if c == 0 {
				same &^= beside
			} else {
				same &= beside
			}
		}
	}
	for m < 0x100 {
		m = m<<1 | d.rc.bit(&p[m])
	}
	d.win.put(byte(m))
	switch {
	case d.state < 4:
		d.state = 0
	case d.state < 10:
		d.state -= 3
	default:
		d.state -= 6
	}
}

// after is the state behind a match: by whether a literal came before.
func (d *Decoder) after(literal, match uint32) {
	if d.state < 7 {
		d.state = literal
	} else {
		d.state = match
	}
}

// oneMatch reads a match, or the mark that ends a stream.
func (d *Decoder) oneMatch(pos uint32) (ended bool, err error) {
	dist := &d.distances
	switch {
	case d.rc.bit(&d.rep[d.state]) == 0:
		dist[3], dist[2], dist[1] = dist[2], dist[1], dist[0]
		n := d.length(&d.lens, pos)
		d.after(7, 10)
		if dist[0] = d.distance(n); dist[0] == endOfMark {
			return true, d.rc.err()
		}
		d.left = n
	case d.rc.bit(&d.rep0[d.state]) == 0:
		if d.rc.bit(&d.rep0Long[d.state][pos]) == 0 {
			d.after(9, 11)
			d.left = 1
			break
		}
		d.left = d.length(&d.repLens, pos)
		d.after(8, 11)
	default:
		i := 1
		if d.rc.bit(&d.rep1[d.state]) == 1 {
			i = 2 + int(d.rc.bit(&d.rep2[d.state]))
		}
		v := dist[i]
		copy(dist[1:i+1], dist[:i])
		dist[0] = v
		d.left = d.length(&d.repLens, pos)
		d.after(8, 11)
	}
	if d.rc.short {
		return false, d.rc.err()
	}
	if uint64(dist[0]) >= uint64(d.win.full) {
		return false, errCorrupt.Errorf("a match %d bytes back reaches before the start of the data or of the dictionary", uint64(dist[0])+1)
	}
	return false, nil
}

func (d *Decoder) length(l *lengths, pos uint32) int {
	switch {
	case d.rc.bit(&l.choice) == 0:
		return minMatch + int(d.rc.tree(l.low[pos][:]))
	case d.rc.bit(&l.above) == 0:
		return minMatch + 8 + int(d.rc.tree(l.mid[pos][:]))
	}
	return minMatch + 16 + int(d.rc.tree(l.high[:]))
}

// distance reads how far back a match of n bytes is, less one.
func (d *Decoder) distance(n int) uint32 {
	slot := d.rc.tree(d.slot[min(n-minMatch, 3)][:])
	if slot < startModel {
		return slot
	}
	bits := int(slot>>1) - 1
	v := (2 | slot&1) << bits
	if slot < endModel {
		return v + d.rc.reverse(d.special[slot-startModel][:], bits)
	}
	v += d.rc.direct(bits-4) << 4
	return v + d.rc.reverse(d.align[:], 4)
}
