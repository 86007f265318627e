package zip

import (
	"encoding/binary"
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
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

	methodAES = 99

	legalFlags = flagHints | flagDescriptor | flagUTF8
)

// QuirkHints is the leniency that allows deflate hints on a stored member.
// Info-ZIP leaves them there when deflating did not help; nothing reads them.
const QuirkHints = "zip.store-hints"

// maxVersion is the highest "version needed" that Python's zipfile accepts.
const maxVersion = 63

// An entry is a directory entry and what is proven of it.
type entry struct {
	off                           int64
	m                             Member // the parts proven so far
	host, version                 byte
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
		m:    Member{Flags: le.Uint16(p[8:]), Method: Method(le.Uint16(p[10:])), CRC: le.Uint32(p[16:])},
		comp: le.Uint32(p[20:]), size: le.Uint32(p[24:]),
		nameLen: le.Uint16(p[28:]), extraLen: le.Uint16(p[30:]), commentLen: le.Uint16(p[32:]),
		disk: le.Uint16(p[34:]), attrs: le.Uint32(p[38:]), header: le.Uint32(p[42:]),
	}
}

// central reads one entry of the directory.
func (d *decoder) central() error {
	i := d.at
	p, err := d.dir.View(centralLen)
	if err != nil {
		return err
	}
	if string(p[:sigLen]) != sigCentral {
		return d.dir.Fail("entry "+strconv.Itoa(i), wire.ErrSyntax.WithRule("zip.entry-signature").Errorf("no directory entry"))
	}
	e := parseEntry(d.dir.Off(), p)
	if err := d.member(&e); err != nil {
		return wire.At(d.opts.Format, Where(i, e.m.Name), e.off, err)
	}
	d.out.Members[i] = e.m
	if d.at++; d.at < len(d.out.Members) {
		return nil
	}
	if d.dir.Left() > 0 {
		return d.dir.Fail("directory", wire.ErrGap.WithRule("zip.directory-rest").Errorf("%d bytes after the last entry", d.dir.Left()))
	}
	d.stage = stUnique
	return nil
}

// bad returns an error at a field of the entry.
func (d *decoder) bad(e *entry, field int64, cause error) error {
	return d.c.FailAt(Where(d.at, e.m.Name), e.off+field, cause)
}

// member reads the variable part of an entry and checks the entry.
func (d *decoder) member(e *entry) error {
	if err := d.dir.Skip(centralLen); err != nil {
		return err
	}
	p, err := d.dir.View(int(e.nameLen))
	if err != nil {
		return err
	}
	if e.m.Name, err = d.names.String(d.b, p); err != nil {
		return err
	}
	if err := checkName(e.m.Name, e.m.Flags); err != nil {
		return d.bad(e, centralLen, err)
	}
	if err := d.dir.Skip(uint64(e.nameLen)); err != nil {
		return err
	}
	if err := d.checkEntry(e); err != nil {
		return err
	}
	if p, err = d.dir.View(int(e.extraLen)); err != nil {
		return err
	}
	extra := d.dir.Off() - e.off
	field, at, err := d.zip64Field(p)
	if err != nil {
		return d.bad(e, extra+int64(at), err)
	}
	if err := d.sizes(e, field); err != nil {
		return err
	}
	if err := d.checkKind(e); err != nil {
		return err
	}
	return d.dir.Skip(uint64(e.extraLen) + uint64(e.commentLen))
}

func (d *decoder) checkEntry(e *entry) error {
	m := &e.m
	if err := d.checkFlags(m); err != nil {
		return d.bad(e, 8, err)
	}
	switch {
	case m.Method != Store && m.Method != Deflate:
		return d.bad(e, 10, wire.ErrUnsupported.WithRule("zip.method").Errorf("compression method %d (%s)", m.Method, methodName(m.Method)))
	case m.Method == Deflate && d.opts.StoredOnly:
		return d.bad(e, 10, wire.ErrUnsupported.WithRule("zip.deflated").Errorf("deflated member in a format that stores its members"))
	case e.version > maxVersion:
		return d.bad(e, 6, wire.ErrUnsupported.WithRule("zip.version").Errorf("version %d of the format is needed", e.version))
	case e.disk != 0:
		return d.bad(e, 34, wire.ErrUnsupported.WithRule("zip.disks").Errorf("member on disk %d", e.disk))
	}
	return nil
}

func (d *decoder) checkFlags(m *Member) error {
	switch {
	case m.Flags&(flagEncrypted|flagStrong|flagMasked) != 0 || m.Method == methodAES:
		return wire.ErrUnsupported.WithRule("zip.encrypted").Errorf("encrypted member (flags %#04x, method %d)", m.Flags, m.Method)
	case m.Flags&flagPatched != 0:
		return wire.ErrUnsupported.WithRule("zip.patch").Errorf("member is a patch (flags %#04x)", m.Flags)
	case m.Flags&^legalFlags != 0:
		return wire.ErrRange.WithRule("zip.flags").Errorf("flags %#04x", m.Flags)
	case m.Flags&flagHints != 0 && m.Method == Store && !d.b.Policy().Quirk(QuirkHints):
		return wire.ErrMismatch.WithRule("zip.deflate-hints").Errorf("deflate hints %#04x on a stored member (allowed by the quirk %s)", m.Flags, QuirkHints)
	}
	return nil
}

// methodNames are the names in APPNOTE of methods that are in use.
var methodNames = [...]struct {
	method Method
	name   string
}{{1, "shrunk"}, {6, "imploded"}, {9, "deflate64"}, {12, "bzip2"}, {14, "lzma"}, {93, "zstd"}, {95, "xz"}}

func methodName(m Method) string {
	for _, n := range methodNames {
		if n.method == m {
			return n.name
		}
	}
	return "unknown"
}

// sizes takes sizes and offset from the entry. Saturated ones are in the ZIP64 field,
// which holds exactly those, in this order.
func (d *decoder) sizes(e *entry, field []byte) error {
	left := field
	var values [3]uint64
	for k, short := range [...]uint32{e.size, e.comp, e.header} {
		values[k] = uint64(short)
		if short != max32 {
			continue
		}
		if len(left) < 8 {
			return d.bad(e, 20, wire.ErrMissing.WithRule("zip.zip64-missing").Errorf("zip64 extra field of a saturated size or offset"))
		}
		values[k], left = binary.LittleEndian.Uint64(left), left[8:]
	}
	m, size, comp, header := &e.m, values[0], values[1], values[2]
	switch {
	case len(left) > 0:
		return d.bad(e, 20, wire.ErrMismatch.WithRule("zip.zip64-rest").Errorf("zip64 extra field of %d bytes, %d are used", len(field), len(field)-len(left)))
	case comp > d.end.dirOff || header > d.end.dirOff-comp:
		return d.bad(e, 42, wire.ErrRange.WithRule("zip.member-outside").Errorf("%d bytes at %#x, but the directory begins at %#x", comp, header, d.end.dirOff))
	case size > wire.MaxSize:
		return d.bad(e, 24, wire.ErrRange.WithRule("zip.size-huge").Errorf("size %d", size))
	case m.Method == Store && size != comp:
		return d.bad(e, 24, wire.ErrMismatch.WithRule("zip.stored-size").Errorf("stored member of %d bytes occupies %d", size, comp))
	}
	m.Size, m.Comp, m.HeaderOff = int64(size), int64(comp), int64(header)
	if m.Method == Store {
		return nil
	}
	if err := d.b.Inflate(m.Comp, m.Size); err != nil {
		return d.bad(e, 24, err)
	}
	return nil
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

// checkKind refuses members that are not regular files. For a member that is marked as a
// folder, PyTorch's reader returns uninitialized memory, so name, size and attributes
// must agree.
func (d *decoder) checkKind(e *entry) error {
	folder := isDir(e.m.Name)
	switch {
	case folder && e.m.Size != 0:
		return d.bad(e, 24, wire.ErrMismatch.WithRule("zip.folder-kind").Errorf("folder with %d bytes of data", e.m.Size))
	case !folder && e.attrs&dosFolder != 0:
		return d.bad(e, 38, wire.ErrMismatch.WithRule("zip.folder-kind").Errorf("file with the attribute of a folder"))
	case e.host != hostUnix && e.host != hostDarwin:
		return nil
	}
	switch kind := e.attrs >> 16 & unixKind; {
	case kind == 0, kind == unixFile && !folder, kind == unixFolder && folder:
		return nil
	case kind == unixLink:
		return d.bad(e, 38, wire.ErrUnsupported.WithRule("zip.symlink").Errorf("symbolic link"))
	case kind == unixFile || kind == unixFolder:
		return d.bad(e, 38, wire.ErrMismatch.WithRule("zip.folder-kind").Errorf("mode %#o and name disagree about a folder", e.attrs>>16))
	default:
		return d.bad(e, 38, wire.ErrUnsupported.WithRule("zip.special-file").Errorf("special file of mode %#o", e.attrs>>16))
	}
}
