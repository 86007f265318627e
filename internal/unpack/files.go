package unpack

import (
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// Files is an archive as a file system, for judgements that need several files. It charges the
// account of the archive, and Close returns what it holds.
type Files struct {
	w       walker
	zip     *zip.Archive
	entries map[string]*entry
	names   []string
	sorted  []string // the names in their order, once a folder is asked for
	held    int64
}

// An entry is a file of an archive.
type entry struct {
	size   int64
	r      io.ReaderAt // nil if the file is never opened or is deflated
	member int         // of a ZIP archive
	closed bool        // it is never opened
	folder bool        // of other files
}

// entryCost is the memory of an entry besides its name.
const entryCost = 160

// openBlocks bounds the blocks that are kept of a deflated file: its header.
const openBlocks = headBlocks + 4

// Files opens an archive that [Kind.Walk] has read without an error. A stream has no files.
// directory is the listing of a ZIP archive, nil if it was not read.
func (k *Kind) Files(b *limits.Budget, r io.ReaderAt, size int64, directory *zip.Listing) (f *Files, err error) {
	f = &Files{w: walker{b: b, kind: k.Name, r: r, size: size, directory: directory}, entries: map[string]*entry{}}
	switch k.Name {
	case "tar":
		f.w.visit = func(i Item) error { return f.add(i.Name, entry{size: i.Size, r: i.R, closed: i.R == nil}) }
		err = f.w.tar()
	case "zip":
		if f.zip, err = f.w.proven(); err != nil {
			break
		}
		for i := range f.zip.Members {
			m := &f.zip.Members[i]
			if strings.HasSuffix(m.Name, "/") {
				continue
			}
			e := entry{size: m.Size, member: i}
			e.r, _ = f.zip.At(i)
			if err = f.add(m.Name, e); err != nil {
				break
			}
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

func (f *Files) add(name string, e entry) error {
	n := int64(2*len(name) + entryCost)
	if err := f.w.b.Hold(n); err != nil {
		return f.w.fail(memberPlace(name), -1, err)
	}
	f.held += n
	f.entries[name], f.names = &e, append(f.names, name)
	return nil
}

// Close returns the memory of the file list to the account.
func (f *Files) Close() error {
	f.w.b.Drop(f.held)
	f.held, f.entries, f.names, f.sorted = 0, nil, nil, nil
	return nil
}

// Names lists the files in the order of the archive.
func (f *Files) Names() []string { return slices.Clone(f.names) }

func (f *Files) find(op, name string) (*entry, error) {
	e, ok := f.entries[name]
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return e, nil
}

// Stat describes a file. Links, folders and other entries that are never opened are not regular
// files.
func (f *Files) Stat(name string) (fs.FileInfo, error) {
	e, err := f.find("stat", name)
	if err == nil {
		return info{path.Base(name), e}, nil
	}
	is, over := f.isFolder(name)
	if over != nil {
		return nil, f.w.fail(memberPlace(name), -1, over)
	}
	if is {
		return info{path.Base(name), &entry{folder: true}}, nil
	}
	return nil, err
}

// List lists the names of the files of a folder, in their order.
func (f *Files) List(dir string) (list []string, err error) {
	if err := f.sort(); err != nil {
		return nil, f.w.fail(memberPlace(dir), -1, err)
	}
	below := dir + "/"
	if dir == "." {
		below = ""
	}
	first, _ := slices.BinarySearch(f.sorted, below)
	for _, name := range f.sorted[first:] {
		if err := f.w.b.Step(1); err != nil {
			return nil, f.w.fail(memberPlace(dir), -1, err)
		}
		rest, ok := strings.CutPrefix(name, below)
		if !ok {
			break
		}
		if strings.Contains(rest, "/") {
			continue
		}
		if list, err = limits.Append(f.w.b, list, rest); err != nil {
			return nil, f.w.fail(memberPlace(dir), -1, err)
		}
	}
	return list, nil
}

// isFolder reports whether a file lies below a name.
func (f *Files) isFolder(name string) (bool, error) {
	if err := f.sort(); err != nil {
		return false, err
	}
	if err := f.w.b.Step(1); err != nil {
		return false, err
	}
	below := name + "/"
	i, _ := slices.BinarySearch(f.sorted, below)
	return i < len(f.sorted) && strings.HasPrefix(f.sorted[i], below), nil
}

// sort sorts the names once.
func (f *Files) sort() error {
	if f.sorted == nil && len(f.names) > 0 {
		n := int64(len(f.names))
		const size = 16 // of a string
		if err := f.w.b.Hold(size * n); err != nil {
			return err
		}
		f.held += size * n
		sorted := slices.Clone(f.names)
		if err := limits.SortUnstable(f.w.b, sorted, strings.Compare); err != nil {
			return err
		}
		f.sorted = sorted
	}
	return nil
}

// Open opens a file.
func (f *Files) Open(name string) (fs.File, error) {
	e, err := f.find("open", name)
	if err != nil {
		return nil, err
	}
	if e.closed {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	o := &opened{SectionReader: io.NewSectionReader(e.r, 0, e.size), info: info{path.Base(name), e}}
	if e.r == nil {
		if err := f.inflate(o, name, e); err != nil {
			return nil, err
		}
	}
	return o, nil
}

// inflate opens a deflated member and keeps few of its blocks.
func (f *Files) inflate(o *opened, name string, e *entry) error {
	var z io.ReadCloser
	o.end = func() {
		if z != nil {
			z.Close()
		}
	}
	begin := func() (in io.Reader, err error) {
		o.end()
		z, err = f.zip.Open(f.w.b, e.member)
		return z, err
	}
	off := func(err error) error {
		return f.w.fail(zip.Where(e.member, name), f.zip.Members[e.member].DataOff, err)
	}
	p := &replay{b: f.w.b, open: begin, place: off, charge: func(int64) error { return nil }, size: e.size, most: openBlocks, blocks: map[int64][]byte{}}
	o.SectionReader, o.replay = io.NewSectionReader(p, 0, e.size), p
	return nil
}

// An opened is an open file of an archive.
type opened struct {
	*io.SectionReader

	info   info
	replay *replay
	end    func()
}

func (o *opened) Stat() (fs.FileInfo, error) { return o.info, nil }

func (o *opened) Close() error {
	if o.replay != nil {
		o.end()
		o.replay.close()
		o.replay = nil
	}
	return nil
}

// An info describes a file of an archive.
type info struct {
	name string
	e    *entry
}

func (i info) Name() string       { return i.name }
func (i info) Size() int64        { return i.e.size }
func (i info) ModTime() time.Time { return time.Time{} }
func (i info) IsDir() bool        { return i.e.folder }
func (i info) Sys() any           { return nil }

func (i info) Mode() fs.FileMode {
	switch {
	case i.e.folder:
		return fs.ModeDir | 0o555
	case i.e.closed:
		return fs.ModeIrregular | 0o444
	}
	return 0o444
}
