package corpus

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
)

// Field names of the records, in the order of PKWARE's APPNOTE, section 4.3.
var (
	entryFields = strings.Fields("sig made version flags method time date crc csize usize nlen elen clen disk iattr eattr offset name extra comment")
	entryKeys   = strings.Fields("descriptor zip64 align local central stored d.sig d.crc d.csize d.usize")
	zipKeys     = strings.Fields("zip64 eocd e64 loc comment central-gap eocd-gap " +
		"e.sig e.disk e.cd-disk e.here e.entries e.cd-size e.cd-offset e.clen " +
		"e64.sig e64.size e64.made e64.version e64.disk e64.cd-disk e64.here e64.entries e64.cd-size e64.cd-offset e64.extra " +
		"loc.sig loc.disk loc.offset loc.disks")
)

func knownZip(key string) bool { return slices.Contains(zipKeys, key) }

func knownEntry(key string) bool {
	bare := strings.TrimPrefix(strings.TrimPrefix(key, "l."), "c.")
	return slices.Contains(entryKeys, key) || slices.Contains(entryFields, bare)
}

// A zipItem is an entry, or raw bytes between entries.
type zipItem struct {
	name  string
	attrs attrs
	body  node
	isRaw bool
	at    token
}

// zip key=value... { entry "name" key=value... { ... }  raw { ... } }
func (p *parser) zip() (node, error) {
	own, err := p.attrs(knownZip)
	if err != nil {
		return nil, err
	}
	if p.next().kind != open {
		return nil, p.fail("zip needs { entry ... }")
	}
	var items []zipItem
	for {
		switch t := p.next(); {
		case t.kind == endOfLine:
		case t.kind == shut:
			return func(b *builder) error {
				w := &zipWriter{b: b, attrs: own}
				out, err := w.archive(items)
				if err != nil {
					return err
				}
				return b.write(out)
			}, nil
		case t.kind == word && (t.text == "entry" || t.text == "raw"):
			item := zipItem{isRaw: t.text == "raw", at: t}
			if !item.isRaw {
				if item.name, err = p.text(); err != nil {
					return nil, err
				}
				if item.attrs, err = p.attrs(knownEntry); err != nil {
					return nil, err
				}
			}
			if item.body, err = p.body(); err != nil {
				return nil, err
			}
			items = append(items, item)
		default:
			return nil, fmt.Errorf("line %d: in a zip stand entry and raw, not %v", t.line, t)
		}
	}
}

// A zipWriter writes every byte of an archive: each field is right unless the recipe
// overrides it. Offsets count from the archive's start.
type zipWriter struct {
	b       *builder
	attrs   attrs
	out     []byte
	central []byte
	entries uint64
}

func (w *zipWriter) archive(items []zipItem) ([]byte, error) {
	for _, item := range items {
		var err error
		if item.isRaw {
			var raw []byte
			raw, err = w.b.buildBlock(item.body)
			w.out = append(w.out, raw...)
		} else {
			err = w.entry(&item)
		}
		if err != nil {
			return nil, withLine(item.at, func(*builder) error { return err })(nil)
		}
	}
	return w.out, w.end()
}

// A record collects the fields of one header. The first error is kept.
type record struct {
	b     *builder
	attrs attrs
	where string // "l." or "c.", the keys that go before the plain ones
	out   []byte
	err   error
}

// put appends a field: the recipe's value, else def.
func (r *record) put(size uint, key string, def uint64) {
	if _, own := r.attrs[r.where+key]; own {
		key = r.where + key
	}
	n, err := r.attrs.num(r.b, key, def)
	v, ok := n.fits(size)
	if err == nil && !ok {
		err = fmt.Errorf("%s=%v does not fit %d bits", key, n, size)
	}
	if err != nil && r.err == nil {
		r.err = err
	}
	r.out = put(r.out, binary.LittleEndian, size, v)
}

func (r *record) bytes(key string, def []byte) []byte {
	for _, k := range []string{r.where + key, key} {
		if _, own := r.attrs[k]; own {
			data, err := r.attrs.bytes(r.b, k)
			if err != nil && r.err == nil {
				r.err = err
			}
			return data
		}
	}
	return def
}

// A member is what an entry's headers state about its data.
type member struct {
	method, crc  uint64
	csize, usize uint64
	offset       uint64
	flags        uint64
	descriptor   string
	zip64        string
}

func (w *zipWriter) entry(item *zipItem) error {
	plain, err := w.b.buildBlock(item.body)
	if err != nil {
		return err
	}
	m := member{
		crc: uint64(crc32.ChecksumIEEE(plain)), usize: uint64(len(plain)), offset: uint64(len(w.out)),
		descriptor: item.attrs.word("descriptor", "no"), zip64: item.attrs.word("zip64", "no"),
	}
	stored, err := item.attrs.bytes(w.b, "stored")
	if err != nil {
		return err
	}
	method, err := item.attrs.num(w.b, "method", 0)
	if err != nil {
		return err
	}
	if item.attrs.word("method", "") == "deflate" && stored == nil {
		if stored, err = compress(plain); err != nil {
			return err
		}
	}
	m.method = method.abs
	if stored == nil {
		stored = plain
	}
	m.csize = uint64(len(stored))
	if m.descriptor != "no" {
		m.flags = 8
	}
	if item.attrs.word("local", "yes") == "yes" {
		if err := w.local(item, &m, stored); err != nil {
			return err
		}
	}
	if item.attrs.word("central", "yes") == "yes" {
		w.entries++
		return w.directory(item, &m)
	}
	return nil
}

func (w *zipWriter) local(item *zipItem, m *member, stored []byte) error {
	r := &record{b: w.b, attrs: item.attrs, where: "l."}
	name := r.bytes("name", []byte(item.name))
	crc, csize, usize := m.crc, m.csize, m.usize
	if m.descriptor != "no" {
		crc, csize, usize = 0, 0, 0
	}
	var extra []byte
	if m.zip64 == "yes" || m.zip64 == "local" {
		extra = zip64Extra(usize, csize)
		csize, usize = 1<<32-1, 1<<32-1
	}
	extra = append(extra, r.bytes("extra", nil)...)
	align, err := item.attrs.num(w.b, "align", 0)
	if err != nil {
		return err
	}
	if to := int(align.abs); to > 0 {
		// PyTorch's padding: a field "FB" of Zs, always there.
		start := len(w.out) + 30 + len(name) + len(extra) + 4
		n := (to - start%to) % to
		extra = append(extra, 'F', 'B', byte(n), byte(n>>8))
		extra = append(extra, strings.Repeat("Z", n)...)
	}
	r.put(32, "sig", 0x04034b50)
	r.put(16, "version", 20)
	r.put(16, "flags", m.flags)
	r.put(16, "method", m.method)
	r.put(16, "time", 0)
	r.put(16, "date", 0x21) // 1980-01-01
	r.put(32, "crc", crc)
	r.put(32, "csize", csize)
	r.put(32, "usize", usize)
	r.put(16, "nlen", uint64(len(name)))
	r.put(16, "elen", uint64(len(extra)))
	w.out = append(append(append(append(w.out, r.out...), name...), extra...), stored...)
	return w.describe(item, m, r.err)
}

// describe writes the data descriptor.
func (w *zipWriter) describe(item *zipItem, m *member, err error) error {
	r := &record{b: w.b, attrs: item.attrs, where: "d.", err: err}
	size := uint(32)
	switch m.descriptor {
	case "no":
		return err
	case "yes":
	case "64":
		size = 64
	case "nosig":
	default:
		return fmt.Errorf("descriptor=%s is not yes, no, nosig or 64", m.descriptor)
	}
	// The plain crc= means the headers; a descriptor differs only by d.crc=.
	own := attrs{}
	for k, v := range item.attrs {
		if strings.HasPrefix(k, "d.") {
			own[k] = v
		}
	}
	r.attrs = own
	if m.descriptor != "nosig" {
		r.put(32, "sig", 0x08074b50)
	}
	r.put(32, "crc", m.crc)
	r.put(size, "csize", m.csize)
	r.put(size, "usize", m.usize)
	w.out = append(w.out, r.out...)
	return r.err
}

func zip64Extra(values ...uint64) []byte {
	out := put(nil, binary.LittleEndian, 16, 1)
	out = put(out, binary.LittleEndian, 16, uint64(8*len(values)))
	for _, v := range values {
		out = put(out, binary.LittleEndian, 64, v)
	}
	return out
}

func (w *zipWriter) directory(item *zipItem, m *member) error {
	r := &record{b: w.b, attrs: item.attrs, where: "c."}
	name, comment := r.bytes("name", []byte(item.name)), r.bytes("comment", nil)
	csize, usize, offset := m.csize, m.usize, m.offset
	var extra []byte
	if m.zip64 == "yes" || m.zip64 == "central" {
		extra = zip64Extra(usize, csize, offset)
		csize, usize, offset = 1<<32-1, 1<<32-1, 1<<32-1
	}
	extra = append(extra, r.bytes("extra", nil)...)
	r.put(32, "sig", 0x02014b50)
	r.put(16, "made", 20)
	r.put(16, "version", 20)
	r.put(16, "flags", m.flags)
	r.put(16, "method", m.method)
	r.put(16, "time", 0)
	r.put(16, "date", 0x21)
	r.put(32, "crc", m.crc)
	r.put(32, "csize", csize)
	r.put(32, "usize", usize)
	r.put(16, "nlen", uint64(len(name)))
	r.put(16, "elen", uint64(len(extra)))
	r.put(16, "clen", uint64(len(comment)))
	r.put(16, "disk", 0)
	r.put(16, "iattr", 0)
	r.put(32, "eattr", 0)
	r.put(32, "offset", offset)
	w.central = append(append(append(append(w.central, r.out...), name...), extra...), comment...)
	return r.err
}

// end writes the central directory and the records after it.
func (w *zipWriter) end() error {
	r := &record{b: w.b, attrs: w.attrs}
	w.out = append(w.out, r.bytes("central-gap", nil)...)
	start := uint64(len(w.out))
	w.out = append(w.out, w.central...)
	size, entries := uint64(len(w.central)), w.entries
	zip64 := w.attrs.word("zip64", "no")
	if zip64 != "no" {
		w.end64(r, start)
	}
	r.out = append(r.out, r.bytes("eocd-gap", nil)...)
	if zip64 == "ff" {
		start, size, entries = 1<<32-1, 1<<32-1, 1<<16-1
	}
	if w.attrs.word("eocd", "yes") == "yes" {
		comment := r.bytes("comment", nil)
		r.put(32, "e.sig", 0x06054b50)
		r.put(16, "e.disk", 0)
		r.put(16, "e.cd-disk", 0)
		r.put(16, "e.here", entries)
		r.put(16, "e.entries", entries)
		r.put(32, "e.cd-size", size)
		r.put(32, "e.cd-offset", start)
		r.put(16, "e.clen", uint64(len(comment)))
		r.out = append(r.out, comment...)
	}
	w.out = append(w.out, r.out...)
	return r.err
}

// end64 writes the zip64 end record and its locator.
func (w *zipWriter) end64(r *record, start uint64) {
	at := uint64(len(w.out))
	if w.attrs.word("e64", "yes") == "yes" {
		extra := r.bytes("e64.extra", nil)
		r.put(32, "e64.sig", 0x06064b50)
		r.put(64, "e64.size", uint64(44+len(extra)))
		r.put(16, "e64.made", 45)
		r.put(16, "e64.version", 45)
		r.put(32, "e64.disk", 0)
		r.put(32, "e64.cd-disk", 0)
		r.put(64, "e64.here", w.entries)
		r.put(64, "e64.entries", w.entries)
		r.put(64, "e64.cd-size", uint64(len(w.central)))
		r.put(64, "e64.cd-offset", start)
		r.out = append(r.out, extra...)
	}
	if w.attrs.word("loc", "yes") == "yes" {
		r.put(32, "loc.sig", 0x07064b50)
		r.put(32, "loc.disk", 0)
		r.put(64, "loc.offset", at)
		r.put(32, "loc.disks", 1)
	}
}
