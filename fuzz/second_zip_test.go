package fuzz_test

import (
	"bytes"
	"compress/flate"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// A secondRecord reads fields of a record, one after the other, from the little end.
type secondRecord struct {
	data []byte
	at   uint64
	bad  bool
}

func (r *secondRecord) take(n uint64) []byte {
	if size := uint64(len(r.data)); r.bad || r.at > size || n > size-r.at {
		r.bad = true
		return make([]byte, min(n, 8))
	}
	p := r.data[r.at : r.at+n]
	r.at += n
	return p
}

func (r *secondRecord) u16() uint64 { return uint64(binary.LittleEndian.Uint16(r.take(2))) }
func (r *secondRecord) u32() uint64 { return uint64(binary.LittleEndian.Uint32(r.take(4))) }
func (r *secondRecord) u64() uint64 { return binary.LittleEndian.Uint64(r.take(8)) }

// secondWide replaces values of 0xffffffff by those of the ZIP64 extra field, in their order
// (APPNOTE 4.5.3).
func secondWide(extra []byte, values ...*uint64) error {
	e := secondRecord{data: extra}
	for e.at+4 <= uint64(len(extra)) && !e.bad {
		id := e.u16()
		field := secondRecord{data: e.take(e.u16())}
		if id != 1 || e.bad {
			continue
		}
		for _, v := range values {
			if *v == 0xffffffff {
				*v = field.u64()
			}
		}
		if field.bad {
			return not("a ZIP64 field of %d bytes", len(field.data))
		}
		return nil
	}
	return nil
}

// secondZip reads an archive as APPNOTE 4.3 describes it: the end record, the directory that it
// points to, and of each entry there the local header and the data.
func secondZip(data []byte) ([]string, error) {
	end := -1
	for at := len(data) - 22; at >= 0 && end < 0; at-- {
		if bytes.HasPrefix(data[at:], []byte("PK\x05\x06")) && at+22+int(binary.LittleEndian.Uint16(data[at+20:])) == len(data) {
			end = at
		}
	}
	if end < 0 {
		return nil, not("no end record")
	}
	r := secondRecord{data: data, at: uint64(end) + 8}
	here, entries, length, offset := r.u16(), r.u16(), r.u32(), r.u32()
	if at := end - 20; at >= 0 && bytes.HasPrefix(data[at:], []byte("PK\x06\x07")) {
		wide := secondRecord{data: data, at: uint64(at) + 8}
		wide.at = wide.u64()
		if string(wide.take(4)) != "PK\x06\x06" {
			return nil, not("no ZIP64 end record where its locator says")
		}
		wide.take(8 + 2 + 2 + 4 + 4)
		here, entries, length, offset = wide.u64(), wide.u64(), wide.u64(), wide.u64()
		if wide.bad {
			return nil, not("a ZIP64 end record that is cut off")
		}
	}
	if here != entries {
		return nil, not("%d of %d entries are here", here, entries)
	}
	r = secondRecord{data: data, at: offset}
	var lines []string
	for range entries {
		if string(r.take(4)) != "PK\x01\x02" {
			return nil, not("no entry at %d", r.at)
		}
		r.take(4)
		flags, method := r.u16(), r.u16()
		r.take(4)
		sum, comp, size := r.u32(), r.u32(), r.u32()
		nameLen, extraLen, commentLen := r.u16(), r.u16(), r.u16()
		r.take(2 + 2 + 4)
		local := r.u32()
		name, extra := r.take(nameLen), r.take(extraLen)
		r.take(commentLen)
		if r.bad {
			return nil, not("an entry that is cut off")
		}
		if err := secondWide(extra, &size, &comp, &local); err != nil {
			return nil, err
		}
		line, err := secondMemberOf(data, string(name), flags, method, sum, comp, size, local)
		if err != nil {
			return nil, err
		}
		lines = append(lines, line)
	}
	if r.bad || r.at != offset+length {
		return nil, not("the directory has %d bytes, and its entries end at %d", length, r.at-offset)
	}
	slices.Sort(lines)
	return lines, nil
}

// secondMemberOf reads a member from its local header on.
func secondMemberOf(data []byte, name string, flags, method, sum, comp, size, local uint64) (string, error) {
	l := secondRecord{data: data, at: local}
	if string(l.take(4)) != "PK\x03\x04" {
		return "", not("no local header of %q", name)
	}
	l.take(2)
	flags2, method2 := l.u16(), l.u16()
	l.take(4)
	sum2, comp2, size2 := l.u32(), l.u32(), l.u32()
	nameLen, extraLen := l.u16(), l.u16()
	name2, extra := string(l.take(nameLen)), l.take(extraLen)
	if err := secondWide(extra, &size2, &comp2); err != nil {
		return "", err
	}
	if name2 != name || method2 != method || flags2 != flags || flags&1 != 0 {
		return "", not("the local header of %q disagrees", name)
	}
	if flags&8 == 0 && (sum2 != sum || comp2 != comp || size2 != size) {
		return "", not("the local header of %q has other sizes", name)
	}
	at := l.at
	body := l.take(comp)
	if l.bad {
		return "", not("the data of %q is cut off", name)
	}
	content := body
	switch method {
	case 0:
	case 8:
		var err error
		if content, err = io.ReadAll(flate.NewReader(bytes.NewReader(body))); err != nil {
			return "", not("%q: %v", name, err)
		}
	default:
		return "", not("method %d", method)
	}
	if uint64(len(content)) != size || uint64(crc32.ChecksumIEEE(content)) != sum {
		return "", not("%q has %d bytes and sum %08x", name, len(content), crc32.ChecksumIEEE(content))
	}
	return fmt.Sprintf("%q method %d at %d, data at %d, %d bytes, %08x, inflated %d", name, method, local, at, comp, sum, size), nil
}

// secondZipCheck compares both readers if ours takes the archive and all its members.
func secondZipCheck(t testing.TB, data []byte) bool {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	a, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{})
	if err != nil || a.Verify(b) != nil {
		return false
	}
	var lines []string
	for i := range a.Members {
		m := &a.Members[i]
		r, err := a.Open(b, i)
		if err != nil {
			t.Fatalf("%q is verified, and not opened: %v", m.Name, err)
			return true
		}
		body, err := io.ReadAll(r)
		r.Close()
		if err != nil || crc32.ChecksumIEEE(body) != m.CRC || int64(len(body)) != m.Size {
			t.Fatalf("%q is verified, and read as %d bytes: %v", m.Name, len(body), err)
			return true
		}
		lines = append(lines, fmt.Sprintf("%q method %d at %d, data at %d, %d bytes, %08x, inflated %d", m.Name, m.Method, m.HeaderOff, m.DataOff, m.Comp, m.CRC, m.Size))
	}
	slices.Sort(lines)
	sameAsSecond(t, secondZip, data, lines)
	return true
}
