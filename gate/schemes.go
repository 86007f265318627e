//go:build !page

package gate

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

func schemeNames() (names []string) {
	list, _ := quant.Schemes()
	for _, s := range list {
		names = append(names, s.Name)
	}
	return names
}

// allowsSchemes returns an error if a weight has a scheme that the policy does not list.
func (p *Policy) allowsSchemes(b *limits.Budget, m tensor.Model) error {
	if !quant.Any(m) {
		return nil
	}
	bound, err := quant.Plan(b, m, quant.Options{})
	if err != nil {
		return err // no scheme explains the model, so no allowed one does
	}
	for _, w := range bound.Weights {
		if err := w.Check(b, m); err != nil {
			return err
		}
		if !slices.Contains(p.Schemes, w.Scheme) {
			return disallow(schemeRule, m.Format(), "tensor "+wire.Quote(w.Name), "the policy refuses the scheme %s", w.Scheme)
		}
	}
	return nil
}
