package safetensors_test

import (
	"io/fs"
	"os"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// A link that leads out of what the folder may open is refused, one inside it
// is followed, and one to nowhere is a missing shard.
func TestLinksAreConfined(t *testing.T) {
	dir := t.TempDir()
	for _, sub := range []string{"model/blobs", "model/snapshots/rev"} {
		if err := os.MkdirAll(dir+"/"+sub, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write := func(name string, f *fstest.MapFile) {
		if err := os.WriteFile(dir+"/"+name, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("outside.safetensors", shard("a"))
	write("model/blobs/0123", shard("a"))
	write("model/snapshots/rev/"+indexName, text(`{"weight_map":{"a":"`+first+`"}}`))
	root, err := os.OpenRoot(dir + "/model")
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	link := dir + "/model/snapshots/rev/" + first
	for target, want := range map[string]wire.Class{
		"../../blobs/0123":             wire.OK,
		"../../../outside.safetensors": wire.Forbidden,
		dir + "/outside.safetensors":   wire.Forbidden,
		"../../blobs/none":             wire.Malformed,
		"../../blobs":                  wire.Unsupported,
	} {
		os.Remove(link)
		if err := os.Symlink(target, link); err != nil {
			t.Skip("no symbolic links here: ", err)
		}
		m, err := safetensors.OpenIndex(account(t, limits.Policy{}), root.FS(), "snapshots/rev/"+indexName)
		if err == nil {
			if got := describe(t, m); len(got) != 1 {
				t.Errorf("%v", got)
			}
			m.Close()
		}
		if got := wire.ClassOf(err); got != want {
			t.Errorf("a link to %s: class %v: %v", target, got, err)
		}
	}
}

func TestFilesOfASetAreClosed(t *testing.T) {
	for _, good := range []bool{true, false} {
		folder := &watched{MapFS: fstest.MapFS{
			indexName: text(`{"weight_map":{"a":"` + first + `","c":"` + second + `"}}`), first: shard("a"), second: shard("c"),
		}}
		if !good {
			folder.MapFS[second] = shard("x")
		}
		m, err := safetensors.OpenIndex(account(t, limits.Policy{}), folder, indexName)
		if (err == nil) != good {
			t.Fatal(err)
		}
		if good {
			if folder.open != 2 {
				t.Errorf("%d files open", folder.open)
			}
			m.Close()
		}
		if folder.open != 0 {
			t.Errorf("%d files left open", folder.open)
		}
	}
}

// watched counts open files.
type watched struct {
	fstest.MapFS
	open int
}

func (w *watched) Stat(name string) (fs.FileInfo, error) { return w.MapFS.Stat(name) }

func (w *watched) Open(name string) (fs.File, error) {
	f, err := w.MapFS.Open(name)
	if err != nil {
		return nil, err
	}
	w.open++
	return &opened{File: f, ReaderAt: f.(readerAt), w: w}, nil
}

type readerAt interface {
	ReadAt(p []byte, off int64) (int, error)
}

type opened struct {
	fs.File
	ReaderAt readerAt
	w        *watched
	closed   bool
}

func (o *opened) ReadAt(p []byte, off int64) (int, error) { return o.ReaderAt.ReadAt(p, off) }

func (o *opened) Close() error {
	if !o.closed {
		o.closed = true
		o.w.open--
	}
	return o.File.Close()
}
