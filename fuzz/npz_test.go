package fuzz_test

import (
	stdzip "archive/zip"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/npz"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

var npzTarget = func() fuzz.Target {
	t := fuzz.Models(npz.Decode)
	t.Rewrite = rewriteNPZ
	return t
}()

// rewriteNPZ writes the arrays again, with our header encoder and the standard library's
// archive. Unreadable ones are omitted.
func rewriteNPZ(b *limits.Budget, data []byte) ([]byte, error) {
	f, err := npz.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if f.Verify(b) != nil {
		return nil, wire.ErrUnsupported.Errorf("a member that cannot be read")
	}
	tensors := map[string]tensor.Info{}
	for i := range f.Tensors() {
		tensors[i.Name+".npy"] = i
	}
	var out bytes.Buffer
	w := stdzip.NewWriter(&out)
	for k := range f.Archive.Members {
		body, err := readMember(b, f.Archive, k)
		if err != nil {
			return nil, err
		}
		m := &f.Archive.Members[k]
		if i, ok := tensors[m.Name]; ok {
			head, err := npy.EncodeHeader(b, &i)
			if err != nil {
				return nil, err
			}
			body = append(head, body[int64(len(body))-i.Span.Len:]...)
		}
		entry, err := w.CreateHeader(&stdzip.FileHeader{Name: m.Name, Method: uint16(zip.Deflate) * uint16(k%2)})
		if err != nil {
			return nil, err
		}
		if _, err := entry.Write(body); err != nil {
			return nil, err
		}
	}
	err = w.Close() // writes the directory
	return out.Bytes(), err
}

// arrays names members a0.npy, a1.npy, ... and makes arrays of their bodies; one in eight
// is something else.
func arrays(i int, raw []byte) (string, []byte) {
	if len(raw) > 0 && raw[0]&7 == 7 {
		return fmt.Sprintf("readme%d", i), raw
	}
	name := fmt.Sprintf("a%d.npy", i)
	if len(raw) > 0 && raw[0]&7 == 6 {
		return name, npyFrom(raw)
	}
	head := fmt.Sprintf("{'descr': '|u1', 'fortran_order': False, 'shape': (%d,), }\n", len(raw))
	out := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), 0)
	return name, append(append(out, head...), raw...)
}

// FuzzNPZ tests the reader with any bytes, and with archives of arrays built from bytes.
func FuzzNPZ(f *testing.F) {
	addSeeds(f, "npz")
	f.Fuzz(func(t *testing.T, data []byte) {
		npzTarget.Check(t, data)
		npzTarget.Check(t, fuzz.Archive(t, data, arrays))
	})
}

// Built archives of arrays must reach the bodies often, and be wrong often.
func TestBuiltArchivesOfArraysAreOftenAccepted(t *testing.T) {
	const runs = 1000
	rng := rand.New(rand.NewPCG(3, 4))
	accepted := 0
	for range runs {
		plan := make([]byte, rng.IntN(200))
		for i := range plan {
			plan[i] = byte(rng.Uint32())
		}
		data := fuzz.Archive(t, plan, arrays)
		b := fuzz.Ceilings.Budget(t.Context())
		if _, err := npz.Decode(b, bytes.NewReader(data), int64(len(data))); err == nil {
			accepted++
		}
		b.Close()
	}
	if accepted*100 < runs*30 || accepted*100 > runs*90 {
		t.Errorf("of %d built archives %d are accepted", runs, accepted)
	}
	t.Logf("of %d built archives %d are accepted", runs, accepted)
}

// A body of a member reads the same at an offset and in order.
func TestStoredArraysReadTheSameAtAnOffset(t *testing.T) {
	for _, seed := range corpus.Valid("npz") {
		b := fuzz.Ceilings.Budget(t.Context())
		defer b.Close()
		f, err := npz.Decode(b, bytes.NewReader(seed.Data), int64(len(seed.Data)))
		if err != nil {
			t.Errorf("%s: %v", seed.Name, err)
			continue
		}
		for i := range f.Tensors() {
			at, stored := f.At(i)
			if !stored || i.DType == tensor.Unknown {
				continue
			}
			body, err := f.Body(b, i)
			if err != nil {
				t.Errorf("%s: %v", seed.Name, err)
				continue
			}
			inOrder, err := io.ReadAll(body)
			body.Close()
			random := make([]byte, i.Span.Len)
			if _, err2 := io.ReadFull(io.NewSectionReader(at, 0, i.Span.Len), random); err != nil || err2 != nil || !bytes.Equal(inOrder, random) {
				t.Errorf("%s, %q: %v, %v; %d bytes in order, %d at an offset", seed.Name, i.Name, err, err2, len(inOrder), len(random))
			}
		}
	}
}
