package scheme

import (
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Describe returns the layout of integers.
func Describe(bits, group int64) string { return fmt.Sprintf("%d bits, groups of %d", bits, group) }

// WithType adds to a layout the type of its scales.
func WithType(layout string, scale *tensor.Info) string {
	if rest, ok := strings.CutPrefix(layout, "one "); ok {
		return "one " + scale.TypeName() + " " + rest
	}
	return layout + ", " + scale.TypeName() + " scales"
}
