package output

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"
)

// marked is the suffix of marks.
const marked = ".amn-mark"

// markFormat begins a mark; which file or folder it is of follows, and the end of the line.
const markFormat = "amn.mark/1 "

// maxMark bounds a mark.
const maxMark = 256

// Mark returns the name of the mark of an output. It says which file or folder has the temporary
// name, and is written before anything else is: what has that name and is not empty was left by a
// run of this program only if the mark says so.
func Mark(name string) string { return hidden(name, marked) }

// mark writes the mark of what was just created under the temporary name, and is locked.
func (p *Place) mark(info fs.FileInfo) error {
	f, err := p.root.OpenFile(Mark(p.name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		f, err = p.openMark(os.O_RDWR)
	}
	if err != nil {
		return err
	}
	err = f.Truncate(0)
	if err == nil {
		_, err = f.WriteAt([]byte(markOf(info)), 0)
	}
	if err != nil { // the disk is full, say
		return errors.Join(err, f.Close(), p.root.Remove(Mark(p.name)))
	}
	p.forgetMark()
	p.mine = f
	return nil
}

// forgetMark closes the mark that this run wrote.
func (p *Place) forgetMark() {
	if p.mine != nil {
		p.mine.Close()
		p.mine = nil
	}
}

// markReplaced notes in the mark what is about to lose its name to the file that was written: a run
// that is killed before it removes the replaced file leaves it under the temporary name.
func (p *Place) markReplaced(info fs.FileInfo) error {
	if p.mine == nil {
		return nil
	}
	now, err := p.mine.Stat()
	if err == nil {
		_, err = p.mine.WriteAt([]byte(markOf(info)), now.Size())
	}
	return err
}

// isMarked reports whether a line of a mark is about a file or folder.
func isMarked(text string, info fs.FileInfo) bool {
	for line := range strings.Lines(text) {
		if line == markOf(info) {
			return true
		}
	}
	return false
}

func markOf(info fs.FileInfo) string { return markFormat + identityOf(info) + "\n" }

// openMark opens a mark that an earlier run left. Anything else under its name is refused.
func (p *Place) openMark(flag int) (*os.File, error) {
	f, err := p.openKnown(Mark(p.name), flag)
	if err != nil {
		return nil, err
	}
	if text, err := readMark(f); err != nil || text != "" && !strings.HasPrefix(text, markFormat) {
		f.Close()
		return nil, errors.Join(err, p.refuse("%q exists and is not a file of an earlier run", Mark(p.name)))
	}
	return f, nil
}

func readMark(f *os.File) (string, error) {
	text, err := io.ReadAll(io.NewSectionReader(f, 0, maxMark))
	return string(text), err
}

// checkMarked refuses what has the temporary name if it is not known that an earlier run left it.
func (p *Place) checkMarked(temp string, info fs.FileInfo) error {
	f, err := p.openMark(os.O_RDONLY)
	if err == nil {
		var text string
		text, err = readMark(f)
		f.Close()
		if err == nil && isMarked(text, info) {
			return nil
		}
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return p.refuse("%q exists and has no mark of an earlier run, so it may belong to another program: remove it, or choose another name", temp)
}

// goOnWith decides about something that is not empty and has the temporary name: whether it is
// removed, or a run goes on with it. Without a mark it may only go on, and only if there is a journal,
// whose seal can tell whether it is somebody's.
func (p *Place) goOnWith(temp string, info fs.FileInfo) error {
	strange := p.checkMarked(temp, info)
	if strange == nil || !p.o.Resume {
		return strange
	}
	f, err := p.openJournal(os.O_RDONLY)
	if err != nil {
		return strange
	}
	p.made, p.strange = info, strange
	return f.Close()
}

// Strange returns why what has the temporary name, and [Options].Resume would go on with, may be
// somebody's: it has no mark. A journal that is sealed shows that it is not; then [Place.Adopt]
// gives it its mark.
// Until then it must not be written to, and cannot be published.
func (p *Place) Strange() error { return p.strange }

// Adopt marks what an earlier run left somewhere else, and was brought here.
func (p *Place) Adopt() error {
	if p.strange == nil {
		return nil
	}
	p.strange = nil
	return p.mark(p.made)
}

// unmark removes the mark, if it is still that of what was created. It opens nothing that this
// run has written: by now the process may be locked.
func (p *Place) unmark(info fs.FileInfo) error {
	f := p.mine
	if f == nil {
		var err error
		if f, err = p.openMark(os.O_RDONLY); errors.Is(err, fs.ErrNotExist) {
			return nil
		} else if err != nil {
			return err
		}
	}
	p.mine = nil
	was, err := f.Stat()
	var now fs.FileInfo
	if err == nil {
		now, err = p.root.Lstat(Mark(p.name))
	}
	text := ""
	if err == nil {
		text, err = readMark(f)
	}
	f.Close()
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil || !os.SameFile(was, now) || !strings.HasPrefix(text, markOf(info)) {
		return err // of another run, which began meanwhile
	}
	return p.root.Remove(Mark(p.name))
}

// same refuses if a name is not that of what this run created.
func (p *Place) same(name string, created fs.FileInfo) error {
	now, err := p.root.Lstat(name)
	if err == nil && !os.SameFile(now, created) {
		err = p.refuse("%q was replaced in the meantime", name)
	}
	return err
}

// removeSame removes a name if it is that of what this run created.
func (p *Place) removeSame(name string, created fs.FileInfo) error {
	err := p.same(name, created)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = p.root.Remove(name)
	}
	return err
}
