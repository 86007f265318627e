package fuzz_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A byName file lists its tensors sorted by name, since the writer has an order of its
// own.
type byName struct{ *safetensors.File }

func (m byName) Tensors() iter.Seq[tensor.Info] {
	return slices.Values(slices.SortedFunc(m.File.Tensors(), func(a, b tensor.Info) int { return strings.Compare(a.Name, b.Name) }))
}

var safetensorsTarget = func() fuzz.Target {
	t := fuzz.Models(safetensors.Decode)
	t.Read = func(b *limits.Budget, r io.ReaderAt, size int64) (fuzz.Answer, error) {
		f, err := safetensors.Decode(b, r, size)
		if err != nil {
			return fuzz.Answer{}, err
		}
		defer f.Close()
		if err := fuzz.Sound(f, size); err != nil {
			return fuzz.Answer{}, err
		}
		if err := tiled(f, size); err != nil {
			return fuzz.Answer{}, err
		}
		return fuzz.Describe(b, byName{f}, size)
	}
	t.Rewrite = rewriteSafetensors
	return t
}()

// tiled checks that the tensors, in listed order, fill the file from the header to its
// end.
func tiled(f *safetensors.File, size int64) error {
	end := 8 + f.HeaderLen()
	for i := range f.Tensors() {
		if i.Span.Off != end {
			return &fuzz.Broken{Property: fuzz.Proven, Seen: fmt.Sprintf("%q begins at %d, the one before ends at %d", i.Name, i.Span.Off, end)}
		}
		end = i.Span.End()
	}
	if end != size {
		return &fuzz.Broken{Property: fuzz.Proven, Seen: fmt.Sprintf("the tensors end at %d, the file at %d", end, size)}
	}
	return nil
}

// rewriteSafetensors writes what was read. The result is in the writer's order, so that
// writing it again gives the same bytes.
func rewriteSafetensors(b *limits.Budget, data []byte) ([]byte, error) {
	f, err := safetensors.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	if err := f.Verify(b); err != nil {
		return nil, wire.ErrUnsupported.Errorf("bodies that are refused are not written: %v", err)
	}
	first, err := encodeAgain(b, data)
	if err != nil {
		return nil, err
	}
	second, err := encodeAgain(b, first)
	if err == nil && !bytes.Equal(first, second) {
		err = fmt.Errorf("written twice it differs: %q, %q", first, second)
	}
	return first, err
}

func encodeAgain(b *limits.Budget, data []byte) ([]byte, error) {
	f, err := safetensors.Decode(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = safetensors.Encode(b, &out, f)
	return out.Bytes(), err
}

// FuzzSafetensors tests the reader with any bytes, and with files whose header is those
// bytes, with correct lengths.
func FuzzSafetensors(f *testing.F) {
	addSeeds(f, "safetensors")
	answersFirst(f, "to-safetensors")
	for _, s := range corpus.Valid("safetensors") {
		if n := binary.LittleEndian.Uint64(s.Data); len(s.Data) <= corpus.MaxSeed {
			f.Add(append([]byte{byte(len(s.Data) - 8 - int(n))}, s.Data[8:8+n]...))
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		checkSafetensors(t, data)
		checkSafetensors(t, safetensorsFrom(data))
	})
}

func checkSafetensors(t *testing.T, data []byte) bool {
	t.Helper()
	accepted := safetensorsTarget.Check(t, data)
	sameHeader(t, data, accepted)
	if oneOfSixteen(data) {
		secondSafetensorsCheck(t, data)
	}
	return accepted
}

// sameHeader reads the header from a stream. It must accept what Decode accepts, with the
// same tensors, but cannot know what only the file's end shows.
func sameHeader(t *testing.T, data []byte, accepted bool) {
	t.Helper()
	b := fuzz.Ceilings.Budget(t.Context())
	defer b.Close()
	h, err := safetensors.DecodeHeader(b, bytes.NewReader(data))
	if fault := fuzz.Placed(err, int64(len(data))); fault != nil {
		t.Fatal("from a stream: ", fault)
	}
	if !accepted {
		return
	}
	if wire.ClassOf(err) == wire.Limit {
		return // a stream takes its text twice
	}
	if err != nil {
		t.Fatal("from a stream: ", err)
	}
	if h.Len+h.Data != int64(len(data)) {
		t.Fatalf("from a stream: %d bytes of header and %d of data in %d", h.Len, h.Data, len(data))
	}
}

// safetensorsFrom builds a file from a length of data and a header.
func safetensorsFrom(plan []byte) []byte {
	if len(plan) == 0 {
		return nil
	}
	data := make([]byte, plan[0])
	out := binary.LittleEndian.AppendUint64(nil, uint64(len(plan)-1))
	return append(append(out, plan[1:]...), data...)
}
