package gate

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
)

// judgeONNX judges the structure of an ONNX model; its data are not decoded.
func judgeONNX(_ *limits.Budget, o *opened) (report, error) {
	out := report{format: onnx.Format}
	if out.err = o.s.policy.allowsFormat(onnx.Format); out.err != nil {
		return out, nil
	}
	m, err := onnx.Decode(o.account, o.r, o.s.size) // first, as [Stream] does
	if out.err = err; err != nil {
		return out, nil
	}
	what, off, err := o.id.Archive()
	if err == nil && what != "" {
		err = wire.ErrUnsupported.WithRule("onnx.two-formats").Errorf("an ONNX model by its name, but also %s: loaders see different content", what)
	}
	if err != nil {
		out.err = wire.At(onnx.Format, "", off, err)
		return out, nil
	}
	if out.err = m.Verify(o.account); out.err != nil {
		return out, nil
	}
	out.totals, out.findings = Totals{int64(m.Len()), m.Elements, m.Stored}, m.Findings()
	out.err = o.s.external(m.External)
	return out, nil
}

// external checks the files in which a model says that its data are stored.
func (s *subject) external(files []string) error {
	if s.hint.whyNotOpened == nil {
		return nil
	}
	for _, name := range files {
		if err := s.hint.whyNotOpened(name); err != nil {
			return wire.At(onnx.Format, "external data", wire.NoOffset, err)
		}
	}
	return nil
}
