package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A secondDict is a Python dict, a secondTuple a tuple; a list is []any.
type (
	secondDict  map[string]any
	secondTuple []any
)

// A secondLiteral parses a Python literal.
type secondLiteral struct{ text []rune }

func (l *secondLiteral) space() {
	for len(l.text) > 0 && strings.ContainsRune(" \t\n\r\f", l.text[0]) {
		l.text = l.text[1:]
	}
}

func (l *secondLiteral) takes(c rune) bool {
	l.space()
	if len(l.text) == 0 || l.text[0] != c {
		return false
	}
	l.text = l.text[1:]
	return true
}

func (l *secondLiteral) value() (any, error) {
	l.space()
	begin := string(l.text[:min(len(l.text), 40)])
	for word, v := range map[string]any{"True": true, "False": false} {
		if strings.HasPrefix(begin, word) {
			l.text = l.text[len(word):]
			return v, nil
		}
	}
	switch {
	case l.takes('{'):
		dict := secondDict{}
		for !l.takes('}') {
			key, err := l.value()
			name, ok := key.(string)
			if _, twice := dict[name]; err != nil || !ok || twice || !l.takes(':') {
				return nil, not("a key %v: %v", key, err)
			}
			if dict[name], err = l.value(); err != nil {
				return nil, err
			}
			if !l.takes(',') && (len(l.text) == 0 || l.text[0] != '}') {
				return nil, not("no comma in a dict")
			}
		}
		return dict, nil
	case l.takes('['):
		list, _, err := l.items(']')
		return list, err
	case l.takes('('):
		list, commas, err := l.items(')')
		if err == nil && len(list) == 1 && commas == 0 {
			return list[0], nil
		}
		return secondTuple(list), err
	case len(l.text) > 0 && (l.text[0] == '\'' || l.text[0] == '"'):
		return l.quoted()
	}
	digits := regexp.MustCompile(`^(0|[1-9][0-9]*)L?`).FindString(begin) // L is of Python 2
	if digits == "" {
		return nil, not("no value: %.20q", string(l.text))
	}
	l.text = l.text[len(digits):]
	n, _ := new(big.Int).SetString(strings.TrimSuffix(digits, "L"), 10)
	return n, nil
}

func (l *secondLiteral) items(end rune) (list []any, commas int, err error) {
	list = []any{}
	for !l.takes(end) {
		v, err := l.value()
		if err != nil {
			return nil, 0, err
		}
		list = append(list, v)
		if l.takes(',') {
			commas++
		} else if len(l.text) == 0 || l.text[0] != end {
			return nil, 0, not("no comma")
		}
	}
	return list, commas, nil
}

// quoted reads a string with the escapes of Python.
func (l *secondLiteral) quoted() (string, error) {
	quote := l.text[0]
	var out strings.Builder
	for at := 1; at < len(l.text); at++ {
		switch c := l.text[at]; {
		case c == quote:
			l.text = l.text[at+1:]
			return out.String(), nil
		case c < ' ':
			return "", not("the control character %q in a string", c) // Python takes most, ours none
		case c != '\\':
			out.WriteRune(c)
		default:
			if at++; at == len(l.text) {
				return "", not("a string that does not end")
			}
			// Python knows more of them, which its repr does not write.
			if plain := strings.IndexRune(`nrt\'"`, l.text[at]); plain >= 0 {
				out.WriteByte("\n\r\t\\'\""[plain])
				continue
			}
			width := map[rune]int{'x': 2, 'u': 4, 'U': 8}[l.text[at]]
			if width == 0 || at+width >= len(l.text) {
				return "", not("escape %q", l.text[at])
			}
			n, err := strconv.ParseUint(string(l.text[at+1:at+1+width]), 16, 32)
			if err != nil || !utf8.ValidRune(rune(n)) {
				return "", not("escape %q", l.text[at])
			}
			out.WriteRune(rune(n))
			at += width
		}
	}
	return "", not("a string that does not end")
}

// secondType returns the size of an element, its byte order, and its fields as text.
func secondType(v any) (size *big.Int, order byte, fields string, err error) {
	switch v := v.(type) {
	case string:
		m := regexp.MustCompile(`^([<>=|])([A-Za-z])([0-9]+)(\[[0-9]*[A-Za-z]+\])?$`).FindStringSubmatch(v)
		if m == nil || m[2] == "O" {
			return nil, 0, "", not("type %q", v)
		}
		n, _ := new(big.Int).SetString(m[3], 10)
		if m[2] == "U" {
			n.Mul(n, big.NewInt(4)) // characters
		}
		if single := n.Cmp(big.NewInt(1)) <= 0; single || m[2] == "S" || m[2] == "V" && m[3] != "2" {
			return n, '|', "", nil // numbers of one byte and strings have no order; V2 is ml_dtypes' BF16
		}
		return n, m[1][0], "", nil
	case []any:
		at := new(big.Int)
		for _, f := range v {
			parts, ok := f.(secondTuple)
			if !ok || len(parts) < 2 || len(parts) > 3 {
				return nil, 0, "", not("field %v", f)
			}
			name, title := parts[0], ""
			if pair, ok := name.(secondTuple); ok && len(pair) == 2 {
				title, _ = pair[0].(string)
				name = pair[1]
			}
			text, ok := name.(string)
			if !ok {
				return nil, 0, "", not("field %v", f)
			}
			n, _, inner, err := secondType(parts[1])
			if err != nil {
				return nil, 0, "", err
			}
			var shape []string
			if len(parts) == 3 {
				dims, ok := parts[2].(secondTuple)
				if !ok {
					return nil, 0, "", not("field %v", f)
				}
				for _, d := range dims {
					d, ok := d.(*big.Int)
					if !ok {
						return nil, 0, "", not("field %v", f)
					}
					n, shape = new(big.Int).Mul(n, d), append(shape, d.String())
				}
			}
			if text != "" { // padding has no name
				kind, _ := parts[1].(string)
				fields += fmt.Sprintf("{%q %q %s %v at %v, %v%s}", text, title, kind, shape, at, n, inner)
			}
			at = new(big.Int).Add(at, n)
		}
		return at, '|', fields, nil
	}
	return nil, 0, "", not("type %v", v)
}

// secondNPY reads a file as the description of numpy.lib.format says.
func secondNPY(data []byte) ([]string, error) {
	if len(data) < 10 || string(data[:6]) != "\x93NUMPY" || data[7] != 0 {
		return nil, not("no magic")
	}
	head, n := 10, uint64(binary.LittleEndian.Uint16(data[8:]))
	if data[6] == 2 || data[6] == 3 {
		if len(data) < 12 {
			return nil, not("no length")
		}
		head, n = 12, uint64(binary.LittleEndian.Uint32(data[8:]))
	} else if data[6] != 1 {
		return nil, not("version %d", data[6])
	}
	if n > uint64(len(data)-head) {
		return nil, not("a header of %d bytes", n)
	}
	raw := data[head : head+int(n)]
	text := []rune(string(raw))
	if data[6] < 3 { // Latin-1
		text = text[:0]
		for _, c := range raw {
			text = append(text, rune(c))
		}
	} else if !utf8.Valid(raw) {
		return nil, not("a header that is not UTF-8")
	}
	l := secondLiteral{text}
	v, err := l.value()
	if err != nil {
		return nil, err
	}
	dict, ok := v.(secondDict)
	if l.space(); !ok || len(dict) != 3 || len(l.text) > 0 || !bytes.HasSuffix(raw, []byte("\n")) {
		return nil, not("no dict of three keys: %v", v)
	}
	size, order, fields, err := secondType(dict["descr"])
	if err != nil {
		return nil, err
	}
	fortran, ok := dict["fortran_order"].(bool)
	dims, ok2 := dict["shape"].(secondTuple)
	if !ok || !ok2 {
		return nil, not("order %v, shape %v", dict["fortran_order"], dict["shape"])
	}
	if len(dims) > 64 { // NPY_MAXDIMS
		return nil, not("%d dimensions", len(dims))
	}
	for _, d := range dims {
		n, ok := d.(*big.Int)
		if !ok {
			return nil, not("dimension %v", d)
		}
		size = new(big.Int).Mul(size, n)
	}
	if size.Cmp(big.NewInt(int64(len(data)-head-int(n)))) != 0 {
		return nil, not("an array of %v bytes, and there are %d", size, len(data)-head-int(n))
	}
	return []string{fmt.Sprintf("shape %v, fortran %v, order %v, at %d, %v bytes %s", []any(dims), fortran, order == '>', uint64(head)+n, size, fields)}, nil
}

func secondFieldsOf(list []npy.Field) (out string) {
	for _, f := range list {
		var shape []string
		for _, d := range f.Shape {
			shape = append(shape, strconv.FormatInt(d, 10))
		}
		kind := f.Type
		if f.Fields != nil {
			kind = ""
		}
		out += fmt.Sprintf("{%q %q %s %v at %v, %v%s}", f.Name, f.Title, kind, shape, f.Off, f.Size, secondFieldsOf(f.Fields))
	}
	return out
}

// secondNPYCheck compares both readers.
func secondNPYCheck(t testing.TB, data []byte) bool {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	f, err := npy.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		refusedBySecond(t, "npy", secondNPY, data, err)
		return false
	}
	defer f.Close()
	i := f.Infos[0]
	sameAsSecond(t, secondNPY, data, []string{fmt.Sprintf("shape %v, fortran %v, order %v, at %d, %d bytes %s",
		i.Shape, f.Header.Fortran, i.Order == tensor.Big, i.Span.Off, i.Span.Len, secondFieldsOf(f.Fields()))})
	return true
}
