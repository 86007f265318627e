package convert

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/tiles"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
)

// partial is the suffix of unfinished files. The next run with the same target removes
// what a killed one left.
const partial = ".amn-partial"

// partialName returns the temporary name of a target: hidden, in the same folder, and not
// too long for the file system.
func partialName(path string) string {
	dir, base := filepath.Split(path)
	if len(base) > 200 {
		h := sha256.Sum256([]byte(base))
		base = base[:100] + hex.EncodeToString(h[:8])
	}
	return filepath.Join(dir, "."+base+partial)
}

// checkTarget returns an error for places where nothing is written.
func (p *Plan) checkTarget(path string, force bool) error {
	info, err := occupant(path, "file")
	if info == nil {
		return err
	}
	switch {
	case info.IsDir():
		return refused(path, "it is a folder")
	case !info.Mode().IsRegular():
		return refused(path, "it is not a regular file")
	case parser.Reads(p.m, info) && !p.o.InPlace:
		return refused(path, "it is the input")
	case !force:
		return refused(path, "it exists; %s replaces it", wire.OptionForce)
	}
	return nil
}

// occupant returns what exists at the path of a target, nil for nothing. A link is
// refused.
func occupant(path, kind string) (fs.FileInfo, error) {
	if err := checkStore(path); err != nil {
		return nil, err
	}
	info, err := os.Lstat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, refused(path, "it is a link: name the %s that it points to", kind)
	}
	return info, nil
}

// checkStore refuses the folders of content-addressed stores, whose files are named by
// their content: the cache of the Hugging Face hub, and ollama's.
func checkStore(path string) error {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return refused(path, "its folder does not exist")
	}
	if err != nil {
		return err
	}
	parts := strings.Split(filepath.ToSlash(dir), "/")
	for i, name := range parts {
		if strings.HasPrefix(name, "models--") || strings.HasPrefix(name, "datasets--") {
			return refused(path, "this is the cache of the Hugging Face hub, whose files are named by their content: choose another folder")
		}
		if name != "blobs" && name != "manifests" {
			continue
		}
		store := filepath.FromSlash(strings.Join(parts[:i], "/") + "/")
		if isDir(filepath.Join(store, "blobs")) && isDir(filepath.Join(store, "manifests")) {
			return refused(path, "this is a store of ollama, whose files are named by their content: choose another folder")
		}
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// A system is the part of the file system that creates new files.
type system interface {
	// claim creates the file, after removing what a killed run left. If another process
	// is writing the file, it returns an error.
	claim(path string) (file, error)
	// publish renames and closes the file. With replace, it may replace an existing one.
	publish(f file, partial, path string, replace bool) error
	// discard removes and closes the file.
	discard(f file, partial string)
	syncFolder(dir string) error
	free(dir string) (int64, bool)
}

// A file is an output file.
type file interface {
	WriteAt(p []byte, off int64) (int, error)
	reserve(size int64) error
	Sync() error
	Close() error
}

// machine is the real system.
type machine struct{}

type osFile struct{ *os.File }

func (f osFile) reserve(size int64) error { return tiles.Reserve(f.File, size) }

func (machine) claim(path string) (file, error) {
	for range 100 { // other runs may come and go as often
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|tiles.NoFollow, 0o666)
		if err == nil {
			if taken, err := tiles.Lock(f); err != nil || !taken {
				f.Close()
				continue
			}
			return osFile{f}, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if err := removeStale(path); err != nil {
			return nil, err
		}
	}
	return nil, refused(path, "other programs keep creating it")
}

// removeStale removes what a killed run left. A file that another run is writing is
// locked.
func removeStale(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if !info.Mode().IsRegular() {
		return refused(path, "something other than a regular file is in the way")
	}
	f, err := os.OpenFile(path, os.O_RDWR|tiles.NoFollow, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	taken, err := tiles.Lock(f)
	if err != nil {
		return err
	}
	if !taken {
		return refused(path, "another run is writing this target")
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return err // it was replaced meanwhile: try again
	}
	err = os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return err
}

// The file is renamed while it is locked, so that no other run takes it for a leftover.
// On systems that cannot rename an open file, others cannot remove it either, and it is
// closed first.
func (machine) publish(f file, partial, path string, replace bool) error {
	if !tiles.RenamesOpen {
		if err := f.Close(); err != nil {
			return err
		}
		return rename(partial, path, replace)
	}
	if err := rename(partial, path, replace); err != nil {
		return err
	}
	return f.Close()
}

func rename(partial, path string, replace bool) error {
	if replace {
		return os.Rename(partial, path)
	}
	err := os.Link(partial, path) // unlike a rename, a link replaces nothing
	switch {
	case err == nil:
		return os.Remove(partial)
	case errors.Is(err, fs.ErrExist):
		return refused(path, "it was created in the meantime")
	default:
		return os.Rename(partial, path) // the file system has no links
	}
}

func (machine) discard(f file, partial string) {
	if tiles.RenamesOpen {
		os.Remove(partial)
		f.Close()
		return
	}
	f.Close()
	os.Remove(partial)
}

func (machine) syncFolder(dir string) error   { return tiles.SyncFolder(dir) }
func (machine) free(dir string) (int64, bool) { return tiles.Free(dir) }
