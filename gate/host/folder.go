package host

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"strings"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A File is one file of an upload that is a folder.
type File struct {
	gate.File

	Off int64 // where it begins in the spool
	at  io.ReaderAt
}

// Reader returns a reader of the file's bytes, valid until [Upload.Close].
func (f *File) Reader() *io.SectionReader {
	if f == nil || f.at == nil {
		return io.NewSectionReader(strings.NewReader(""), 0, 0)
	}
	return io.NewSectionReader(f.at, f.Off, f.Size)
}

// fileBytes is the memory of a file in the list of a folder, besides its name in the lists of
// names.
const fileBytes = 512

var errMixed = errors.New("host: an upload is one file, or a folder of files")

// Add reads a file of a folder, whose name is its path there, with slashes. All files of an upload
// lie in one file of the spool. Reading stops if the beginning is enough to refuse the file as
// forbidden, and the folder with it; [Upload.Judge] returns the reason.
//
// A folder of one file is judged like a file that was spooled, by [Upload.Name]; a folder of
// several as a whole, in one verdict. The error is [TooLarge], [Busy], [BadName], or the
// reader's.
func (u *Upload) Add(name string, r io.Reader) error {
	switch {
	case !u.exists():
		return errNoUpload
	case u.closed:
		return errClosed
	case len(u.files) == 0 && u.empty() != nil, u.Verdict != nil, u.refusedEarly() != nil:
		return errMixed
	case u.lacks != nil:
		return u.lacks
	case r == nil:
		return errNoReader
	}
	u.lacks = u.add(name, r)
	return u.lacks
}

func (u *Upload) add(name string, r io.Reader) error {
	if err := u.admit(name); err != nil {
		return err
	}
	if u.file == nil {
		f, err := u.host.create(u.host.o.Dir)
		if err != nil {
			return err
		}
		u.file = f
	}
	off := u.Size
	u.sum = sha256.New()
	if u.host.o.Judge == nil {
		u.lookAt(-1, gate.Hint{Name: name, Promised: u.Promised, Beside: true})
	}
	if err := u.copy(r, off); err != nil || u.refusedEarly() != nil {
		return err
	}
	u.lookNoMore()
	u.files = append(u.files, File{gate.File{Name: name, Size: u.Size - off, SHA256: hex.EncodeToString(u.sum.Sum(nil))}, off, u.file})
	return nil
}

// A BadName is an error about the name of a file in a folder.
type BadName struct{ error }

func (b *BadName) Error() string {
	if b == nil || b.error == nil {
		return "a name that no file of a folder can have"
	}
	_, text, _ := strings.Cut(b.error.Error(), ": ") // without its class
	return "a form with several files is a folder, by their names: " + text
}

func (b *BadName) Unwrap() error {
	if b == nil {
		return nil
	}
	return b.error
}

// admit checks a name. The name of the first file is checked once there is a second file: a single
// file is stored under the name that its host gives it.
func (u *Upload) admit(name string) error {
	if u.listed == nil {
		u.listed = u.tenant.account.Child(limits.Policy{Timeout: limits.NoTimeout})
	}
	if err := u.listed.Hold(fileBytes + 4*int64(len(name))); err != nil {
		return u.refused(err)
	}
	if len(u.files) == 0 {
		return nil
	}
	if len(u.files) == 1 {
		if err := u.names.Add(u.files[0].Name); err != nil {
			return &BadName{err}
		}
	}
	if err := u.names.Add(name); err != nil {
		return &BadName{err}
	}
	return nil
}

// RefusedEarly reports whether the upload is already refused by its beginning, so that the rest is
// not needed: [Upload.Judge] returns the verdict.
func (u *Upload) RefusedEarly() bool { return u.refusedEarly() != nil }

// Files returns the files of an upload to which several were added, in the order in which
// they came. It is empty for one file.
func (u *Upload) Files() []File {
	if !u.exists() || !u.isFolder() {
		return nil
	}
	return u.files
}

func (u *Upload) isFolder() bool { return len(u.files) > 1 }

// listing returns the files as the gate knows them.
func (u *Upload) listing() []gate.File {
	list := make([]gate.File, 0, len(u.files))
	for i := range u.files {
		list = append(list, u.files[i].File)
	}
	return list
}

// judgeable sets what is judged once all files have been added.
func (u *Upload) judgeable() {
	if len(u.files) == 0 || u.at != nil {
		return
	}
	u.at = u.file
	if u.isFolder() {
		u.sum = nil // it is the digest of the last file alone
	}
}

// askFolder judges the folder: by the gate, or in another process, whose price is its time.
func (u *Upload) askFolder(t *turn) (*gate.Verdict, error) {
	h := gate.Hint{Name: u.Name, Promised: u.Promised, Beside: u.Beside}
	if u.host.o.Judge != nil {
		if u.host.o.JudgeFolder == nil {
			return nil, ErrNoFolders
		}
		defer t.noteTime(u.Size)()
		return u.host.o.JudgeFolder(t.context(u.account), &u.gate, u.at, u.files, h)
	}
	var f gate.Folder
	for i := range u.files {
		if err := f.Add(u.files[i].File, paid(u.files[i].Reader(), t.pay)); err != nil {
			return nil, err
		}
	}
	u.account.Meter(t.pay)
	return u.gate.CheckFolder(u.account, &f, h)
}

// ErrNoFolders is returned by [Upload.Judge] for a folder if [Options.Judge] is set, and
// [Options.JudgeFolder] is not.
var ErrNoFolders = errors.New("host: files are judged one at a time")

// A FolderJudge judges a folder in another process: its files lie in a spool.
type FolderJudge func(ctx context.Context, g *gate.Gate, spool io.ReaderAt, files []File, h gate.Hint) (*gate.Verdict, error)
