package gguf

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// copySize is the buffer size for copying bodies.
const copySize = 256 << 10

// Encode writes a model as one GGUF file: its metadata and its tensors, in
// their order. A [File] written with its own [File.Options] reads back equal.
func Encode(b *limits.Budget, w io.Writer, m tensor.Model, o Options) error {
	infos, meta, err := contents(b, m)
	if err != nil {
		return encodeError("", err)
	}
	plan, err := Layout(b, infos, meta, o)
	if err != nil {
		return err
	}
	if _, err := w.Write(plan.Header); err != nil {
		return err
	}
	buf, err := limits.Make[byte](b, copySize)
	if err != nil {
		return encodeError("", err)
	}
	at := int64(len(plan.Header))
	for i := range infos {
		if err := fill(w, plan.Offsets[i]-at, buf); err != nil {
			return err
		}
		if err := copyBody(b, w, m, &infos[i], plan.Sizes[i], buf); err != nil {
			return within(place("tensor", i, infos[i].Name), wire.NoOffset, err)
		}
		at = plan.Offsets[i] + plan.Sizes[i]
	}
	return fill(w, plan.Size-at, buf)
}

// contents lists a model's tensors and metadata.
func contents(b *limits.Budget, m tensor.Model) ([]tensor.Info, []Entry, error) {
	infos, err := limits.Make[tensor.Info](b, m.Len())
	if err != nil {
		return nil, nil, err
	}
	n := 0
	for i := range m.Tensors() {
		infos[n] = i
		n++
	}
	var meta []Entry
	for k, v := range m.Meta() {
		if err := b.Hold(16); err != nil { // the value in its interface
			return nil, nil, err
		}
		if meta, err = limits.Append(b, meta, Entry{k, v}); err != nil {
			return nil, nil, err
		}
	}
	return infos, meta, nil
}

// fill writes n zeros.
func fill(w io.Writer, n int64, buf []byte) error {
	clear(buf[:min(n, int64(len(buf)))])
	for n > 0 {
		p := buf[:min(n, int64(len(buf)))]
		if _, err := w.Write(p); err != nil {
			return err
		}
		n -= int64(len(p))
	}
	return nil
}

// copyBody copies the bytes of one tensor unchanged, also of unknown types, which
// [tensor.Model.Body] refuses to read.
func copyBody(b *limits.Budget, w io.Writer, m tensor.Model, t *tensor.Info, want int64, buf []byte) error {
	var body io.Reader
	if r, ok := m.At(*t); ok {
		body = &spanReader{r, 0, t.Span.Len, b}
	} else {
		sequential, err := m.Body(b, *t)
		if err != nil {
			return err
		}
		defer sequential.Close()
		body = sequential
	}
	n, err := io.CopyBuffer(struct{ io.Writer }{w}, io.LimitReader(body, want+1), buf)
	if err == nil && n != want {
		err = wire.ErrMismatch.Errorf("its body does not have the %d bytes of its shape", want)
	}
	return err
}

// A spanReader reads a range in order. If the file has become shorter, the error is
// ErrTruncated, not io.EOF.
type spanReader struct {
	r        io.ReaderAt
	at, left int64
	b        *limits.Budget
}

func (s *spanReader) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	if err := s.b.Err(); err != nil {
		return 0, err
	}
	p = p[:min(int64(len(p)), s.left)]
	if err := wire.ReadFull(s.r, p, s.at); err != nil {
		return 0, err
	}
	s.at, s.left = s.at+int64(len(p)), s.left-int64(len(p))
	return len(p), nil
}
