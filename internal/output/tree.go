package output

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// A Tree is a folder that is filled under a temporary name.
type Tree struct {
	place *Place
	temp  string
	root  *os.Root // the temporary folder
	lock  *os.File
	made  fs.FileInfo // the temporary folder
	done  bool
	// resumed says that an earlier run created the folder, and kept that a later one may go
	// on with it.
	resumed, kept bool
	// former are files of the old folder that the new one does not have.
	former []string
}

// maxDepth bounds how deep the folders of a tree are nested: components of a pipeline, and
// modules in them.
const maxDepth = 3

// CheckTree returns an error if a folder must not be written here. writes reports whether a
// file or folder below it, named with slashes, is one of those that will be written.
func (p *Place) CheckTree(writes func(name string, folder bool) bool) error {
	switch {
	case p.found == nil:
		return nil
	case isLink(p.found):
		return p.refuse("it is a link: name the folder that it points to")
	case !p.found.IsDir():
		return p.refuse("it is not a folder")
	}
	old, err := openFolder(p.root, p.name)
	if err != nil {
		return p.denied(err)
	}
	defer old.Close()
	former, err := p.former(old)
	if err != nil {
		return err
	}
	return p.eachFile(old, func(name string, e fs.DirEntry, info fs.FileInfo) error {
		switch {
		case p.o.Reads != nil && p.o.Reads(info):
			return p.refuse("it is the input")
		case !p.o.Force:
			return &Refusal{p.path, "it exists", true}
		case (e.IsDir() || e.Type().IsRegular()) && (writes(name, e.IsDir()) || slices.Contains(former, name)):
			return nil
		}
		return p.refuse("it contains %q, which would not be overwritten: remove it, or choose another folder", name)
	})
}

// former lists the files of an earlier output that the new one does not have.
func (p *Place) former(old *os.Root) ([]string, error) {
	if p.o.Former == nil {
		return nil, nil
	}
	list, err := fs.ReadDir(old.FS(), ".")
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(list))
	for _, e := range list {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return p.o.Former(names), nil
}

// checkOld does the same once the tree is complete, and looks into the files that it
// replaces.
func (t *Tree) checkOld(old *os.Root) (err error) {
	if t.former, err = t.place.former(old); err != nil {
		return err
	}
	return t.place.eachFile(old, func(name string, e fs.DirEntry, info fs.FileInfo) error {
		is, err := t.root.Lstat(filepath.FromSlash(name))
		former := errors.Is(err, fs.ErrNotExist) && e.Type().IsRegular() && slices.Contains(t.former, name)
		if !former && (err != nil || is.IsDir() != e.IsDir() || !e.IsDir() && !info.Mode().IsRegular()) {
			return t.place.refuse("it contains %q, which would not be overwritten: remove it, or choose another folder", name)
		}
		if e.IsDir() {
			return nil
		}
		return t.place.checkOurs(old, filepath.FromSlash(name), name, info)
	})
}

// eachFile visits what a folder contains, and follows no link.
func (p *Place) eachFile(root *os.Root, visit func(name string, e fs.DirEntry, info fs.FileInfo) error) error {
	return fs.WalkDir(root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || name == "." {
			return err
		}
		info, err := root.Lstat(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		return visit(name, e, info)
	})
}

// CreateTree begins a folder. It takes over the place, also if it fails.
func (p *Place) CreateTree() (*Tree, error) {
	t := &Tree{place: p, temp: Partial(p.name)}
	if err := t.claim(); err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

// claim creates and locks the temporary folder, after removing what a killed run left.
func (t *Tree) claim() (err error) {
	p := t.place
	if err := p.Writable(); err != nil {
		return err
	}
	if info, err := p.root.Lstat(t.temp); err == nil {
		if !info.IsDir() {
			return p.refuse("%q exists and is not a folder", t.temp)
		}
		if err := t.lockTemp(); err != nil {
			return err
		}
		if !isEmpty(t.root) {
			if err := p.goOnWith(t.temp, t.made); err != nil {
				return err
			}
		}
		if t.resumed = p.o.Resume; t.resumed && p.strange == nil {
			return p.mark(t.made)
		} else if t.resumed {
			return nil
		}
		err = t.clear(t.root)
		err = errors.Join(err, t.unlock())
		if err == nil {
			err = p.root.Remove(t.temp)
		}
		if err != nil {
			return err
		}
	}
	if err := p.RemoveJournal(); err != nil { // it is of another folder
		return err
	}
	if err := p.root.Mkdir(t.temp, 0o777); err != nil {
		return err
	}
	if err := t.lockTemp(); err != nil {
		return err
	}
	if err := p.mark(t.made); err != nil {
		return errors.Join(err, t.unlock(), p.removeSame(t.temp, t.made))
	}
	return nil
}

func (t *Tree) lockTemp() (err error) {
	if t.root, err = openFolder(t.place.root, t.temp); err != nil {
		return err
	}
	if t.lock, err = t.root.Open("."); err != nil {
		return err
	}
	if t.made, err = t.lock.Stat(); err != nil {
		return err
	}
	taken, err := lock(t.lock)
	if err == nil && !taken {
		err = t.place.refuse("another run is writing this target")
	}
	return err
}

func (t *Tree) unlock() (err error) {
	if t.root != nil {
		err = t.root.Close()
	}
	if t.lock != nil {
		err = errors.Join(err, t.lock.Close())
	}
	t.root, t.lock = nil, nil
	return err
}

func (t *Tree) close() error { return errors.Join(t.unlock(), t.place.Close()) }

// Path returns where the folder is filled.
func (t *Tree) Path() string { return filepath.Join(t.place.folder, t.temp) }

// Place returns where the folder goes.
func (t *Tree) Place() *Place { return t.place }

// Create creates a file, and the folders in its name, which has slashes.
func (t *Tree) Create(name string) (*os.File, error) {
	for i, c := range name {
		if c != '/' {
			continue
		}
		if err := t.Mkdir(name[:i]); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	return t.root.OpenFile(filepath.FromSlash(name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
}

// Mkdir creates a folder.
func (t *Tree) Mkdir(name string) error { return t.root.Mkdir(filepath.FromSlash(name), 0o777) }

// Sync makes the names in the folder last.
func (t *Tree) Sync() error {
	return t.place.eachFile(t.root, func(name string, e fs.DirEntry, _ fs.FileInfo) error {
		if !e.IsDir() {
			return nil
		}
		f, err := t.root.Open(filepath.FromSlash(name))
		if err != nil {
			return err
		}
		return errors.Join(syncFolder(f), f.Close())
	})
}

// Publish gives the folder its name. An existing one is exchanged with it if the system can,
// else moved aside first; then the files of the old one, all of which the new one has too,
// are removed.
func (t *Tree) Publish() error {
	p := t.place
	if p.strange != nil {
		return p.strange
	}
	now, err := p.root.Lstat(p.name)
	if errors.Is(err, fs.ErrNotExist) {
		return t.moveIn()
	}
	if err != nil {
		return err
	}
	if p.found == nil || !os.SameFile(now, p.found) {
		return p.refuse("it was created in the meantime")
	}
	old, err := openFolder(p.root, p.name)
	if err != nil {
		return err
	}
	defer old.Close()
	if err := t.checkOld(old); err != nil {
		return err
	}
	if isEmpty(old) {
		if err := errors.Join(old.Close(), p.root.Remove(p.name)); err != nil {
			return err
		}
		return t.moveIn()
	}
	if !p.o.Force {
		return &Refusal{p.path, "it exists", true}
	}
	return t.swap(old)
}

// moveIn renames the folder to a name that nothing has: a rename of a folder replaces
// nothing.
func (t *Tree) moveIn() error {
	if err := t.place.same(t.temp, t.made); err != nil {
		return err
	}
	if !renamesOpen {
		if err := t.unlock(); err != nil {
			return err
		}
	}
	if err := t.place.root.Rename(t.temp, t.place.name); err != nil {
		return err
	}
	t.done = true
	return t.place.unmark(t.made)
}

// beforeSwap is for tests of what others do in the meantime.
var beforeSwap = func() {}

// swap puts the new folder in the place of the old one.
func (t *Tree) swap(old *os.Root) error {
	beforeSwap()
	p, aside := t.place, t.temp
	if err := p.same(t.temp, t.made); err != nil {
		return err
	}
	if !renamesOpen || exchanging(p.dir, t.temp, p.name) != nil {
		aside = hidden(p.name, ".amn-old")
		if _, err := p.root.Lstat(aside); !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(err, p.refuse("%q exists and may belong to another program: remove it, or choose another name", aside))
		}
		if !renamesOpen {
			if err := errors.Join(t.unlock(), old.Close()); err != nil {
				return err
			}
		}
		if err := p.root.Rename(p.name, aside); err != nil {
			return err
		}
		if err := p.root.Rename(t.temp, p.name); err != nil {
			return errors.Join(err, p.root.Rename(aside, p.name))
		}
	}
	t.done = true
	if !renamesOpen {
		var err error
		if old, err = openFolder(p.root, aside); err != nil {
			return err
		}
		defer old.Close()
	}
	if err := t.removeOld(old, aside); err != nil {
		return err
	}
	if err := old.Close(); err != nil {
		return err
	}
	return errors.Join(p.root.Remove(aside), p.unmark(t.made))
}

// removeOld removes the files of the old folder. One that appeared after the check is moved
// to the new folder.
func (t *Tree) removeOld(old *os.Root, aside string) error {
	var folders []string
	err := t.place.eachFile(old, func(name string, e fs.DirEntry, info fs.FileInfo) error {
		local, now := filepath.FromSlash(name), filepath.Join(t.place.name, filepath.FromSlash(name))
		if e.IsDir() {
			folders = append(folders, local)
			return nil
		}
		is, err := t.place.root.Lstat(now)
		if info.Mode().IsRegular() && (err == nil && is.Mode().IsRegular() || slices.Contains(t.former, name)) {
			return old.Remove(local)
		}
		return t.place.root.Rename(filepath.Join(aside, local), now)
	})
	for i := len(folders) - 1; i >= 0 && err == nil; i-- {
		err = old.Remove(folders[i])
	}
	return err
}

// clear removes what a run leaves in a temporary folder: files, in folders that are nested as
// deep as those of trees. Anything else is not ours.
func (t *Tree) clear(root *os.Root) error {
	return t.clearBut(root, func(string) bool { return false })
}

// clearBut is clear, but for files that are kept. Folders stay if there are such.
func (t *Tree) clearBut(root *os.Root, keep func(name string) bool) error {
	var list, folders []string
	kept := false
	err := t.place.eachFile(root, func(name string, e fs.DirEntry, _ fs.FileInfo) error {
		switch deep := depth(name) > maxDepth; {
		case deep || !e.IsDir() && !e.Type().IsRegular():
			return t.place.refuse("%q exists, and no run creates such a file", path.Join(t.temp, name))
		case e.IsDir():
			folders = append(folders, name)
		case keep(name):
			kept = true
		default:
			list = append(list, name)
		}
		return nil
	})
	if kept {
		folders = nil
	}
	for i := len(folders) - 1; i >= 0; i-- {
		list = append(list, folders[i])
	}
	for i := 0; i < len(list) && err == nil; i++ {
		err = root.Remove(filepath.FromSlash(list[i]))
	}
	return err
}

// depth returns how many folders a name has, and one for the name itself.
func depth(name string) (n int) {
	for ; name != "."; name = path.Dir(name) {
		n++
	}
	return n
}

func isEmpty(root *os.Root) bool {
	list, err := fs.ReadDir(root.FS(), ".")
	return err == nil && len(list) == 0
}

// SyncFolder makes the name last.
func (t *Tree) SyncFolder() error { return syncFolder(t.place.dir) }

// Discard removes the folder, unless it was published, and closes everything.
func (t *Tree) Discard() error {
	var err error
	if !t.done && !t.kept && t.root != nil {
		err = t.clear(t.root)
		if !renamesOpen {
			err = errors.Join(err, t.unlock())
		}
		if err == nil {
			err = errors.Join(t.place.removeSame(t.temp, t.made), t.place.unmark(t.made))
		}
	}
	return errors.Join(err, t.close())
}
