package imatrix_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/fixtures"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/ggml/imatrix"
)

// Bytes after a matrix, and columns of zero length or another type, are refused.
func TestMalformedImportanceMatricesAreRefused(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	numbers := func(list ...uint32) (p []byte) {
		for _, n := range list {
			p = binary.LittleEndian.AppendUint32(p, n)
		}
		return p
	}
	half, err := gguf.Layout(b, []tensor.Info{{Name: "a.in_sum2", DType: tensor.F16, Shape: []int64{16}}, {Name: "a.counts", DType: tensor.F32, Shape: []int64{1}}},
		[]gguf.Entry{{Key: "general.type", Value: "imatrix"}}, gguf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	good := fixtures.LegacyMatrix(16, 2, "a")
	for name, c := range map[string]struct {
		data []byte
		want *wire.Cause
	}{
		"chunks and a data set":           {append(bytes.Clone(good), numbers(7, 0)...), nil},
		"a byte after the data set":       {append(append(bytes.Clone(good), numbers(7, 0)...), 1), wire.ErrTrailing},
		"no columns":                      {append(append(numbers(1, 1), 'a'), numbers(1, 0, 0)...), wire.ErrRange},
		"sums of float16":                 {append(bytes.Clone(half.Header), make([]byte, half.Size-int64(len(half.Header)))...), wire.ErrMismatch},
		"fewer bytes than a legacy entry": {numbers(1, 1), wire.ErrRange},
	} {
		m, err := imatrix.Read(b, bytes.NewReader(c.data), int64(len(c.data)))
		switch {
		case c.want == nil && (err != nil || m.Len() != 1 || m.Chunks != 7):
			t.Errorf("%s: %v", name, err)
		case c.want != nil && !errors.Is(err, c.want):
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
