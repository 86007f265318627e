package output

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Options say what an output may replace.
type Options struct {
	// Force allows to replace an existing file or folder.
	Force bool
	// Guard lists folders below which no link is followed; the current one always belongs
	// to them.
	Guard []string
	// Reads reports whether the command reads a file, which is then never replaced.
	Reads func(fs.FileInfo) bool
	// Ours reports, by the name below the output's folder and by the first bytes, whether an
	// existing file could be an earlier output; nil for any file. Empty files are not asked
	// about: they can always be replaced.
	Ours func(name string, head []byte) bool
	// Former returns which of the names in an existing folder are all of the files that an
	// earlier output under other options has written, such as other shards. They are removed
	// once the new folder is in place; nil for none.
	Former func(names []string) []string
	// InPlace says that the input itself is replaced. Its owner and its mode are kept.
	InPlace bool
	// Hold takes the name at once, with an empty file, where the file system cannot rename a
	// file without replacing another. It is for processes that create nothing later on,
	// because they lock themselves.
	Hold bool
	// NoSync leaves it to the system when bytes reach the disk.
	NoSync bool
	// Private lets this user alone read and write the file.
	Private bool
	// Resume goes on with the temporary file or folder of an earlier run, instead of removing
	// it. Nothing in it may be trusted.
	Resume bool
}

// headSize is how many bytes of an existing file [Options].Ours is shown.
const headSize = 4096

// A Refusal says why nothing is written at a path.
type Refusal struct {
	Path, Why string
	// Forceable says that Force would allow it.
	Forceable bool
}

func (r *Refusal) Error() string { return "target " + r.Path + ": " + r.Why }

// A Place is an opened folder and the name of an output in it.
type Place struct {
	o      Options
	path   string   // as it was given
	folder string   // the path of the folder, without links
	name   string   // in the folder
	root   *os.Root // the folder
	dir    *os.File // the same, for calls that os.Root does not have
	found  fs.FileInfo
	empty  bool // what was found is the empty file that holds the name
	// Of a temporary file or folder that a run goes on with: what it is, and why it may be
	// somebody's, or nil.
	made    fs.FileInfo
	strange error
	held    *os.File // the file that was found: as long as it is open, no other one has its inode
	mine    *os.File // the mark that this run wrote
}

// At opens the folder of an output and looks at what has its name. The caller closes the
// place, unless [Place.Create] or [Place.CreateTree] took it over.
func At(path string, o Options) (*Place, error) {
	p := &Place{o: o, path: path}
	if err := p.open(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

func (p *Place) open() (err error) {
	whole, err := absolute(p.path)
	if err != nil {
		return p.refuse("%v", err)
	}
	p.name = filepath.Base(whole)
	if p.path == "" || !filepath.IsLocal(p.name) || p.name == "." {
		return p.refuse("it is not the name of a file")
	}
	guards, err := p.guards()
	if err != nil {
		return err
	}
	top, below, err := p.resolve(filepath.Dir(whole), guards)
	if err != nil {
		return err
	}
	p.folder = filepath.Join(append([]string{top}, below...)...)
	if err := p.checkStore(); err != nil {
		return err
	}
	if p.root, err = os.OpenRoot(top); err != nil {
		return p.denied(err)
	}
	for _, name := range below {
		if p.root, err = p.enter(p.root, name); err != nil {
			return err
		}
	}
	if p.dir, err = p.root.Open("."); err != nil {
		return p.denied(err)
	}
	p.found, err = p.root.Lstat(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		p.found, err = nil, nil
	}
	return err
}

// Close closes the folder.
func (p *Place) Close() error {
	var err error
	if p.root != nil {
		err = p.root.Close()
	}
	if p.dir != nil {
		err = errors.Join(err, p.dir.Close())
	}
	if p.held != nil {
		err = errors.Join(err, p.held.Close())
	}
	p.forgetMark()
	p.root, p.dir, p.held = nil, nil, nil
	return err
}

// Path returns the path as it was given.
func (p *Place) Path() string { return p.path }

// Folder returns the path of the folder, without links.
func (p *Place) Folder() string { return p.folder }

// Exists reports whether something had the name of the output.
func (p *Place) Exists() bool { return p.found != nil }

func (p *Place) refuse(format string, args ...any) error {
	return &Refusal{Path: p.path, Why: fmt.Sprintf(format, args...)}
}

// denied makes a refusal of the system's answer that a folder is not there or not ours.
func (p *Place) denied(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return p.refuse("its folder does not exist")
	case errors.Is(err, fs.ErrPermission):
		return p.refuse("its folder cannot be opened: permission denied")
	}
	return err
}

// enter opens a folder of another one, which it closes. A link is refused.
func (p *Place) enter(root *os.Root, name string) (*os.Root, error) {
	defer root.Close()
	sub, err := openFolder(root, name)
	if errors.Is(err, errNotFolder) {
		err = p.refuse("%q is a link or not a folder", name)
	}
	if err != nil {
		return nil, p.denied(err)
	}
	return sub, nil
}

var errNotFolder = errors.New("a link or not a folder")

// openFolder opens a folder that is not a link.
func openFolder(root *os.Root, name string) (*os.Root, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errNotFolder
	}
	sub, err := root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	now, err := sub.Stat(".")
	if err == nil && !os.SameFile(info, now) {
		err = errNotFolder // replaced in the meantime
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return sub, nil
}

// guards returns the guarded folders. One that does not exist guards nothing.
func (p *Place) guards() (list []fs.FileInfo, err error) {
	current, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	for _, path := range append([]string{current}, p.o.Guard...) {
		if whole, err := filepath.Abs(path); err == nil && filepath.Dir(whole) == whole {
			continue // the root, whose links are the system's
		}
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			list = append(list, info)
		}
	}
	return list, nil
}

// maxLinks bounds how many links lead to a folder, as the system does.
const maxLinks = 40

// resolve follows the links on the way to a folder. It returns the path of the topmost
// guarded folder on the way, and the names of the folders below it; without one, the whole
// path.
func (p *Place) resolve(dir string, guards []fs.FileInfo) (top string, below []string, err error) {
	for range maxLinks {
		var next string
		if top, below, next, err = p.walk(dir, guards); err != nil || next == "" {
			return top, below, err
		}
		dir = next
	}
	return "", nil, p.refuse("too many links lead to its folder")
}

// walk goes down a path until it meets a link, and then returns the path with the link
// replaced by what it names.
func (p *Place) walk(dir string, guards []fs.FileInfo) (top string, below []string, next string, err error) {
	top = filepath.VolumeName(dir) + string(filepath.Separator)
	guarded := func(info fs.FileInfo) bool {
		for _, g := range guards {
			if os.SameFile(g, info) {
				return true
			}
		}
		return false
	}
	info, err := os.Lstat(top)
	if err != nil {
		return "", nil, "", p.denied(err)
	}
	inside, at := guarded(info), top
	names := strings.FieldsFunc(dir[len(filepath.VolumeName(dir)):], func(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) })
	for i, name := range names {
		at = filepath.Join(at, name)
		if info, err = os.Lstat(at); err != nil {
			return "", nil, "", p.denied(err)
		}
		switch {
		case isLink(info) && inside:
			return "", nil, "", p.refuse("%q is a link in a folder that may be a stranger's: name the folder that it leads to", at)
		case isLink(info):
			to, err := os.Readlink(at)
			if err != nil {
				return "", nil, "", err
			}
			if !filepath.IsAbs(to) {
				to = filepath.Join(filepath.Dir(at), to)
			}
			return "", nil, filepath.Join(append([]string{to}, names[i+1:]...)...), nil
		case !info.IsDir():
			return "", nil, "", p.refuse("%q is not a folder", at)
		case inside:
			below = append(below, name)
		default:
			top, inside = at, guarded(info)
		}
	}
	return top, below, "", nil
}

// isLink reports whether something is a link, or a mount point of Windows.
func isLink(info fs.FileInfo) bool { return info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 }

// checkStore refuses the folders of content-addressed stores, whose files are named by
// their content: the cache of the Hugging Face hub, and ollama's.
func (p *Place) checkStore() error {
	parts := strings.Split(filepath.ToSlash(p.folder), "/")
	for i, name := range parts {
		if strings.HasPrefix(name, "models--") || strings.HasPrefix(name, "datasets--") {
			return p.refuse("this is the cache of the Hugging Face hub, whose files are named by their content: choose another folder")
		}
		if name != "blobs" && name != "manifests" {
			continue
		}
		store := filepath.FromSlash(strings.Join(parts[:i], "/") + "/")
		if isFolder(filepath.Join(store, "blobs")) && isFolder(filepath.Join(store, "manifests")) {
			return p.refuse("this is a store of ollama, whose files are named by their content: choose another folder")
		}
	}
	return nil
}

func isFolder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// CheckFile returns an error if a file must not be written here.
func (p *Place) CheckFile() error {
	ends := len(p.path) > 0 && os.IsPathSeparator(p.path[len(p.path)-1])
	switch {
	case ends:
		return p.refuse("it is the name of a folder")
	case p.found == nil:
		return nil
	case isLink(p.found):
		return p.refuse("it is a link: name the file that it points to")
	case p.found.IsDir():
		return p.refuse("it is a folder")
	case !p.found.Mode().IsRegular():
		return p.refuse("it is not a regular file")
	}
	input := p.o.Reads != nil && p.o.Reads(p.found)
	switch {
	case input && !p.o.InPlace:
		return p.refuse("it is the input")
	case !p.o.Force:
		return &Refusal{p.path, "it exists", true}
	case input:
		return nil
	}
	return p.checkOurs(p.root, p.name, p.name, p.found)
}

// checkOurs refuses to replace a file that cannot be an earlier output. shown is its name in
// the error and for [Options].Ours.
func (p *Place) checkOurs(root *os.Root, name, shown string, info fs.FileInfo) error {
	if p.o.Ours == nil || info.Size() == 0 {
		return nil
	}
	f, err := root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	now, err := f.Stat()
	if err != nil {
		return err
	}
	head := make([]byte, min(headSize, info.Size()))
	n, err := io.ReadFull(f, head)
	switch {
	case !os.SameFile(info, now):
		return p.refuse("%q was replaced in the meantime", shown)
	case err != nil && err != io.ErrUnexpectedEOF && err != io.EOF:
		return err
	case !p.o.Ours(shown, head[:n]):
		return p.refuse("%q exists, and this command does not write such files: remove it, or choose another name", shown)
	}
	return nil
}

// partial is the suffix of unfinished outputs.
const partial = ".amn-partial"

// Partial returns the temporary name of an output: hidden, in the same folder, and not too
// long for the file system.
func Partial(name string) string { return hidden(name, partial) }

func hidden(name, suffix string) string {
	if len(name) > 200 {
		h := sha256.Sum256([]byte(name))
		name = name[:100] + hex.EncodeToString(h[:8])
	}
	return "." + name + suffix
}

// MkdirAll creates a folder and the folders on the way to it, which may be links: it is for
// tools that write below a folder of their own.
func MkdirAll(path string) error { return os.MkdirAll(path, 0o777) }
