package vm

import (
	"slices"
	"strings"
)

// UBJSON as XGBoost writes it (UBJWriter in src/common/json.cc): lengths are int64, arrays say how
// many values they have, numbers are big-endian. Its reader looks at no end of the memory, so that
// every length is compared here.

const ubjDepth = 12
const ubjMost = 48 // members of one object that a rule names

// ubjSizes are the bytes of numbers by their markers.
var ubjSizes = [256]int64{'i': 1, 'U': 1, 'I': 2, 'l': 4, 'L': 8, 'd': 4, 'D': 8}

// ubjNumber reads a big-endian integer of 1, 2, 4 or 8 bytes.
func ubjNumber(s string, signed bool) (n int64) {
	if signed && s != "" && s[0] >= 0x80 {
		n = -1
	}
	for i := range len(s) {
		n = n<<8 | int64(s[i])
	}
	return n
}

// ubjLength reads the marker L and a length, of which each unit takes size bytes of the rest.
func ubjLength(s string, size int64) (n int64, rest string, ok bool) {
	if len(s) < 9 || s[0] != 'L' {
		return 0, "", false
	}
	n, rest = ubjNumber(s[1:9], true), s[9:]
	return n, rest, n >= 0 && n <= int64(len(rest))/size
}

// ubjValue splits a value from what follows it.
func (m *matcher) ubjValue(s string, depth int) (one, rest string, ok bool) {
	if m.cost++; s == "" || depth > ubjDepth || m.settle() != nil {
		return "", "", false
	}
	size := ubjSizes[s[0]]
	switch tail := s[1:]; {
	case strings.IndexByte("ZTF", s[0]) >= 0:
		rest = tail
	case size > 0:
		if int64(len(tail)) < size {
			return "", "", false
		}
		rest = tail[size:]
	case s[0] == 'S':
		n, after, ok := ubjLength(tail, 1)
		if !ok {
			return "", "", false
		}
		rest = after[n:]
	case s[0] == '[':
		rest, ok = m.ubjArray(tail, depth)
		return s[:len(s)-len(rest)], rest, ok
	case s[0] == '{':
		rest, ok = m.ubjObject(tail, depth, func(_, _ string) bool { return true })
		return s[:len(s)-len(rest)], rest, ok
	default:
		return "", "", false
	}
	return s[:len(s)-len(rest)], rest, true
}

// ubjArray reads what follows the bracket of an array: numbers of one type, or values.
func (m *matcher) ubjArray(s string, depth int) (rest string, ok bool) {
	if numbers, isTyped := strings.CutPrefix(s, "$"); isTyped {
		if len(numbers) < 2 || ubjSizes[numbers[0]] == 0 || numbers[1] != '#' {
			return "", false
		}
		size := ubjSizes[numbers[0]]
		n, rest, ok := ubjLength(numbers[2:], size)
		if !ok {
			return "", false
		}
		return rest[n*size:], true
	}
	counted, isCounted := strings.CutPrefix(s, "#")
	n, rest, ok := ubjLength(counted, 1)
	if !isCounted || !ok {
		return "", false
	}
	for range n {
		if _, rest, ok = m.ubjValue(rest, depth+1); !ok {
			return "", false
		}
	}
	return rest, true
}

// ubjObject reads what follows the brace of an object, and calls see with each member.
func (m *matcher) ubjObject(s string, depth int, see func(name, value string) bool) (rest string, ok bool) {
	for s != "" && s[0] != '}' {
		n, after, ok := ubjLength(s, 1)
		if !ok {
			return "", false
		}
		value, rest, ok := m.ubjValue(after[n:], depth+1)
		if !ok || !see(after[:n], value) {
			return "", false
		}
		s = rest
	}
	return strings.CutPrefix(s, "}")
}

// A ubjMember is one of an object.
type ubjMember struct{ name, value string }

type ubjMembers []ubjMember

// value returns a member, or "".
func (o ubjMembers) value(name string) string {
	if i := slices.IndexFunc(o, func(one ubjMember) bool { return one.name == name }); i >= 0 {
		return o[i].value
	}
	return ""
}

// text returns a member that is a string, or "".
func (o ubjMembers) text(name string) string {
	s, _ := ubjText(o.value(name))
	return s
}

func ubjText(value string) (string, bool) {
	if value == "" || value[0] != 'S' {
		return "", false
	}
	return value[10:], true
}

// members returns those of an object, each of which has another name and is in a list of words.
func (m *matcher) members(s, known string) (ubjMembers, bool) {
	if s == "" || s[0] != '{' {
		return nil, false
	}
	var found [ubjMost]ubjMember
	n := 0
	_, ok := m.ubjObject(s[1:], 0, func(name, value string) bool {
		if n == len(found) || !hasWord(known, name) || ubjMembers(found[:n]).value(name) != "" {
			return false
		}
		found[n] = ubjMember{name, value}
		n++
		return true
	})
	return ubjMembers(found[:n]), ok
}

// each calls see with the values of an array of values.
func (m *matcher) each(s string, see func(i int64, value string) bool) (n int64, ok bool) {
	counted, isArray := strings.CutPrefix(s, "[#")
	n, rest, ok := ubjLength(counted, 1)
	if !isArray || !ok {
		return 0, false
	}
	for i := range n {
		var one string
		if one, rest, ok = m.ubjValue(rest, 1); !ok || !see(i, one) {
			return 0, false
		}
	}
	return n, true
}

// ubjNumbers returns the bytes of an array of numbers of one type, which has n of them.
func ubjNumbers(s string, marker byte, n int64) (string, bool) {
	data, ok := strings.CutPrefix(s, "[$"+string(rune(marker))+"#L")
	if !ok || len(data) < 8 {
		return "", false
	}
	return data[8:], n < 0 || int64(len(data)-8) == n*ubjSizes[marker]
}

// ubjInteger returns a value that is an integer from 0 to a number.
func ubjInteger(s string, most int64) (int64, bool) {
	if s == "" || strings.IndexByte("iUIlL", s[0]) < 0 {
		return 0, false
	}
	n := ubjNumber(s[1:], s[0] != 'U')
	return n, n >= 0 && n <= most
}
