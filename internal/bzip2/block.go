package bzip2

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	maxTables  = 6
	groupLen   = 50 // symbols that are decoded by the same table
	groupsPaid = 16 // groups that are paid at once
	// manyGroups are worth filling tables to look codes up.
	manyGroups = 32

	blockSteps   = 32 // of a block's header and code lengths
	tableSteps   = 8
	symbolsStep  = 16 // symbols that are decoded in a step
	expandedStep = 8  // symbols that are expanded in a step
)

// A block is one block, decoded. Its memory serves the next one.
type block struct {
	steps *limits.Budget
	in    *bits

	present   [256]byte // the bytes that are in use, most recent first
	tables    []*table  // of the blocks so far
	selectors []uint8
	counts    [256]uint32

	// text has a symbol, or a run of one, in each entry: the byte, and how many there are
	// above it. Once expanded it has the byte, and above it the place of the next one.
	text  []uint32
	total int // symbols of the block
}

// read decodes a block of at most most symbols and returns its sum and the place of its first
// byte.
func (d *block) read(most int) (sum uint32, first uint32, err error) {
	if err := d.steps.Step(blockSteps); err != nil {
		return 0, 0, err
	}
	if sum, err = d.in.read(32); err != nil {
		return 0, 0, err
	}
	randomized, err := d.in.read(1)
	if err != nil {
		return 0, 0, err
	}
	if randomized != 0 {
		return 0, 0, corrupt("a block is randomized, which only the first versions of bzip2 wrote")
	}
	origin, err := d.in.read(24)
	if err != nil {
		return 0, 0, err
	}
	used, err := d.readUsed()
	if err == nil {
		err = d.readTables(used)
	}
	if err == nil {
		err = d.readText(used, most)
	}
	if err != nil {
		return 0, 0, err
	}
	if int64(origin) >= int64(d.total) {
		return 0, 0, corrupt("a block of %d bytes begins at its byte %d", d.total, origin)
	}
	if err := d.steps.Step(int64(d.total / expandedStep)); err != nil {
		return 0, 0, err
	}
	d.expand()
	d.link()
	return sum, d.text[origin] >> 8, nil
}

// readUsed reads which bytes are in use, and returns how many.
func (d *block) readUsed() (n int, err error) {
	rows, err := d.in.read(16)
	for row := 0; row < 16 && err == nil; row++ {
		if rows&(1<<(15-row)) == 0 {
			continue
		}
		var set uint32
		set, err = d.in.read(16)
		for i := range 16 {
			if set&(1<<(15-i)) != 0 {
				d.present[n] = byte(16*row + i)
				n++
			}
		}
	}
	if err == nil && n == 0 {
		err = corrupt("a block uses no byte")
	}
	return n, err
}

// readTables reads the code tables, and which one each group of symbols uses.
func (d *block) readTables(used int) error {
	tables, err := d.in.read(3)
	if err != nil {
		return err
	}
	if tables < 2 || tables > maxTables {
		return corrupt("a block has %d code tables", tables)
	}
	groups, err := d.in.read(15)
	if err != nil {
		return err
	}
	recent := [maxTables]uint8{0, 1, 2, 3, 4, 5}
	d.selectors = d.selectors[:0]
	for range groups {
		i := uint32(0)
		for ; ; i++ {
			bit, err := d.in.read(1)
			if err != nil {
				return err
			}
			if bit == 0 {
				break
			}
			if i+1 == tables {
				return corrupt("a group of symbols uses a code table that is not there")
			}
		}
		d.selectors = append(d.selectors, front(recent[:], int(i)))
	}
	for i := range tables {
		if int(i) == len(d.tables) {
			d.tables = append(d.tables, new(table))
		}
		if err := d.tables[i].read(d.in, used+2); err != nil {
			return err
		}
	}
	return nil
}

// front moves an entry to the front of a list and returns it.
func front(list []byte, i int) byte {
	c := list[i]
	copy(list[1:i+1], list[:i])
	list[0] = c
	return c
}

// readText decodes the symbols. The lowest two are the digits of a run of the byte that is at
// the front; the highest is the end.
func (d *block) readText(used, most int) error {
	d.text, d.total = d.text[:0], 0
	clear(d.counts[:])
	run, digit := 0, 0
	for i, s := range d.selectors {
		if i%groupsPaid == 0 {
			if err := d.steps.Step(groupsPaid * groupLen / symbolsStep); err != nil {
				return err
			}
		}
		t := d.tables[s]
		if !t.built {
			if err := d.steps.Step(tableSteps); err != nil {
				return err
			}
			if err := t.build(used+2, len(d.selectors) >= manyGroups); err != nil {
				return err
			}
		}
		for range groupLen {
			symbol, err := t.next(d.in)
			if err != nil {
				return err
			}
			if symbol < 2 {
				run += int(symbol+1) << digit
				if digit++; run > most-d.total {
					return corrupt("a run is longer than what is left of its block")
				}
				continue
			}
			if run > 0 {
				d.add(d.present[0], run)
				run, digit = 0, 0
			}
			if int(symbol) == used+1 {
				return nil
			}
			if d.total == most {
				return corrupt("a block is longer than its header says")
			}
			d.add(front(d.present[:], int(symbol)-1), 1)
		}
	}
	return corrupt("a block has no end")
}

// add notes n symbols.
func (d *block) add(c byte, n int) {
	d.text = append(d.text, uint32(n)<<8|uint32(c))
	d.counts[c] += uint32(n)
	d.total += n
}

// expand writes each run out, from the last one to the first. As no run is empty, a place is
// read before it is written.
func (d *block) expand() {
	runs := len(d.text)
	if runs == d.total {
		for i := range d.text {
			d.text[i] &= 0xff
		}
		return
	}
	for len(d.text) < d.total {
		d.text = append(d.text, blank[:min(len(blank), d.total-len(d.text))]...)
	}
	to := d.total
	for i := runs - 1; i >= 0; i-- {
		c, n := d.text[i]&0xff, int(d.text[i]>>8)
		for ; n > 0; n-- {
			to--
			d.text[to] = c
		}
	}
}

var blank [4096]uint32

// link undoes the Burrows-Wheeler transform: it writes above each byte where the byte after
// it is.
func (d *block) link() {
	var place [256]uint32
	sum := uint32(0)
	for c, n := range d.counts {
		place[c] = sum
		sum += n
	}
	for i := range d.text {
		p := &place[byte(d.text[i])]
		d.text[*p] |= uint32(i) << 8
		*p++
	}
}

func corrupt(format string, args ...any) error {
	return wire.ErrSyntax.WithRule("stream.corrupt").Errorf(format, args...)
}
