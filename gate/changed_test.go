package gate_test

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// changes are what can happen to a file while it is judged.
var changes = map[string]func(path string) error{
	"it grows":    func(p string) error { return appendTo(p, "\x00") },
	"it shrinks":  func(p string) error { return os.Truncate(p, 9) },
	"it vanishes": os.Remove,
	"it is replaced": func(p string) error {
		if err := os.WriteFile(p+".new", []byte(empty), 0o666); err != nil {
			return err
		}
		return os.Rename(p+".new", p)
	},
	"its bytes change, and its time is put back": func(p string) error {
		info, err := os.Stat(p)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		data[len(data)-1] ^= 1
		if err := os.WriteFile(p, data, 0o666); err != nil {
			return err
		}
		return os.Chtimes(p, time.Time{}, info.ModTime())
	},
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = io.WriteString(f, text)
	return cmpErr(err, f.Close())
}

func cmpErr(list ...error) error {
	for _, err := range list {
		if err != nil {
			return err
		}
	}
	return nil
}

const oneTensor = `{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}`

// A file that changes while it is judged is not accepted: in a folder, by its name, or as a shard
// of an index; with or without a digest.
func TestAFileThatChangesWhileItIsJudgedIsRefused(t *testing.T) {
	model := header(uint64(len(oneTensor)), oneTensor) + "\x00\x00\x00\x00"
	files := map[string]string{
		"m.safetensors":            model,
		"x.safetensors.index.json": `{"weight_map":{"a":"m.safetensors"}}`,
	}
	for what, change := range changes {
		for _, digest := range []bool{false, true} {
			for _, ask := range []string{"", "m.safetensors", "x.safetensors.index.json"} {
				root := lay(t, files)
				time.Sleep(10 * time.Millisecond) // a tick of the file system's clock
				g := gate.New(gate.Policy{})
				g.Digest = digest
				done := false
				g.Seen = func(*limits.Budget, tensor.Model) error {
					if done {
						return nil
					}
					done = true
					return change(filepath.Join(root, "m.safetensors"))
				}
				got := strings.Join(walked(t, g, filepath.Join(root, ask)), "\n")
				if !done || !strings.Contains(got, "malformed file.changed") {
					t.Errorf("%s, digest %v, %q: %s", what, digest, ask, got)
				}
			}
		}
	}
}

// lateWriter is a file that another program writes to once it is read.
type lateWriter struct {
	*os.File

	write func() error
}

func (f *lateWriter) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.File.ReadAt(p, off)
	if f.write != nil {
		write := f.write
		f.write = nil
		err = cmpErr(write(), err)
	}
	return n, err
}

// A host that opens the file itself gets the same answer.
func TestAFileOfAHostThatChangesIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.safetensors")
	model := header(uint64(len(oneTensor)), oneTensor) + "\x00\x00\x00\x00"
	for _, same := range []bool{true, false} {
		if err := os.WriteFile(path, []byte(model), 0o666); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond)
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		r := &lateWriter{f, func() error { return changes["its bytes change, and its time is put back"](path) }}
		if same {
			r.write = nil
		}
		b := limits.Policy{}.Budget(t.Context())
		v, err := gate.New(gate.Policy{}).Check(b, r, int64(len(model)), gate.Hint{Name: "m.safetensors"})
		if err != nil {
			t.Fatal(err)
		}
		if list := v.Refusals(); v.Accepted() != same || !same && list[0].Rule != "file.changed" {
			t.Errorf("unchanged %v: %v", same, v.Err)
		}
		v.Close()
		b.Close()
		f.Close()
	}
}
