package polyglot

import (
	"bufio"
	"encoding/binary"
	"io"
)

// isMessage reports whether all of the content is fields of a protobuf message. A loader of one
// passes over fields that it does not know, such as the first bytes of an image, and finds its
// graph behind them.
func (s *source) isMessage() (bool, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(s.r, 0, s.size), maxName)
	at, groups := int64(0), 0
	number := func() (uint64, bool, error) {
		n, width := uint64(0), 0
		for ; width < binary.MaxVarintLen64; width++ {
			c, err := in.ReadByte()
			if err != nil {
				return 0, false, orEOF(err)
			}
			n |= uint64(c&0x7f) << (7 * width)
			if c < 0x80 {
				at += int64(width) + 1
				return n, true, nil
			}
		}
		return 0, false, nil
	}
	for at < s.size {
		if err := s.steps.Step(); err != nil {
			return false, err
		}
		tag, ok, err := number()
		if !ok || err != nil || tag>>3 == 0 {
			return false, err
		}
		skip := uint64(0)
		switch tag & 7 {
		case 0:
			if _, ok, err = number(); !ok || err != nil {
				return false, err
			}
		case 1:
			skip = 8
		case 2:
			if skip, ok, err = number(); !ok || err != nil {
				return false, err
			}
		case 3:
			groups++
		case 4:
			groups--
		case 5:
			skip = 4
		default:
			return false, nil
		}
		if groups < 0 || skip > uint64(s.size-at) {
			return false, nil
		}
		if at += int64(skip); skip <= uint64(in.Buffered()) {
			_, err = in.Discard(int(skip))
		} else {
			in.Reset(io.NewSectionReader(s.r, at, s.size-at))
		}
		if err != nil {
			return false, err
		}
	}
	return groups == 0, nil
}
