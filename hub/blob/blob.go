// Package blob keeps contents in a folder, under the SHA-256 of their bytes, until they are
// judged and as long as the operator wants to judge them again.
//
// A content is written to a temporary file, digested while it comes, and gets its name only if
// its bytes have that digest. Contents are kept for each tenant by itself: whether another one
// has a content is not to be learned from the time or the answer of an upload.
package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
)

// Errors of a content that is not taken.
var (
	ErrDigest = errors.New("blob: the bytes have another SHA-256 than was stated")
	ErrSize   = errors.New("blob: the content is larger than is allowed")
	ErrAbsent = errors.New("blob: there is no such content")
)

// A Store is a folder of contents.
type Store struct {
	root *os.Root
}

// Open opens a folder, and makes it if it does not exist. What arrived when a process was killed
// is removed after a day: other processes may have the folder, too.
func Open(path string) (*Store, error) {
	if err := os.MkdirAll(path, 0o700); err != nil {
		return nil, err
	}
	s, err := OpenToRead(path)
	if err != nil {
		return nil, err
	}
	return s, s.tidy(time.Now().Add(-24 * time.Hour))
}

// incoming is how the names of contents begin that have not come to their end.
const incoming = ".incoming-"

// tidy removes what began to arrive before a time.
func (s *Store) tidy(before time.Time) error {
	return fs.WalkDir(s.root.FS(), ".", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || !strings.HasPrefix(e.Name(), incoming) {
			return err
		}
		info, err := e.Info()
		if errors.Is(err, fs.ErrNotExist) || err == nil && info.ModTime().After(before) {
			return nil
		}
		if err == nil {
			err = s.root.Remove(name)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	})
}

// OpenToRead opens a folder that exists.
func OpenToRead(path string) (*Store, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Store{root}, nil
}

// Close closes the folder.
func (s *Store) Close() error { return s.root.Close() }

// where returns the folder and the name of a content of a tenant. A tenant's name may be any
// text, so its folder is a digest.
func where(tenant, sum string) (folder, name string, err error) {
	if b, err := hex.DecodeString(sum); err != nil || len(b) != sha256.Size || hex.EncodeToString(b) != sum {
		return "", "", fmt.Errorf("blob: %q is no SHA-256 in lower-case hex", sum)
	}
	t := sha256.Sum256([]byte(tenant))
	folder = filepath.Join(hex.EncodeToString(t[:8]), sum[:2])
	return folder, filepath.Join(folder, sum), nil
}

// Put takes a content of at most max bytes, and returns its size. What is already there is read
// again all the same: whoever sends a content shows that they have it.
func (s *Store) Put(ctx context.Context, tenant, sum string, r io.Reader, max int64) (size int64, err error) {
	folder, name, err := where(tenant, sum)
	if err != nil {
		return 0, err
	}
	if err := s.root.MkdirAll(folder, 0o700); err != nil {
		return 0, err
	}
	f, temp, err := s.create(folder)
	if err != nil {
		return 0, err
	}
	defer func() {
		f.Close()
		if temp != "" {
			s.root.Remove(temp)
		}
	}()
	h := sha256.New()
	size, err = io.Copy(io.MultiWriter(f, h), io.LimitReader(&until{ctx, r}, max+1))
	switch {
	case err != nil:
		return 0, err
	case size > max:
		return 0, ErrSize
	case hex.EncodeToString(h.Sum(nil)) != sum:
		return 0, ErrDigest
	}
	if err := f.Sync(); err != nil {
		return 0, err
	}
	if err := f.Chmod(0o400); err != nil {
		return 0, err
	}
	if err := s.root.Rename(temp, name); err != nil {
		return 0, err
	}
	temp = ""
	return size, nil
}

// Size returns the size of a tenant's content. ok is false if it is not there.
func (s *Store) Size(tenant, sum string) (size int64, ok bool, err error) {
	_, name, err := where(tenant, sum)
	if err != nil {
		return 0, false, err
	}
	info, err := s.root.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, false, nil
	}
	if err != nil {
		return 0, false, err
	}
	return info.Size(), true, nil
}

// Delete removes a content.
func (s *Store) Delete(tenant, sum string) error {
	_, name, err := where(tenant, sum)
	if err != nil {
		return err
	}
	if err := s.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// DeleteAll removes what a tenant has sent.
func (s *Store) DeleteAll(tenant string) error {
	t := sha256.Sum256([]byte(tenant))
	return s.root.RemoveAll(hex.EncodeToString(t[:8]))
}

// Folder returns the contents of a tenant under the names of a manifest. With known, whoever
// judges them takes their digests from here, where they were computed when the contents came;
// else it computes them. The error is about a name or a content.
func (s *Store) Folder(tenant string, manifest []gate.File, known bool) (fs.FS, io.Closer, error) {
	out := &gate.Folder{}
	open := &pool{root: s.root}
	had := map[string]*content{}
	for _, f := range manifest {
		if c := had[f.SHA256]; c != nil && c.size == f.Size { // one content under many names
			if !known {
				f.SHA256 = ""
			}
			if err := out.Add(f, c); err != nil {
				return nil, nil, err
			}
			continue
		}
		_, name, err := where(tenant, f.SHA256)
		if err != nil {
			return nil, nil, err
		}
		info, err := s.root.Stat(name)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil, fmt.Errorf("%w: %s", ErrAbsent, f.SHA256)
		}
		if err != nil {
			return nil, nil, err
		}
		if info.Size() != f.Size {
			return nil, nil, fmt.Errorf("blob: %s has %d bytes, and the manifest says %d", f.SHA256, info.Size(), f.Size)
		}
		c := &content{pool: open, name: name, size: f.Size}
		had[f.SHA256] = c
		if !known {
			f.SHA256 = ""
		}
		if err := out.Add(f, c); err != nil {
			return nil, nil, err
		}
	}
	return out, open, nil
}

// maxOpen bounds how many contents of a folder are open at once.
const maxOpen = 32

// A pool has the few contents of a folder that are open.
type pool struct {
	root *os.Root

	mu     sync.Mutex
	open   []*content // the one that was read last is the last
	closed bool
}

// A content is open while it is among those that were read last.
type content struct {
	pool *pool
	name string
	size int64
	file *os.File
}

// ReadAt implements io.ReaderAt.
func (c *content) ReadAt(p []byte, off int64) (int, error) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	if err := c.pool.use(c); err != nil {
		return 0, err
	}
	return c.file.ReadAt(p, off)
}

// use opens a content, in place of the one that was not read for the longest time.
func (p *pool) use(c *content) error {
	if p.closed {
		return fs.ErrClosed
	}
	if i := slices.Index(p.open, c); i >= 0 {
		p.open = append(slices.Delete(p.open, i, i+1), c)
		return nil
	}
	if len(p.open) == maxOpen {
		p.open[0].file.Close()
		p.open[0].file = nil
		p.open = slices.Delete(p.open, 0, 1)
	}
	f, err := p.root.Open(c.name)
	if err != nil {
		return err
	}
	c.file = f
	p.open = append(p.open, c)
	return nil
}

// Close closes what is open.
func (p *pool) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, c := range p.open {
		c.file.Close()
	}
	p.open = nil
	return nil
}

// until reads as long as a context lasts.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// create makes a temporary file in a folder.
func (s *Store) create(folder string) (*os.File, string, error) {
	for range 100 {
		name := filepath.Join(folder, incoming+random())
		f, err := s.root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, name, err
		}
	}
	return nil, "", fs.ErrExist
}
