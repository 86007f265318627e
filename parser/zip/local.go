package zip

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

const (
	localLen        = 30
	descriptorLen   = 16
	bareLen         = 12 // a descriptor without signature
	descriptor64Len = 24
	maxExtra        = 1<<16 - 1
)

// tail is what follows the data of the previous member.
type tail struct {
	off  int64 // end of the data
	size int64 // of the descriptor: 0, 16 or 24
	of   int   // index of the member
}

// local reads the descriptor of the previous member and the local header of the next, in
// one read.
func (d *decoder) local() error {
	if d.at == len(d.out.Members) {
		return d.last()
	}
	i := d.inOrder(d.at)
	m := &d.out.Members[i]
	room, err := d.room(i)
	if err != nil {
		return err
	}
	p, err := d.read(d.tail.off, d.tail.size+room)
	if err != nil {
		return err
	}
	if d.tail.size > 0 {
		if err := d.descriptor(p[:d.tail.size]); err != nil {
			return err
		}
	}
	n, desc, err := d.header(i, p[d.tail.size:])
	if err != nil {
		return err
	}
	m.DataOff = m.HeaderOff + n
	d.tail = tail{m.DataOff + m.Comp, desc, i}
	if err := d.checkTile(); err != nil {
		return err
	}
	d.at++
	return nil
}

// last reads the descriptor of the last member, if it has one.
func (d *decoder) last() error {
	if d.tail.size > 0 {
		p, err := d.read(d.tail.off, d.tail.size)
		if err != nil {
			return err
		}
		if err := d.descriptor(p); err != nil {
			return err
		}
	}
	d.stage = stDone
	return nil
}

// next returns where the next entry begins.
func (d *decoder) next() int64 {
	if d.at+1 < len(d.out.Members) {
		return d.out.Members[d.inOrder(d.at+1)].HeaderOff
	}
	return int64(d.end.dirOff)
}

// room proves that member i begins where the previous one ends, and returns the maximum
// size of its local header.
func (d *decoder) room(i int) (int64, error) {
	m := &d.out.Members[i]
	if d.at == 0 && m.HeaderOff != 0 {
		if !d.opts.Behind {
			return 0, d.c.FailAt("", 0, wire.ErrGap.WithRule("zip.prefix").Errorf("%d bytes before the first member", m.HeaderOff))
		}
		d.tail.off = m.HeaderOff
	}
	taken := m.Comp
	if m.Flags&flagDescriptor != 0 {
		taken += bareLen
	}
	room := d.next() - m.HeaderOff - taken
	if room < localLen+int64(len(m.Name)) {
		return 0, d.c.FailAt(d.where(i), m.HeaderOff, wire.ErrOverlap.WithRule("zip.member-overlap").Errorf("member of %d bytes, %d to the next", m.Comp, d.next()-m.HeaderOff))
	}
	return min(room, localLen+int64(len(m.Name))+maxExtra), nil
}

// checkTile proves that data and descriptor of the previous member end where the next
// entry begins.
func (d *decoder) checkTile() error {
	t, next := &d.tail, d.next()
	switch rest := next - t.off - t.size; {
	case rest == 0:
		return nil
	case t.size > 0 && rest == -sigLen:
		return d.c.FailAt(d.where(t.of), t.off, wire.ErrUnsupported.WithRule("zip.descriptor-unsigned").Errorf("data descriptor without signature"))
	case rest < 0:
		return d.c.FailAt(d.where(t.of), t.off, wire.ErrOverlap.WithRule("zip.member-overlap").Errorf("member ends at %#x, but the next begins at %#x", t.off+t.size, next))
	default:
		return d.c.FailAt(d.where(t.of), t.off+t.size, wire.ErrGap.WithRule("zip.member-gap").Errorf("%d bytes after the member", rest))
	}
}

// header compares the local header at the beginning of p with the directory. It returns
// the lengths of the header and of the descriptor after the data.
func (d *decoder) header(i int, p []byte) (length, desc int64, err error) {
	m := &d.out.Members[i]
	fail := func(at int64, cause error) (int64, int64, error) {
		return 0, 0, d.c.FailAt(d.where(i), m.HeaderOff+at, cause)
	}
	le := binary.LittleEndian
	if string(p[:sigLen]) != sigLocal {
		return fail(0, wire.ErrSyntax.WithRule("zip.local-missing").Errorf("no local header"))
	}
	nameLen, extraLen := int64(le.Uint16(p[26:])), int64(le.Uint16(p[28:]))
	if flags := le.Uint16(p[6:]); flags != m.Flags {
		return fail(6, wire.ErrMismatch.WithRule("zip.local-flags").Errorf("flags %#04x in the local header, %#04x in the directory", flags, m.Flags))
	}
	if method := le.Uint16(p[8:]); method != uint16(m.Method) {
		return fail(8, wire.ErrMismatch.WithRule("zip.local-method").Errorf("method %d in the local header, %d in the directory", method, m.Method))
	}
	if nameLen != int64(len(m.Name)) || string(p[localLen:localLen+nameLen]) != m.Name {
		return fail(localLen, wire.ErrMismatch.WithRule("zip.local-name").Errorf("the local header has a different name"))
	}
	length = localLen + nameLen + extraLen
	if length > int64(len(p)) {
		return fail(28, wire.ErrOverlap.WithRule("zip.member-overlap").Errorf("local header of %d bytes, %d before the data", length, len(p)))
	}
	zip64, at, err := d.zip64Field(p[localLen+nameLen : length])
	if err != nil {
		return fail(localLen+nameLen+int64(at), err)
	}
	l := localSizes{crc: le.Uint32(p[14:]), comp: le.Uint32(p[18:]), size: le.Uint32(p[22:]), zip64: zip64}
	if err := l.check(m); err != nil {
		return fail(14, err)
	}
	switch {
	case m.Flags&flagDescriptor == 0:
		return length, 0, nil
	case zip64 != nil:
		return length, descriptor64Len, nil
	default:
		return length, descriptorLen, nil
	}
}

// localSizes are the CRC and sizes in a local header.
type localSizes struct {
	crc, comp, size uint32
	zip64           []byte
}

// check compares CRC and sizes with the directory. The ZIP64 field, if there is one,
// holds both sizes, or only the offset of the header, or all three: PyTorch adds an
// offset that does not fit 32 bits.
func (l *localSizes) check(m *Member) error {
	field := l.zip64
	if n := len(field) - 8; n >= 0 && m.HeaderOff >= max32 && binary.LittleEndian.Uint64(field[n:]) == uint64(m.HeaderOff) {
		field = field[:n]
	}
	if len(field) != 0 && len(field) != 16 || l.zip64 != nil && len(l.zip64) == 0 {
		return wire.ErrMismatch.WithRule("zip.local-sizes").Errorf("zip64 extra field of %d bytes in the local header", len(l.zip64))
	}
	// Zeros leave CRC and sizes to the descriptor, each on its own. With a ZIP64 field
	// the sizes are saturated, or repeated: Python up to 3.11.3 wrote that if it was told
	// to expect a large member.
	open := m.Flags&flagDescriptor != 0
	right := func(v uint64, want int64) bool { return v == uint64(want) || open && v == 0 }
	if !right(uint64(l.crc), int64(m.CRC)) {
		return wire.ErrMismatch.WithRule("zip.local-crc").Errorf("CRC %08x in the local header, %08x in the directory", l.crc, m.CRC)
	}
	if len(field) == 16 {
		size, comp := binary.LittleEndian.Uint64(field), binary.LittleEndian.Uint64(field[8:])
		if !right(size, m.Size) || !right(comp, m.Comp) {
			return wire.ErrMismatch.WithRule("zip.local-sizes").Errorf("sizes %d, %d in the zip64 field of the local header, %d, %d in the directory", comp, size, m.Comp, m.Size)
		}
		if l.comp == max32 && l.size == max32 {
			return nil
		}
	}
	if !right(uint64(l.comp), m.Comp) || !right(uint64(l.size), m.Size) {
		return wire.ErrMismatch.WithRule("zip.local-sizes").Errorf("sizes %d, %d in the local header, %d, %d in the directory", l.comp, l.size, m.Comp, m.Size)
	}
	return nil
}

// descriptor checks the descriptor p of the last member.
func (d *decoder) descriptor(p []byte) error {
	t := &d.tail
	m := &d.out.Members[t.of]
	le := binary.LittleEndian
	if string(p[:sigLen]) != sigDescriptor {
		return d.c.FailAt(d.where(t.of), t.off, wire.ErrSyntax.WithRule("zip.descriptor-missing").Errorf("no data descriptor"))
	}
	comp, size := uint64(le.Uint32(p[8:])), uint64(le.Uint32(p[12:]))
	if t.size == descriptor64Len {
		comp, size = le.Uint64(p[8:]), le.Uint64(p[16:])
	}
	if crc := le.Uint32(p[4:]); crc != m.CRC || comp != uint64(m.Comp) || size != uint64(m.Size) {
		return d.c.FailAt(d.where(t.of), t.off+4, wire.ErrMismatch.WithRule("zip.descriptor-differs").Errorf("CRC %08x and sizes %d, %d in the descriptor; %08x, %d, %d in the directory",
			crc, comp, size, m.CRC, m.Comp, m.Size))
	}
	return nil
}
