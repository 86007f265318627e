package polyglot

import (
	"bufio"
	"encoding/binary"
	"hash/crc32"
	"io"
	"strings"
)

// Media files are recognized by their whole structure: the parts must tile the file to its end, and
// the format's checksums must be right. Bytes after an image, or between its parts, are refused.

// A media reads a file from beginning to end.
type media struct {
	s  *source
	in *bufio.Reader
	at int64
}

// maxPeek is the most that is read at once.
const maxPeek = 4 << 10

// whole returns a rule for media that begin in a certain way and are proven by walk.
func whole(fits func(*source) (bool, error), walk func(*media) (bool, error)) func(*source) (bool, error) {
	return func(s *source) (bool, error) {
		if is, err := fits(s); !is || err != nil {
			return is, err
		}
		m := &media{s: s, in: bufio.NewReaderSize(io.NewSectionReader(s.r, 0, s.size), maxPeek)}
		is, err := walk(m)
		return is && m.at == s.size, orEOF(err)
	}
}

func (m *media) left() int64 { return m.s.size - m.at }

// next returns the next n bytes, which are valid until the next call. It is an error if the file
// has fewer.
func (m *media) next(n int) ([]byte, error) {
	p, err := m.peek(n)
	if err == nil {
		m.in.Discard(n)
		m.at += int64(n)
	}
	return p, err
}

func (m *media) peek(n int) ([]byte, error) {
	if err := m.s.steps.Step(); err != nil {
		return nil, err
	}
	return m.in.Peek(n)
}

// pass skips n bytes, and calls visit with them if it is set.
func (m *media) pass(n int64, visit func(p []byte)) error {
	if n > m.left() {
		return io.EOF
	}
	if visit == nil && n > int64(m.in.Buffered()) {
		if err := m.s.steps.Step(); err != nil {
			return err
		}
		m.at += n
		m.in.Reset(io.NewSectionReader(m.s.r, m.at, m.left()))
		return nil
	}
	for n > 0 {
		if err := m.s.b.Step(1 + min(n, maxPeek)/64); err != nil {
			return err
		}
		p, err := m.in.Peek(int(min(n, maxPeek)))
		if err != nil {
			return err
		}
		if visit != nil {
			visit(p)
		}
		m.in.Discard(len(p))
		m.at, n = m.at+int64(len(p)), n-int64(len(p))
	}
	return nil
}

// png reads chunks: a length, four letters, data, and a checksum of the letters and the data.
func (m *media) png() (bool, error) {
	m.next(8)
	for first := true; ; first = false {
		p, err := m.next(8)
		if err != nil {
			return false, err
		}
		n, name := binary.BigEndian.Uint32(p), string(p[4:])
		if first != (name == "IHDR") || n > 1<<31-1 || !isLetters(name) {
			return false, nil
		}
		sum := crc32.ChecksumIEEE([]byte(name))
		if err := m.pass(int64(n), func(p []byte) { sum = crc32.Update(sum, crc32.IEEETable, p) }); err != nil {
			return false, err
		}
		if p, err = m.next(4); err != nil || binary.BigEndian.Uint32(p) != sum {
			return false, err
		}
		if name == "IEND" {
			return n == 0, nil
		}
	}
}

func isLetters(s string) bool {
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz") == ""
}

// jpeg reads segments and the data between them, in which only FF begins a marker. Several images
// may follow each other, and zeros may follow the last.
func (m *media) jpeg() (bool, error) {
	for images := 0; ; {
		p, err := m.next(2)
		switch {
		case err == io.EOF && images > 0 && m.left() == 0:
			return true, nil
		case err != nil:
			return false, err
		case p[0] == 0 && p[1] == 0 && images > 0:
			return m.zeros()
		case p[0] != 0xff || p[1] != 0xd8:
			return false, nil
		}
		if is, err := m.jpegImage(); !is || err != nil {
			return false, err
		}
		images++
	}
}

func (m *media) zeros() (is bool, err error) {
	is = true
	err = m.pass(m.left(), func(p []byte) { is = is && strings.Trim(string(p), "\x00") == "" })
	return is, err
}

func (m *media) jpegImage() (bool, error) {
	scanned := false
	for {
		p, err := m.next(2)
		if err != nil {
			return false, err
		}
		marker := p[1]
		switch {
		case p[0] != 0xff:
			return false, nil
		case marker == 0xff: // fills
			m.in.UnreadByte()
			m.at--
			continue
		case marker == 0xd9:
			return scanned, nil
		case marker == 0xd8 || marker < 0xc0 || 0xd0 <= marker && marker < 0xd8:
			return false, nil
		}
		if p, err = m.next(2); err != nil || binary.BigEndian.Uint16(p) < 2 {
			return false, err
		}
		if err := m.pass(int64(binary.BigEndian.Uint16(p))-2, nil); err != nil {
			return false, err
		}
		if marker == 0xda {
			scanned = true
			if err := m.scan(); err != nil {
				return false, err
			}
		}
	}
}

// scan skips the data of a scan, up to a marker that does not belong to it.
func (m *media) scan() error {
	for {
		if err := m.s.b.Step(maxPeek / 64); err != nil {
			return err
		}
		p, err := m.in.Peek(int(min(maxPeek, m.left())))
		if len(p) < 2 {
			return io.EOF
		}
		_ = err
		n := 0
		for n+1 < len(p) && (p[n] != 0xff || p[n+1] == 0 || 0xd0 <= p[n+1] && p[n+1] < 0xd8) {
			n++
		}
		m.in.Discard(n)
		m.at += int64(n)
		if n+1 < len(p) {
			return nil
		}
	}
}

// gif reads blocks, and their sub-blocks of up to 255 bytes.
func (m *media) gif() (bool, error) {
	p, err := m.next(13)
	if err != nil {
		return false, err
	}
	if err := m.colours(p[10]); err != nil {
		return false, err
	}
	for {
		if p, err = m.next(1); err != nil {
			return false, err
		}
		switch p[0] {
		case ';':
			return true, nil
		case '!':
			_, err = m.next(1)
		case ',':
			if p, err = m.next(9); err == nil {
				err = m.colours(p[8])
			}
			if err == nil {
				_, err = m.next(1)
			}
		default:
			return false, nil
		}
		for n := byte(1); err == nil && n > 0; {
			if p, err = m.next(1); err == nil {
				n = p[0]
				err = m.pass(int64(n), nil)
			}
		}
		if err != nil {
			return false, err
		}
	}
}

// colours skips the colour table, if the flags announce one.
func (m *media) colours(flags byte) error {
	if flags&0x80 == 0 {
		return nil
	}
	return m.pass(3<<(1+flags&7), nil)
}

// riff reads chunks. Programs that write to a pipe do not know the sizes, so the last chunk
// and the whole file may leave them unstated.
func (m *media) riff() (bool, error) {
	for m.left() > 0 {
		p, err := m.next(12)
		if err != nil || string(p[:4]) != "RIFF" {
			return false, err
		}
		n := int64(binary.LittleEndian.Uint32(p[4:]))
		open := n == 0 || n == 1<<32-1
		if open {
			n = m.left() + 4
		}
		end := m.at - 4 + n
		if end > m.s.size {
			return false, nil
		}
		for m.at+8 <= end {
			if p, err = m.next(8); err != nil || !isPrintable(p[:4]) {
				return false, err
			}
			n := int64(binary.LittleEndian.Uint32(p[4:]))
			if open && (n == 0 || n >= 1<<31-1) {
				n = m.left()
			}
			if n += n & 1; m.at+n == end+1 {
				n-- // the last padding is missing
			}
			if m.at+n > end {
				return false, nil
			}
			if err := m.pass(n, nil); err != nil {
				return false, err
			}
		}
		if m.at != end {
			return false, nil
		}
	}
	return true, nil
}

func isPrintable(p []byte) bool {
	for _, c := range p {
		if c < ' ' || c > '~' {
			return false
		}
	}
	return true
}

// mp4 reports whether the file begins with the box that an MP4 film begins with. Its size fits in
// two bytes and is a multiple of four, so that no other format with a number before four letters is
// taken for one.
func (s *source) mp4() (bool, error) {
	if len(s.head) < 16 || string(s.head[4:8]) != "ftyp" {
		return false, nil
	}
	size := binary.BigEndian.Uint32(s.head)
	return size >= 16 && size < 1<<16 && size%4 == 0, nil
}

// boxes reads boxes: a size, which may have 64 bits, and four letters.
func (m *media) boxes() (bool, error) {
	described := false
	for m.left() > 0 {
		p, err := m.next(8)
		if err != nil {
			return false, err
		}
		n, head := uint64(binary.BigEndian.Uint32(p)), uint64(8)
		name := string(p[4:])
		if !isPrintable([]byte(name)) {
			return false, nil
		}
		switch described = described || name == "moov" || name == "moof" || name == "meta"; n {
		case 0:
			n = uint64(m.left()) + head
		case 1:
			if p, err = m.next(8); err != nil {
				return false, err
			}
			n, head = binary.BigEndian.Uint64(p), 16
		}
		if n < head || n-head > uint64(m.left()) {
			return false, nil
		}
		if err := m.pass(int64(n-head), nil); err != nil {
			return false, err
		}
	}
	return described, nil
}

// bmp reports whether the file begins as a bitmap and states its own size; some writers leave the
// size zero.
func (s *source) bmp() (bool, error) {
	if len(s.head) < 26 || string(s.head[:2]) != "BM" {
		return false, nil
	}
	size := int64(binary.LittleEndian.Uint32(s.head[2:]))
	data := binary.LittleEndian.Uint32(s.head[10:])
	return (size == s.size || size == 0) && binary.LittleEndian.Uint32(s.head[6:]) == 0 && data >= 26 && int64(data) < s.size, nil
}

// rows skips the rows of a bitmap; the header has their number and length.
func (m *media) rows() (bool, error) {
	p, err := m.next(34)
	if err != nil {
		return false, err
	}
	le := binary.LittleEndian
	data, header := int64(le.Uint32(p[10:])), le.Uint32(p[14:])
	w, h, bits, packed := int64(int32(le.Uint32(p[18:]))), int64(int32(le.Uint32(p[22:]))), int64(le.Uint16(p[28:])), le.Uint32(p[30:])
	size := (w*bits + 31) / 32 * 4 * max(h, -h)
	switch {
	case header != 40 && header != 52 && header != 56 && header != 64 && header != 108 && header != 124, w <= 0 || h == 0 || bits > 32 || w > 1<<20 || max(h, -h) > 1<<20:
		return false, nil
	case packed == 1 || packed == 2 || packed == 4 || packed == 5:
		size = m.s.size - data
	}
	if data+size > m.s.size || m.s.size-data-size > 4 && header != 124 {
		return false, nil
	}
	return true, m.pass(m.left(), nil)
}
