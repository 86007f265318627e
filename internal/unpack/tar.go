package unpack

import (
	"bytes"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

const (
	tarBlock = 512
	// maxLongName bounds a header that gives the next entry a longer name.
	maxLongName = 16 << 10
)

// A tarEntry is one header.
type tarEntry struct {
	name string
	kind byte
	size int64
}

// tar visits the files of a tar archive: ustar, GNU's long names, and pax headers with
// paths and sizes. Archives that tar readers interpret differently are refused: two sizes for an
// entry, repeated names, sparse files.
//
// Format: POSIX.1-2024, pax; GNU tar manual, "Basic Tar Format".
func (w *walker) tar() error {
	t := tarWalk{walker: w, seen: map[string]bool{}, nextSize: -1, steps: w.b.Steps()}
	defer func() { w.b.Drop(t.held) }()
	for at := int64(0); ; {
		head, err := t.block(at)
		if err != nil {
			return err
		}
		if head == ([tarBlock]byte{}) {
			return t.checkEnd(at)
		}
		e, err := t.header(&head, at)
		if err != nil {
			return err
		}
		if t.nextSize >= 0 && e.kind != 'L' && e.kind != 'x' && e.kind != 'g' {
			if e.size != 0 && e.size != t.nextSize {
				return w.fail(memberPlace(e.name), at, wire.ErrMismatch.WithRule("tar.size-differs").Errorf("its headers state two sizes, %d and %d bytes", t.nextSize, e.size))
			}
			e.size = t.nextSize
		}
		if e.size > w.size-at-tarBlock {
			return w.fail(memberPlace(e.name), at, wire.ErrTruncated.Errorf("the header states %d bytes, %d are left", e.size, max(0, w.size-at-tarBlock)))
		}
		data := at + tarBlock
		if err := t.entry(e, at, data); err != nil {
			return err
		}
		end := data + e.size
		at = end + (tarBlock-e.size%tarBlock)%tarBlock
		if err := t.checkZeros(end, min(at, w.size)); err != nil {
			return err
		}
	}
}

// headSteps is the charge for a header: one step per 64 bytes, as for all reads. With one step per
// header, half a megabyte of headers was read between two checks of the deadline.
const headSteps = tarBlock / 64

// A tarWalk is the state of reading one archive.
type tarWalk struct {
	*walker

	seen     map[string]bool
	held     int64
	nextName string // of the next entry, from an extension header
	nextSize int64  // or -1
	extended bool   // an extension header precedes the next entry
	steps    limits.Steps
}

func (t *tarWalk) block(at int64) (head [tarBlock]byte, err error) {
	if err := t.b.Step(headSteps); err != nil {
		return head, t.fail("", at, err)
	}
	if at > t.size-tarBlock {
		return head, t.fail("", min(at, t.size), wire.ErrTruncated.Errorf("the archive has no zero block at its end"))
	}
	if err := wire.ReadFull(t.r, head[:], at); err != nil {
		return head, t.fail("", at, err)
	}
	return head, nil
}

// header reads one header block.
func (t *tarWalk) header(p *[tarBlock]byte, at int64) (e tarEntry, err error) {
	bad := func(cause *wire.Cause, format string, args ...any) (tarEntry, error) {
		return e, t.fail("", at, cause.Errorf(format, args...))
	}
	sum, ok := octal(p[148:156])
	if want := checksum(p); !ok || sum != want {
		return bad(wire.ErrChecksum.WithRule("tar.header-sum"), "the checksum of the header must be %o", want)
	}
	if e.size, ok = number(p[124:136]); !ok {
		return bad(wire.ErrSyntax.WithRule("tar.header-syntax"), "a size that is not a number")
	}
	e.kind = p[156]
	e.name, ok = text(p[0:100])
	prefix, ok2 := "", true
	if string(p[257:265]) == "ustar\x0000" {
		prefix, ok2 = text(p[345:500])
	} else if string(p[257:265]) != "ustar  \x00" {
		return bad(wire.ErrUnsupported.WithRule("tar.header-old"), "a header older than ustar, which readers interpret differently")
	} else if p[345] != 0 { // GNU tar reads times there, Python a prefix
		return bad(wire.ErrUnsupported.WithRule("tar.header-old"), "a header that GNU tar and Python read differently")
	}
	if !ok || !ok2 {
		return bad(wire.ErrText.WithRule("tar.name-form"), "bytes after the end of a name")
	}
	if prefix != "" {
		e.name = prefix + "/" + e.name
	}
	return e, nil
}

// entry handles one header.
func (t *tarWalk) entry(e tarEntry, at, data int64) error {
	switch e.kind {
	case 'L', 'x', 'g':
		return t.extension(e, at, data)
	}
	if t.nextName != "" {
		e.name = t.nextName
	}
	t.nextName, t.nextSize, t.extended = "", -1, false
	name, cause := cleanPath(e.name)
	if cause != nil {
		return t.fail(memberPlace(e.name), at, cause)
	}
	if e.kind == '5' {
		if e.size > 0 {
			return t.fail(memberPlace(e.name), at, wire.ErrGap.WithRule("tar.folder-data").Errorf("a folder with %d bytes of data", e.size))
		}
		return nil
	}
	if name == "" || strings.HasSuffix(e.name, "/") {
		return t.fail(memberPlace(e.name), at, wire.ErrText.WithRule("tar.name-form").Errorf("a file without a name"))
	}
	if err := t.checkUnique(name, at); err != nil {
		return err
	}
	switch e.kind {
	case '0', 0:
		return t.visitItem(Item{Name: name, Size: e.size, R: io.NewSectionReader(t.r, data, e.size)})
	case '1', '2':
		if e.size > 0 {
			return t.fail(memberPlace(name), at, wire.ErrUnsupported.WithRule("tar.entry-type").Errorf("a link with %d bytes of data", e.size))
		}
		return t.visitItem(Item{Name: name, Why: "a link inside of an archive: never followed"})
	case '3', '4', '6':
		return t.visitItem(Item{Name: name, Why: "no regular file: never opened"})
	}
	return t.fail(memberPlace(name), at, wire.ErrUnsupported.WithRule("tar.entry-type").Errorf("an entry of type %q", e.kind))
}

// checkUnique refuses a second entry with the same name: readers differ in which one they
// keep.
func (t *tarWalk) checkUnique(name string, at int64) error {
	key := strings.ToLower(name)
	if t.seen[key] {
		return t.fail(memberPlace(name), at, wire.ErrDuplicate.WithRule("tar.name-twice").Errorf("the name appears twice (letters compared in lower case)"))
	}
	n := int64(2*len(name) + 64)
	if err := t.b.Hold(n); err != nil {
		return t.fail(memberPlace(name), at, err)
	}
	t.held += n
	t.seen[key] = true
	return nil
}

// extension reads a header that describes the next entry.
func (t *tarWalk) extension(e tarEntry, at, data int64) error {
	if e.size > maxLongName {
		return t.fail("", at, wire.ErrUnsupported.WithRule("tar.extension-size").Errorf("an extension header of %d bytes, at most %d are read", e.size, maxLongName))
	}
	if t.extended && e.kind != 'g' {
		return t.fail("", at, wire.ErrDuplicate.WithRule("tar.extension-twice").Errorf("two extension headers for one entry"))
	}
	p, err := limits.Make[byte](t.b, int(e.size))
	if err != nil {
		return t.fail("", data, err)
	}
	if err := wire.ReadFull(t.r, p, data); err != nil {
		return t.fail("", data, err)
	}
	if e.kind == 'L' {
		name, ok := text(p)
		if !ok || name == "" {
			return t.fail("", data, wire.ErrText.WithRule("tar.name-form").Errorf("an empty long name, or one with a NUL"))
		}
		t.nextName, t.extended = name, true
		return nil
	}
	t.extended = t.extended || e.kind == 'x'
	return t.records(p, data, e.kind == 'g')
}

// records reads the records of a pax header: "20 path=a/b
// ". Names, sizes, times and owners are known; a record that could change anything else is
// refused.
func (t *tarWalk) records(p []byte, off int64, global bool) error {
	for len(p) > 0 {
		digits, _, ok := bytes.Cut(p, []byte(" "))
		n, err := strconv.Atoi(string(digits))
		if !ok || err != nil || n <= len(digits)+1 || n > len(p) || p[n-1] != '\n' || strconv.Itoa(n) != string(digits) {
			return t.fail("", off, wire.ErrSyntax.WithRule("tar.header-syntax").Errorf("a record of a pax header"))
		}
		key, value, ok := strings.Cut(string(p[len(digits)+1:n-1]), "=")
		switch {
		case !ok:
			return t.fail("", off, wire.ErrSyntax.WithRule("tar.header-syntax").Errorf("a record of a pax header without a value"))
		case (key == "path" || key == "size") && !global:
			if err := t.setNext(key, value); err != nil {
				return t.fail("", off, err)
			}
		case key == "linkpath" && !global, paxKeys[key], strings.HasPrefix(key, "SCHILY.xattr."), strings.HasPrefix(key, "LIBARCHIVE."):
		default:
			return t.fail("", off, wire.ErrUnsupported.WithRule("tar.pax-key").Errorf("the record %s of a pax header", wire.Quote(key)))
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// setNext sets the name or the size of the next entry.
func (t *tarWalk) setNext(key, value string) error {
	if key == "path" {
		if t.nextName != "" {
			return wire.ErrDuplicate.WithRule("tar.extension-twice").Errorf("two names for one entry")
		}
		if t.nextName = value; value == "" || strings.IndexByte(value, 0) >= 0 {
			return wire.ErrText.WithRule("tar.name-form").Errorf("an empty name, or one with a NUL")
		}
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case t.nextSize >= 0:
		return wire.ErrDuplicate.WithRule("tar.extension-twice").Errorf("two sizes for one entry")
	case err != nil || n < 0 || strconv.FormatInt(n, 10) != value:
		return wire.ErrSyntax.WithRule("tar.header-syntax").Errorf("a size that is not a number")
	}
	t.nextSize = n
	return nil
}

// paxKeys do not affect what is read.
var paxKeys = map[string]bool{
	"mtime": true, "atime": true, "ctime": true, "uid": true, "gid": true, "uname": true, "gname": true, "comment": true,
}

// checkEnd checks that only zeros follow.
func (t *tarWalk) checkEnd(at int64) error {
	if t.extended {
		return t.fail("", at, wire.ErrMissing.WithRule("tar.entry-missing").Errorf("no entry follows the last extension header"))
	}
	if t.size-at < 2*tarBlock {
		return t.fail("", at, wire.ErrTruncated.Errorf("one zero block at the end, where an archive has two"))
	}
	return t.checkZeros(at, t.size)
}

// checkZeros checks that bytes outside of entries are zero.
func (t *tarWalk) checkZeros(at, end int64) error {
	var buf [8 * tarBlock]byte
	for at < end {
		if err := t.steps.Step(); err != nil {
			return t.fail("", at, err)
		}
		p := buf[:min(int64(len(buf)), end-at)]
		if err := wire.ReadFull(t.r, p, at); err != nil {
			return t.fail("", at, err)
		}
		if i := wire.NonZero(p); i >= 0 {
			return t.fail("", at+int64(i), wire.ErrGap.WithRule("tar.hole").Errorf("a nonzero byte after the end of the archive"))
		}
		at += int64(len(p))
	}
	return nil
}

// checksum returns the sum of a header's bytes, with spaces for its own field.
func checksum(p *[tarBlock]byte) (sum int64) {
	for i, c := range p {
		if 148 <= i && i < 156 {
			c = ' '
		}
		sum += int64(c)
	}
	return sum
}

// number parses a size: octal digits, or GNU's base 256.
func number(p []byte) (n int64, ok bool) {
	if p[0] != 0x80 {
		return octal(p)
	}
	for _, c := range p[1:] {
		if n > wire.MaxSize>>8 {
			return 0, false
		}
		n = n<<8 | int64(c)
	}
	return n, true
}

// octal parses octal digits, up to a space, a NUL or the end of the field.
func octal(p []byte) (n int64, ok bool) {
	s := strings.TrimLeft(string(p), " ")
	i := strings.IndexAny(s, " \x00")
	if i < 0 {
		i = len(s)
	}
	if strings.Trim(s[i:], " \x00") != "" || i == 0 {
		return 0, false
	}
	n, err := strconv.ParseInt(s[:i], 8, 64)
	return n, err == nil && n >= 0 && s[0] != '+'
}

// text returns a field up to its first NUL; false if other bytes follow it.
func text(p []byte) (string, bool) {
	s, rest, _ := strings.Cut(string(p), "\x00")
	return s, strings.Trim(rest, "\x00") == ""
}

// cleanPath returns a path without "./" at its beginning and "/" at its end.
func cleanPath(name string) (string, error) {
	for strings.HasPrefix(name, "./") {
		name = strings.TrimLeft(name[1:], "/")
	}
	name = strings.TrimSuffix(name, "/")
	if name == "." {
		name = ""
	}
	switch {
	case !utf8.ValidString(name):
		return "", wire.ErrText.WithRule("tar.name-form").Errorf("a name that is not UTF-8")
	case strings.HasPrefix(name, "/"), len(name) > 1 && name[1] == ':':
		return "", wire.ErrText.WithRule("tar.path-escape").Errorf("an absolute path")
	case strings.ContainsRune(name, '\\'):
		return "", wire.ErrText.WithRule("tar.name-form").Errorf("backslash in a name")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }):
		return "", wire.ErrText.WithRule("tar.name-form").Errorf("control character in a name")
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." || name != "" && (part == "" || part == ".") {
			return "", wire.ErrText.WithRule("tar.path-escape").Errorf("a path with the element %s", wire.Quote(part))
		}
	}
	return name, nil
}
