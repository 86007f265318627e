package gguf

import (
	"bytes"
	"encoding/binary"
	"unicode/utf8"
)

// badText finds the first byte that text of a GGUF file may not hold: a NUL
// unless it is allowed, or the beginning of what is not UTF-8. It returns -1
// for good text.
func badText[T string | []byte](s T, nul bool) int {
	for i := 0; i < len(s); {
		if s[i] < utf8.RuneSelf {
			if s[i] == 0 && !nul {
				return i
			}
			i++
			continue
		}
		// Converting a few bytes costs no allocation.
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

// goodText reports UTF-8 without NUL. Most texts are ASCII up to some place.
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
	// Some of these bytes were looked at already: all before them are ASCII.
	return !unusual(p[last:]) || goodRest(p[last:])
}

// unusual reports that the first 8 bytes may hold more than ASCII without NUL.
func unusual(p []byte) bool {
	const ones, tops = 0x0101010101010101, 0x8080808080808080
	// The top bit of a byte is set in w if it is not ASCII, and in w-ones if it
	// is zero or follows one that is.
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
