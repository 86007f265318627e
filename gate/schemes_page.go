//go:build page

package gate

import (
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The page judges by a profile that names no schemes, and is not made to carry what
// decodes them: a policy that names one is refused, and so is a model under it.
func schemeNames() []string { return nil }

func (*Policy) allowsSchemes(_ *limits.Budget, m tensor.Model) error {
	return disallow(schemeRule, m.Format(), "", "this build knows no schemes")
}
