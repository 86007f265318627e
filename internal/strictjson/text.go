package strictjson

import (
	"math/bits"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// String reads a string. A string without escapes is a slice of the text.
func (d *Decoder) String() (string, error) {
	return d.quoted(true)
}

// textStep is how many bytes of a string are a step: each is checked, and for names compared.
const textStep = 16

// quoted reads and checks a string. It resolves escapes only if want is set.
func (d *Decoder) quoted(want bool) (string, error) {
	if err := d.value(String); err != nil {
		return "", err
	}
	start := d.pos
	escaped, err := d.scan()
	if err != nil {
		return "", err
	}
	raw := d.text.Body[start+1 : d.pos-1]
	if n := int64(len(raw)) / textStep; n > 0 {
		if err := d.steps.Take(n); err != nil {
			return "", d.Fail("", err)
		}
	}
	if !escaped || !want {
		return raw, nil
	}
	if err := d.b.Alloc(int64(len(raw))); err != nil {
		return "", d.FailAt("", d.text.Off+int64(start), err)
	}
	var out strings.Builder
	out.Grow(len(raw))
	for p := 0; p < len(raw); {
		i := strings.IndexByte(raw[p:], '\\')
		if i < 0 {
			out.WriteString(raw[p:])
			break
		}
		out.WriteString(raw[p : p+i])
		r, n := unescape(raw[p+i:])
		out.WriteRune(r)
		p += i + n
	}
	return out.String(), nil
}

// scan moves past a string, whose opening quote is next, and checks it: closed, no control
// characters, UTF-8, valid escapes.
func (d *Decoder) scan() (escaped bool, err error) {
	s := d.text.Body
	i := d.pos + 1
	for {
		for i+8 <= len(s) {
			m := special(load64(s[i : i+8]))
			if m != 0 {
				i += bits.TrailingZeros64(m) / 8
				break
			}
			i += 8
		}
		if i >= len(s) {
			return false, d.ended("the end of a string")
		}
		switch c := s[i]; {
		case c == '"':
			d.pos = i + 1
			return escaped, nil
		case c == '\\':
			n, err := d.escape(i)
			if err != nil {
				return false, err
			}
			escaped = true
			i += n
		case c < ' ':
			d.pos = i
			return false, d.Fail("", wire.ErrText.WithRule("json.control").Errorf("control character %#02x in a string", c))
		case c < utf8.RuneSelf:
			i++
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			if r == utf8.RuneError && n == 1 {
				return false, d.notUTF8(i)
			}
			i += n
		}
	}
}

// load64 returns eight bytes as a little-endian number.
func load64(s string) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// Constants of arithmetic on eight bytes at once.
const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// special sets the high bit of the first byte that is a quote, a backslash, a control character or
// not ASCII. Higher bits are undefined: a borrow may have set them.
func special(w uint64) uint64 {
	quote := (w ^ '"'*ones) - ones
	backslash := (w ^ '\\'*ones) - ones
	control := w - ' '*ones
	return (quote | backslash | control | w) & high
}

// notUTF8 refuses the byte at i, or, in a file that may have been cut inside a
// rune, its end.
func (d *Decoder) notUTF8(i int) error {
	if rest := d.text.Body[i:]; d.text.Whole && len(rest) < utf8.UTFMax && !utf8.FullRuneInString(rest) {
		return d.ended("the rest of a rune")
	}
	d.pos = i
	return d.Fail("", wire.ErrText.WithRule("json.utf8").Errorf("not UTF-8"))
}

// escape checks the escape at i and returns its length.
func (d *Decoder) escape(i int) (int, error) {
	s := d.text.Body[i:]
	if len(s) < 2 {
		return 0, d.ended("an escape")
	}
	switch s[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		d.pos = i
		return 0, d.Fail("", wire.ErrSyntax.WithRule("json.escape").Errorf("escape that is not JSON"))
	}
	u, err := d.hex4(i)
	if err != nil || !utf16.IsSurrogate(u) {
		return 6, err
	}
	const low = 0xDC00
	if u >= low {
		return 0, d.lone(i)
	}
	for k, c := range []byte(`\u`) {
		if len(s) == 6+k {
			return 0, d.ended("a low surrogate")
		}
		if s[6+k] != c {
			return 0, d.lone(i)
		}
	}
	v, err := d.hex4(i + 6)
	if err != nil {
		return 0, err
	}
	if v < low || !utf16.IsSurrogate(v) {
		return 0, d.lone(i)
	}
	return 12, nil
}

func (d *Decoder) lone(i int) error {
	d.pos = i
	return d.Fail("", wire.ErrText.WithRule("json.surrogate").Errorf("half of a surrogate pair"))
}

// hex4 reads the four digits of the \u escape at i.
func (d *Decoder) hex4(i int) (rune, error) {
	s := d.text.Body
	var u rune
	for k := i + 2; k < i+6; k++ {
		if k >= len(s) {
			return 0, d.ended("a hexadecimal digit")
		}
		v, ok := hexDigit(s[k])
		if !ok {
			d.pos = i
			return 0, d.Fail("", wire.ErrSyntax.WithRule("json.escape").Errorf("escape that is not JSON"))
		}
		u = u<<4 | v
	}
	return u, nil
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case c-'0' <= 9:
		return rune(c - '0'), true
	case c|0x20-'a' <= 5:
		return rune(c|0x20-'a') + 10, true
	}
	return 0, false
}

// unescape resolves the escape at the start of s, which scan has checked.
func unescape(s string) (r rune, n int) {
	switch s[1] {
	case 'u':
		u := four(s)
		if !utf16.IsSurrogate(u) {
			return u, 6
		}
		return utf16.DecodeRune(u, four(s[6:])), 12
	case 'b':
		return '\b', 2
	case 'f':
		return '\f', 2
	case 'n':
		return '\n', 2
	case 'r':
		return '\r', 2
	case 't':
		return '\t', 2
	}
	return rune(s[1]), 2 // a quote, a backslash, a slash
}

func four(s string) rune {
	var u rune
	for k := 2; k < 6; k++ {
		v, _ := hexDigit(s[k])
		u = u<<4 | v
	}
	return u
}
