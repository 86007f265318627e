package output

import (
	"errors"
	"io/fs"
	"os"
)

// A File is an output that has its temporary name.
type File struct {
	*os.File
	place *Place
	temp  string
	made  fs.FileInfo // the file under its temporary name
	done  bool
	// resumed says that an earlier run created the file.
	resumed bool
}

// Create begins a file. It takes over the place, also if it fails.
func (p *Place) Create() (*File, error) {
	err := p.CheckFile()
	if err == nil {
		err = p.hold()
	}
	var f *os.File
	if err == nil && p.o.Resume {
		f, err = p.reopen(Partial(p.name))
	}
	resumed := f != nil
	if err == nil && !resumed {
		f, err = p.claim(Partial(p.name))
	}
	if err != nil {
		p.Close()
		return nil, err
	}
	out := &File{File: f, place: p, temp: Partial(p.name), resumed: resumed}
	if out.made, err = f.Stat(); err == nil && p.strange == nil {
		err = p.mark(out.made)
	}
	if err == nil {
		err = out.holdName()
	}
	if err != nil {
		out.Discard()
		return nil, err
	}
	return out, nil
}

// holdName creates the empty file that holds the name, if there must be one.
func (f *File) holdName() error {
	p := f.place
	if !p.o.Hold || p.found != nil {
		return nil
	}
	other := f.temp + "~"
	err := noReplace(p.dir, f.temp, other)
	if err == nil {
		return noReplace(p.dir, other, f.temp)
	}
	if !needsHold {
		return nil
	}
	if p.held, err = p.root.OpenFile(p.name, os.O_RDONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
		return err
	}
	p.empty = true
	p.found, err = p.held.Stat()
	return err
}

// hold opens the file that will be replaced, if this user may read it.
func (p *Place) hold() (err error) {
	if p.found == nil || !renamesOpen {
		return nil
	}
	p.held, err = p.root.OpenFile(p.name, os.O_RDONLY|nonblock, 0)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return err
	}
	now, err := p.held.Stat()
	if err == nil && !os.SameFile(now, p.found) {
		err = p.refuse("it was replaced in the meantime")
	}
	return err
}

// Create begins the file at a path.
func Create(path string, o Options) (*File, error) {
	p, err := At(path, o)
	if err != nil {
		return nil, err
	}
	return p.Create()
}

// WriteFile writes a whole file.
func WriteFile(path string, data []byte, o Options) error {
	f, err := Create(path, o)
	if err != nil {
		return err
	}
	defer f.Discard()
	if _, err := f.Write(data); err != nil {
		return err
	}
	return f.Commit()
}

// Place returns where the file goes.
func (f *File) Place() *Place { return f.place }

// claim creates and locks the temporary file, after removing what a killed run left.
func (p *Place) claim(temp string) (*os.File, error) {
	f, err := p.claimFile(temp)
	if err == nil {
		if err = p.RemoveJournal(); err != nil { // it is of another file
			info, statErr := f.Stat()
			f.Close()
			if statErr == nil {
				statErr = p.removeSame(temp, info)
			}
			return nil, errors.Join(err, statErr)
		}
	}
	return f, err
}

func (p *Place) claimFile(temp string) (*os.File, error) {
	mode := fs.FileMode(0o666)
	if p.o.InPlace || p.o.Private {
		mode = 0o600 // in place: until it has the mode of the file that it replaces
	}
	for range 100 { // other runs may come and go as often
		f, err := p.root.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err == nil {
			if p.owns(f, temp) {
				return f, nil
			}
			f.Close()
			continue
		}
		if errors.Is(err, fs.ErrPermission) {
			return nil, p.refuse("no file can be created in its folder: %v", bare(err))
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err := p.removeStale(temp); err != nil {
			return nil, err
		}
	}
	return nil, p.refuse("other programs keep creating %q", temp)
}

// bare returns the cause of an error without the path of a temporary file.
func bare(err error) error {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		return e.Err
	}
	return err
}

// owns locks a new file, and reports whether it still has its name: another run may have
// taken it for a leftover before it was locked.
func (p *Place) owns(f *os.File, name string) bool {
	taken, err := lock(f)
	if err != nil || !taken {
		return false
	}
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := p.root.Lstat(name)
	return err == nil && os.SameFile(mine, now)
}

// removeStale removes what a killed run left. A file that another run is writing is locked.
func (p *Place) removeStale(temp string) error {
	info, err := p.root.Lstat(temp)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return p.refuse("%q exists and is not a regular file", temp)
	}
	f, err := p.root.OpenFile(temp, os.O_RDWR|nonblock, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	taken, err := lock(f)
	if err != nil {
		return err
	}
	if !taken {
		return p.refuse("another run is writing this target")
	}
	now, err := f.Stat()
	if err != nil || !os.SameFile(info, now) {
		return err // it was replaced meanwhile: try again
	}
	if now.Size() > 0 {
		if err := p.checkMarked(temp, now); err != nil {
			return err
		}
	}
	err = p.root.Remove(temp)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// Commit publishes the file, once its bytes are on the disk, and makes the name last.
func (f *File) Commit() error {
	err := f.Keep()
	if err == nil && !f.place.o.NoSync {
		err = f.Sync()
	}
	if err == nil {
		err = f.Publish()
	}
	if err == nil && !f.place.o.NoSync {
		err = f.SyncFolder()
	}
	return err
}

// Keep gives the file the owner and the mode of the one that it replaces in place.
func (f *File) Keep() error {
	if !f.place.o.InPlace || f.place.found == nil {
		return nil
	}
	now, err := f.Stat()
	if err != nil {
		return err
	}
	if err := keepOwner(f.File, f.place.found, now); err != nil {
		return f.place.refuse("its owner cannot be kept (%v): write another file", bare(err))
	}
	return f.Chmod(f.place.found.Mode())
}

// Publish gives the file its name, and closes it. It is renamed while it is locked, so that no
// other run takes it for a leftover. On systems that cannot rename an open file, others cannot
// remove it either, and it is closed first.
func (f *File) Publish() error {
	if f.place.strange != nil {
		return f.place.strange
	}
	if err := f.place.same(f.temp, f.made); err != nil {
		return err
	}
	if !renamesOpen {
		if err := f.Close(); err != nil {
			return err
		}
	}
	if err := f.rename(); err != nil {
		return err
	}
	f.done = true
	if err := f.place.unmark(f.made); err != nil {
		return err
	}
	if renamesOpen {
		return f.Close()
	}
	return nil
}

func (f *File) rename() error {
	p := f.place
	if p.found != nil {
		replaced, err := p.replace(f.temp)
		if replaced || err != nil {
			return err
		}
	}
	err := p.renameNew(f.temp)
	if errors.Is(err, fs.ErrExist) {
		return p.refuse("it was created in the meantime")
	}
	return err
}

// replace puts the temporary file in the place of the file that was looked at. It returns
// false if that is gone.
func (p *Place) replace(temp string) (replaced bool, err error) {
	now, err := p.root.Lstat(p.name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case err != nil:
		return false, err
	case !os.SameFile(now, p.found):
		return false, p.refuse("it was replaced in the meantime")
	}
	if err := p.markReplaced(now); err != nil {
		return false, err
	}
	if exchanging(p.dir, temp, p.name) != nil { // the file system cannot
		return true, p.root.Rename(temp, p.name)
	}
	if now, err = p.root.Lstat(temp); err != nil {
		return true, err
	}
	if !os.SameFile(now, p.found) {
		return false, errors.Join(p.refuse("it was replaced in the meantime"), exchanging(p.dir, temp, p.name))
	}
	return true, p.root.Remove(temp)
}

// noReplace is renameNoReplace, and exchanging is exchange, but in tests of other file systems.
var (
	noReplace  = renameNoReplace
	exchanging = exchange
)

// renameNew gives the temporary file a name that nothing has.
func (p *Place) renameNew(temp string) error {
	err := noReplace(p.dir, temp, p.name)
	if err == nil || errors.Is(err, fs.ErrExist) {
		return err
	}
	switch err = p.root.Link(temp, p.name); {
	case err == nil:
		return p.root.Remove(temp)
	case errors.Is(err, fs.ErrExist):
		return err
	}
	// The file system has no links. An empty file of ours holds the name.
	hold, err := p.root.OpenFile(p.name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	if err := hold.Close(); err != nil {
		return err
	}
	if err := p.root.Rename(temp, p.name); err != nil {
		return errors.Join(err, p.root.Remove(p.name))
	}
	return nil
}

// SyncFolder makes the name last.
func (f *File) SyncFolder() error { return syncFolder(f.place.dir) }

// Discard removes the file, unless it was published, and closes the folder. A nil file does
// nothing.
func (f *File) Discard() {
	if f == nil || f.place.root == nil {
		return
	}
	if !f.done {
		if !renamesOpen {
			f.Close()
		}
		if now, err := f.place.root.Lstat(f.place.name); f.place.empty && err == nil && os.SameFile(now, f.place.found) {
			_ = f.place.root.Remove(f.place.name) // best effort, too
		}
		if f.made != nil {
			_ = f.place.removeSame(f.temp, f.made) // best effort: the error that led here is reported
			_ = f.place.unmark(f.made)
		}
		f.Close()
	}
	f.place.Close()
}
