package vm

import (
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// textSize is the size of a text for walks: one more for every 32 bytes, so that
// replaying a long text is not free.
func textSize(n int) uint32 { return 1 + uint32(n)/32 }

// keep stores a text that is not in the pickle unchanged, and returns its index in side.
// Its bytes are already charged.
func (m *machine) keep(text string) (uint32, error) {
	side, err := limits.Grow(&m.work, m.g.side, 1)
	if err != nil {
		return 0, err
	}
	m.g.side = append(side, text)
	return uint32(len(m.g.side) - 1), nil
}

// pushData pushes the text or bytes at off.
func (m *machine) pushData(kind Kind, flags uint8, off, n int) error {
	if kind == KindBytes {
		m.nested(m.src[off : off+n])
	}
	return m.pushNew(node{kind: kind, flags: flags, a: uint32(off), n: uint32(n), size: textSize(n)})
}

// pushSide pushes a text or bytes that are not in the pickle unchanged.
func (m *machine) pushSide(kind Kind, text string) error {
	at, err := m.keep(text)
	if err != nil {
		return err
	}
	return m.pushNew(node{kind: kind, flags: flagSide, a: at, n: uint32(len(text)), size: textSize(len(text))})
}

func (m *machine) opBinUnicode() error {
	n, err := m.u32()
	if err != nil {
		return err
	}
	return m.unicode(uint64(n))
}

func (m *machine) opShortBinUnicode() error {
	n, err := m.u8()
	if err != nil {
		return err
	}
	return m.unicode(uint64(n))
}

func (m *machine) opBinUnicode8() error {
	n, err := m.u64()
	if err != nil {
		return err
	}
	return m.unicode(n)
}

func (m *machine) unicode(n uint64) error {
	off, err := m.data(n)
	if err != nil {
		return err
	}
	if s := m.src[off:m.pos]; !utf8.ValidString(s) && !validWithSurrogates(s) {
		return wire.ErrText.WithRule("pickle.utf8").Errorf("a str is not UTF-8")
	}
	return m.pushData(KindText, 0, off, int(n))
}

// validWithSurrogates reports whether s is UTF-8 that may have lone surrogates, which
// Python's surrogatepass handler writes as three bytes.
func validWithSurrogates(s string) bool {
	for len(s) > 0 {
		r, n := utf8.DecodeRuneInString(s)
		if r == utf8.RuneError && n == 1 {
			if len(s) < 3 || s[0] != 0xed || s[1]&0xe0 != 0xa0 || s[2]&0xc0 != 0x80 {
				return false
			}
			n = 3
		}
		s = s[n:]
	}
	return true
}

func (m *machine) opBinBytes() error {
	n, err := m.u32()
	if err != nil {
		return err
	}
	return m.bytes(uint64(n), 0)
}

func (m *machine) opShortBinBytes() error {
	n, err := m.u8()
	if err != nil {
		return err
	}
	return m.bytes(uint64(n), 0)
}

func (m *machine) opBinBytes8() error {
	n, err := m.u64()
	if err != nil {
		return err
	}
	return m.bytes(n, 0)
}

func (m *machine) opByteArray8() error {
	n, err := m.u64()
	if err != nil {
		return err
	}
	return m.bytes(n, classFlags[ByteArray]|flagNoHash)
}

func (m *machine) bytes(n uint64, flags uint8) error {
	off, err := m.bulk(n)
	if err != nil {
		return err
	}
	return m.pushData(KindBytes, flags, off, int(n))
}

func (m *machine) opShortBinString() error {
	n, err := m.u8()
	if err != nil {
		return err
	}
	return m.binString(uint64(n))
}

func (m *machine) opBinString() error {
	n, err := m.u32()
	if err != nil {
		return err
	}
	if int32(n) < 0 {
		return wire.ErrRange.WithRule("pickle.string-size").Errorf("a string of %d bytes", int32(n))
	}
	return m.binString(uint64(n))
}

// binString pushes a str of Python 2. Loaders choose its encoding; torch.load uses UTF-8.
// If it is not UTF-8 it becomes bytes.
func (m *machine) binString(n uint64) error {
	off, err := m.data(n)
	if err != nil {
		return err
	}
	return m.pushData(m.python2(m.src[off:m.pos]), 0, off, int(n))
}

func (m *machine) python2(s string) Kind {
	if utf8.ValidString(s) {
		return KindText
	}
	m.note("pickle.py2-bytes", "a str of Python 2 is not UTF-8: loaders ask for an encoding")
	m.against("encoding", "a str of Python 2 is not UTF-8", refAbsent)
	return KindBytes
}

// opString reads a quoted str of Python 2 with its escapes.
func (m *machine) opString() error {
	off, end, err := m.line()
	if err != nil {
		return err
	}
	s := m.src[off:end]
	if len(s) < 2 || s[0] != s[len(s)-1] || s[0] != '"' && s[0] != '\'' {
		return wire.ErrSyntax.WithRule("pickle.string").Errorf("a str without quotes")
	}
	s = s[1 : len(s)-1]
	if strings.IndexByte(s, '\\') < 0 {
		return m.pushData(m.python2(s), 0, off+1, len(s))
	}
	text, err := m.unescape(s)
	if err != nil {
		return err
	}
	return m.pushSide(m.python2(text), text)
}

const escaped = `\'"abfnrtv`
const escapes = "\\'\"\a\b\f\n\r\t\v"

// unescape decodes the escapes of a Python 2 str.
func (m *machine) unescape(s string) (string, error) {
	if err := m.work.Alloc(int64(len(s))); err != nil {
		return "", err
	}
	var out strings.Builder
	out.Grow(len(s))
	for i := 0; i < len(s); {
		if s[i] != '\\' {
			out.WriteByte(s[i])
			i++
			continue
		}
		c, n := escape(s[i+1:])
		if n == 0 {
			return "", wire.ErrText.WithRule("pickle.escape").Errorf("the escape %s", wire.Quote(s[i:min(len(s), i+4)]))
		}
		out.WriteByte(c)
		i += 1 + n
	}
	return out.String(), nil
}

// escape decodes what follows a backslash: a letter, xHH, or up to three octal digits of
// at most 0377. Python leaves other escapes unchanged; no pickler writes them.
func escape(s string) (c byte, n int) {
	if s == "" {
		return 0, 0
	}
	if i := strings.IndexByte(escaped, s[0]); i >= 0 {
		return escapes[i], 1
	}
	if s[0] == 'x' {
		v, ok := hexadecimal(s[1:], 2)
		return byte(v), 3 * toInt(ok)
	}
	v := 0
	for n < 3 && n < len(s) && s[n] >= '0' && s[n] <= '7' {
		v = v<<3 | int(s[n]-'0')
		n++
	}
	if v > 0xff {
		return 0, 0
	}
	return byte(v), n
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// hexadecimal reads the first n characters of s.
func hexadecimal(s string, n int) (v uint32, ok bool) {
	if len(s) < n {
		return 0, false
	}
	for i := range n {
		c := s[i] | 0x20
		switch {
		case s[i] >= '0' && s[i] <= '9':
			v = v<<4 | uint32(s[i]-'0')
		case c >= 'a' && c <= 'f':
			v = v<<4 | uint32(c-'a'+10)
		default:
			return 0, false
		}
	}
	return v, true
}

// opUnicode reads a str in raw-unicode-escape: Latin-1 bytes, \uXXXX and \UXXXXXXXX. A
// backslash that is escaped itself begins no escape.
func (m *machine) opUnicode() error {
	off, end, err := m.line()
	if err != nil {
		return err
	}
	s := m.src[off:end]
	if isASCII(s) && strings.IndexByte(s, '\\') < 0 {
		return m.pushData(KindText, 0, off, len(s))
	}
	text, err := m.rawUnicode(s)
	if err != nil {
		return err
	}
	return m.pushSide(KindText, text)
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

// rawUnicode decodes a text. A backslash begins an escape if u or U follows and an even
// number of backslashes precede it.
func (m *machine) rawUnicode(s string) (string, error) {
	// A byte of Latin-1 becomes at most two of UTF-8, an escape fewer.
	if err := m.work.Alloc(2 * int64(len(s))); err != nil {
		return "", err
	}
	var out strings.Builder
	out.Grow(2 * len(s))
	for s != "" {
		if s[0] != '\\' {
			out.WriteRune(rune(s[0]))
			s = s[1:]
			continue
		}
		rest := strings.TrimLeft(s, `\`)
		run := len(s) - len(rest)
		digits := escapeDigits(rest)
		if run%2 == 0 || digits == 0 {
			out.WriteString(s[:run])
			s = rest
			continue
		}
		out.WriteString(s[:run-1])
		r, ok := hexadecimal(rest[1:], digits)
		if !ok || r > utf8.MaxRune {
			return "", wire.ErrText.WithRule("pickle.escape").Errorf("the escape %s", wire.Quote(s[run-1:min(len(s), run+9)]))
		}
		writeRune(&out, rune(r))
		s = rest[1+digits:]
	}
	return out.String(), nil
}

// escapeDigits returns how many hexadecimal digits the escape needs whose backslash
// precedes s.
func escapeDigits(s string) int {
	if s == "" {
		return 0
	}
	switch s[0] {
	case 'u':
		return 4
	case 'U':
		return 8
	}
	return 0
}

// writeRune writes a rune; lone surrogates become three bytes.
func writeRune(out *strings.Builder, r rune) {
	if r >= 0xd800 && r < 0xe000 {
		out.Write([]byte{0xed, byte(0x80 | r>>6&0x3f), byte(0x80 | r&0x3f)})
		return
	}
	out.WriteRune(r)
}
