package parser

import (
	"errors"
	"io"
	"io/fs"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A folder is the file system that a model is read from. Closing it closes all files
// still open in it. It counts the bytes read.
type folder struct {
	fs     fs.FS
	b      *limits.Budget // the open files are charged to it
	closer io.Closer      // closed with the folder, or nil
	read   atomic.Int64

	mu     sync.Mutex
	open   map[*openFile]struct{}
	closed bool
}

func newFolder(b *limits.Budget, fsys fs.FS, also io.Closer) *folder {
	return &folder{fs: fsys, b: b, closer: also, open: map[*openFile]struct{}{}}
}

// Open opens a file or a folder. Anything else is refused without being opened.
func (d *folder) Open(name string) (fs.File, error) {
	info, err := d.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if err := checkRegular(info.Mode()); err != nil {
			return nil, &fs.PathError{Op: "open", Path: name, Err: err}
		}
	}
	if info.IsDir() {
		return d.fs.Open(name)
	}
	release, err := d.b.OpenFile()
	if err != nil {
		return nil, err
	}
	o := &openFile{d: d, release: release}
	if o.File, err = d.fs.Open(name); err != nil {
		release()
		return nil, tooMany(err)
	}
	if o.info, err = o.File.Stat(); err != nil {
		o.end()
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		o.end()
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrClosed}
	}
	d.open[o] = struct{}{}
	if r, ok := o.File.(io.ReaderAt); ok {
		return &openFileAt{o, r}, nil
	}
	return o, nil
}

// tooMany reports whether err means that the process or the system has too many open
// files.
func tooMany(err error) error {
	if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
		return &limits.Error{Axis: limits.OpenFiles, Want: 1}
	}
	return err
}

// Stat describes a file without opening it.
func (d *folder) Stat(name string) (fs.FileInfo, error) { return fs.Stat(d.fs, name) }

// Lstat describes a file or a link.
func (d *folder) Lstat(name string) (fs.FileInfo, error) { return fs.Lstat(d.fs, name) }

// ReadLink returns the target of a link.
func (d *folder) ReadLink(name string) (string, error) { return fs.ReadLink(d.fs, name) }

// ReadDir lists a folder.
func (d *folder) ReadDir(name string) ([]fs.DirEntry, error) { return fs.ReadDir(d.fs, name) }

// List lists the names in a folder, also of an archive, which describes none of its folders.
func (d *folder) List(name string) ([]string, error) { return tensor.List(d.fs, name) }

// Close closes the folder and what is open in it.
func (d *folder) Close() error {
	d.mu.Lock()
	if d.closed {
		d.mu.Unlock()
		return nil
	}
	d.closed = true
	open := d.open
	d.open = nil
	d.mu.Unlock()
	var errs []error
	for o := range open {
		errs = append(errs, o.end())
	}
	if d.closer != nil {
		errs = append(errs, d.closer.Close())
	}
	return errors.Join(errs...)
}

// An openFile is a file that is closed with its folder.
type openFile struct {
	fs.File
	d       *folder
	info    fs.FileInfo // when it was opened
	release func()      // gives the charge back
}

// end closes the file without telling the folder.
func (o *openFile) end() error {
	o.release()
	return o.File.Close()
}

func (o *openFile) Read(p []byte) (int, error) {
	n, err := o.File.Read(p)
	o.d.read.Add(int64(n))
	return n, err
}

// Close closes the file once; the folder may have done it.
func (o *openFile) Close() error {
	o.d.mu.Lock()
	_, open := o.d.open[o]
	delete(o.d.open, o)
	o.d.mu.Unlock()
	if !open {
		return nil
	}
	return o.end()
}

// openFileAt is an openFile with random access.
type openFileAt struct {
	*openFile
	r io.ReaderAt
}

func (o *openFileAt) ReadAt(p []byte, off int64) (int, error) {
	n, err := o.r.ReadAt(p, off)
	o.d.read.Add(int64(n))
	return n, err
}

// Progress returns how many bytes a model from Open, OpenFS or a Source has read so far,
// and the size of its open files.
func Progress(m tensor.Model) (done, size int64) {
	p, ok := m.(tensor.Placer)
	if !ok {
		return 0, 0
	}
	d, ok := p.Placed().(*folder)
	if !ok {
		return 0, 0
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for o := range d.open {
		size += o.info.Size()
	}
	return d.read.Load(), size
}
