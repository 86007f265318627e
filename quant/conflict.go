package quant

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A configuration is a hypothesis, and the tensors decide. If they contradict each other,
// the caller decides.

// contradicted refuses a weight if the configuration's method does not stand for its
// scheme and the caller did not ask for that scheme. A method without a row in the table
// does not contradict any scheme.
func (s *set) contradicted(w *Weight) error {
	method := s.Config.Method()
	if !s.Table.Methods[method] || w.Row.Decides() || w.Scheme == s.Options.Scheme || w.Row.Stands(method) {
		return nil
	}
	names := wire.Quote(w.Parts[0].Name)
	if len(w.Parts) > 1 {
		names += " and " + wire.Quote(w.Parts[1].Name)
	}
	return wire.ErrUnsupported.Errorf("two readings: %s says quant_method %s, and %s are %s: %s %q decides",
		s.Config.File, wire.Quote(method), names, w.Scheme, wire.OptionScheme, w.Scheme)
}
