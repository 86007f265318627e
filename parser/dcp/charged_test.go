package dcp_test

import (
	"archive/zip"
	"bytes"
	"errors"
	"io"
	"maps"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// modelOf reads the checkpoint whose folder is in an archive.
func modelOf(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error) {
	files, err := unpack.Named("zip").Files(b, r, size, nil)
	if err != nil {
		return nil, err
	}
	m, err := dcp.Open(b, files, dcp.Index)
	if err != nil {
		return nil, errors.Join(err, files.Close())
	}
	m.(tensor.Placer).Place(files, files)
	return m, nil
}

// decode returns how all of a checkpoint is read.
func decode(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
	m, err := modelOf(b, r, size)
	if err != nil {
		return nil, err
	}
	return corpustest.Whole(m), nil
}

// Honest checkpoints charge the same each time, keep the contract of a model, and no charge or read that
// fails is ignored.
func TestHonestCheckpointsChargeWhatIsWritten(t *testing.T) {
	corpustest.Accepted(t, "dcp", 5, decode, modelOf)
}

// Each recipe is refused with its class at its offset, however few bytes a read returns.
func TestHostileCheckpointsAreRefused(t *testing.T) {
	corpustest.Refused(t, "dcp", 60, func(b *limits.Budget, r io.ReaderAt, size int64) (func(*limits.Budget) error, error) {
		verify, err := decode(b, r, size)
		if e, ok := errors.AsType[*wire.Error](err); ok && e.Format == vm.Format { // of a pickle in the folder
			err = &wire.Error{Format: dcp.Format, Where: e.Where, Off: e.Off, Err: e.Err}
		}
		return verify, err
	})
}

// Each file of a folder is changed in one byte at a time, or cut.
func TestDamagedCheckpointsEndAsWritten(t *testing.T) {
	for _, s := range corpus.Valid("dcp") {
		t.Run(s.Name, func(t *testing.T) {
			folder := files(t, s.Data)
			for _, name := range slices.Sorted(maps.Keys(folder)) {
				most := corpustest.MostPlaces
				if name != dcp.Index {
					most /= 4 // an archive, whose format has a test of its own
				}
				t.Run(name, func(t *testing.T) {
					corpustest.Damaged(t, folder[name].Data, most, func(data []byte) string {
						changed := maps.Clone(folder)
						changed[name] = &fstest.MapFile{Data: data, Mode: 0o666}
						b := limits.Policy{}.Budget(t.Context())
						defer b.Close()
						m, err := dcp.Open(b, changed, dcp.Index)
						return corpustest.Said(t, b, m, err)
					})
				})
			}
		})
	}
}

// files returns the folder in an archive.
func files(t *testing.T, data []byte) fstest.MapFS {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	folder := fstest.MapFS{}
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		one, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		folder[f.Name] = &fstest.MapFile{Data: one, Mode: 0o666}
	}
	return folder
}
