package parser_test

import (
	"bytes"
	"io"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// panicking panics at its n-th read.
type panicking struct {
	io.ReaderAt
	left atomic.Int64
}

func (p *panicking) ReadAt(b []byte, off int64) (int, error) {
	if p.left.Add(-1) < 0 {
		_ = b[len(b):][off&1]
	}
	return p.ReaderAt.ReadAt(b, off)
}

// trap is a file system whose files panic at their n-th read, and which counts
// what is open.
type trap struct {
	fs.FS
	after int64
	open  atomic.Int64
}

type trapFile struct {
	fs.File
	panicking
	fs *trap
}

func (t *trap) Open(name string) (fs.File, error) {
	f, err := t.FS.Open(name)
	if err != nil {
		return nil, err
	}
	if _, ok := f.(io.ReaderAt); !ok {
		return f, nil
	}
	t.open.Add(1)
	out := &trapFile{File: f, fs: t}
	out.ReaderAt = f.(io.ReaderAt)
	out.left.Store(t.after)
	return out, nil
}

func (t *trap) Stat(name string) (fs.FileInfo, error) { return fs.Stat(t.FS, name) }

func (f *trapFile) Close() error {
	f.fs.open.Add(-1)
	return f.File.Close()
}

// A panic inside an operation ends that operation, as class internal, and leaves
// nothing behind: no descriptor, no goroutine, no charge, no harm to others.
func TestAPanicIsContained(t *testing.T) {
	set := fstest.MapFS{
		"model.safetensors.index.json":     {Data: []byte(index)},
		"model-00001-of-00002.safetensors": {Data: shard("a")},
		"model-00002-of-00002.safetensors": {Data: shard("b")},
	}
	host := account(t, limits.Policy{})
	before := runtime.NumGoroutine()
	panicked := 0
	one := func(what string, p limits.Policy, open func(b *limits.Budget) error) {
		b := host.Child(p)
		err := open(b)
		b.Close()
		if err == nil {
			return
		}
		panicked++
		if parser.ClassOf(err) != parser.Internal || !strings.Contains(err.Error(), "panic in ") || !strings.Contains(err.Error(), "index out of range") {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, f := range parser.Formats() {
		for _, seed := range corpus.Valid(f.Name) {
			for n := range int64(6) {
				one(seed.Name, policyOf(t, seed.Recipe), func(b *limits.Budget) error {
					r := &panicking{ReaderAt: bytes.NewReader(seed.Data)}
					r.left.Store(n)
					m, err := parser.Decode(b, r, int64(len(seed.Data)))
					if err == nil {
						err = parser.Verify(b, m)
					}
					return err
				})
			}
		}
	}
	for n := range int64(4) {
		fsys := &trap{FS: set, after: n}
		for _, name := range []string{".", "model-00001-of-00002.safetensors"} {
			one(name, limits.Policy{}, func(b *limits.Budget) error {
				m, err := parser.OpenFS(b, fsys, name)
				if err == nil {
					m.Close()
				}
				return err
			})
			if open := fsys.open.Load(); open != 0 {
				t.Errorf("%s, panic at read %d: %d files left open", name, n, open)
			}
		}
	}
	if panicked < 100 {
		t.Errorf("only %d panics", panicked)
	}
	for _, u := range host.Usage() {
		if u.Axis != limits.Time && u.Used != 0 {
			t.Errorf("%v: %d are left", u.Axis, u.Used)
		}
	}
	for wait := time.Now().Add(10 * time.Second); runtime.NumGoroutine() > before && time.Now().Before(wait); {
		time.Sleep(time.Millisecond)
	}
	if after := runtime.NumGoroutine(); after > before {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}

// A panic names the function that it came from, not the one that caught it.
func TestAPanicNamesItsOrigin(t *testing.T) {
	_, err := parser.Decode(account(t, limits.Policy{}), &panicking{ReaderAt: bytes.NewReader(nil)}, 100)
	if err == nil || !strings.Contains(err.Error(), "(*panicking).ReadAt line ") {
		t.Error(err)
	}
}

// Many goroutines share a host's account, and some of their files are hostile.
func TestManyGoroutinesOnOneHost(t *testing.T) {
	type file struct {
		name   string
		data   []byte
		policy limits.Policy
	}
	var files []file
	for _, f := range parser.Formats() {
		for _, seed := range corpus.Valid(f.Name) {
			files = append(files, file{seed.Name, seed.Data, policyOf(t, seed.Recipe)})
		}
		for _, r := range corpus.Hostile(f.Name) {
			files = append(files, file{"", r.Bytes(), policyOf(t, &r)})
		}
	}
	host := account(t, limits.Policy{})
	var wg sync.WaitGroup
	for worker := range 32 {
		wg.Go(func() {
			for i := worker % 4; i < len(files); i += 4 {
				f := files[i]
				b := host.Child(f.policy)
				m, err := parser.Decode(b, bytes.NewReader(f.data), int64(len(f.data)))
				if err == nil {
					err = parser.Verify(b, m)
				}
				if err != nil && f.name != "" {
					t.Errorf("%s: %v", f.name, err)
				}
				b.Close()
			}
		})
	}
	wg.Wait()
	for _, u := range host.Usage() {
		if u.Axis != limits.Time && u.Used != 0 {
			t.Errorf("%v: %d are left", u.Axis, u.Used)
		}
	}
}
