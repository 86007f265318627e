package fuzz_test

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A host's account never runs dry: what a request held comes back at its end.
func TestAHostServesAHundredThousandFiles(t *testing.T) {
	total := effort.Of(10_000, 100_000)
	if effort.Race {
		total = 10_000
	}
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: 1 << 30, Timeout: limits.NoTimeout})
	var files []file
	for _, row := range formats {
		for _, f := range valid(t, row.name) {
			if len(f.data) <= 16<<10 {
				files = append(files, f)
			}
		}
	}
	for i := range total {
		file := files[i%len(files)]
		b := host.Child(file.policy)
		m, err := formatOf(t, file.format).decode(b, bytes.NewReader(file.data), int64(len(file.data)))
		if err == nil {
			m.Close()
		}
		b.Close()
		if err != nil {
			t.Fatalf("decode %d, %s/%s: %v", i, file.format, file.name, err)
		}
	}
}

// Many operations under one host: each ends as it does alone.
func TestSixtyFourGoroutinesShareAHost(t *testing.T) {
	var files []file
	for _, f := range wholeCorpus(t) {
		if len(f.data) <= 64<<10 {
			files = append(files, f)
		}
	}
	host := limitstest.Host(t, limits.Policy{MaxTotalBytes: 1 << 40, MaxItems: 1 << 40, Timeout: limits.NoTimeout})
	share := len(files)
	if effort.Race || !effort.Whole() {
		share /= 4 // of the corpus for each goroutine: sixteen still meet at each file
	}
	var all sync.WaitGroup
	for g := range 64 {
		all.Go(func() {
			for i := range share {
				file := files[(i+g*len(files)/64)%len(files)]
				f := formatOf(t, file.format)
				b := host.Child(file.policy)
				_, _, whole := examine(b, f, file.data)
				b.Close()
				want := "ok"
				if file.recipe != nil {
					want = file.recipe.Expect
				}
				if got := wire.ClassOf(whole).String(); got != want {
					t.Errorf("%s/%s beside others: class %s: %v", file.format, file.name, got, whole)
				}
			}
		})
	}
	all.Wait()
}

// A panic in the middle, here of the reader, ends as an error of the class that
// never counts as accepted, and leaves nothing behind.
func TestAPanicEndsAsInternalAndLeavesNothing(t *testing.T) {
	goroutines := runtime.NumGoroutine()
	host := limitstest.Host(t, limits.Policy{})
	panics, opened := 0, 0
	for _, row := range formats {
		for _, file := range valid(t, row.name) {
			for _, after := range []int64{0, 8, 20, int64(len(file.data)) / 2, int64(len(file.data)) - 1} {
				fsys := &breaking{file.data, after, 0}
				b := host.Child(file.policy)
				m, err := parser.OpenFS(b, fsys, "model."+row.name)
				if err == nil {
					opened++
					err = parser.Verify(b, m)
					m.Close()
				}
				if strings.Contains(fmt.Sprint(err), "a reader's panic") {
					panics++
					if c := parser.ClassOf(err); c != parser.Internal {
						t.Errorf("%s/%s, panic at %#x: class %v: %v", row.name, file.name, after, c, err)
					}
				}
				b.Close()
				if fsys.open != 0 {
					t.Errorf("%s/%s, panic at %#x: %d files are open", row.name, file.name, after, fsys.open)
				}
			}
		}
	}
	if panics < 50 || opened == 0 {
		t.Errorf("%d panics, %d files opened: the readers did not break as planned", panics, opened)
	}
	settled(t, goroutines)
}

// A breaking folder has one file, whose reader panics after an offset.
type breaking struct {
	data  []byte
	after int64
	open  int
}

type breakingFile struct {
	fuzz.Panicking
	fs   *breaking
	name string
}

func (b *breaking) Open(name string) (fs.File, error) {
	if !strings.HasPrefix(name, "model.") {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	b.open++
	return &breakingFile{fuzz.Panicking{Data: b.data, After: b.after}, b, name}, nil
}

func (f *breakingFile) Stat() (fs.FileInfo, error) { return f, nil }
func (f *breakingFile) Close() error               { f.fs.open--; return nil }
func (f *breakingFile) Read([]byte) (int, error)   { return 0, errors.New("not read in order") }
func (f *breakingFile) Name() string               { return f.name }
func (f *breakingFile) Size() int64                { return int64(len(f.Data)) }
func (f *breakingFile) Mode() fs.FileMode          { return 0o444 }
func (f *breakingFile) ModTime() time.Time         { return time.Time{} }
func (f *breakingFile) IsDir() bool                { return false }
func (f *breakingFile) Sys() any                   { return nil }

// settled waits until no more goroutines run than before.
func settled(t *testing.T, before int) {
	t.Helper()
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines, before %d", runtime.NumGoroutine(), before)
}
