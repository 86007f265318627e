package folder

import (
	"strings"
	"unicode"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// maxPart is the most bytes of a name between two slashes that all file systems keep.
const maxPart = 255

// CheckStored rejects what [CheckName] does, and a name that systems or readers of forms make
// another name of: what is stored under it would have a name that was not examined here.
func CheckStored(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	for part := range strings.SplitSeq(name, "/") {
		if why := renamed(part); why != "" {
			return wire.ErrForbidden.WithRule("file.path-escape").Errorf("%s is not a name that is the same on every system: %s", wire.Quote(name), why)
		}
	}
	return nil
}

// checkListed rejects what [CheckName] does, and a name under which some system stores another
// file. Unlike [CheckStored] it takes names that systems refuse to store, and those that only
// readers of forms unescape.
func checkListed(name string) error {
	if err := CheckName(name); err != nil {
		return err
	}
	for part := range strings.SplitSeq(name, "/") {
		if why := moved(part); why != "" {
			return wire.ErrForbidden.WithRule("file.path-escape").Errorf("%s is not a name that is the same on every system: %s", wire.Quote(name), why)
		}
	}
	return nil
}

// renamed says why a part of a name between two slashes could become another one, or "".
func renamed(part string) string {
	switch {
	case len(part) > maxPart:
		return "it has more than 255 bytes between slashes"
	case strings.ContainsAny(part, `:?*|<>"`):
		return `it has one of : ? * | < > "`
	case hasEscape(part):
		return "it has what URLs take for a character"
	case hasEntity(part):
		return "it has what HTML takes for a character"
	}
	return moved(part)
}

// moved says why a system could take a part of a name for another one, or "".
func moved(part string) string {
	switch {
	case strings.TrimFunc(part, unicode.IsSpace) != part:
		return "it begins or ends with a space"
	case strings.HasSuffix(part, "."):
		return "it ends with a dot"
	case strings.HasSuffix(part, ":"), withoutStream(part) != part:
		return "Windows takes it for a stream of another file"
	case isDevice(part):
		return "Windows has a device of this name"
	case strings.ContainsFunc(part, isUnseen):
		return "it has characters that are not seen"
	case strings.ContainsFunc(part, isMark):
		return "it has characters that Unicode takes for the marks . / \\ :"
	}
	return ""
}

// isDevice reports whether Windows takes a name for a device, whatever its extension.
func isDevice(part string) bool {
	stem, _, _ := strings.Cut(part, ".")
	stem = strings.ToUpper(strings.TrimRight(stem, " "))
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	number, is := strings.CutPrefix(stem, "COM")
	if !is {
		number, is = strings.CutPrefix(stem, "LPT")
	}
	return is && len([]rune(number)) == 1 && strings.Contains("0123456789¹²³", number)
}

// hasEscape reports whether a name contains a percent sign and two hexadecimal digits: Rack reads
// the names of a form as URLs write them.
func hasEscape(part string) bool {
	isHex := func(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f' }
	for i := 0; i+2 < len(part); i++ {
		if part[i] == '%' && isHex(part[i+1]) && isHex(part[i+2]) {
			return true
		}
	}
	return false
}

// hasEntity reports whether HTML could read a character in a name, as with &#46; or &amp. Some
// readers of forms unescape names.
func hasEntity(part string) bool {
	for i := 0; i+1 < len(part); i++ {
		if c := part[i+1] | 0x20; part[i] == '&' && (part[i+1] == '#' || c >= 'a' && c <= 'z') {
			return true
		}
	}
	return false
}

// isUnseen reports whether a character has no width or another direction, so that systems leave
// it out of names, or two names look the same.
func isUnseen(r rune) bool {
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}

// isMark reports whether the compatibility normalisation of Unicode (NFKC) makes of r a text
// with one of . / \ : which are marks in names.
func isMark(r rune) bool { return unicode.Is(marks, r) }

// marks are from UnicodeData.txt of Unicode 15.1.
var marks = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x2024, 0x2026, 1}, {0x2100, 0x2101, 1}, {0x2105, 0x2106, 1}, {0x2488, 0x249b, 1}, {0x2a74, 0x2a74, 1},
		{0x33c2, 0x33c2, 1}, {0x33c7, 0x33c7, 1}, {0x33d8, 0x33d8, 1}, {0xfe13, 0xfe13, 1}, {0xfe19, 0xfe19, 1}, {0xfe30, 0xfe30, 1},
		{0xfe52, 0xfe52, 1}, {0xfe55, 0xfe55, 1}, {0xfe68, 0xfe68, 1}, {0xff0e, 0xff0f, 1}, {0xff1a, 0xff1a, 1}, {0xff3c, 0xff3c, 1},
	},
	R32: []unicode.Range32{{0x1f100, 0x1f100, 1}},
}

// oneSpelling are characters that no composing normalisation (NFC, NFKC) changes and that case
// folding maps one to one. Two different texts of them and of ASCII stay different. The ranges are
// from UnicodeData.txt and CaseFolding.txt of Unicode 15.1; what is not here may be of one spelling
// too.
var oneSpelling = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x0000, 0x007f, 1}, {0x00c0, 0x00d6, 1}, {0x00d8, 0x00de, 1}, {0x00e0, 0x00f6, 1}, {0x00f8, 0x00ff, 1}, {0x0100, 0x012f, 1}, {0x0134, 0x013e, 1},
		{0x0141, 0x0148, 1}, {0x014a, 0x017e, 1}, {0x0386, 0x0386, 1}, {0x0388, 0x038a, 1}, {0x038c, 0x038c, 1}, {0x038e, 0x038f, 1}, {0x0391, 0x03a1, 1},
		{0x03a3, 0x03af, 1}, {0x03b1, 0x03ce, 1}, {0x0400, 0x0481, 1}, {0x048a, 0x052f, 1}, {0x05d0, 0x05ea, 1}, {0x0621, 0x063a, 1}, {0x0641, 0x064a, 1},
		{0x0904, 0x0939, 1}, {0x0e01, 0x0e30, 1}, {0x3001, 0x3002, 1}, {0x3005, 0x3007, 1}, {0x300c, 0x300f, 1}, {0x3041, 0x3096, 1}, {0x30a1, 0x30fc, 1}, {0x3400, 0x4dbf, 1},
		{0x4e00, 0x9fff, 1}, {0xac00, 0xd7a3, 1},
	},
	R32:         []unicode.Range32{{0x1f300, 0x1f64f, 1}, {0x1f680, 0x1f6d7, 1}, {0x1f900, 0x1f9ff, 1}},
	LatinOffset: 5,
}

// hasSpellings reports whether a text could be spelled in other characters.
func hasSpellings(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return !unicode.Is(oneSpelling, r) })
}

// mayBeOne reports whether two different paths without case could be one where names are
// normalised. It errs on the side of true: what a character becomes is not known here, so all
// from the first to the last one that has spellings may be anything.
func mayBeOne(a, b string) bool {
	if strings.Count(a, "/") != strings.Count(b, "/") {
		return false
	}
	for {
		headA, restA, more := strings.Cut(a, "/")
		headB, restB, _ := strings.Cut(b, "/")
		if !more || headA != headB {
			break
		}
		a, b = restA, restB
	}
	if !hasSpellings(a) && !hasSpellings(b) {
		return false
	}
	beginA, endA := fixed(a)
	beginB, endB := fixed(b)
	return !apart(beginA, beginB) && (strings.HasSuffix(endA, endB) || strings.HasSuffix(endB, endA))
}

// fixed returns the beginning of a text, of which only the last letter may become another one by
// what follows it, and the end that is the same in every spelling.
func fixed(s string) (begin []rune, end string) {
	other := func(r rune) bool { return !unicode.Is(oneSpelling, r) }
	first := strings.IndexFunc(s, other)
	if first < 0 {
		return []rune(s), s
	}
	last := s[strings.LastIndexFunc(s, other):]
	return []rune(s[:first]), strings.TrimLeftFunc(last, other)
}

// apart reports whether texts with these beginnings differ in every spelling. A letter that a mark
// joins keeps its base: that is another one for two letters of ASCII, and for a Latin letter and
// one of another script.
func apart(a, b []rune) bool {
	for i := range min(len(a), len(b)) {
		x, y := min(a[i], b[i]), max(a[i], b[i])
		if x == y {
			continue
		}
		joined := i == len(a)-1 || i == len(b)-1
		return !joined || y < 0x80 || x < 0x250 && y >= 0x370
	}
	return false
}
