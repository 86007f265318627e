package cli

import (
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/targets"
	"github.com/anamnesis-go/anamnesis/cli/internal/write"
)

// MixNames are the mixes that quantize writes.
var MixNames = targets.MixNames

// NotInOutput are the flags that change no byte of an output.
var NotInOutput = write.NotInOutput

// FlagsOf are the flags of a command itself, without --.
func FlagsOf(command string) (names []string) {
	for _, c := range program(new(policies.Globals)).Leaves(true) {
		if c.Name == command {
			for _, f := range c.Flags {
				names = append(names, f.Name)
			}
		}
	}
	return names
}

// ConvertTargets are the values of convert's --to, and QuantizeTargets those of quantize's, but
// for mixes.
func ConvertTargets() (names []string) {
	for _, t := range write.ConvertTargets {
		names = append(names, t.Names[0])
	}
	return names
}

func QuantizeTargets() []string { return append(targets.Names(), targets.ScaledNames()...) }
