package zip

import (
	"encoding/binary"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Flag bits. Anything outside legalFlags is refused.
const (
	flagEncrypted  = 0x0001
	flagHints      = 0x0006
	flagDescriptor = 0x0008
	flagPatched    = 0x0020
	flagStrong     = 0x0040
	flagUTF8       = 0x0800
	flagMasked     = 0x2000

	legalFlags = flagHints | flagDescriptor | flagUTF8
)

// maxVersion is the highest "version needed" that Python's zipfile accepts.
const maxVersion = 63

// entry is one directory entry as it stands.
type entry struct {
	off                           int64
	version                       byte
	host                          byte
	method, flags                 uint16
	crc                           uint32
	comp, size                    uint32
	nameLen, extraLen, commentLen uint16
	disk                          uint16
	attrs                         uint32
	header                        uint32
}

func parseEntry(off int64, p []byte) entry {
	le := binary.LittleEndian
	return entry{
		off: off, host: p[5], version: p[6],
		flags: le.Uint16(p[8:]), method: le.Uint16(p[10:]), crc: le.Uint32(p[16:]),
		comp: le.Uint32(p[20:]), size: le.Uint32(p[24:]),
		nameLen: le.Uint16(p[28:]), extraLen: le.Uint16(p[30:]), commentLen: le.Uint16(p[32:]),
		disk: le.Uint16(p[34:]), attrs: le.Uint32(p[38:]), header: le.Uint32(p[42:]),
	}
}

// central reads one entry of the directory.
func (d *decoder) central() error {
	i, off := d.at, d.dir.Off()
	p, err := d.dir.View(centralLen)
	if err != nil {
		return err
	}
	if string(p[:sigLen]) != sigCentral {
		return d.dir.Fail("entry "+itoa(i), wire.ErrSyntax.With("no directory entry"))
	}
	e := parseEntry(off, p)
	m, err := d.member(&e)
	if err != nil {
		return wire.At(d.opts.Format, Where(i, m.Name), off, err)
	}
	if m.Method == Deflate {
		if err := d.b.Inflate(m.Comp, m.Size); err != nil {
			return d.c.FailAt(Where(i, m.Name), off, err)
		}
	}
	d.out.Members[i] = m
	if d.at++; d.at < len(d.out.Members) {
		return nil
	}
	if d.dir.Left() > 0 {
		return d.dir.Fail("directory", wire.ErrGap.With("%d bytes after the last entry", d.dir.Left()))
	}
	d.stage = stUnique
	return nil
}

// member reads what follows the fixed part of an entry and checks the whole.
// The name is set even in a member that is refused.
func (d *decoder) member(e *entry) (Member, error) {
	m := Member{Method: Method(e.method), Flags: e.flags, CRC: e.crc}
	if err := d.dir.Skip(centralLen); err != nil {
		return m, err
	}
	p, err := d.dir.View(int(e.nameLen))
	if err != nil {
		return m, err
	}
	if m.Name, err = limits.String(d.b, p); err != nil {
		return m, err
	}
	if err := checkName(m.Name, e.flags); err != nil {
		return m, d.c.FailAt(Where(d.at, m.Name), e.off+centralLen, err)
	}
	if err := d.dir.Skip(uint64(e.nameLen)); err != nil {
		return m, err
	}
	if err := d.checkEntry(e); err != nil {
		return m, err
	}
	if p, err = d.dir.View(int(e.extraLen)); err != nil {
		return m, err
	}
	field, at, err := d.zip64Field(p)
	if err != nil {
		return m, d.c.FailAt(Where(d.at, m.Name), d.dir.Off()+int64(at), err)
	}
	if err := d.sizes(&m, e, field); err != nil {
		return m, err
	}
	return m, d.dir.Skip(uint64(e.extraLen) + uint64(e.commentLen))
}

func (d *decoder) checkEntry(e *entry) error {
	if err := checkFlags(e.flags, e.method); err != nil {
		return err
	}
	switch {
	case e.method != uint16(Store) && e.method != uint16(Deflate):
		return wire.ErrUnsupported.With("compression method %d (%s)", e.method, methodName(e.method))
	case e.method == uint16(Deflate) && d.opts.StoredOnly:
		return wire.ErrUnsupported.With("deflated member in a format that stores")
	case e.version > maxVersion:
		return wire.ErrUnsupported.With("needs version %d of the format", e.version)
	case e.disk != 0:
		return wire.ErrUnsupported.With("member on disk %d", e.disk)
	}
	return nil
}

func checkFlags(flags, method uint16) error {
	switch {
	case flags&(flagEncrypted|flagStrong|flagMasked) != 0 || method == 99:
		return wire.ErrUnsupported.With("encrypted member (flags %#04x)", flags)
	case flags&flagPatched != 0:
		return wire.ErrUnsupported.With("member is a patch (flags %#04x)", flags)
	case flags&^legalFlags != 0:
		return wire.ErrRange.With("flags %#04x", flags)
	case flags&flagHints != 0 && method != uint16(Deflate):
		return wire.ErrMismatch.With("deflate hints %#04x with method %d", flags, method)
	}
	return nil
}

func methodName(m uint16) string {
	switch m {
	case 9:
		return "deflate64"
	case 12:
		return "bzip2"
	case 14:
		return "lzma"
	case 93:
		return "zstd"
	case 95:
		return "xz"
	default:
		return "unknown"
	}
}

// sizes takes sizes and offset from the entry or, where they are saturated,
// from the ZIP64 field, which holds just those, in this order.
func (d *decoder) sizes(m *Member, e *entry, field []byte) error {
	left := field
	var values [3]uint64
	for k, short := range [...]uint32{e.size, e.comp, e.header} {
		values[k] = uint64(short)
		if short != max32 {
			continue
		}
		if len(left) < 8 {
			return wire.ErrMissing.With("zip64 extra field of a saturated size or offset")
		}
		values[k], left = binary.LittleEndian.Uint64(left), left[8:]
	}
	size, comp, header := values[0], values[1], values[2]
	switch {
	case len(left) > 0:
		return wire.ErrMismatch.With("zip64 extra field of %d bytes, %d are used", len(field), len(field)-len(left))
	case comp > d.end.dirOff || header > d.end.dirOff-comp:
		return wire.ErrRange.With("%d bytes at %#x, directory begins at %#x", comp, header, d.end.dirOff)
	case size > wire.MaxSize:
		return wire.ErrRange.With("size %d", size)
	case m.Method == Store && size != comp:
		return wire.ErrMismatch.With("stored member of %d bytes takes %d", size, comp)
	}
	m.Size, m.Comp, m.HeaderOff = int64(size), int64(comp), int64(header)
	return checkKind(m, e)
}

const (
	hostUnix   = 3
	hostDarwin = 19
	dosFolder  = 0x10
	unixKind   = 0xf000
	unixFile   = 0x8000
	unixFolder = 0x4000
	unixLink   = 0xa000
)

// checkKind refuses members that are no plain file. PyTorch's reader leaves a
// member that is marked as a folder unread and says nothing, so name, size and
// attributes must tell the same story.
func checkKind(m *Member, e *entry) error {
	folder := isDir(m.Name)
	if folder && m.Size != 0 {
		return wire.ErrMismatch.With("folder with %d bytes", m.Size)
	}
	if !folder && e.attrs&dosFolder != 0 {
		return wire.ErrMismatch.With("file with the attribute of a folder")
	}
	if e.host != hostUnix && e.host != hostDarwin {
		return nil
	}
	switch kind := e.attrs >> 16 & unixKind; {
	case kind == 0, kind == unixFile && !folder, kind == unixFolder && folder:
		return nil
	case kind == unixLink:
		return wire.ErrUnsupported.With("symbolic link")
	case kind == unixFile || kind == unixFolder:
		return wire.ErrMismatch.With("mode %#o and name disagree about a folder", e.attrs>>16)
	default:
		return wire.ErrUnsupported.With("special file of mode %#o", e.attrs>>16)
	}
}
