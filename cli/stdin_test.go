package cli_test

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"github.com/anamnesis-go/anamnesis/cli"
)

// Standard input gives the same result from a file, from a pipe, and in pieces of any size.
func TestFilesAndPipesOnStandardInputReadTheSame(t *testing.T) {
	path := filepath.Join(demo, "weights.npz")
	data := load(t, path)
	want := amn(t, nil, "inspect", "--verify", path)
	if want.code != 0 {
		t.Fatal(want)
	}
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() { io.WriteString(w, data); w.Close() }()
	for name, in := range map[string]io.Reader{
		"a file":              file,
		"a pipe":              r,
		"one byte at a time":  iotest.OneByteReader(strings.NewReader(data)),
		"with EOF at the end": iotest.DataErrReader(strings.NewReader(data)),
	} {
		if got := amn(t, in, "inspect", "--verify", "-"); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// A file on standard input is read from its current offset.
func TestAFileOnStandardInputIsReadFromItsOffset(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	write(t, path, "a line\n"+load(t, filepath.Join(demo, "model.safetensors")))
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Seek(7, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	if r := amn(t, f, "inspect", "-"); r.code != 0 || !strings.Contains(r.out, "Tensors:     24") {
		t.Error(r)
	}
}

// The spool is bounded, has no name while it is read, and is gone afterwards. Each
// run has a folder of its own, because a read that was left behind may still come.
func TestTheSpoolIsBoundedAndLeavesNothing(t *testing.T) {
	run := func(in io.Reader, args ...string) result {
		t.Helper()
		dir := t.TempDir()
		t.Setenv("TMPDIR", dir)
		var named atomic.Int64
		r := amn(t, readerFunc(func(p []byte) (int, error) {
			list, _ := os.ReadDir(dir)
			named.Add(int64(len(list)))
			return in.Read(p)
		}), append([]string{"inspect"}, args...)...)
		if n := named.Load(); n > 0 {
			t.Errorf("%d files in the folder of temporary files", n)
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("%v are left, %v", list, err)
		}
		return r
	}
	data := load(t, filepath.Join(demo, "weights.npz"))
	if r := run(strings.NewReader(data), "--max-spool", "8746", "-"); r.code != 0 {
		t.Errorf("as large as allowed: %+v", r)
	}
	r := run(strings.NewReader(data), "--json", "--max-spool", "8745", "-")
	if r.code != 6 || !strings.Contains(r.out, `"axis":"spool","want":8746,"left":8745,"flag":"--max-spool"`) || !strings.Contains(r.err, "--max-spool raises it") {
		t.Errorf("larger than allowed: %+v", r)
	}
	endless := readerFunc(func(p []byte) (int, error) { clear(p); return len(p), nil })
	if r := run(endless, "--max-spool", "3MiB", "-"); r.code != 6 {
		t.Errorf("endless: %+v", r)
	}
	if r := run(iotest.ErrReader(io.ErrNoProgress), "-"); r.code != 1 {
		t.Errorf("a reader that fails: %+v", r)
	}
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A context that ends ends the wait for a pipe without a writer.
func TestStandardInputStopsWithItsContext(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		w.Write([]byte("GGUF"))
		cancel()
	}()
	var out, errs bytes.Buffer
	code := cli.Main(ctx, []string{"inspect", "-"}, cli.Stdio{In: r, Out: &out, Err: &errs})
	if code != 1 || !strings.Contains(errs.String(), "context canceled") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

// A folder, and a stream that is no file, are said to be so.
func TestFoldersAndUnknownStreamsOnStandardInputAreRefused(t *testing.T) {
	dir, err := os.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if r := amn(t, dir, "inspect", "-"); r.code != 5 || !strings.Contains(r.err, "standard input is a folder") {
		t.Error(r)
	}
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if r := amn(t, null, "inspect", "-"); r.code != 4 || !strings.Contains(r.err, "standard input: file ends too early: the file is empty") {
		t.Error(r)
	}
}

// A writer that fails is an error, even when every file was accepted.
func TestAnOutputThatFailsIsAnError(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("no /dev/full here")
	}
	defer full.Close()
	var errs bytes.Buffer
	code := run(t, nil, full, &errs, "inspect", filepath.Join(demo, "model.safetensors"))
	if code != 1 || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}
