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
	end := bytes.LastIndex(data, []byte("PK\x05\x06"))
	if end < 0 || end+22 > len(data) || end+22+int(binary.LittleEndian.Uint16(data[end+20:])) != len(data) {
		return nil, not("no end record")
	}
	r := secondRecord{data: data, at: uint64(end) + 4}
	disk, disk2 := r.u16(), r.u16()
	after := uint64(end) // where the directory has to end
	here, entries, length, offset := r.u16(), r.u16(), r.u32(), r.u32()
	if at := end - 20; at >= 0 && bytes.HasPrefix(data[at:], []byte("PK\x06\x07")) {
		wide := secondRecord{data: data, at: uint64(at) + 4}
		if disk := wide.u32(); disk != 0 || binary.LittleEndian.Uint32(data[at+16:]) != 1 {
			return nil, not("an archive of several disks")
		}
		wide.at = wide.u64()
		after = wide.at
		if string(wide.take(4)) != "PK\x06\x06" {
			return nil, not("no ZIP64 end record where its locator says")
		}
		if rest := wide.u64(); after+12+rest != uint64(at) {
			return nil, not("a ZIP64 end record of %d bytes at %d before its locator at %d", rest, after, at)
		}
		wide.take(2 + 2)
		for _, v := range []struct {
			short     *uint64
			full, max uint64
		}{
			{&disk, wide.u32(), 0xffff}, {&disk2, wide.u32(), 0xffff}, {&here, wide.u64(), 0xffff}, {&entries, wide.u64(), 0xffff},
			{&length, wide.u64(), 0xffffffff}, {&offset, wide.u64(), 0xffffffff},
		} {
			if *v.short != v.full && *v.short != v.max {
				return nil, not("%d in the end record, and %d in that of ZIP64", *v.short, v.full)
			}
			*v.short = v.full
		}
		if wide.bad {
			return nil, not("a ZIP64 end record that is cut off")
		}
	}
	if here != entries || disk != 0 || disk2 != 0 {
		return nil, not("%d of %d entries are here, on the disks %d and %d", here, entries, disk, disk2)
	}
	r = secondRecord{data: data, at: offset}
	var lines []string
	ends := map[uint64][]uint64{} // of the members, by where they begin
	for range entries {
		if string(r.take(4)) != "PK\x01\x02" {
			return nil, not("no entry at %d", r.at)
		}
		r.take(4)
		flags, method := r.u16(), r.u16()
		r.take(4)
		sum, comp, size := r.u32(), r.u32(), r.u32()
		nameLen, extraLen, commentLen := r.u16(), r.u16(), r.u16()
		disk3 := r.u16()
		r.take(2 + 4)
		local := r.u32()
		name, extra := r.take(nameLen), r.take(extraLen)
		r.take(commentLen)
		if r.bad || disk3 != 0 && disk3 != 0xffff {
			return nil, not("an entry that is cut off, or on disk %d", disk3)
		}
		if err := secondWide(extra, &size, &comp, &local); err != nil {
			return nil, err
		}
		line, after, err := secondMemberOf(data, string(name), flags, method, sum, comp, size, local)
		if err != nil {
			return nil, err
		}
		if ends[local] != nil {
			return nil, not("two members at %d", local)
		}
		ends[local] = after
		lines = append(lines, line)
	}
	if r.bad || r.at != offset+length || r.at != after {
		return nil, not("the directory has %d bytes, its entries end at %d, the next record is at %d", length, r.at, after)
	}
	// The members tile the file up to the directory, in any order.
	for at := []uint64{0}; !slices.Contains(at, offset); {
		var next []uint64
		for _, begin := range at {
			next = append(next, ends[begin]...)
			delete(ends, begin)
		}
		if at = next; len(at) == 0 {
			return nil, not("a gap before the directory at %d", offset)
		}
	}
	if len(ends) > 0 {
		return nil, not("%d members overlap with others", len(ends))
	}
	slices.Sort(lines)
	return lines, nil
}

// secondMemberOf reads a member from its local header on, and returns where it may end: a data
// descriptor has sizes of 4 or of 8 bytes.
func secondMemberOf(data []byte, name string, flags, method, sum, comp, size, local uint64) (line string, ends []uint64, err error) {
	l := secondRecord{data: data, at: local}
	if string(l.take(4)) != "PK\x03\x04" {
		return "", nil, not("no local header of %q", name)
	}
	l.take(2)
	flags2, method2 := l.u16(), l.u16()
	l.take(4)
	sum2, comp2, size2 := l.u32(), l.u32(), l.u32()
	nameLen, extraLen := l.u16(), l.u16()
	name2, extra := string(l.take(nameLen)), l.take(extraLen)
	if err := secondWide(extra, &size2, &comp2); err != nil {
		return "", nil, err
	}
	if name2 != name || method2 != method || flags2 != flags || flags&1 != 0 {
		return "", nil, not("the local header of %q disagrees", name)
	}
	if flags&8 != 0 && (sum2 != 0 && sum2 != sum || comp2 != 0 && comp2 != comp || size2 != 0 && size2 != size) {
		return "", nil, not("the local header of %q has other sizes than its descriptor", name)
	}
	if flags&8 == 0 && (sum2 != sum || comp2 != comp || size2 != size) {
		return "", nil, not("the local header of %q has other sizes", name)
	}
	at := l.at
	body := l.take(comp)
	if l.bad {
		return "", nil, not("the data of %q is cut off", name)
	}
	ends = []uint64{l.at}
	if flags&8 != 0 {
		ends = nil
		for _, wide := range []bool{false, true} {
			d := secondRecord{data: data, at: l.at}
			signed, sum3 := string(d.take(4)) == "PK\x07\x08", d.u32()
			read := d.u32
			if wide {
				read = d.u64
			}
			if comp3, size3 := read(), read(); signed && !d.bad && sum3 == sum && comp3 == comp && size3 == size {
				ends = append(ends, d.at)
			}
		}
		if ends == nil {
			return "", nil, not("no descriptor of %q", name)
		}
	}
	content := body
	switch method {
	case 0:
	case 8:
		if content, err = io.ReadAll(flate.NewReader(bytes.NewReader(body))); err != nil {
			return "", nil, not("%q: %v", name, err)
		}
	default:
		return "", nil, not("method %d", method)
	}
	if uint64(len(content)) != size || uint64(crc32.ChecksumIEEE(content)) != sum {
		return "", nil, not("%q has %d bytes and sum %08x", name, len(content), crc32.ChecksumIEEE(content))
	}
	return fmt.Sprintf("%q method %d at %d, data at %d, %d bytes, %08x, inflated %d", name, method, local, at, comp, sum, size), ends, nil
}

// secondZipCheck compares both readers about an archive and all its members.
func secondZipCheck(t testing.TB, data []byte) bool {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	a, err := zip.Decode(b, bytes.NewReader(data), int64(len(data)), zip.Options{})
	if err == nil {
		err = a.Verify(b)
	}
	if err != nil {
		refusedBySecond(t, "zip", secondZip, data, err)
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
