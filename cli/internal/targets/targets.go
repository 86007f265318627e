package targets

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// Names returns the names of the targets whose layout depends on flags.
func Names() []string {
	return NamesOf(Of(func(t *encode.Target) bool { return t.Layout() == "" }))
}

// ScaledNames returns the names of the others: formats of codes and scales.
func ScaledNames() []string { return NamesOf(ScaledTargets()) }

func ScaledTargets() []*encode.Target {
	return Of(func(t *encode.Target) bool { return t.Layout() != "" })
}

// Of lists those targets that schemes write.
func Of(those func(*encode.Target) bool) []*encode.Target {
	return slices.DeleteFunc(quant.Targets(), func(t *encode.Target) bool { return !those(t) })
}

// IsScaled reports whether name is a format of codes and scales.
func IsScaled(name string) bool {
	t, ok := quant.TargetNamed(name)
	return ok && t.Layout() != ""
}

func NamesOf(list []*encode.Target) (names []string) {
	for _, t := range list {
		names = append(names, t.Name)
	}
	return names
}

// MixNames returns the names of the mixes that can be written, in lower case.
func MixNames() []string {
	var list []string
	for _, m := range mix.All() {
		if (ggml.Quantizer{Mix: m}).Check() == nil {
			list = append(list, strings.ToLower(m.Name))
		}
	}
	slices.Sort(list)
	return list
}
