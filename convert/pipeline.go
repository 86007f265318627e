package convert

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// CopyFolder copies the files that a loader needs from a folder without a model, such as
// the tokenizer of a pipeline, to an existing folder: the files that [Plan.WriteFolder]
// copies beside weights. Weights are not copied; a weight that the loader would load is an
// error.
func CopyFolder(b *limits.Budget, files fs.FS, dir string, code, noWeights bool) (*Beside, error) {
	list, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	out := &Beside{}
	for _, e := range list {
		if err := b.Items(1); err != nil {
			return nil, err
		}
		why := leave(files, e, code)
		if why == "weights" && noWeights {
			return nil, wire.At("convert", "file "+wire.Quote(e.Name()), wire.NoOffset, wire.ErrUnsupported.Errorf("weights in a format that is not supported"))
		}
		if why == "folder" {
			continue
		}
		if err := out.add(b, e.Name(), why); err != nil {
			return nil, err
		}
	}
	p := &Plan{b: b}
	for _, name := range out.Copied {
		if err := p.writeNew(dir, name, func(f *os.File) error { return copyFile(b, f, files, name) }); err != nil {
			return nil, err
		}
	}
	return out, tiles.SyncFolder(dir)
}

// copyFile copies one file of a folder.
func copyFile(b *limits.Budget, w io.Writer, files fs.FS, name string) error {
	h, err := tensor.OpenFile(files, name)
	if err != nil {
		return err
	}
	defer h.Close()
	if h.Size > maxBeside {
		return wire.At("convert", "file "+wire.Quote(name), wire.NoOffset, &limits.Error{Axis: limits.SingleAlloc, Want: h.Size, Left: maxBeside})
	}
	var buf [32 << 10]byte
	for off := int64(0); off < h.Size; {
		if err := b.Err(); err != nil {
			return err
		}
		n := min(int64(len(buf)), h.Size-off)
		if err := wire.ReadFull(h, buf[:n], off); err != nil {
			return wire.At("convert", "file "+wire.Quote(name), off, err)
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return err
		}
		off += n
	}
	return nil
}

// A Staged is a folder of folders that is filled under a temporary name and appears only
// when it is complete.
type Staged struct {
	Path   string // where it is filled
	target string
	lock   *os.File
}

// CheckStaged returns an error if a folder with these subfolders may not be written to
// target. With force, a folder is replaced that contains only files that would be written.
func CheckStaged(files *parser.Folder, target string, folders []string, force, code bool) error {
	if err := checkStore(target); err != nil {
		return err
	}
	from, err := os.Stat(files.Path)
	if err != nil {
		return err
	}
	if to, err := os.Stat(target); err == nil && os.SameFile(from, to) {
		return refused(target, "it is the input")
	}
	return checkFolder(nil, target, force, code, folders)
}

// Stage makes the folder, and removes the remains of a killed run.
func Stage(target string) (*Staged, error) {
	target = filepath.Clean(target)
	if err := tiles.Writable(filepath.Dir(target)); err != nil {
		return nil, err
	}
	s := &Staged{Path: partialName(target), target: target}
	var err error
	s.lock, err = claimFolder(s.Path)
	return s, err
}

// Publish gives the folder its name.
func (s *Staged) Publish() error {
	if err := tiles.SyncFolder(s.Path); err != nil {
		return err
	}
	if err := publishFolder(s.Path, s.target); err != nil {
		return err
	}
	s.Path = ""
	return tiles.SyncFolder(filepath.Dir(s.target))
}

// Close removes the folder if it was not published.
func (s *Staged) Close() error {
	var err error
	if s.Path != "" {
		err = clearFolder(s.Path)
	}
	return errors.Join(err, s.lock.Close())
}
