package tfbundle_test

import (
	"errors"
	"io"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/tfbundle"
)

// modelOf reads the checkpoint whose folder is in an archive: the one that a file called checkpoint names, or the one with an index.
func modelOf(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	files, err := unpack.Named("zip").Files(b, r, size, nil)
	if err != nil {
		return nil, err
	}
	name := ""
	for _, n := range files.Names() {
		if n == tfbundle.State || tfbundle.IsIndex(n) && name == "" {
			name = n
		}
	}
	m, err := tfbundle.Open(b, files, name)
	if m == nil {
		return nil, errors.Join(err, files.Close())
	}
	m.(tensor.Placer).Place(files, files)
	return m, err
}

// decode returns how all of a checkpoint is read.
func decode(b *limits.Budget, r io.ReaderAt, size int64) (read func(*limits.Budget) error, err error) {
	m, err := modelOf(b, r, size)
	if err == nil {
		read = corpustest.Whole(m)
	}
	return read, err
}

// Honest checkpoints charge the same each time, keep the contract of a model, and no charge or read that
// fails is ignored.
func TestHonestCheckpointsChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "tfbundle", 7, decode, modelOf)
}

// Each recipe is refused with its class at its offset, however few bytes a read returns.
func TestHostileCheckpointsAreRefused(t *testing.T) {
	corpustest.Refused(t, "tfbundle", 130, decode)
}

// Each file of a folder is changed in one byte at a time, or cut.
func TestDamagedCheckpointsEndAsWritten(t *testing.T) {
	for name, from := range map[string]string{"types": "model.ckpt.index", "shards": "checkpoint", "slices": "model.ckpt-7.index"} {
		t.Run(name, func(t *testing.T) {
			folder := folderOf(t, name)
			for _, file := range slices.Sorted(maps.Keys(folder)) {
				most := corpustest.MostPlaces
				if !tfbundle.IsIndex(file) {
					most /= 4
				}
				t.Run(file, func(t *testing.T) {
					corpustest.Damaged(t, folder[file].Data, most, func(data []byte) string {
						changed := maps.Clone(folder)
						changed[file] = &fstest.MapFile{Data: data, Mode: 0o666}
						b := limits.Policy{}.Budget(t.Context())
						defer b.Close()
						m, err := tfbundle.Open(b, changed, from)
						return corpustest.Said(t, b, m, err)
					})
				})
			}
		})
	}
}
