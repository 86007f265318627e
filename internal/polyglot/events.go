package polyglot

import (
	"encoding/binary"
	"hash/crc32"
)

// events reads the records of a TensorBoard log. The last one may be incomplete, if the program was
// stopped.
func (m *media) events() (bool, error) {
	for m.left() > 0 {
		p, err := m.peek(int(min(12, m.left())))
		if err != nil {
			return false, err
		}
		if len(p) < 12 {
			return true, m.pass(m.left(), nil)
		}
		n := binary.LittleEndian.Uint64(p)
		if masked(p[:8]) != binary.LittleEndian.Uint32(p[8:]) {
			return false, nil
		}
		m.next(12)
		if n+4 < n || n+4 > uint64(m.left()) {
			return true, m.pass(m.left(), nil)
		}
		sum, table := uint32(0), crc32.MakeTable(crc32.Castagnoli)
		if err := m.pass(int64(n), func(p []byte) { sum = crc32.Update(sum, table, p) }); err != nil {
			return false, err
		}
		if p, err = m.next(4); err != nil || binary.LittleEndian.Uint32(p) != (sum>>15|sum<<17)+0xa282ead8 {
			return false, err
		}
	}
	return true, nil
}

// events reports whether the file begins as a log of TensorBoard: a record whose length
// and data have the right checksums,
//
//	u64 length, u32 checksum of it, data, u32 checksum of the data
//	data: field 1, a time as a double; field 3, "brain.Event:2"
//
// Without them, what lies before the name could be the beginning of another format.
func (s *source) events() (bool, error) {
	const begin = 12
	if len(s.head) < begin+11+len("brain.Event:") {
		return false, nil
	}
	length := binary.LittleEndian.Uint64(s.head)
	if length < 23 || length > 256 || uint64(len(s.head)) < begin+length+4 {
		return false, nil
	}
	data := s.head[begin : begin+length]
	return masked(s.head[:8]) == binary.LittleEndian.Uint32(s.head[8:]) &&
		masked(data) == binary.LittleEndian.Uint32(s.head[begin+length:]) &&
		data[0] == 1<<3|1 && data[9] == 3<<3|2 && string(data[11:23]) == "brain.Event:", nil
}

// masked returns the checksum of a record of TensorFlow.
func masked(p []byte) uint32 {
	c := crc32.Checksum(p, crc32.MakeTable(crc32.Castagnoli))
	return (c>>15 | c<<17) + 0xa282ead8
}
