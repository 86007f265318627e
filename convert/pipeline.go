package convert

import (
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// CopyFolder copies the files that a loader needs from a folder without a model, such as
// the tokenizer of a pipeline, to a new folder of the staged one, or to itself if sub is "":
// the files that [Plan.WriteFolder] copies beside weights. Weights are not copied; a weight
// that the loader would load is an error.
func (s *Staged) CopyFolder(b *limits.Budget, files fs.FS, sub string, code, noWeights bool) (*Beside, error) {
	if sub != "" {
		if err := s.tree.Mkdir(sub); err != nil {
			return nil, err
		}
	}
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
	p := &Plan{request: request{b: b}}
	for _, name := range out.Copied {
		if err := p.writeNew(s.tree, path.Join(sub, name), func(f *os.File) error { return copyFile(b, f, files, name) }); err != nil {
			return nil, err
		}
	}
	return out, nil
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
	Path string // where it is filled
	tree *output.Tree
}

// CheckStaged returns an error if a folder with these subfolders may not be written to
// target. With force, a folder is replaced that contains only files that would be written.
func CheckStaged(files *parser.Folder, target string, folders []string, force, code bool) error {
	at, err := stagedTarget(files, target, folders, force, code)
	if err != nil {
		return err
	}
	return at.Close()
}

func stagedTarget(files *parser.Folder, target string, folders []string, force, code bool) (*output.Place, error) {
	from, err := os.Stat(files.Path)
	if err != nil {
		return nil, err
	}
	if to, err := os.Stat(target); err == nil && os.SameFile(from, to) {
		return nil, refused(target, "it is the input")
	}
	list, err := fs.ReadDir(files, ".")
	if err != nil {
		return nil, err
	}
	at, err := output.At(target, output.Options{Force: force, Guard: []string{files.Path}, Ours: func(name string, head []byte) bool {
		return !isTensorFile(name) || begins(safetensors.Format, head)
	}})
	if err != nil {
		return nil, refusedPlace(err)
	}
	err = at.CheckTree(func(name string, folder bool) bool {
		top, _, below := strings.Cut(name, "/")
		if folder || below {
			return slices.Contains(folders, top)
		}
		return slices.ContainsFunc(list, func(e fs.DirEntry) bool { return e.Name() == name && leave(files, e, code) == "" })
	})
	if err != nil {
		at.Close()
		return nil, refusedPlace(err)
	}
	return at, nil
}

// Stage checks the target as [CheckStaged] does, makes the folder, and removes the remains of
// a killed run.
func Stage(files *parser.Folder, target string, folders []string, force, code bool) (*Staged, error) {
	at, err := stagedTarget(files, target, folders, force, code)
	if err != nil {
		return nil, err
	}
	tree, err := at.CreateTree()
	if err != nil {
		return nil, refusedPlace(err)
	}
	return &Staged{tree.Path(), tree}, nil
}

// Publish gives the folder its name.
func (s *Staged) Publish() error {
	if err := s.tree.Sync(); err != nil {
		return err
	}
	if err := s.tree.Publish(); err != nil {
		return refusedPlace(err)
	}
	return s.tree.SyncFolder()
}

// Close removes the folder if it was not published.
func (s *Staged) Close() error { return s.tree.Discard() }
