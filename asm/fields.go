package asm

import "sync"

// A fieldTable is what kernels need to unpack fields: the bytes of eight fields as words,
// the factors that move fields to the top of their words, and what is subtracted from each
// field.
type fieldTable [33]byte

func fieldTableOf(bits int, less uint8) (t fieldTable) {
	for i := range 8 {
		at := i * bits
		t[2*i], t[2*i+1] = byte(at/8), byte(at/8+1)
		factor := 1 << (16 - bits - at%8)
		t[16+2*i], t[17+2*i] = byte(factor), byte(factor>>8)
	}
	t[32] = less
	return t
}

// Fields writes each field of a stream, minus less, as a byte: fields of 1 to 7 bits, the
// lowest bits first. It unpacks as many as dst has bytes.
func (o *Ops) Fields(bits int, less uint8, dst, src []byte) {
	want(bits >= 1 && bits <= 7 && len(src) == (len(dst)*bits+7)/8, "fields differ in count")
	apart(dst, src)
	done := 0
	if o.fields != nil && len(dst) >= 32 {
		done = o.fieldRounds(bits, less, dst, src)
	}
	for i := done; i < len(dst); i++ {
		at := i * bits
		v := uint16(src[at/8])
		if at%8+bits > 8 {
			v |= uint16(src[at/8+1]) << 8
		}
		dst[i] = byte(v>>(at%8))&(1<<bits-1) - less
	}
}

// A fieldRoom is scratch memory for kernels: the table, and the rest of the fields with
// bytes after them.
type fieldRoom struct {
	table   fieldTable
	from    [80]byte
	numbers [256]byte
	shift   uint64
}

var fieldRooms = sync.Pool{New: func() any { return new(fieldRoom) }}

// fieldRounds unpacks fields with kernels and returns how many: all, if there are at least
// 32.
func (o *Ops) fieldRounds(bits int, less uint8, dst, src []byte) int {
	room := fieldRooms.Get().(*fieldRoom)
	defer fieldRooms.Put(room)
	room.table, room.shift = fieldTableOf(bits, less), uint64(16-bits)
	done := 0
	// The last eight fields of a round are read with bytes behind them.
	if n := min(len(dst)/32, (len(src)-3*bits-16)/(4*bits)+1); len(src) >= 3*bits+16 && n > 0 {
		o.fields(&dst[0], &src[0], &room.table[0], bits, &room.shift, n)
		done = 32 * n
	}
	dst, src = dst[done:], src[done/8*bits:]
	copy(room.from[:], src)
	o.fields(&room.numbers[0], &room.from[0], &room.table[0], bits, &room.shift, (len(dst)+31)/32)
	return done + copy(dst, room.numbers[:])
}

// Pick writes one field of each four-byte word as a byte: bits bits, eight or less, at bit
// shift.
func (o *Ops) Pick(shift, bits int, dst, src []byte) {
	want(bits >= 1 && bits <= 8 && shift >= 0 && shift+bits <= 32 && len(src) == 4*len(dst), "fields of other words")
	apart(dst, src)
	mask, done := uint32(1)<<bits-1, 0
	if o.pick != nil && len(dst) >= 32 {
		far := uint64(shift)
		o.pick(&dst[0], &src[0], &far, &mask, len(dst)/32)
		done = len(dst) &^ 31
	}
	for i := done; i < len(dst); i++ {
		dst[i] = byte(u32(src[4*i:]) >> shift & mask)
	}
}
