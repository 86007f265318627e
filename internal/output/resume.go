package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// unfinished is the suffix of journals.
const unfinished = ".amn-journal"

// Journal returns the name of the journal of an output: hidden, beside what it is written
// under until it is complete.
func Journal(name string) string { return hidden(name, unfinished) }

// OpenJournal opens the journal of an unfinished output, or creates an empty one. It is for
// outputs with [Options].Resume, once the temporary file or folder is locked.
func (p *Place) OpenJournal() (*os.File, error) {
	f, err := p.root.OpenFile(Journal(p.name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		f, err = p.openJournal(os.O_RDWR)
	}
	return f, err
}

// ReadJournal opens the journal of an unfinished output to be read, without anything being
// created or locked.
func (p *Place) ReadJournal() (*os.File, error) { return p.openJournal(os.O_RDONLY) }

// Unfinished returns the path of the temporary file or folder.
func (p *Place) Unfinished() string { return filepath.Join(p.folder, Partial(p.name)) }

// RemoveJournal removes the journal, if there is one.
func (p *Place) RemoveJournal() error {
	f, err := p.openJournal(os.O_RDONLY)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	info, err := f.Stat()
	f.Close()
	if err != nil {
		return err
	}
	return p.removeSame(Journal(p.name), info)
}

// journalFormat is how journals begin, see package journal.
const journalFormat = "amn.journal/"

// openJournal opens a journal of an earlier run. Anything else under its name is refused: it may
// be somebody's.
func (p *Place) openJournal(flag int) (*os.File, error) {
	name := Journal(p.name)
	f, err := p.openKnown(name, flag)
	if err != nil {
		return nil, err
	}
	head := make([]byte, len(journalFormat))
	n, err := f.ReadAt(head, 0)
	if err == io.EOF && n == 0 {
		return f, nil // a run ended before it wrote anything
	}
	if err != nil && err != io.EOF || string(head[:n]) != journalFormat {
		f.Close()
		return nil, p.refuse("%q exists and is not a file of an earlier run", name)
	}
	return f, nil
}

// openOwn opens a file of an earlier run to be written. A link, and a file that has another
// name too, could be any file of this user's, and are refused.
func (p *Place) openOwn(name string) (*os.File, error) { return p.openKnown(name, os.O_RDWR) }

func (p *Place) openKnown(name string, flag int) (*os.File, error) {
	f, err := openPlain(p.root, name, flag)
	if errors.Is(err, errNotPlain) {
		err = p.refuse("%q exists and is not a file of an earlier run", name)
	}
	return f, err
}

var errNotPlain = errors.New("not a regular file with one name")

// openPlain opens a regular file that has no other name.
func openPlain(root *os.Root, name string, flag int) (*os.File, error) {
	info, err := root.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !OnlyOurs(info) {
		return nil, errNotPlain
	}
	f, err := root.OpenFile(name, flag|nonblock, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && (!os.SameFile(info, now) || !OnlyOurs(now)) {
		err = errNotPlain // replaced in the meantime
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// reopen opens and locks the temporary file of an earlier run; nil if there is none.
func (p *Place) reopen(temp string) (*os.File, error) {
	f, err := p.openOwn(temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	taken, err := lock(f)
	if err == nil && !taken {
		err = p.refuse("another run is writing this target")
	}
	if err == nil {
		var info fs.FileInfo
		if info, err = f.Stat(); err == nil && info.Size() > 0 {
			err = p.goOnWith(temp, info)
		}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Resumed reports whether the file was begun by an earlier run.
func (f *File) Resumed() bool { return f.resumed }

// Suspend closes the file, and leaves it to a later run with [Options].Resume.
func (f *File) Suspend() error {
	f.done = true
	return f.Close()
}

// Resumed reports whether the folder was begun by an earlier run.
func (t *Tree) Resumed() bool { return t.resumed }

// Suspend makes [Tree.Discard] leave the folder to a later run with [Options].Resume.
func (t *Tree) Suspend() { t.kept = true }

// Reopen opens a file of an earlier run, or creates it.
func (t *Tree) Reopen(name string) (*os.File, error) {
	f, err := openPlain(t.root, filepath.FromSlash(name), os.O_RDWR)
	if errors.Is(err, fs.ErrNotExist) {
		return t.Create(name)
	}
	if errors.Is(err, errNotPlain) {
		err = t.place.refuse("%q exists and is not a file of an earlier run", name)
	}
	return f, err
}

// Retain removes what an earlier run left in the folder, but the files for which keep is true.
func (t *Tree) Retain(keep func(name string) bool) error { return t.clearBut(t.root, keep) }

// Kept returns how many bytes the temporary file or folder of an earlier run has, if
// [Options].Resume would go on with it.
func (p *Place) Kept() (n int64) {
	if !p.o.Resume {
		return 0
	}
	info, err := p.root.Lstat(Partial(p.name))
	switch {
	case err != nil:
		return 0
	case info.Mode().IsRegular():
		return info.Size()
	case !info.IsDir():
		return 0
	}
	root, err := openFolder(p.root, Partial(p.name))
	if err != nil {
		return 0
	}
	defer root.Close()
	_ = p.eachFile(root, func(_ string, e fs.DirEntry, info fs.FileInfo) error {
		if e.Type().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
