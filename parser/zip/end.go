package zip

import (
	"bytes"
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	endLen     = 22
	end64Len   = 56
	locatorLen = 20
	maxComment = 1<<16 - 1
	footLen    = endLen + locatorLen + end64Len
	centralLen = 46

	max16 = 1<<16 - 1
	max32 = 1<<32 - 1
)

// end is the content of the end records.
type end struct {
	off     int64 // of the end record
	count   uint64
	here    uint64 // entries on this disk
	dirSize uint64
	dirOff  uint64
	disk    uint64
	dirDisk uint64
}

// readEnd reads the end record: the last one of the file, as every reader does. Its
// comment must end with the file.
func (d *decoder) readEnd() error {
	if d.size < endLen {
		return d.c.FailAt("", d.size, wire.ErrTruncated.Errorf("%d bytes are too few for an end record", d.size))
	}
	if err := d.readFoot(); err != nil {
		return err
	}
	rec := d.foot[footLen-endLen:]
	if string(rec[:sigLen]) != sigEnd || rec[20] != 0 || rec[21] != 0 {
		var err error
		if rec, err = d.searchEnd(); err != nil {
			return err
		}
	}
	comment := int64(binary.LittleEndian.Uint16(rec[20:]))
	d.end = end{
		off:     d.size - int64(len(rec)),
		disk:    uint64(binary.LittleEndian.Uint16(rec[4:])),
		dirDisk: uint64(binary.LittleEndian.Uint16(rec[6:])),
		here:    uint64(binary.LittleEndian.Uint16(rec[8:])),
		count:   uint64(binary.LittleEndian.Uint16(rec[10:])),
		dirSize: uint64(binary.LittleEndian.Uint32(rec[12:])),
		dirOff:  uint64(binary.LittleEndian.Uint32(rec[16:])),
	}
	switch have := int64(len(rec)) - endLen; {
	case comment > have:
		return d.c.FailAt("end record", d.size, wire.ErrTruncated.Errorf("comment of %d bytes, %d left", comment, have))
	case comment < have:
		return d.c.FailAt("end record", d.end.off+endLen+comment, wire.ErrTrailing.WithRule("zip.bytes-after-end").Errorf("%d bytes", have-comment))
	}
	// Python's zipfile takes the last signature, even if no record follows it.
	if i := bytes.Index(rec[endLen:], []byte(sigEnd)); i >= 0 {
		return d.c.FailAt("comment", d.end.off+endLen+int64(i), wire.ErrMismatch.WithRule("zip.end-in-comment").Errorf("it holds the signature of another end record"))
	}
	d.out.Comment = int(comment)
	d.stage = stEnd64
	return nil
}

// searchEnd returns the bytes of the file from the last end record on.
func (d *decoder) searchEnd() ([]byte, error) {
	n := min(d.size, endLen+maxComment)
	p, err := d.read(d.size-n, n)
	if err != nil {
		return nil, err
	}
	for i := len(p) - endLen; i >= 0; i-- {
		if p[i] == 'P' && string(p[i:i+sigLen]) == sigEnd {
			return p[i:], nil
		}
	}
	return nil, d.c.FailAt("", d.size, wire.ErrTruncated.Errorf("no end record"))
}

// readEnd64 reads the ZIP64 end record, if there is a locator before the end record, and
// proves where the directory is.
func (d *decoder) readEnd64() error {
	dirEnd := d.end.off
	if d.end.off >= locatorLen {
		p, err := d.read(d.end.off-locatorLen, locatorLen)
		if err != nil {
			return err
		}
		if string(p[:sigLen]) == sigLocator {
			if dirEnd, err = d.locator(p); err != nil {
				return err
			}
		}
	}
	if err := d.checkEnd(dirEnd); err != nil {
		return err
	}
	return d.openDirectory()
}

// locator returns the offset of the ZIP64 end record, from the locator p.
func (d *decoder) locator(p []byte) (int64, error) {
	const where = "zip64 locator"
	at := d.end.off - locatorLen
	off := binary.LittleEndian.Uint64(p[8:])
	switch {
	case binary.LittleEndian.Uint32(p[4:]) != 0 || binary.LittleEndian.Uint32(p[16:]) != 1:
		return 0, d.c.FailAt(where, at+4, wire.ErrUnsupported.WithRule("zip.disks").Errorf("archive that spans several disks"))
	case at < end64Len || off > uint64(at-end64Len):
		return 0, d.c.FailAt(where, at+8, wire.ErrRange.WithRule("zip.zip64-place").Errorf("zip64 end record at %#x, but there is no room for one before %#x", off, at))
	}
	rec, err := d.read(int64(off), end64Len)
	if err != nil {
		return 0, err
	}
	if string(rec[:sigLen]) != sigEnd64 {
		return 0, d.c.FailAt(where, at+8, wire.ErrMissing.WithRule("zip.zip64-record").Errorf("no zip64 end record at %#x", off))
	}
	return int64(off), d.end64(int64(off), at, rec)
}

// end64 reads the ZIP64 end record in [at, stop) and compares it with the end record, in
// which each field has the same value or is saturated.
func (d *decoder) end64(at, stop int64, rec []byte) error {
	const where = "zip64 end record"
	switch n := binary.LittleEndian.Uint64(rec[4:]); {
	case n != uint64(stop-at-12):
		return d.c.FailAt(where, at+4, wire.ErrMismatch.WithRule("zip.zip64-length").Errorf("record of %d bytes, %d before the locator", n, stop-at-12))
	case n > end64Len-12:
		return d.c.FailAt(where, at+4, wire.ErrUnsupported.WithRule("zip.zip64-extensible").Errorf("extensible data of %d bytes", n-end64Len+12))
	}
	e := &d.end
	for _, f := range [...]struct {
		name  string
		short *uint64
		full  uint64
		limit uint64
		off   int64
	}{
		{"disk", &e.disk, uint64(binary.LittleEndian.Uint32(rec[16:])), max16, 16},
		{"disk of the directory", &e.dirDisk, uint64(binary.LittleEndian.Uint32(rec[20:])), max16, 20},
		{"entries on this disk", &e.here, binary.LittleEndian.Uint64(rec[24:]), max16, 24},
		{"entries", &e.count, binary.LittleEndian.Uint64(rec[32:]), max16, 32},
		{"directory size", &e.dirSize, binary.LittleEndian.Uint64(rec[40:]), max32, 40},
		{"directory offset", &e.dirOff, binary.LittleEndian.Uint64(rec[48:]), max32, 48},
	} {
		if *f.short != f.full && *f.short != f.limit {
			return d.c.FailAt(where, at+f.off, wire.ErrMismatch.WithRule("zip.end-records-differ").Errorf("%s is %d in the zip64 record, %d in the end record", f.name, f.full, *f.short))
		}
		*f.short = f.full
	}
	return nil
}

// checkEnd proves that the directory ends at dirEnd and can hold its entries.
func (d *decoder) checkEnd(dirEnd int64) error {
	e, where := &d.end, "end record"
	if e.disk != 0 || e.dirDisk != 0 || e.here != e.count {
		return d.c.FailAt(where, e.off+4, wire.ErrUnsupported.WithRule("zip.disks").Errorf("archive that spans several disks"))
	}
	stop, ok := wire.Add(e.dirOff, e.dirSize)
	switch {
	case !ok:
		return d.c.FailAt(where, e.off+12, wire.ErrOverflow.WithRule("zip.directory-overflow").Errorf("directory of %d bytes at %#x", e.dirSize, e.dirOff))
	case stop > uint64(dirEnd):
		return d.c.FailAt(where, e.off+12, wire.ErrRange.WithRule("zip.directory-place").Errorf("the directory ends at %#x, but the end records begin at %#x", stop, dirEnd))
	case stop < uint64(dirEnd):
		return d.c.FailAt(where, int64(stop), wire.ErrGap.WithRule("zip.directory-gap").Errorf("%d bytes after the directory", uint64(dirEnd)-stop))
	case e.count > e.dirSize/centralLen:
		return d.c.FailAt(where, e.off+10, wire.ErrRange.WithRule("zip.entry-count").Errorf("%d entries in a directory of %d bytes", e.count, e.dirSize))
	case e.count == 0 && dirEnd != 0 && !d.opts.Behind:
		return d.c.FailAt(where, 0, wire.ErrGap.WithRule("zip.empty-with-bytes").Errorf("%d bytes before the end of an empty archive", dirEnd))
	}
	return nil
}

// openDirectory allocates the members.
func (d *decoder) openDirectory() error {
	if err := d.b.Items(int64(d.end.count)); err != nil {
		return d.c.FailAt("end record", d.end.off+10, err)
	}
	n, ok := wire.Int(d.end.count, wire.MaxSize)
	if !ok {
		return d.c.FailAt("end record", d.end.off+10, wire.ErrRange.WithRule("zip.entry-count").Errorf("%d entries", d.end.count))
	}
	members, err := limits.Make[Member](d.b, n)
	if err != nil {
		return d.c.FailAt("end record", d.end.off+10, err)
	}
	if err := d.c.MoveTo(int64(d.end.dirOff)); err != nil {
		return err
	}
	if d.dir, err = d.c.Sub(d.end.dirSize); err != nil {
		return err
	}
	d.out.Members = members
	d.stage = stCentral
	if len(members) == 0 {
		d.stage = stDone
	}
	return nil
}

// readFoot reads the last bytes of the file to the end of d.foot: all end records, unless
// there is a comment.
func (d *decoder) readFoot() error {
	n := min(d.size, footLen)
	if err := wire.ReadFull(d.r, d.foot[footLen-n:], d.size-n); err != nil {
		return d.c.FailAt("", d.size-n, err)
	}
	d.footOff = d.size - n
	return nil
}

// read returns n bytes from off, in the decoder's buffer, valid until the next call.
func (d *decoder) read(off, n int64) ([]byte, error) {
	if off >= d.footOff {
		p := d.foot[footLen-(d.size-off):]
		return p[:n], nil
	}
	if int64(cap(d.buf)) < n {
		size := 256
		for int64(size) < n {
			size *= 2
		}
		buf, err := limits.Make[byte](d.b, size)
		if err != nil {
			return nil, d.c.FailAt("", off, err)
		}
		d.buf = buf
	}
	p := d.buf[:n]
	if err := wire.ReadFull(d.r, p, off); err != nil {
		return nil, d.c.FailAt("", off, err)
	}
	return p, nil
}
