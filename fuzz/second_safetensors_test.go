package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// secondBits are the bits of an element, by the names in the format's documentation.
var secondBits = map[string]int64{
	"BOOL": 8, "U8": 8, "I8": 8, "U16": 16, "I16": 16, "U32": 32, "I32": 32, "U64": 64, "I64": 64, "F16": 16, "BF16": 16, "F32": 32, "F64": 64, "C64": 64,
	"F8_E4M3": 8, "F8_E5M2": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F6_E2M3": 6, "F6_E3M2": 6, "F4": 4,
}

// secondSafetensors reads a file as the section "Format" of the format's README describes it.
func secondSafetensors(data []byte) ([]string, error) {
	if len(data) < 8 {
		return nil, not("%d bytes", len(data))
	}
	n := binary.LittleEndian.Uint64(data)
	if n > 100_000_000 || n > uint64(len(data)-8) {
		return nil, not("a header of %d bytes", n)
	}
	text, body := data[8:8+n], data[8+n:]
	if len(text) == 0 || text[0] != '{' || !utf8.Valid(text) {
		return nil, not("the header begins with %.1q", text)
	}
	root, err := secondObject(text)
	if err != nil {
		return nil, err
	}
	type part struct {
		begin, end *big.Int
		line       string
	}
	var parts []part
	var lines []string
	for _, m := range root {
		if m.name == "__metadata__" {
			if string(m.value) == "null" {
				continue
			}
			list, err := secondObject(m.value)
			if err != nil {
				return nil, err
			}
			for _, v := range list {
				var s string
				if v.value[0] != '"' || json.Unmarshal(v.value, &s) != nil {
					return nil, not("metadata %q is %s", v.name, v.value)
				}
				lines = append(lines, fmt.Sprintf("meta %q %q", v.name, s))
			}
			continue
		}
		list, err := secondObject(m.value)
		if err != nil || len(list) != 3 {
			return nil, not("tensor %q is %s: %v", m.name, m.value, err)
		}
		var dtype string
		var shape, offsets []*big.Int
		for _, v := range list {
			err := error(nil)
			switch v.name {
			case "dtype":
				if v.value[0] != '"' {
					err = not("a type that is no text")
				} else {
					err = json.Unmarshal(v.value, &dtype)
				}
			case "shape":
				shape, err = secondNumbers(v.value)
			case "data_offsets":
				offsets, err = secondNumbers(v.value)
			default:
				err = not("member %q", v.name)
			}
			if err != nil {
				return nil, err
			}
		}
		if len(offsets) != 2 {
			return nil, not("tensor %q has %d offsets", m.name, len(offsets))
		}
		length := new(big.Int).Sub(offsets[1], offsets[0])
		if bits := secondBits[dtype]; bits != 0 {
			need := big.NewInt(bits)
			for _, d := range shape {
				need.Mul(need, d)
			}
			if new(big.Int).Mul(length, big.NewInt(8)).Cmp(need) != 0 {
				return nil, not("tensor %q of %v bits has %v bytes", m.name, need, length)
			}
		}
		parts = append(parts, part{offsets[0], offsets[1], fmt.Sprintf("tensor %q %s %v at %v, %v bytes", m.name, dtype, shape, new(big.Int).Add(offsets[0], new(big.Int).SetUint64(8+n)), length)})
	}
	// The data has no holes and no overlaps, and nothing comes after it.
	slices.SortFunc(parts, func(a, b part) int {
		if c := a.begin.Cmp(b.begin); c != 0 {
			return c
		}
		return a.end.Cmp(b.end)
	})
	at := new(big.Int)
	for _, p := range parts {
		if p.begin.Cmp(at) != 0 || p.end.Cmp(p.begin) < 0 {
			return nil, not("%s, and the part before it ends at %v", p.line, at)
		}
		at = p.end
		lines = append(lines, p.line)
	}
	if at.Cmp(big.NewInt(int64(len(body)))) != 0 {
		return nil, not("the tensors end at %v of %d bytes", at, len(body))
	}
	slices.Sort(lines)
	return lines, nil
}

type secondMember struct {
	name  string
	value json.RawMessage
}

// secondObject reads one object whose names differ, with nothing after it but white space.
func secondObject(text []byte) (list []secondMember, err error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, not("no object: %v", err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, not("%v", err)
		}
		m := secondMember{name: key.(string)}
		if err := dec.Decode(&m.value); err != nil {
			return nil, not("%v", err)
		}
		if slices.ContainsFunc(list, func(o secondMember) bool { return o.name == m.name }) {
			return nil, not("%q twice", m.name)
		}
		list = append(list, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, not("%v", err)
	}
	if rest := text[dec.InputOffset():]; strings.Trim(string(rest), " ") != "" {
		return nil, not("%q after the object", rest)
	}
	return list, nil
}

// secondNumbers reads a list of whole numbers that are not negative.
func secondNumbers(text []byte) (list []*big.Int, err error) {
	var raw []json.Number
	if len(text) == 0 || text[0] != '[' || json.Unmarshal(text, &raw) != nil {
		return nil, not("no list of numbers: %s", text)
	}
	for _, r := range raw {
		n, ok := new(big.Int).SetString(r.String(), 10)
		if !ok || n.Sign() < 0 || strings.HasPrefix(r.String(), "-") {
			return nil, not("%q is no size", r)
		}
		list = append(list, n)
	}
	return list, nil
}

// secondSafetensorsCheck compares both readers.
func secondSafetensorsCheck(t testing.TB, data []byte) bool {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	f, err := safetensors.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		refusedBySecond(t, "safetensors", secondSafetensors, data, err)
		return false
	}
	defer f.Close()
	var lines []string
	for i := range f.Tensors() {
		lines = append(lines, fmt.Sprintf("tensor %q %s %v at %d, %d bytes", i.Name, i.Stored, i.Shape, i.Span.Off, i.Span.Len))
	}
	for k, v := range f.Meta() {
		lines = append(lines, fmt.Sprintf("meta %q %q", k, v))
	}
	slices.Sort(lines)
	sameAsSecond(t, secondSafetensors, data, lines)
	return true
}
