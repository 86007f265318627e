package parser

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/hdf5"
)

// A Recognition is a kind of content that is recognized but not read.
type Recognition struct {
	What   string // "gzip data"
	Advice string // "unpack it first: gunzip"
}

// Recognized lists the kinds of content that an error names if a file has no supported
// format.
func Recognized() []Recognition {
	var list []Recognition
	for i := range kinds {
		if k := &kinds[i]; k.advice != "" {
			list = append(list, Recognition{k.title, k.advice})
		}
	}
	return list
}

// foreign returns an error that says what the content is instead of a model.
func (h *head) foreign() error {
	for i := range kinds {
		if k := &kinds[i]; k.advice != "" && k.fits(h) == yes {
			return wire.ErrUnsupported.WithRule("detect.foreign").Errorf("this is %s: %s", k.title, k.advice)
		}
	}
	return wire.ErrUnsupported.WithRule("detect.unknown").Errorf("the content is of no known format; it begins with % x", h.p[:min(8, len(h.p))])
}

func magic(any ...string) func(*head) fit {
	return whole(func(h *head) bool { return hasAnyMagic(h, any...) })
}

func magicAt(off int, m string) func(*head) fit {
	return whole(func(h *head) bool { return len(h.p) >= off+len(m) && string(h.p[off:off+len(m)]) == m })
}

// startsWithWord returns a matcher for texts that begin with one of the words, in any
// case.
func startsWithWord(any ...string) func(*head) fit {
	return whole(func(h *head) bool {
		start := strings.ToLower(string(trimText(h.p[:min(256, len(h.p))])))
		return slices.ContainsFunc(any, func(s string) bool { return strings.HasPrefix(start, s) })
	})
}

// whole makes a matcher of one that never asks for more bytes.
func whole(is func(*head) bool) func(*head) fit {
	return func(h *head) fit {
		if is(h) {
			return yes
		}
		return no
	}
}

// ofBeginning makes a matcher of one that looks at the first 512 bytes.
func ofBeginning(is func([]byte) bool) func(*head) fit {
	return whole(func(h *head) bool { return is(h.p[:min(len(h.p), sniffed)]) })
}

// sniffed is how much of a beginning tells a packing.
const sniffed = 512

func trimText(p []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(p, []byte("\xef\xbb\xbf")), " \t\r\n")
}

func isJSON(h *head) bool {
	p := trimText(h.p)
	if len(p) < 2 || p[0] != '{' && p[0] != '[' || !isText(p) {
		return false
	}
	next := bytes.TrimLeft(p[1:], " \t\r\n")
	return len(next) > 0 && strings.IndexByte(`"{}[]0123456789-tfn`, next[0]) >= 0
}

// isText reports whether p is UTF-8 without control characters. The last rune may be
// incomplete.
func isText(p []byte) bool {
	for len(p) > 0 {
		if ' ' <= p[0] && p[0] < 0x7f {
			p = p[1:]
			continue
		}
		r, n := utf8.DecodeRune(p)
		if r == utf8.RuneError && n == 1 {
			return !utf8.FullRune(p)
		}
		if r < ' ' && strings.IndexByte("\t\n\v\f\r\x1b", byte(r)) < 0 || r == 0x7f {
			return false
		}
		p = p[n:]
	}
	return true
}

// isONNX matches the beginning of a ModelProto: field 1, the version of the format, then
// field 2 with a name, or another field of that message.
func isONNX(h *head) bool {
	p := h.p
	if len(p) < 8 || p[0] != 0x08 || p[1] == 0 || p[1] > 31 {
		return false
	}
	switch p[2] {
	case 0x12, 0x1a, 0x22, 0x32, 0x3a, 0x42, 0x72:
		return p[3] > 0
	}
	return false
}

// isPickle matches protocols 2 to 5 of Python's pickles, and the shortest beginnings of 0
// and 1: an empty container, or a global.
func isPickle(h *head) bool {
	p := h.p
	if len(p) >= 3 && p[0] == 0x80 && p[1] >= 2 && p[1] <= 5 {
		return true
	}
	if h.size > headLen || p[len(p)-1] != '.' {
		return false
	}
	first, rest, _ := strings.Cut(string(p), "\n")
	first = strings.TrimPrefix(first, "(")
	if n := len(first); n > 2 && first[1] == 'p' && strings.IndexByte("dlt", first[0]) >= 0 {
		return strings.Trim(first[2:], "0123456789") == ""
	}
	name, _, more := strings.Cut(rest, "\n")
	return more && len(first) > 1 && first[0] == 'c' && isDotted(first[1:]) && isDotted(name)
}

// isDotted reports whether s is a Python name, which may have dots.
func isDotted(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	}) < 0
}

// isFlax matches the beginning of a map of msgpack whose first key is a name in lower case.
func isFlax(h *head) bool {
	p := h.p
	if len(p) < 4 || p[0]&0xf0 != 0x80 || p[0] == 0x80 || p[1]&0xe0 != 0xa0 {
		return false
	}
	n := int(p[1] & 31)
	return n >= 2 && len(p) > 2+n && strings.Trim(string(p[2:2+n]), "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}

func isTextual(h *head) bool { return isText(h.p) }

func isKeras(h *head) bool { return looksZip(h) == yes && h.zipMembers().keras }

func isZero(h *head) bool { return len(bytes.Trim(h.p, "\x00")) == 0 }

// isHDF5 matches HDF5, also after bytes of its user: a text or the header of a MAT file, and
// zeros. For other content, the gate looks for an HDF5 file after it.
func isHDF5(h *head) bool {
	const block = hdf5.UserBlock
	if hasAnyMagic(h, hdf5.Magic) {
		return true
	}
	if len(h.p) <= block || h.p[block-1] != 0 || h.r == nil || !hdf5.MayPrecede(h.p[:block]) {
		return false
	}
	found, err := hdf5.Behind(h.r, h.size)
	return err == nil && len(found) > 0
}
