package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// FolderFormat is the format of a verdict about a folder.
const FolderFormat = "folder"

// A File is one file of a folder.
type File struct {
	Name   string // its path below the folder, with slashes
	Size   int64
	SHA256 string // in hex, "" if it is not known
}

// DirHash is the digest of a folder: the SHA-256 of a line for each file, in the order of
// their names, that has the file's SHA-256 in hex, two spaces, and the name. in-toto calls it
// dirHash, and Go hashes modules so. It is what this prints in the folder:
//
//	find . -type f | cut -c3- | LC_ALL=C sort | xargs -r sha256sum | sha256sum
//
// It is "" if the digest of a file is not known, or if there is no file.
func DirHash(files []File) string {
	h := sha256.New()
	for _, f := range inOrder(files) {
		if !isDigest(f.SHA256) || strings.ContainsAny(f.Name, "\n\\") { // which sha256sum would escape
			return ""
		}
		fmt.Fprintf(h, "%s  %s\n", f.SHA256, f.Name)
	}
	if len(files) == 0 {
		return ""
	}
	return hex.EncodeToString(h.Sum(nil))
}

// inOrder returns files in the order of their names.
func inOrder(files []File) []File {
	return slices.SortedFunc(slices.Values(files), func(a, b File) int { return strings.Compare(a.Name, b.Name) })
}

// CheckFolder judges all files of a file system as one folder: each as [Gate.CheckFS] judges
// it, in one verdict. Its refusals are those of all files; a promised format is that of every
// model in the folder, of which there must be one. If no file is one, or could hold one, nothing
// was judged, and the folder is refused unless [Hint.Beside] is set. The account bounds all files together, and
// its time ends the judgement of all.
func (g *Gate) CheckFolder(b *limits.Budget, fsys fs.FS, h Hint) (*Verdict, error) {
	if g == nil {
		return nil, errNoGate
	}
	return g.guarded(h.Name, func() (*Verdict, error) {
		policy := *b.Policy()
		policy.Timeout = limits.NoTimeout // that of b is over all files
		account := b.Child(policy)
		kept := false
		defer func() {
			if !kept {
				account.Close()
			}
		}()
		f := &folding{promised: h.Promised, models: h.Beside}
		f.files.o = &opened{s: g.subject(nil, 0, h), account: account}
		f.files.out = report{format: FolderFormat, verified: true, summed: true, contents: []Content{}, openings: []Opening{}, account: account}
		each := *g.forWalk()
		each.Policy.Limits.Timeout = limits.NoTimeout
		if err := f.judge(b, &each, fsys); err != nil {
			return nil, err
		}
		v := g.draft(h.Name)
		v.take(f.files.out)
		v.asked = asked{h.Promised, h.Beside, h.Field}
		v.Promised, v.Size, v.listing = h.Promised, f.size, inOrder(f.listing)
		v.dirHash = DirHash(v.listing)
		kept = true
		return v.conclude(true), nil
	})
}

// A folding makes one report of the verdicts about the files of a folder.
type folding struct {
	files    unpacking // which holds the report
	promised string
	models   bool // there is one, or none is needed
	size     int64
	listing  []File
}

// judge judges the files.
func (f *folding) judge(b *limits.Budget, each *Gate, fsys fs.FS) error {
	out, promised := &f.files.out, false
	for v, err := range each.CheckFS(b, fsys, ".", ".") {
		if err == nil {
			promised = promised || v.Format == f.promised
			err = f.add(v)
		}
		if err != nil {
			if lost := contextError(b, err); lost != nil {
				return lost
			}
			if out.verified = false; out.err == nil || wire.ClassOf(err) > wire.ClassOf(out.err) {
				out.err = wire.At("gate", "", wire.NoOffset, err)
			}
			return nil
		}
	}
	if out.err == nil && len(f.listing) == 0 {
		out.err = wire.At("gate", "", wire.NoOffset, wire.ErrUnsupported.Errorf("the folder has no file"))
	}
	switch {
	case out.err != nil:
	case f.promised != "" && !promised:
		out.err = otherThanPromised(f.promised, "no model")
	case !f.models:
		out.err = wire.At("gate", "", wire.NoOffset, wire.ErrUnsupported.WithRule("detect.foreign").Errorf("there is no model among the files, so nothing was judged: send one with them, or say that none is needed"))
	}
	return nil
}

// add adds the verdict about a file.
func (f *folding) add(v *Verdict) error {
	d := (*draft)(v)
	if d.Format != "" && d.Err == nil {
		d.Promised = f.promised
		d.checkPromise()
	}
	var err error
	if f.listing, err = limits.Append(f.files.o.account, f.listing, File{v.Name, v.Size, v.SHA256}); err != nil {
		return err
	}
	f.size = wire.AddCap(f.size, v.Size)
	f.models = f.models || !v.BesideModel()
	if isIndex(v.Name) {
		if d.Totals = (Totals{}); d.Err == nil {
			d.Verified, d.summed = true, true // as far as the shards are, which are judged as well
		}
	}
	if err := f.files.add(d); err != nil && !errors.Is(err, errEnough) { // each file has its own account
		return err
	}
	return nil
}

// DirHash returns the digest of a folder that was judged, as [DirHash] does, or "". It is for
// a folder what [Verdict.SHA256] is for a file.
func (v *Verdict) DirHash() string {
	if v == nil {
		return ""
	}
	return v.dirHash
}

// Files lists the files of a folder that was judged.
func (v *Verdict) Files() []File {
	if v == nil {
		return nil
	}
	return v.listing
}

// A Folder is a folder of files that are somewhere else, such as in a spool.
type Folder struct {
	names   folder.Names
	files   map[string]*part
	folders map[string][]fs.DirEntry
}

// A part is a file of a Folder.
type part struct {
	File
	at io.ReaderAt
}

// Add adds a file with its bytes. The gate believes its digest, if it has one. The error is
// about its name, which must be that of one file below the folder, on every system.
func (f *Folder) Add(file File, at io.ReaderAt) error {
	if f == nil {
		return errNoFolder
	}
	if err := f.names.Add(file.Name); err != nil {
		return err
	}
	if f.files == nil {
		f.files, f.folders = map[string]*part{}, map[string][]fs.DirEntry{".": nil}
	}
	p := &part{file, at}
	f.files[file.Name] = p
	entry := partInfo{path.Base(file.Name), file.Size, 0o444}
	for name := file.Name; name != "."; {
		in := path.Dir(name)
		list, known := f.folders[in]
		at, _ := slices.BinarySearchFunc(list, entry, func(e fs.DirEntry, to partInfo) int { return strings.Compare(e.Name(), to.name) })
		f.folders[in] = slices.Insert(list, at, fs.DirEntry(entry))
		if known {
			break
		}
		name, entry = in, partInfo{path.Base(in), 0, fs.ModeDir | 0o555}
	}
	return nil
}

// Open implements [fs.FS].
func (f *Folder) Open(name string) (fs.File, error) {
	if f == nil {
		return nil, errNoFolder
	}
	if p, ok := f.files[name]; ok {
		return &openPart{io.NewSectionReader(p.at, 0, p.Size), p}, nil
	}
	list, ok := f.folders[name]
	if !ok && name != "." {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	return &openList{partInfo{path.Base(name), 0, fs.ModeDir | 0o555}, list}, nil
}

// An openPart is an open file. It tells its digest to the walk.
type openPart struct {
	*io.SectionReader
	of *part
}

func (o *openPart) Stat() (fs.FileInfo, error) {
	return partInfo{path.Base(o.of.Name), o.of.Size, 0o444}, nil
}
func (o *openPart) Close() error     { return nil }
func (o *openPart) knownSum() string { return o.of.SHA256 }

// knownSum returns the digest that a file has from its owner, or "".
func knownSum(r io.ReaderAt) string {
	if k, ok := r.(interface{ knownSum() string }); ok {
		return k.knownSum()
	}
	return ""
}

// partInfo implements fs.FileInfo and fs.DirEntry.
type partInfo struct {
	name string
	size int64
	mode fs.FileMode
}

func (i partInfo) Name() string               { return i.name }
func (i partInfo) Size() int64                { return i.size }
func (i partInfo) Mode() fs.FileMode          { return i.mode }
func (i partInfo) Type() fs.FileMode          { return i.mode.Type() }
func (i partInfo) ModTime() time.Time         { return time.Time{} }
func (i partInfo) IsDir() bool                { return i.mode.IsDir() }
func (i partInfo) Sys() any                   { return nil }
func (i partInfo) Info() (fs.FileInfo, error) { return i, nil }

// An openList is an open folder.
type openList struct {
	info partInfo
	list []fs.DirEntry
}

func (l *openList) Stat() (fs.FileInfo, error) { return l.info, nil }
func (l *openList) Close() error               { return nil }
func (l *openList) Read([]byte) (int, error) {
	return 0, &fs.PathError{Op: "read", Path: l.info.name, Err: fs.ErrInvalid}
}

// ReadDir implements [fs.ReadDirFile].
func (l *openList) ReadDir(n int) ([]fs.DirEntry, error) {
	list := l.list
	if n > 0 {
		if len(list) == 0 {
			return nil, io.EOF
		}
		list = list[:min(n, len(list))]
	}
	l.list = l.list[len(list):]
	return slices.Clone(list), nil
}
