package convert

import (
	"encoding/binary"
	"math"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npz"
)

// The headers that Python's zipfile writes for numpy.savez, with 64-bit sizes in every
// local header. The layout is that of APPNOTE.TXT 6.3.10, section 4.3.
const (
	maxZipName   = math.MaxUint16
	localLen     = 30
	centralLen   = 46
	endLen       = 22
	end64Len     = 56 + 20 // record and locator
	localExtra   = 20
	zipVersion   = 45
	zipUTF8      = 0x800
	zipUnix      = 3
	zipMode      = 0o600 << 16
	zipDate      = 1<<5 | 1 // 1 January 1980
	zip64Limit   = 1<<31 - 1
	zipMaxMember = math.MaxUint16
)

// A member is one file of an archive.
type member struct {
	name string
	off  int64 // of its local header
	size int64
	head uint32 // CRC-32 of what precedes the tensor
	body int64  // bytes of the tensor
	crc  uint32
}

func (m *member) localSize() int64 { return localLen + int64(len(m.name)) + localExtra }

func (m *member) flags() uint16 {
	for i := range len(m.name) {
		if m.name[i] >= 0x80 {
			return zipUTF8
		}
	}
	return 0
}

// extra64 returns the numbers that do not fit the directory entry.
func (m *member) extra64() (list [3]int64, n int) {
	if m.size > zip64Limit {
		list[0], list[1], n = m.size, m.size, 2
	}
	if m.off > zip64Limit {
		list[n] = m.off
		n++
	}
	return list, n
}

func (m *member) centralSize() int64 {
	size := centralLen + int64(len(m.name))
	if _, n := m.extra64(); n > 0 {
		size += 4 + 8*int64(n)
	}
	return size
}

// A zipWriter writes the headers and the directory of an archive.
type zipWriter struct {
	b       *limits.Budget
	members []member
	start   int64 // offset of the directory
}

func (z *zipWriter) directorySize() (n int64) {
	for i := range z.members {
		n += z.members[i].centralSize()
	}
	return n
}

// wide reports whether the end record needs its 64-bit form.
func (z *zipWriter) wide() bool {
	return len(z.members) > zipMaxMember || z.start > zip64Limit || z.directorySize() > zip64Limit
}

func (z *zipWriter) endSize() int64 {
	n := z.directorySize() + endLen
	if z.wide() {
		n += end64Len
	}
	return n
}

// patches returns the local headers and the directory, once the sums are known.
func (z *zipWriter) patches(sums []uint32) ([]Patch, error) {
	var out []Patch
	var err error
	for i := range z.members {
		m := &z.members[i]
		m.crc = joinCRC(m.head, sums[i], m.body)
		var p []byte
		if p, err = limits.Make[byte](z.b, int(m.localSize())); err != nil {
			return nil, err
		}
		m.local(p)
		if out, err = limits.Append(z.b, out, Patch{m.off, p}); err != nil {
			return nil, err
		}
	}
	end, err := z.end()
	if err != nil {
		return nil, err
	}
	return limits.Append(z.b, out, Patch{z.start, end})
}

// local writes a local header. The sizes are in its extra field.
func (m *member) local(p []byte) {
	le := binary.LittleEndian
	copy(p, "PK\x03\x04")
	le.PutUint16(p[4:], zipVersion)
	le.PutUint16(p[6:], m.flags())
	le.PutUint16(p[12:], zipDate)
	le.PutUint32(p[14:], m.crc)
	le.PutUint32(p[18:], math.MaxUint32)
	le.PutUint32(p[22:], math.MaxUint32)
	le.PutUint16(p[26:], uint16(len(m.name)))
	le.PutUint16(p[28:], localExtra)
	p = p[localLen+copy(p[localLen:], m.name):]
	le.PutUint16(p, 1)
	le.PutUint16(p[2:], 16)
	le.PutUint64(p[4:], uint64(m.size))
	le.PutUint64(p[12:], uint64(m.size))
}

// central writes an entry of the directory and returns the rest of p.
func (m *member) central(p []byte) []byte {
	le := binary.LittleEndian
	list, n := m.extra64()
	size, off := uint32(m.size), uint32(m.off)
	if m.size > zip64Limit {
		size = math.MaxUint32
	}
	if m.off > zip64Limit {
		off = math.MaxUint32
	}
	copy(p, "PK\x01\x02")
	p[4], p[5], p[6] = zipVersion, zipUnix, zipVersion
	le.PutUint16(p[8:], m.flags())
	le.PutUint16(p[14:], zipDate)
	le.PutUint32(p[16:], m.crc)
	le.PutUint32(p[20:], size)
	le.PutUint32(p[24:], size)
	le.PutUint16(p[28:], uint16(len(m.name)))
	le.PutUint32(p[38:], zipMode)
	le.PutUint32(p[42:], off)
	if n > 0 {
		le.PutUint16(p[30:], uint16(4+8*n))
	}
	p = p[centralLen+copy(p[centralLen:], m.name):]
	if n > 0 {
		le.PutUint16(p, 1)
		le.PutUint16(p[2:], uint16(8*n))
		p = p[4:]
		for _, v := range list[:n] {
			le.PutUint64(p, uint64(v))
			p = p[8:]
		}
	}
	return p
}

// end writes the directory and the end records.
func (z *zipWriter) end() ([]byte, error) {
	le := binary.LittleEndian
	out, err := limits.Make[byte](z.b, int(z.endSize()))
	if err != nil {
		return nil, err
	}
	p := out
	for i := range z.members {
		p = z.members[i].central(p)
	}
	n, size := uint64(len(z.members)), uint64(z.directorySize())
	if z.wide() {
		copy(p, "PK\x06\x06")
		le.PutUint64(p[4:], 44)
		le.PutUint16(p[12:], zipVersion)
		le.PutUint16(p[14:], zipVersion)
		le.PutUint64(p[24:], n)
		le.PutUint64(p[32:], n)
		le.PutUint64(p[40:], size)
		le.PutUint64(p[48:], uint64(z.start))
		copy(p[56:], "PK\x06\x07")
		le.PutUint64(p[64:], uint64(z.start)+size)
		le.PutUint32(p[72:], 1)
		p = p[end64Len:]
	}
	copy(p, "PK\x05\x06")
	le.PutUint16(p[8:], uint16(min(n, math.MaxUint16)))
	le.PutUint16(p[10:], uint16(min(n, math.MaxUint16)))
	le.PutUint32(p[12:], uint32(min(size, math.MaxUint32)))
	le.PutUint32(p[16:], uint32(min(uint64(z.start), math.MaxUint32)))
	return out, nil
}

// check decodes the archive as it will be, with zeros for tensors, so that names which a
// reader refuses are refused here.
func (z *zipWriter) check(l *Layout) error {
	b := z.b.Probe()
	defer b.Close()
	zero, err := limits.Make[uint32](b, len(z.members))
	if err != nil {
		return err
	}
	inner := zipWriter{b: b, members: z.members, start: z.start}
	tail, err := inner.patches(zero)
	if err != nil {
		return err
	}
	_, err = npz.Decode(b, &preview{patches: [][]Patch{l.Head, tail}}, l.Size)
	return unreadable("npz", err)
}
