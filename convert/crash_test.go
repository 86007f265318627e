package convert

import (
	"bytes"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/output"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A lazyDisk keeps what is written and what is named in memory until it is
// synced, as disks do: after a crash a file has the bytes of its last sync, and
// a folder any names that it had since its own.
type lazyDisk struct {
	names   map[string]*lazyFile // as programs see them
	lasting map[string]*lazyFile // as of the last sync of the folder
	after   func(step string)    // called after every step
	fail    string               // the step that fails
	full    error
}

type lazyFile struct {
	d           *lazyDisk
	at          *output.Place
	partial     string
	now, synced []byte
}

func (d *lazyDisk) step(name string) error {
	if d.fail == name {
		return d.full
	}
	if d.after != nil {
		d.after(name)
	}
	return nil
}

func (d *lazyDisk) claim(at *output.Place) (file, error) {
	dir, name := filepath.Split(at.Path())
	f := &lazyFile{d: d, at: at, partial: filepath.Join(dir, output.Partial(name))}
	d.names[f.partial] = f
	return f, d.step("claim")
}

func (d *lazyDisk) free(*output.Place) (int64, bool) { return 1 << 40, true }

func (f *lazyFile) Publish() error {
	d := f.d
	if d.fail == "publish" {
		return d.full
	}
	d.names[f.at.Path()] = d.names[f.partial]
	delete(d.names, f.partial)
	return d.step("publish")
}

func (f *lazyFile) Discard() {
	delete(f.d.names, f.partial)
	f.at.Close()
}

func (f *lazyFile) SyncFolder() error {
	d := f.d
	if d.fail == "sync folder" {
		return d.full
	}
	d.lasting = maps.Clone(d.names)
	return d.step("sync folder")
}

func (f *lazyFile) reserve(n int64) error {
	f.now = make([]byte, n)
	return f.d.step("reserve")
}

func (f *lazyFile) WriteAt(p []byte, off int64) (int, error) {
	if f.d.fail == "write" {
		return 0, f.d.full
	}
	n := copy(f.now[off:], p)
	return n, f.d.step("write")
}

func (f *lazyFile) Sync() error {
	if f.d.fail == "sync" {
		return f.d.full
	}
	f.synced = bytes.Clone(f.now)
	return f.d.step("sync")
}

func (f *lazyFile) Keep() error { return nil }

func (f *lazyFile) kept() *output.File { return nil }

func newLazyDisk(target string, old []byte) *lazyDisk {
	d := &lazyDisk{names: map[string]*lazyFile{}}
	if old != nil {
		d.names[target] = &lazyFile{d: d, now: old, synced: old}
	}
	d.lasting = maps.Clone(d.names)
	return d
}

func testPlan(t *testing.T, source string) *Plan {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	t.Cleanup(b.Close)
	m, err := parser.Open(b, source)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	p, err := NewPlan(b, m, Options{Tile: 1000, Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const crashSource = "../testdata/demo/tiny.gguf"

// Whenever the machine stops, the target is the old file or the complete new one; after the
// conversion has reported success, it is the new one.
func TestACrashAtAnyStepLeavesTheOldOrTheNewFile(t *testing.T) {
	for name, old := range map[string][]byte{"an old file": []byte("old"), "no file": nil} {
		t.Run(name, func(t *testing.T) {
			p := testPlan(t, crashSource)
			target := filepath.Join(t.TempDir(), "out")
			want := &lazyFile{d: &lazyDisk{}, now: make([]byte, p.Size)}
			if _, err := p.Stream(want); err != nil {
				t.Fatal(err)
			}
			d := newLazyDisk(target, old)
			steps := 0
			d.after = func(step string) {
				steps++
				// A file that is complete before it gets its name is complete on the disk too.
				if f := d.names[filepath.Join(filepath.Dir(target), output.Partial("out"))]; f != nil {
					for _, now := range [][]byte{f.now, f.synced} {
						if bytes.HasPrefix(now, want.now[:beginning]) && !bytes.HasSuffix(f.synced, want.now[beginning:]) {
							t.Errorf("after a crash at step %d, %s, what is unfinished looks whole", steps, step)
						}
					}
				}
				for _, names := range []map[string]*lazyFile{d.names, d.lasting} {
					f := names[target]
					switch {
					case f == nil && old == nil:
					case f != nil && bytes.Equal(f.synced, old) && old != nil:
					case f != nil && bytes.Equal(f.synced, want.now):
					default:
						t.Errorf("after a crash at step %d, %s, the target is neither old nor new", steps, step)
					}
				}
			}
			if _, err := p.write(d, target, true); err != nil {
				t.Fatal(err)
			}
			if f := d.lasting[target]; f == nil || !bytes.Equal(f.synced, want.now) {
				t.Error("it was not whole for good when it was done")
			}
			if steps < 8 || len(d.names) != 1 {
				t.Errorf("%d steps, %d names", steps, len(d.names))
			}
		})
	}
}

// A disk that fails at any step is an error of the system, and leaves the old file.
func TestADiskThatFailsAtAnyStepLeavesTheOldFile(t *testing.T) {
	for _, step := range []string{"claim", "reserve", "write", "sync", "publish"} {
		t.Run(step, func(t *testing.T) {
			p := testPlan(t, crashSource)
			target := filepath.Join(t.TempDir(), "out")
			d := newLazyDisk(target, []byte("old"))
			d.fail, d.full = step, &os.PathError{Op: step, Path: target, Err: syscall.ENOSPC}
			_, err := p.write(d, target, true)
			if !errors.Is(err, syscall.ENOSPC) || wire.ClassOf(err) != wire.Internal {
				t.Errorf("got %v", err)
			}
			if f := d.names[target]; f == nil || string(f.now) != "old" {
				t.Error("the old file is gone")
			}
			if step != "claim" && len(d.names) != 1 {
				t.Errorf("%d names are left", len(d.names))
			}
		})
	}
}

// A disk without room is found before anything is written.
func TestDiskSpaceIsCheckedBeforeWriting(t *testing.T) {
	p := testPlan(t, crashSource)
	d := &small{newLazyDisk("", nil)}
	if _, err := p.write(d, filepath.Join(t.TempDir(), "out"), false); wire.ClassOf(err) != wire.Internal || len(d.names) > 0 {
		t.Errorf("got %v", err)
	}
}

type small struct{ *lazyDisk }

func (small) free(*output.Place) (int64, bool) { return 100, true }

// A source that changes while it is read is noticed, and one that does not is not.
func TestASourceThatChangesIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(path string) error
		class  wire.Class
	}{
		"shrinks": {func(path string) error { return os.Truncate(path, 1000) }, wire.Truncated},
		"grows": {func(path string) error {
			f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			if err != nil {
				return err
			}
			_, err = f.WriteString("more")
			return errors.Join(err, f.Close())
		}, wire.Malformed},
		"is written again": {func(path string) error {
			return os.Chtimes(path, time.Time{}, time.Now().Add(time.Hour))
		}, wire.Malformed},
		"stays":                          {func(string) error { return nil }, wire.OK},
		"loses its name, and is read on": {os.Remove, wire.OK},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			source, target := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out")
			data, err := os.ReadFile(crashSource)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(source, data, 0o666); err != nil {
				t.Fatal(err)
			}
			p := testPlan(t, source)
			d := newLazyDisk(target, []byte("old"))
			d.after = func(step string) {
				if step == "claim" {
					if err := c.change(source); err != nil {
						t.Fatal(err)
					}
				}
			}
			_, err = p.write(d, target, true)
			if wire.ClassOf(err) != c.class {
				t.Errorf("got %v", err)
			}
			if kept := string(d.names[target].now) == "old"; kept != (c.class != wire.OK) || len(d.names) != 1 {
				t.Errorf("old kept: %v, %d names", kept, len(d.names))
			}
		})
	}
}
