package corpustest

import (
	"bytes"
	"errors"
	"fmt"
	"hash"
	"hash/fnv"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An Opener reads a model.
type Opener func(b *limits.Budget, r io.ReaderAt, size int64) (tensor.Model, error)

// mostOfBody is how many bytes of a tensor are read.
const mostOfBody = 64 << 10

// Said returns how a file ends, and of one that is accepted a hash of all that its model says but the
// texts for people: tensors, metadata, findings, bytes, and which operators read its codes.
func Said(t testing.TB, b *limits.Budget, m tensor.Model, err error) string {
	t.Helper()
	if err != nil {
		return Ending(t, err)
	}
	defer m.Close()
	h := fnv.New64a()
	fmt.Fprintln(h, m.Format(), m.Len())
	for i := range m.Tensors() {
		fmt.Fprintf(h, "%+v\n", i)
		sayBody(t, h, b, m, i)
		if q, ok := m.(tensor.Quantizer); ok {
			read, is := q.Quantized(i.Name)
			read.Why = fmt.Sprint(read.Why != "")
			fmt.Fprintf(h, "%+v %t\n", read, is)
		}
	}
	for key, value := range m.Meta() {
		fmt.Fprintf(h, "%s %T %.4096v\n", key, value, value)
	}
	for _, f := range m.Findings() {
		fmt.Fprintln(h, f.Code, f.Severity, f.Where, f.Off, f.Case)
	}
	return fmt.Sprintf("%v %016x", wire.OK, h.Sum64())
}

// sayBody adds the bytes of a tensor as both ways of reading give them, or how they end.
func sayBody(t testing.TB, h hash.Hash, b *limits.Budget, m tensor.Model, i tensor.Info) {
	t.Helper()
	body, err := m.Body(b, i)
	var all []byte
	if err == nil {
		all, err = io.ReadAll(io.LimitReader(body, mostOfBody))
		err = errors.Join(err, body.Close())
	}
	h.Write(all)
	fmt.Fprintln(h, len(all), Ending(t, err))
	at, ok := m.At(i)
	fmt.Fprintln(h, ok)
	if ok && err == nil {
		sameAt(t, i, at, all)
	}
}

// sameAt compares what is read at offsets with what is read in order.
func sameAt(t testing.TB, i tensor.Info, at io.ReaderAt, all []byte) {
	t.Helper()
	for _, from := range []int{0, len(all) / 3, len(all) - 1, len(all)} {
		if from < 0 {
			continue
		}
		got := make([]byte, len(all)-from)
		if n, err := at.ReadAt(got, int64(from)); n != len(got) || err != nil && err != io.EOF || !bytes.Equal(got, all[from:]) {
			t.Errorf("%s: %d bytes at %d are not those that are read in order: %v", i.Name, n, from, err)
		}
	}
	if int64(len(all)) == i.Span.Len {
		if n, err := at.ReadAt(make([]byte, 1), i.Span.Len); n != 0 || err == nil {
			t.Errorf("%s: %d bytes after its end: %v", i.Name, n, err)
		}
	}
}

// Held holds a model to the contract of [tensor.Model]: its tensors are as many as it says, each is read
// to the same bytes however few are asked for at once, at offsets as in order, and a model is closed twice
// without harm.
func Held(t *testing.T, b *limits.Budget, m tensor.Model) {
	t.Helper()
	n := 0
	for i := range m.Tensors() {
		n++
		whole, err := pieces(b, m, i, 1<<20)
		if err != nil { // not every type is read, and some data lie in another file
			if c := wire.ClassOf(err); c != wire.Unsupported && !errors.Is(err, wire.ErrMissing) {
				t.Errorf("%s: %v: %v", i.Name, c, err)
			}
			continue
		}
		if int64(len(whole)) != i.Span.Len {
			t.Errorf("%s: %d bytes, and its span has %d", i.Name, len(whole), i.Span.Len)
		}
		for _, size := range []int{1, 7, 64} {
			if got, err := pieces(b, m, i, size); err != nil || !bytes.Equal(got, whole) {
				t.Errorf("%s: %d bytes in pieces of %d are not the %d at once: %v", i.Name, len(got), size, len(whole), err)
			}
		}
		if at, ok := m.At(i); ok {
			sameAt(t, i, at, whole)
		}
	}
	for range m.Tensors() {
		break // an end that the caller chose is one
	}
	if n != m.Len() {
		t.Errorf("%d tensors, and it says %d", n, m.Len())
	}
	if err := errors.Join(m.Close(), m.Close()); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// pieces reads a tensor in order, size bytes at a time.
func pieces(b *limits.Budget, m tensor.Model, i tensor.Info, size int) ([]byte, error) {
	body, err := m.Body(b, i)
	if err != nil {
		return nil, err
	}
	var all bytes.Buffer
	_, err = io.CopyBuffer(struct{ io.Writer }{&all}, struct{ io.Reader }{body}, make([]byte, size))
	return all.Bytes(), errors.Join(err, body.Close())
}
