package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// secondBlocks are elements and bytes of a block, by ggml's number of the type, counted from the
// structs in ggml-common.h.
var secondBlocks = map[uint64][2]int64{
	0: {1, 4}, 1: {1, 2}, 2: {32, 2 + 16}, 3: {32, 4 + 16}, 6: {32, 2 + 4 + 16}, 7: {32, 4 + 4 + 16}, 8: {32, 2 + 32}, 9: {32, 4 + 32},
	10: {256, 4 + 16 + 64}, 11: {256, 2 + 64 + 12 + 32}, 12: {256, 4 + 12 + 128}, 13: {256, 4 + 12 + 128 + 32}, 14: {256, 2 + 16 + 192}, 15: {256, 4 + 256 + 32},
	16: {256, 2 + 64}, 17: {256, 2 + 64 + 8}, 18: {256, 2 + 96}, 19: {256, 2 + 32 + 16}, 20: {32, 2 + 16}, 21: {256, 2 + 64 + 32 + 8 + 4}, 22: {256, 2 + 64 + 16}, 23: {256, 2 + 2 + 4 + 128},
	24: {1, 1}, 25: {1, 2}, 26: {1, 4}, 27: {1, 8}, 28: {1, 8}, 29: {256, 32 + 16 + 8}, 30: {1, 2}, 34: {256, 2 + 4 + 48}, 35: {256, 2 + 64},
	39: {32, 1 + 16}, 40: {64, 4 + 32}, 41: {128, 2 + 16}, 42: {64, 2 + 16},
}

// A secondGGUF reads a file from its beginning to its end, as gguf.md describes it. Bytes
// beyond the end are zeros, and end the reading.
type secondGGUF struct {
	data    []byte
	at      int
	order   binary.ByteOrder
	version uint64
	bad     error
}

func (r *secondGGUF) fail(format string, args ...any) {
	if r.bad == nil {
		r.bad = not(format, args...)
	}
}

func (r *secondGGUF) take(n uint64) []byte {
	if r.bad != nil || n > uint64(len(r.data)-r.at) {
		r.fail("%d bytes at %d of %d", n, r.at, len(r.data))
		return make([]byte, min(n, 8))
	}
	r.at += int(n)
	return r.data[r.at-int(n) : r.at]
}

func (r *secondGGUF) number(size int) uint64 {
	switch p := r.take(uint64(size)); size {
	case 1:
		return uint64(p[0])
	case 2:
		return uint64(r.order.Uint16(p))
	case 4:
		return uint64(r.order.Uint32(p))
	default:
		return r.order.Uint64(p)
	}
}

// count is a number of 64 bits, of 32 in the first version.
func (r *secondGGUF) count() uint64 {
	if r.version == 1 {
		return r.number(4)
	}
	return r.number(8)
}

func (r *secondGGUF) text() string {
	s := string(r.take(r.count()))
	if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
		r.fail("the text %q", s)
	}
	return s
}

// value reads a value as text. Of an array it returns the elements, if they are asked for.
func (r *secondGGUF) value(kind uint64, bodies bool) string {
	switch kind {
	case 0, 1, 7:
		n := r.number(1)
		if kind == 7 && n > 1 {
			r.fail("a bool of %d", n)
		}
		return fmt.Sprintf("%d:%x", kind, n)
	case 2, 3:
		return fmt.Sprintf("%d:%x", kind, r.number(2))
	case 4, 5, 6:
		return fmt.Sprintf("%d:%x", kind, r.number(4))
	case 10, 11, 12:
		return fmt.Sprintf("%d:%x", kind, r.number(8))
	case 8:
		return fmt.Sprintf("%q", r.text())
	case 9:
		elem, n := r.number(4), r.count()
		if elem > 12 {
			r.fail("elements of kind %d", elem)
		}
		var list []string
		for i := uint64(0); i < n && r.bad == nil; i++ {
			if bodies || elem == 9 {
				list = append(list, r.value(elem, bodies))
			} else if size := [...]int{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}[elem]; size > 0 {
				r.take(uint64(size))
			} else {
				r.take(r.count())
			}
		}
		if !bodies {
			list = nil
		}
		return fmt.Sprintf("%d of %d: %v", n, elem, list)
	}
	r.fail("kind %d", kind)
	return ""
}

// secondGGUFFile reads the structure of a file, or with bodies all bytes but those of tensors.
func secondGGUFFile(data []byte, bodies bool) ([]string, error) {
	r := &secondGGUF{data: data, order: binary.LittleEndian}
	if string(r.take(4)) != "GGUF" {
		return nil, not("another magic")
	}
	if r.version = r.number(4); r.version > 3 {
		r.at, r.order = 4, binary.BigEndian
		r.version = r.number(4)
	}
	if r.version == 0 || r.version > 3 {
		return nil, not("version %d", r.version)
	}
	tensors, keys := r.count(), r.count()
	seen, alignment := map[string]bool{}, uint64(32)
	lines := []string{""}
	for i := uint64(0); i < keys && r.bad == nil; i++ {
		begin := r.at
		key := r.text()
		if len(key) > 65535 || key == "" || seen[key] {
			return nil, not("the key %q at %d", key, begin)
		}
		seen[key] = true
		kind := r.number(4)
		value := r.value(kind, bodies)
		if key == "general.alignment" {
			if _, err := fmt.Sscanf(value, "4:%x", &alignment); err != nil || alignment == 0 || alignment&(alignment-1) != 0 {
				return nil, not("alignment %s", value)
			}
		}
		lines = append(lines, fmt.Sprintf("key %q %s", key, value))
	}
	lines[0] = fmt.Sprintf("version %d, %v, alignment %d", r.version, r.order, alignment)
	type part struct {
		name, shape  string
		kind, offset uint64
		size         *big.Int // nil if only a fork knows it
	}
	var parts []part
	clear(seen)
	for i := uint64(0); i < tensors && r.bad == nil; i++ {
		p := part{name: r.text()}
		if len(p.name) > 65535 || seen[p.name] {
			return nil, not("the tensor %q", p.name)
		}
		seen[p.name] = true
		n := r.number(4)
		if n > 4 {
			return nil, not("%d dimensions", n)
		}
		// ggml has the dimension that varies fastest first.
		row, elements, nonzero := uint64(1), big.NewInt(1), big.NewInt(1)
		for d := range n {
			v := r.count()
			if d == 0 {
				row = v
			}
			b := new(big.Int).SetUint64(v)
			if !b.IsInt64() {
				return nil, not("a dimension of %d", v)
			}
			if elements.Mul(elements, b); v != 0 {
				nonzero.Mul(nonzero, b)
			}
			p.shape = fmt.Sprintf("%d %s", v, p.shape)
		}
		if !nonzero.IsInt64() {
			return nil, not("%v elements", nonzero)
		}
		p.kind, p.offset = r.number(4), r.number(8)
		if block, ok := secondBlocks[p.kind]; ok {
			if row%uint64(block[0]) != 0 {
				return nil, not("rows of %d elements of type %d", row, p.kind)
			}
			p.size = elements.Mul(elements.Div(elements, big.NewInt(block[0])), big.NewInt(block[1]))
			if !p.size.IsInt64() {
				return nil, not("%v bytes", p.size)
			}
		}
		parts = append(parts, p)
	}
	if r.bad != nil {
		return nil, r.bad
	}
	// Offsets count from the end of the header, which is padded; each tensor begins where the one
	// before it ends, padded as well, and the last one may lack its padding.
	padded := func(n *big.Int) *big.Int {
		a := new(big.Int).SetUint64(alignment)
		n = new(big.Int).Add(n, new(big.Int).Sub(a, big.NewInt(1)))
		return n.Mul(n.Div(n, a), a)
	}
	header, size := big.NewInt(int64(r.at)), big.NewInt(int64(len(data)))
	start := padded(header)
	zeros := func(from, to *big.Int) {
		if bodies && from.IsInt64() && from.Cmp(size) < 0 {
			if to.Cmp(size) > 0 {
				to = size
			}
			if hidden := bytes.Trim(data[from.Int64():to.Int64()], "\x00"); len(hidden) > 0 {
				r.fail("padding has %x", hidden)
			}
		}
	}
	zeros(header, start)
	at, known := new(big.Int), true // the end of the one before, without padding, if it is known
	for i, p := range parts {
		offset := new(big.Int).SetUint64(p.offset)
		if p.offset%alignment != 0 || offset.Cmp(padded(at)) < 0 || known && offset.Cmp(padded(at)) > 0 {
			return nil, not("tensor %q at %d, and the one before it ends at %v", p.name, p.offset, at)
		}
		if known {
			zeros(new(big.Int).Add(start, at), new(big.Int).Add(start, offset))
		}
		begin, end := new(big.Int).Add(start, offset), new(big.Int)
		switch known = p.size != nil; {
		case known:
			end.Add(begin, p.size)
		case i+1 < len(parts):
			end.Add(start, new(big.Int).SetUint64(parts[i+1].offset))
		default:
			end.Set(size)
		}
		if end.Cmp(begin) < 0 || end.Cmp(size) > 0 {
			return nil, not("tensor %q from %v to %v of %d bytes", p.name, begin, end, len(data))
		}
		if at = new(big.Int).Sub(end, start); !known {
			at = offset
		}
		lines = append(lines, fmt.Sprintf("tensor %q %d [%s] at %v, %v bytes", p.name, p.kind, p.shape, begin, end.Sub(end, begin)))
	}
	end := new(big.Int).Add(start, at)
	if len(parts) == 0 {
		end = header
	}
	last := padded(at)
	if last.Add(last, start); known && size.Cmp(last) > 0 || len(parts) > 0 && size.Cmp(start) < 0 {
		return nil, not("%d bytes, and the last part ends at %v", len(data), end)
	}
	if known {
		zeros(end, last)
	}
	return lines, r.bad
}

// secondGGUFLines lists what our reader reads, in the words of the second one.
func secondGGUFLines(b *limits.Budget, f *gguf.File, bodies bool) ([]string, error) {
	order := binary.ByteOrder(binary.LittleEndian)
	if f.Order() == tensor.Big {
		order = binary.BigEndian
	}
	lines := []string{fmt.Sprintf("version %d, %v, alignment %d", f.Version(), order, f.Alignment())}
	for key, v := range f.Meta() {
		text, err := secondGGUFValue(b, v, bodies)
		if err != nil {
			return nil, err
		}
		lines = append(lines, fmt.Sprintf("key %q %s", key, text))
	}
	at := 0
	for i := range f.Tensors() {
		shape := ""
		for _, d := range i.Shape {
			shape += fmt.Sprintf("%d ", d)
		}
		lines = append(lines, fmt.Sprintf("tensor %q %d [%s] at %d, %d bytes", i.Name, f.Type(at), shape, i.Span.Off, i.Span.Len))
		at++
	}
	return lines, nil
}

func secondGGUFValue(b *limits.Budget, v any, bodies bool) (string, error) {
	switch v := v.(type) {
	case uint8:
		return fmt.Sprintf("0:%x", v), nil
	case int8:
		return fmt.Sprintf("1:%x", uint8(v)), nil
	case uint16:
		return fmt.Sprintf("2:%x", v), nil
	case int16:
		return fmt.Sprintf("3:%x", uint16(v)), nil
	case uint32:
		return fmt.Sprintf("4:%x", v), nil
	case int32:
		return fmt.Sprintf("5:%x", uint32(v)), nil
	case float32:
		return fmt.Sprintf("6:%x", math.Float32bits(v)), nil
	case bool:
		return fmt.Sprintf("7:%x", map[bool]int{true: 1}[v]), nil
	case string:
		return fmt.Sprintf("%q", v), nil
	case uint64:
		return fmt.Sprintf("10:%x", v), nil
	case int64:
		return fmt.Sprintf("11:%x", uint64(v)), nil
	case float64:
		return fmt.Sprintf("12:%x", math.Float64bits(v)), nil
	}
	a := v.(gguf.Array)
	var list []string
	if bodies {
		for v, err := range a.All(b) {
			if err != nil {
				return "", err
			}
			text, err := secondGGUFValue(b, v, bodies)
			if err != nil {
				return "", err
			}
			list = append(list, text)
		}
	}
	return fmt.Sprintf("%d of %d: %v", a.Len(), a.Elem(), list), nil
}

// secondGGUFCheck compares both readers: each refuses what the other refuses, and both read the
// same.
func secondGGUFCheck(t testing.TB, data []byte) bool {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	f, err := gguf.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		refusedBySecond(t, "gguf", func(data []byte) ([]string, error) { return secondGGUFFile(data, false) }, data, err)
		return false
	}
	defer f.Close()
	for _, bodies := range []bool{false, true} {
		if bodies {
			err = f.Verify(b)
		}
		var ours []string
		if err == nil {
			ours, err = secondGGUFLines(b, f, bodies)
		}
		second := func(data []byte) ([]string, error) { return secondGGUFFile(data, bodies) }
		if err != nil {
			refusedBySecond(t, "gguf", second, data, err)
			return true
		}
		sameAsSecond(t, second, data, ours)
	}
	return true
}
