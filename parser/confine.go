package parser

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A confinedFolder is a folder of this machine. Nothing outside of it can be opened,
// except the file that the caller named and, in a snapshot of the Hugging Face hub's
// cache, the blobs of its model.
type confinedFolder struct {
	root *os.Root

	hub  *os.Root // the models--NAME folder, or nil
	snap string   // the folder's path in hub, with slashes: snapshots/REVISION

	name string // the file that the caller named
	path string // its path, or ""
}

// confine opens a folder. Only name is looked up by path, if the caller gave
// one; links on it are the caller's own.
func confine(b *limits.Budget, dir, name, path string) (*folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	c := &confinedFolder{root: root, name: name, path: path}
	if hub, snap := snapshot(dir); hub != "" {
		if c.hub, err = os.OpenRoot(hub); err != nil {
			root.Close()
			return nil, err
		}
		c.snap = snap
	}
	return newFolder(b, c, c), nil
}

// snapshot finds the models--NAME folder that a folder is a snapshot of.
func snapshot(dir string) (hub, snap string) {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", ""
	}
	if real, err = filepath.Abs(real); err != nil {
		return "", ""
	}
	parts := strings.Split(filepath.ToSlash(real), "/")
	for i := len(parts) - 3; i >= 0; i-- {
		if strings.HasPrefix(parts[i], "models--") && parts[i+1] == "snapshots" {
			return filepath.FromSlash(strings.Join(parts[:i+1], "/")), strings.Join(parts[i+1:], "/")
		}
	}
	return "", ""
}

// isNamed reports whether name is the file that the caller named.
func (c *confinedFolder) isNamed(name string) bool { return c.path != "" && name == c.name }

// Open opens a file for reading.
func (c *confinedFolder) Open(name string) (fs.File, error) {
	if !tensor.IsLocal(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	if c.isNamed(name) {
		return os.OpenFile(c.path, os.O_RDONLY|nonblock, 0)
	}
	root, at := c.follow(name)
	f, err := root.OpenFile(at, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return nil, outside(name, err)
	}
	return f, nil
}

// Stat describes a file, links followed as Open follows them.
func (c *confinedFolder) Stat(name string) (fs.FileInfo, error) {
	if !tensor.IsLocal(name) {
		return nil, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrInvalid}
	}
	if c.isNamed(name) {
		return os.Stat(c.path)
	}
	root, at := c.follow(name)
	info, err := root.Stat(at)
	if err != nil {
		return nil, outside(name, err)
	}
	return info, nil
}

// Lstat describes a file or a link.
func (c *confinedFolder) Lstat(name string) (fs.FileInfo, error) {
	if !tensor.IsLocal(name) {
		return nil, &fs.PathError{Op: "lstat", Path: name, Err: fs.ErrInvalid}
	}
	return c.root.Lstat(filepath.FromSlash(name))
}

// ReadLink returns the target of a link.
func (c *confinedFolder) ReadLink(name string) (string, error) {
	if !tensor.IsLocal(name) {
		return "", &fs.PathError{Op: "readlink", Path: name, Err: fs.ErrInvalid}
	}
	return c.root.Readlink(filepath.FromSlash(name))
}

// follow finds the blob that a link of a snapshot leads to. Any other link is
// left to the folder's root, which follows those that stay inside.
func (c *confinedFolder) follow(name string) (*os.Root, string) {
	at := filepath.FromSlash(name)
	if c.hub == nil {
		return c.root, at
	}
	target, err := c.root.Readlink(at)
	if err != nil || filepath.IsAbs(target) {
		return c.root, at
	}
	blob := path.Join(c.snap, path.Dir(name), filepath.ToSlash(target))
	if path.Dir(blob) != "blobs" || !isDigest(path.Base(blob)) {
		return c.root, at
	}
	if info, err := c.hub.Lstat(blob); err != nil || !info.Mode().IsRegular() {
		return c.root, at
	}
	return c.hub, filepath.FromSlash(blob)
}

// isDigest reports whether name is that of a blob: a SHA-1 or SHA-256 in hex.
func isDigest(name string) bool {
	return (len(name) == 40 || len(name) == 64) && strings.Trim(name, "0123456789abcdef") == ""
}

// outside converts errors of os.Root about links that leave the folder. A path that
// cannot exist (a link to itself, a file as a folder, an overlong name) becomes
// fs.ErrNotExist.
func outside(name string, err error) error {
	for _, no := range []error{syscall.ELOOP, syscall.ENOTDIR, syscall.ENAMETOOLONG} {
		if errors.Is(err, no) {
			return &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
		}
	}
	if _, system := errors.AsType[syscall.Errno](err); system || errors.Is(err, fs.ErrClosed) {
		return err
	}
	return wire.ErrForbidden.WithRule("file.link-outside").Errorf("link %s leads out of the model's folder: name its target instead, if you trust it", wire.Quote(name))
}

// Close closes the folder.
func (c *confinedFolder) Close() error {
	if c.hub == nil {
		return c.root.Close()
	}
	return errors.Join(c.root.Close(), c.hub.Close())
}
