// Package folder lists what is in a folder, once for all uses: what a scan judges, an
// attestation covers, and a verification compares are the same files.
//
// # Rules
//
//   - Every file of the folder and its subfolders is listed, hidden ones too, in the order
//     of their names. No file is opened.
//   - A link is followed to a file in the folder, or to a blob of the same model in the
//     cache of the Hugging Face hub. A link to a folder is listed and not entered: its files
//     are listed where they are.
//   - What cannot be read, links that lead elsewhere, and special files are listed as such.
//     An empty folder is not listed: no loader finds anything in it.
package folder

import (
	"io/fs"
	"iter"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A Kind says what an entry is.
type Kind uint8

const (
	// Unread could not be listed or described; Err says why.
	Unread Kind = iota
	// File is a regular file, or a link to one.
	File
	// Folder is a link to a folder of this one.
	Folder
	// Astray is a link that is not followed; Why says why.
	Astray
	// Special is a device, a pipe, a socket, or a link to one.
	Special
)

// An Entry is a file of a folder, or a link, device or other entry.
type Entry struct {
	Name string // its path below the folder, with slashes
	Path string // its path on this system
	Kind Kind
	// Mode is the type of what a link leads to; that of a link that leads nowhere is 0.
	Mode fs.FileMode
	Link bool
	// To is where a link leads: the path below the folder, with slashes, or "" for a blob
	// of the hub's cache.
	To  string
	Why string
	Err error
}

// Each lists a folder. If the folder itself is a link, it is followed.
func Each(root string) iter.Seq[Entry] {
	return EachPaid(root, func() error { return nil })
}

// EachPaid is [Each], which calls enter before it lists a folder, and ends if that fails: folders
// without a file are no entries, and there may be many.
func EachPaid(root string, enter func() error) iter.Seq[Entry] {
	return func(yield func(Entry) bool) {
		top := root + string(filepath.Separator)
		filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() {
				return enter()
			}
			e := Entry{Name: name(root, path), Path: path, Kind: File, Err: err}
			switch {
			case err != nil:
				e.Kind = Unread
			case d.Type()&fs.ModeSymlink != 0:
				e.follow(root)
			case !d.Type().IsRegular():
				e.Kind = Special
			}
			if !yield(e) {
				return fs.SkipAll
			}
			return nil
		})
	}
}

// At describes a file of a folder by its name, which has slashes, as [Each] does.
func At(root, name string) Entry {
	e := Entry{Name: name, Path: filepath.Join(root, filepath.FromSlash(name)), Kind: File}
	if _, e.Err = os.Lstat(e.Path); e.Err != nil {
		e.Kind = Unread
		return e
	}
	e.follow(root)
	e.Link = e.To != path.Clean(name)
	return e
}

// name returns the path below root, with slashes.
func name(root, path string) string {
	if rel, err := filepath.Rel(root, path); err == nil {
		return filepath.ToSlash(rel)
	}
	return filepath.ToSlash(path)
}

// Refusal returns why an entry is not read as a file, or nil.
func (e *Entry) Refusal() error {
	switch e.Kind {
	case File:
		return nil
	case Astray:
		return wire.ErrForbidden.WithRule("file.link-outside").Errorf("%s: %s", wire.Quote(e.Name), e.Why)
	case Unread:
		return e.Err
	}
	return wire.ErrUnsupported.WithRule("file.not-regular").Errorf("%s is not a regular file", wire.Quote(e.Name))
}

func (e *Entry) follow(root string) {
	e.Link = true
	mode, to, why := Follow(root, e.Path)
	e.Mode, e.To, e.Why = mode, to, why
	switch {
	case why != "":
		e.Kind = Astray
	case mode.IsDir():
		e.Kind = Folder
	case !mode.IsRegular():
		e.Kind = Special
	}
}

// Follow resolves a link in a folder. It may lead only to what is in the folder, or to a
// blob of the same model in the cache of the Hugging Face hub; otherwise why says what is
// wrong. to is as [Entry.To]. A folder among those blobs does not count: nothing lists its files.
func Follow(root, path string) (mode fs.FileMode, to, why string) {
	info, err := os.Stat(path)
	if err != nil {
		return 0, "", "a link that leads nowhere"
	}
	from, err := filepath.EvalSymlinks(root)
	at, err2 := filepath.EvalSymlinks(path)
	switch {
	case err != nil || err2 != nil:
	case isInside(from, at):
		return info.Mode().Type(), name(from, at), ""
	case isBlob(from, at) && !info.IsDir():
		return info.Mode().Type(), "", ""
	}
	return info.Mode().Type(), "", "a link that leads out of the folder"
}

func isInside(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// isBlob reports whether a link leads from models--NAME/snapshots/REVISION to
// models--NAME/blobs/HASH.
func isBlob(from, to string) bool {
	model := filepath.Dir(filepath.Dir(to))
	return filepath.Base(filepath.Dir(to)) == "blobs" && strings.HasPrefix(filepath.Base(model), "models--") && isInside(model, from)
}
