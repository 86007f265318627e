package polyglot

import (
	"bufio"
	"encoding/binary"
	"io"
)

// A message reads the fields of a protobuf message without a schema.
type message struct {
	s      *source
	in     *bufio.Reader
	at     int64
	groups int // that have begun
}

// isMessage reports whether all of the content is fields of a protobuf message. A protobuf loader
// skips unknown fields, such as the first bytes of an image, and finds its graph after them.
func (s *source) isMessage() (bool, error) {
	m := message{s: s, in: bufio.NewReaderSize(io.NewSectionReader(s.r, 0, s.size), int(min(s.size, maxName-1))+1)}
	for m.at < s.size {
		if err := s.steps.Step(); err != nil {
			return false, err
		}
		if ok, err := m.field(); !ok || err != nil {
			return false, err
		}
	}
	return m.groups == 0, nil
}

// field skips a field; it returns false if the bytes are not one.
func (m *message) field() (bool, error) {
	tag, ok, err := m.number()
	if !ok || err != nil || tag>>3 == 0 {
		return false, err
	}
	switch tag & 7 {
	case 0:
		_, ok, err = m.number()
		return ok, err
	case 1:
		return m.pass(8)
	case 2:
		n, ok, err := m.number()
		if !ok || err != nil {
			return false, err
		}
		return m.pass(n)
	case 3:
		m.groups++
		return true, nil
	case 4:
		m.groups--
		return m.groups >= 0, nil
	case 5:
		return m.pass(4)
	}
	return false, nil
}

// number reads a number of up to ten bytes, seven bits in each.
func (m *message) number() (n uint64, ok bool, err error) {
	for i := range binary.MaxVarintLen64 {
		c, err := m.in.ReadByte()
		if err != nil {
			return 0, false, orEOF(err)
		}
		m.at++
		n |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return n, true, nil
		}
	}
	return 0, false, nil
}

// pass skips n bytes.
func (m *message) pass(n uint64) (bool, error) {
	if n > uint64(m.s.size-m.at) {
		return false, nil
	}
	m.at += int64(n)
	if n > uint64(m.in.Buffered()) {
		m.in.Reset(io.NewSectionReader(m.s.r, m.at, m.s.size-m.at))
		return true, nil
	}
	_, err := m.in.Discard(int(n))
	return true, err
}
