//go:build page

package gate

import (
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The page judges by a profile that lists no schemes, so the decoders are left out of it.
// A policy that lists schemes is refused, and so is any model under it.
func schemeNames() []string { return nil }

func (*Policy) allowsSchemes(_ *limits.Budget, m tensor.Model) error {
	return disallow(schemeRule, m.Format(), "", "this build knows no schemes")
}
