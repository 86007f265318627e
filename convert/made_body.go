package convert

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A madeBody reads a tensor in order.
type madeBody struct {
	made
	b    *limits.Budget
	part int
	at   int64 // bytes read
	body io.ReadCloser
	all  *inTurns // for a tensor whose parts alternate
}

// Read reads parts at offsets if it can, and other parts in order, one after the other.
func (m *madeBody) Read(p []byte) (int, error) {
	info := infoOf(m.t)
	if m.at >= info.Span.Len {
		return 0, io.EOF
	}
	p = p[:min(int64(len(p)), info.Span.Len-m.at)]
	if r, ok := m.r.At(info); ok {
		p = p[:int64(len(p))/sizeOf(m.t.DType)*sizeOf(m.t.DType)]
		n, err := r.ReadAt(p, m.at)
		m.at += int64(n)
		return n, err
	}
	if m.t.Turns > 0 {
		return m.inTurns(p)
	}
	for m.part < len(m.t.Parts) {
		one := &m.t.Parts[m.part]
		if m.body == nil {
			var err error
			if m.body, err = m.inOrder(one); err != nil {
				return 0, err
			}
		}
		n, err := m.body.Read(p)
		m.at += int64(n)
		if err == io.EOF {
			err = m.Close()
			m.part++
			if n == 0 && err == nil {
				continue
			}
		}
		return n, err
	}
	return 0, io.ErrUnexpectedEOF
}

// inOrder opens a part whose rows keep their order.
func (m *madeBody) inOrder(one *family.Part) (io.ReadCloser, error) {
	if one.Head != 0 || one.Rows != 0 {
		return nil, wire.ErrUnsupported.Errorf("tensor %s is in a compressed archive: convert the model to safetensors first", wire.Quote(one.Info.Name))
	}
	body, err := m.r.straight.Body(m.b, one.Info)
	if err != nil || m.keeps(one) {
		return body, err
	}
	return &castBody{ReadCloser: body, m: &m.made, part: one}, nil
}

// Close closes the current part.
func (m *madeBody) Close() error {
	if m.all != nil {
		all := m.all
		m.all = nil
		return all.Close()
	}
	if m.body == nil {
		return nil
	}
	body := m.body
	m.body = nil
	return body.Close()
}
