package vm

import (
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/sparse"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	// maxPickle is the largest pickle, since offsets have 31 bits. Checkpoints have far
	// less than a gibibyte of opcodes; tensor bodies are outside.
	maxPickle = 1<<31 - 1
	// firstRead is the first read of a pickle of unknown length.
	firstRead = 4 << 10
	// longPickle is one that holds arrays, not only the names of tensors.
	longPickle = 4 << 20
	// readChunk is the size of one read.
	readChunk = 128 << 10
	// readBuffer is what a read is charged beside its bytes.
	readBuffer = 64 << 10
	// mostAhead is how much of a pickle is read beyond what is needed, if long values are left out.
	mostAhead = 1 << 20
	// longValue is the length of bytes from which on they are left out, but for their ends.
	longValue          = 64 << 10
	keptHead, keptTail = 512, 64
	// longOperand is one that pays for its bytes: what is shorter costs no more than its
	// instruction does.
	longOperand = 1 << 10
	// dataStep and lineStep are how many bytes of an operand cost a step: bytes are copied and
	// checked for UTF-8, a line is searched, and its escapes are resolved.
	dataStep, lineStep = 64, 8
)

// A source is the bytes of the pickle that have been read. They are one string, so that
// texts can refer to them.
type source struct {
	r         io.ReaderAt
	base, end int64 // in the file
	text      sparse.Text
	sparse    bool // leave out the bytes of long values until something asks for them
	ahead     int64
}

// load makes at least n bytes available, n <= end-base. When whole is set, all
// of them are read at once.
func (s *source) load(b *limits.Budget, w *limits.Workspace, n int64, whole bool) error {
	if err := s.reserve(b, w, n, whole); err != nil {
		return err
	}
	goal := int64(s.text.Room())
	if s.sparse { // what follows may be left out
		s.ahead = min(max(2*s.ahead, firstRead), mostAhead)
		goal = min(goal, max(n, int64(s.text.Len())+s.ahead))
	}
	for have := int64(s.text.Len()); have < goal; have = int64(s.text.Len()) {
		if err := b.Err(); err != nil {
			return err
		}
		if err := s.text.Read(int(min(goal, have+readChunk)), s.read); err != nil {
			return err
		}
	}
	return nil
}

// reserve makes room for n bytes.
func (s *source) reserve(b *limits.Budget, w *limits.Workspace, n int64, whole bool) error {
	if n <= int64(s.text.Room()) && n > 0 {
		return nil
	}
	want := s.end - s.base
	if ceiling := min(b.Policy().Limit(limits.SingleAlloc), maxPickle); !whole {
		want = min(want, max(n, min(ceiling, s.next())))
	}
	if want > maxPickle {
		return &limits.Error{Axis: limits.SingleAlloc, Want: want, Left: maxPickle}
	}
	room, err := limits.Make[byte](w, int(want))
	if err != nil {
		return err
	}
	old := int64(s.text.Room())
	s.text.Move(room)
	w.Drop(old)
	// A reader may have a buffer of its own.
	buffer := min(want, readBuffer)
	if err := w.Alloc(buffer); err != nil {
		return err
	}
	w.Drop(buffer)
	return nil
}

// next returns how many bytes to have after the next read, if the file has as many. The bytes
// read so far are copied, so the rest of a long pickle is read at once.
func (s *source) next() int64 {
	have := int64(s.text.Len())
	if have >= longPickle {
		return maxPickle
	}
	return max(2*have, firstRead)
}

// readTo reads up to a place, and no byte beyond it.
func (s *source) readTo(to int) error { return s.text.Read(to, s.read) }

func (s *source) read(p []byte, off int) error { return wire.ReadFull(s.r, p, s.base+int64(off)) }

// fill reads what was left out between two places. [sparse.Text.Err] has its error.
func (s *source) fill(from, to uint32) { s.text.Fill(int(from), int(to), s.read) }

// bulk skips n bytes of payload as data does, but leaves those of a long value unread, except for
// its ends, which tell a pickle or an archive.
func (m *machine) bulk(n uint64) (off int, err error) {
	left := m.in.end - m.in.base - int64(m.pos)
	if !m.in.sparse || n < longValue || m.frame != 0 || n > uint64(left) || m.pos+int(n) <= len(m.src)+longValue/2 {
		return m.data(n)
	}
	end := int64(m.pos) + int64(n)
	if err := m.in.reserve(m.b, &m.work, end, m.whole); err != nil {
		return 0, err
	}
	if err := m.in.readTo(m.pos + keptHead); err != nil {
		return 0, err
	}
	m.in.text.Skip(int(end - keptTail))
	m.in.ahead = 0
	if err := m.load(end); err != nil {
		return 0, err
	}
	off = m.pos
	m.pos += int(n)
	return off, m.payFor(int64(n), dataStep)
}

// need checks that n bytes of operand are available.
func (m *machine) need(n int) error {
	if n <= m.lim-m.pos {
		return nil
	}
	return m.more(uint64(n))
}

// more is the slow path of need: the bytes cross the end of the frame, are not read yet,
// or are not in the file.
func (m *machine) more(n uint64) error {
	if m.frame != 0 && n > uint64(m.frame-m.pos) {
		if err := m.strict(errFrameCrossed, "the instruction crosses the end of its frame", refAbsent); err != nil {
			return err
		}
		m.frame = 0
		m.lim = len(m.src)
	}
	if left := m.in.end - m.in.base - int64(m.pos); n > uint64(left) {
		return wire.ErrTruncated.Errorf("%d bytes wanted, %d left", n, left)
	}
	if uint64(len(m.src)-m.pos) < n {
		if err := m.load(int64(m.pos) + int64(n)); err != nil {
			return err
		}
	}
	return nil
}

// load reads until n bytes of the pickle are available.
func (m *machine) load(n int64) error {
	if err := m.in.load(m.b, &m.work, n, m.whole); err != nil {
		return err
	}
	m.src = m.in.text.String()
	m.g.src = m.src
	m.limit()
	return nil
}

// limit sets lim: the end of the frame, or of what was read.
func (m *machine) limit() {
	m.lim = len(m.src)
	if m.frame != 0 {
		m.lim = min(m.lim, m.frame)
	}
}

func (m *machine) u8() (uint8, error) {
	if err := m.need(1); err != nil {
		return 0, err
	}
	c := m.src[m.pos]
	m.pos++
	return c, nil
}

func (m *machine) u16() (uint16, error) {
	if err := m.need(2); err != nil {
		return 0, err
	}
	s := m.src[m.pos : m.pos+2]
	m.pos += 2
	return uint16(s[0]) | uint16(s[1])<<8, nil
}

func (m *machine) u32() (uint32, error) {
	if err := m.need(4); err != nil {
		return 0, err
	}
	s := m.src[m.pos : m.pos+4]
	m.pos += 4
	return uint32(s[0]) | uint32(s[1])<<8 | uint32(s[2])<<16 | uint32(s[3])<<24, nil
}

func (m *machine) u64() (uint64, error) {
	if err := m.need(8); err != nil {
		return 0, err
	}
	s := m.src[m.pos : m.pos+8]
	m.pos += 8
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56, nil
}

// data skips n bytes of payload and returns their offset.
func (m *machine) data(n uint64) (off int, err error) {
	if n > uint64(m.lim-m.pos) {
		if err := m.more(n); err != nil {
			return 0, err
		}
	}
	off = m.pos
	m.pos += int(n)
	return off, m.payFor(int64(n), dataStep)
}

// line skips a line and returns its range, without the newline. If there is none before the end of
// the file, the file is truncated.
func (m *machine) line() (off, end int, err error) {
	for seen := m.pos; ; {
		if i := strings.IndexByte(m.src[seen:m.lim], '\n'); i >= 0 {
			off, end = m.pos, seen+i
			m.pos = end + 1
			return off, end, m.payFor(int64(end-off), lineStep)
		}
		seen = m.lim
		if err := m.more(uint64(seen-m.pos) + 1); err != nil {
			return 0, 0, err
		}
	}
}

// payFor pays for the bytes of a long operand.
func (m *machine) payFor(n, perStep int64) error {
	if n < longOperand {
		return nil
	}
	return m.b.Step(n / perStep)
}
