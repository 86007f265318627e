package cli

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A manifest is written whole or not at all.
type manifest struct {
	f    *os.File
	w    *bufio.Writer
	path string
}

// manifest opens the manifest that the flags ask for; nil for none.
func (c *digestCmd) manifest() (*manifest, error) {
	path := c.Output
	if path == "" {
		return nil, nil
	}
	if _, err := os.Lstat(path); err == nil && !c.Force {
		return nil, usage{showPath(path) + " is there: --force replaces it"}
	}
	return newManifest(path)
}

// newManifest begins to write what takes the place of a file once it is whole.
func newManifest(path string) (*manifest, error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".amn-*")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, usage{"target " + wire.Quote(path) + ": its folder does not exist"}
	}
	if err != nil {
		return nil, err
	}
	return &manifest{f: f, w: bufio.NewWriter(f), path: path}, nil
}

// relative is a path as the manifest's folder sees it; what is no file, such as a
// model of a store, keeps its name.
func (m *manifest) relative(path string) string {
	if _, err := os.Stat(path); err != nil {
		return path
	}
	from, err := filepath.Abs(filepath.Dir(m.path))
	to, err2 := filepath.Abs(path)
	rel, err3 := filepath.Rel(from, to)
	switch {
	case err != nil || err2 != nil:
		return path
	case err3 != nil: // on another volume
		return to
	}
	return filepath.ToSlash(rel)
}

// done puts the manifest in its place.
func (m *manifest) done() error {
	if m == nil {
		return nil
	}
	if err := errors.Join(m.w.Flush(), m.f.Chmod(0o644), m.f.Close()); err != nil {
		return err
	}
	return os.Rename(m.f.Name(), m.path)
}

// close takes away what was not put in its place.
func (m *manifest) close() {
	if m != nil {
		m.f.Close()
		_ = os.Remove(m.f.Name()) // gone if it was renamed
	}
}
