package fuzz_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// FuzzONNX tests that what is said of a model is the same twice, that its tensors are as long
// as they state, at an offset as in order, that a refusal has a class, and that nothing stays
// charged.
func FuzzONNX(f *testing.F) {
	addSeeds(f, "onnx")
	f.Fuzz(func(t *testing.T, data []byte) {
		read := func() string {
			b := limits.Policy{MaxTotalBytes: 16 << 20, MaxSteps: 1 << 20}.Budget(t.Context())
			defer b.Close()
			w := b.Probe()
			defer limitstest.NoLeak(t, b)
			defer w.Close()
			m, err := onnx.Decode(w, bytes.NewReader(data), int64(len(data)))
			if err != nil {
				return classed(t, err)
			}
			if m.Elements < 0 || m.Stored < 0 {
				t.Errorf("%d elements, %d bytes", m.Elements, m.Stored)
			}
			return fmt.Sprint(codes(m.Findings()), m.External, bodiesOf(t, w, m))
		}
		if first, again := read(), read(); first != again {
			t.Fatalf("%s, then %s", first, again)
		}
		if oneOfSixteen(data) {
			secondONNXCheck(t, data)
		}
	})
}

// classed returns the text of a refusal, which must have a class.
func classed(t *testing.T, err error) string {
	t.Helper()
	if c := wire.ClassOf(err); c == wire.Internal || c == wire.OK {
		t.Fatalf("%v: %v", c, err)
	}
	return err.Error()
}

// maxRead bounds what a target reads of one tensor.
const maxRead = 1 << 20

// bodiesOf reads the beginnings of all tensors, in order and at an offset.
func bodiesOf(t *testing.T, b *limits.Budget, m tensor.Model) (list []string) {
	t.Helper()
	for i := range m.Tensors() {
		if i.Elements() < 0 || i.Span.Len < 0 {
			t.Fatalf("%+v", i)
		}
		r, err := m.Body(b, i)
		if err != nil {
			list = append(list, i.Name+classed(t, err))
			continue
		}
		p, err := io.ReadAll(io.LimitReader(r, maxRead))
		r.Close()
		switch at, direct := m.At(i); {
		case err != nil:
			list = append(list, i.Name+classed(t, err))
			continue
		case int64(len(p)) != min(i.Bytes(), maxRead):
			t.Fatalf("%d bytes of %+v", len(p), i)
		case direct:
			q := make([]byte, len(p))
			if err := wire.ReadFull(at, q, 0); err != nil || !bytes.Equal(p, q) {
				t.Fatalf("%v: other bytes at an offset than in order: %+v", err, i)
			}
		}
		list = append(list, fmt.Sprint(i.Name, i.TypeName(), i.Shape, crc32.ChecksumIEEE(p)))
	}
	return list
}
