package gguf

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// badText returns the offset of the first invalid byte in a text: a NUL, unless allowed,
// or the beginning of invalid UTF-8. It returns -1 for a valid text.
func badText[T string | []byte](s T, nul bool) int {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			if s[i] == 0 && !nul {
				return i
			}
			i++
			continue
		}
		// Converting so few bytes does not allocate.
		r, n := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func textFault(c byte) string {
	if c == 0 {
		return "holds a NUL: readers in C take what follows for another text"
	}
	return "is not UTF-8"
}

// goodText reports whether p is UTF-8 without NUL. It is fast for ASCII.
func goodText(p []byte) bool {
	last := len(p) - 8
	if last < 0 {
		return goodRest(p)
	}
	for i := 0; i < last; i += 8 {
		if unusual(p[i:]) {
			return goodRest(p[i:])
		}
	}
	// The last 8 bytes overlap ones that were checked: all bytes before last are ASCII.
	return !unusual(p[last:]) || goodRest(p[last:])
}

// unusual reports whether the first 8 bytes may hold anything but ASCII without NUL.
func unusual(p []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	// The top bit of a byte is set in w if it is not ASCII. It is set in w-ones if the
	// byte is zero, or follows one that is.
	w := binary.LittleEndian.Uint64(p)
	return (w|(w-ones))&tops != 0
}

func goodRest(p []byte) bool {
	for i, c := range p {
		if c-1 >= utf8.RuneSelf-1 {
			return c != 0 && utf8.Valid(p[i:]) && bytes.IndexByte(p[i:], 0) < 0
		}
	}
	return true
}
