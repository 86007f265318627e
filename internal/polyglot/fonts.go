package polyglot

import (
	"bytes"
	"cmp"
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A span is a part of a file.
type span struct{ from, to int64 }

// tiles reports whether the spans cover the file, with gaps of at most three bytes, and stay inside
// of it.
func (m *media) tiles(spans []span) (bool, error) {
	if err := m.s.b.Step(int64(len(spans)) * 8); err != nil {
		return false, err
	}
	if err := limits.SortUnstable(m.s.b, spans, func(a, b span) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) }); err != nil {
		return false, err
	}
	at := int64(0)
	for _, p := range spans {
		if p.from > at+3 || p.to < p.from || p.to > m.s.size {
			return false, nil
		}
		at = max(at, p.to)
	}
	return at+3 >= m.s.size, m.pass(m.left(), nil)
}

// font reads the directory of a font: the tables tile the file. Compressed fonts state its length.
func (m *media) font() (bool, error) {
	p, err := m.peek(12)
	if err != nil {
		return false, err
	}
	if string(p[:3]) == "wOF" {
		if int64(binary.BigEndian.Uint32(p[8:])) != m.s.size {
			return false, nil
		}
		return true, m.pass(m.left(), nil)
	}
	n := int(binary.BigEndian.Uint16(p[4:]))
	spans := []span{{0, 12 + 16*int64(n)}}
	m.next(12)
	for range n {
		if p, err = m.next(16); err != nil {
			return false, err
		}
		from := int64(binary.BigEndian.Uint32(p[8:]))
		if spans, err = limits.Append(m.s.b, spans, span{from, from + int64(binary.BigEndian.Uint32(p[12:]))}); err != nil {
			return false, err
		}
	}
	return m.tiles(spans)
}

// icon reads the directory of an icon: its images tile the file.
func (m *media) icon() (bool, error) {
	p, err := m.next(6)
	if err != nil {
		return false, err
	}
	n := int(binary.LittleEndian.Uint16(p[4:]))
	spans := []span{{0, 6 + 16*int64(n)}}
	for range n {
		if p, err = m.next(16); err != nil {
			return false, err
		}
		from := int64(binary.LittleEndian.Uint32(p[12:]))
		if spans, err = limits.Append(m.s.b, spans, span{from, from + int64(binary.LittleEndian.Uint32(p[8:]))}); err != nil {
			return false, err
		}
	}
	return m.tiles(spans)
}

// tiffSizes are the sizes of the types of a TIFF's fields.
var tiffSizes = [...]int64{1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4}

// maxTIFF bounds the directories of an image, and its strips.
const (
	maxTIFF   = 64
	maxStrips = 1 << 20
)

// A tiff follows the directories of an image: they, their values and the strips of the image
// tile the file.
type tiff struct {
	*media
	order binary.ByteOrder
	spans []span
	todo  []int64
}

func (m *media) tiff() (bool, error) {
	t := &tiff{media: m, order: binary.LittleEndian, spans: []span{{0, 8}}}
	if bytes.HasPrefix(m.s.head, []byte("MM")) {
		t.order = binary.BigEndian
	}
	if len(m.s.head) < 8 {
		return false, nil
	}
	t.todo = []int64{int64(t.order.Uint32(m.s.head[4:]))}
	for done := 0; len(t.todo) > 0; done++ {
		at := t.todo[0]
		t.todo = t.todo[1:]
		if is, err := t.directory(at); !is || err != nil || done == maxTIFF {
			return false, err
		}
	}
	return m.tiles(t.spans)
}

// read reads n bytes at an offset.
func (t *tiff) read(at, n int64) ([]byte, error) {
	p, err := limits.Make[byte](t.s.b, int(n))
	if err != nil {
		return nil, err
	}
	if err := t.s.b.Step(1 + n/64); err != nil {
		return nil, err
	}
	return p, wire.ReadFull(t.s.r, p, at)
}

func (t *tiff) add(from, n int64) (err error) {
	t.spans, err = limits.Append(t.s.b, t.spans, span{from, from + n})
	return err
}

func (t *tiff) directory(at int64) (bool, error) {
	if at+6 > t.s.size {
		return false, nil
	}
	p, err := t.read(at, 2)
	if err != nil {
		return false, err
	}
	n := int64(t.order.Uint16(p))
	if at+2+12*n+4 > t.s.size {
		return false, nil
	}
	if err := t.add(at, 2+12*n+4); err != nil {
		return false, err
	}
	if p, err = t.read(at+2, 12*n+4); err != nil {
		return false, err
	}
	var offsets, counts []int64
	for i := range n {
		tag, values, is, err := t.field(p[12*i:12*i+12], at+2+12*i+8)
		if !is || err != nil {
			return false, err
		}
		switch tag {
		case 273, 324:
			offsets = values
		case 279, 325:
			counts = values
		case 330, 34665, 34853, 40965:
			t.todo = append(t.todo, values[:min(len(values), maxTIFF)]...)
		}
	}
	if len(offsets) != len(counts) {
		return false, nil
	}
	for i := range offsets {
		if err := t.add(offsets[i], counts[i]); err != nil {
			return false, err
		}
	}
	if next := int64(t.order.Uint32(p[12*n:])); next != 0 {
		t.todo = append(t.todo, next)
	}
	return len(t.todo) <= maxTIFF, nil
}

// field reads a field of a directory. A value of more than four bytes is stored at an offset. It
// returns the values of integer types, which may be offsets.
func (t *tiff) field(p []byte, here int64) (tag uint16, values []int64, is bool, err error) {
	tag = t.order.Uint16(p)
	kind, count := int(t.order.Uint16(p[2:])), int64(t.order.Uint32(p[4:]))
	if kind == 0 || kind >= len(tiffSizes) {
		return tag, nil, false, nil
	}
	size, at := count*tiffSizes[kind], here
	if size > 4 {
		at = int64(t.order.Uint32(p[8:]))
		if at+size > t.s.size {
			return tag, nil, false, nil
		}
		if err := t.add(at, size); err != nil {
			return tag, nil, false, err
		}
	}
	switch tag {
	case 273, 324, 279, 325, 330, 34665, 34853, 40965:
	default:
		return tag, nil, true, nil
	}
	if kind != 3 && kind != 4 && kind != 13 || count > maxStrips {
		return tag, nil, false, nil
	}
	raw, err := t.read(at, size)
	if err != nil {
		return tag, nil, false, err
	}
	for ; len(raw) > 0; raw = raw[tiffSizes[kind]:] {
		v := int64(t.order.Uint16(raw))
		if kind != 3 {
			v = int64(t.order.Uint32(raw))
		}
		if values, err = limits.Append(t.s.b, values, v); err != nil {
			return tag, nil, false, err
		}
	}
	return tag, values, true, nil
}
