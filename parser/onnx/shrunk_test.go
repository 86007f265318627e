package onnx_test

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A shrinking file ends at an offset.
type shrinking struct {
	data []byte
	end  int64
}

func (s *shrinking) ReadAt(p []byte, off int64) (int, error) {
	return bytes.NewReader(s.data[:s.end]).ReadAt(p, off)
}

// After a file became shorter, each tensor is read as before or ends as truncated.
func TestAFileThatShrinksIsTruncated(t *testing.T) {
	truncated := 0
	for _, s := range corpus.Valid("onnx") {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		file := &shrinking{s.Data, int64(len(s.Data))}
		m, err := onnx.Decode(b, file, file.end)
		if err != nil {
			t.Fatal(err)
		}
		read := func(i tensor.Info) ([]byte, error) {
			r, err := m.Body(b, i)
			if err != nil {
				return nil, err
			}
			defer r.Close()
			return io.ReadAll(r)
		}
		for i := range m.Tensors() {
			file.end = int64(len(s.Data))
			whole, err := read(i)
			if err != nil {
				continue // outside of the file, or of no type that is read
			}
			for file.end = 0; file.end < int64(len(s.Data)); file.end++ {
				switch p, err := read(i); {
				case errors.Is(err, wire.ErrTruncated):
					truncated++
				case err != nil || !bytes.Equal(p, whole):
					t.Fatalf("%s, %s, cut to %d bytes: %v", s.Name, i.Name, file.end, err)
				}
			}
		}
		if _, err := m.Body(b, tensor.Info{Name: "what the file does not have"}); !errors.Is(err, wire.ErrMissing) {
			t.Errorf("%v", err)
		}
	}
	if truncated == 0 {
		t.Error("nothing is truncated")
	}
}

// After a byte of a decoded file has changed, each tensor is refused or read with the right number
// of bytes.
func TestAFileThatChangesIsRefusedOrRead(t *testing.T) {
	for _, s := range corpus.Valid("onnx") {
		b := limits.Policy{}.Budget(t.Context())
		defer b.Close()
		file := &shrinking{bytes.Clone(s.Data), int64(len(s.Data))}
		m, err := onnx.Decode(b, file, file.end)
		if err != nil {
			t.Fatal(err)
		}
		for at := range file.data {
			file.data[at] ^= 8
			for i := range m.Tensors() {
				r, err := m.Body(b, i)
				if err != nil {
					continue
				}
				n, err := io.Copy(io.Discard, r)
				r.Close()
				if c := wire.ClassOf(err); c == wire.Internal || err == nil && n != i.Bytes() {
					t.Fatalf("%s, byte %d, %s: %d bytes, %v", s.Name, at, i.Name, n, err)
				}
			}
			file.data[at] ^= 8
		}
	}
}
