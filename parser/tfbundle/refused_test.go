package tfbundle_test

import (
	"errors"
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tfbundle"
)

// A broken is a folder whose file checkpoint cannot be read.
type broken struct{ fstest.MapFS }

var errDisk = errors.New("a broken disk")

type unreadable struct{ fs.File }

func (unreadable) ReadAt([]byte, int64) (int, error) { return 0, errDisk }

func (b broken) Open(name string) (fs.File, error) {
	f, err := b.MapFS.Open(name)
	return unreadable{f}, err
}

// Where a folder lacks what a caller names, cannot be read or is not paid, nothing is opened.
func TestRefusalsOfTheCaller(t *testing.T) {
	files := folderOf(t, "types")
	files["checkpoint"] = &fstest.MapFile{Data: []byte("model_checkpoint_path: \"m\"\n"), Mode: 0o444}
	for _, c := range []struct {
		what   string
		fsys   fs.FS
		name   string
		policy limits.Policy
		want   error
	}{
		{"another name", files, "model.safetensors", limits.Policy{}, wire.ErrUsage},
		{"no state", folderOf(t, "types"), "checkpoint", limits.Policy{}, wire.ErrMissing},
		{"a state that is not paid", files, "checkpoint", limits.Policy{MaxTotalBytes: 1 << 10}, limits.ErrLimit},
		{"a state that cannot be read", broken{files}, "checkpoint", limits.Policy{}, errDisk},
	} {
		b := c.policy.Budget(t.Context())
		m, err := tfbundle.Open(b, c.fsys, c.name)
		if m != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", c.what, m, err)
		}
		b.Close()
	}
}
