package polyglot

import (
	"bytes"
	"strings"
)

const (
	tarBlock  = 512
	tarSum    = 148 // offset of the checksum in a tar header
	tarSumLen = 8
)

// IsTar reports whether Python's tarfile takes the first block for a header: its checksum is the
// sum of the bytes, signed or unsigned, with the checksum's own field counted as spaces. torch.load
// asks tarfile before it looks for a legacy checkpoint. tarfile checks more of a header; other
// readers check less, so that does not decide here.
func IsTar(p []byte) bool {
	if len(p) < tarBlock {
		return false
	}
	stated, ok := tarNumber(p[tarSum : tarSum+tarSumLen])
	if !ok {
		return false
	}
	var unsigned, signed int64
	for i, c := range p[:tarBlock] {
		if i >= tarSum && i < tarSum+tarSumLen {
			c = ' '
		}
		unsigned += int64(c)
		signed += int64(int8(c))
	}
	return stated == unsigned || stated == signed
}

// tarNumber parses a number as tarfile's nti does: base 256 after a byte 0x80 or 0xff,
// else octal digits up to a NUL, as Python's int parses them.
func tarNumber(p []byte) (int64, bool) {
	if p[0] == 0x80 || p[0] == 0xff {
		n := int64(0)
		for _, c := range p[1:] {
			n = n<<8 | int64(c)
		}
		if p[0] == 0xff {
			n -= 1 << (8 * (tarSumLen - 1))
		}
		return n, true
	}
	text, _, _ := bytes.Cut(p, []byte{0})
	s := strings.Trim(string(text), " \t\n\v\f\r\x1c\x1d\x1e\x1f")
	if s == "" {
		return 0, true
	}
	return octal(s)
}

// octal parses what Python's int(s, 8) parses: a sign, a prefix 0o, digits with single
// underscores between them.
func octal(s string) (int64, bool) {
	digits := strings.TrimPrefix(s, "-")
	if digits == s {
		digits = strings.TrimPrefix(s, "+")
	}
	if len(digits) > 1 && strings.EqualFold(digits[:2], "0o") {
		digits = strings.TrimPrefix(digits[2:], "_")
	}
	n, last := int64(0), byte('_')
	for _, c := range []byte(digits) {
		switch {
		case '0' <= c && c <= '7':
			n = n<<3 | int64(c-'0')
		case c != '_' || last == '_':
			return 0, false
		}
		last = c
	}
	if s[0] == '-' {
		n = -n
	}
	return n, last != '_'
}
