package vm

import (
	"math/bits"
	"strings"
)

// checkZone accepts the names of the zone database.
func (m *matcher) checkZone(_ *class, _, args ref) bool {
	name := m.g.text(m.arg(args, 0))
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_+-/"
	return name != "" && len(name) <= 64 && strings.Trim(name, letters) == "" && name[0] != '/' && name[len(name)-1] != '/' &&
		!strings.Contains(name, "//") && !strings.Contains(name, "__")
}

// arrowSizes are the bytes of an element by the names of PyArrow's types; 0 is a bit, and
// the negative ones are the bytes of an offset into the text of all elements.
var arrowSizes = map[string]int64{
	"bool": 0, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "int32": 4, "uint32": 4, "int64": 8, "uint64": 8,
	"halffloat": 2, "float": 4, "double": 8, "date32[day]": 4, "date64[ms]": 8,
	"timestamp[s]": 8, "timestamp[ms]": 8, "timestamp[us]": 8, "timestamp[ns]": 8,
	"duration[s]": 8, "duration[ms]": 8, "duration[us]": 8, "duration[ns]": 8,
	"string": -4, "large_string": -8, "binary": -4, "large_binary": -8,
}

func (m *matcher) checkAlias(_ *class, _, args ref) bool {
	_, ok := arrowSizes[m.g.text(m.arg(args, 0))]
	return ok
}

// checkArrow compares the buffers of an array of PyArrow with its length: (type, length,
// nulls, offset, buffers, children, dictionary).
func (m *matcher) checkArrow(_ *class, _, args ref) bool {
	parts := m.arg(args, 0)
	width := arrowSizes[m.g.text(m.arg(m.g.elem(m.g.node(m.arg(parts, 0)).a+objArgs), 0))]
	length, _ := m.g.int64(m.arg(parts, 1))
	nulls, _ := m.g.int64(m.arg(parts, 2))
	offset, _ := m.g.int64(m.arg(parts, 3))
	if length < 0 || offset < 0 || length > mostElements || offset > mostElements || nulls < -1 || nulls > length || m.g.node(m.arg(parts, 5)).n != 0 {
		return false
	}
	buffers, all := m.g.node(m.arg(parts, 4)), length+offset
	want := uint32(2)
	if width < 0 {
		want = 3
	}
	if buffers.n != want {
		return false
	}
	valid, isValid := m.buffer(m.g.elem(buffers.a))
	if isValid && int64(len(valid)) < (all+7)/8 || !isValid && nulls > 0 {
		return false
	}
	if isValid && nulls >= 0 && nulls != m.zeros(valid, offset, all) {
		return false
	}
	second, ok := m.buffer(m.g.elem(buffers.a + 1))
	if width >= 0 {
		size := all * width
		if width == 0 {
			size = (all + 7) / 8
		}
		return int64(len(second)) >= size && (ok || size == 0)
	}
	texts, _ := m.buffer(m.g.elem(buffers.a + 2))
	return m.offsetsFit(second, texts, -width, all)
}

// zeros counts the bits from one to another that are 0.
func (m *matcher) zeros(bitmap string, from, to int64) (n int64) {
	m.cost += (to-from)/64 + 1
	for i := from; i < to; i++ {
		if i%8 == 0 && to-i >= 8 {
			n += int64(8 - bits.OnesCount8(bitmap[i/8]))
			i += 7
		} else if bitmap[i/8]>>(i%8)&1 == 0 {
			n++
		}
	}
	return n
}

// buffer returns the bytes of a buffer; there may be none.
func (m *matcher) buffer(r ref) (string, bool) {
	if r == refNone {
		return "", false
	}
	return m.g.text(m.arg(m.g.elem(m.g.node(r).a+objArgs), 0)), true
}

// offsetsFit reports whether offsets of texts grow and stay inside of all texts.
func (m *matcher) offsetsFit(offsets, texts string, width, count int64) bool {
	if count == 0 && offsets == "" {
		return true
	}
	if int64(len(offsets)) < (count+1)*width {
		return false
	}
	m.cost += count/8 + 1
	last := int64(0)
	for i := range count + 1 {
		at := littleInt(offsets, i, width)
		if at < last || at > int64(len(texts)) {
			return false
		}
		last = at
	}
	return true
}
