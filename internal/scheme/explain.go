package scheme

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Explains refuses a configuration with an unknown key, unless the caller declared it
// harmless.
func (s *Set) Explains(c *config.Source, known []string) error {
	return config.Known(s.Budget, c.Object, known, func(name string, v jsontree.Value) error {
		ignored, err := s.Ignores(name, c.File)
		if err != nil || ignored {
			return err
		}
		value := ""
		if text := config.Says(v); text != "" && text != "..." {
			value = " (" + wire.Quote(text) + ")"
		}
		return wire.ErrUnsupported.Errorf("%s says %s%s of its quantization, and nothing here knows what that does to the numbers: "+
			"start from the unquantized model, or %s %s", c.File, wire.Quote(name), value, wire.OptionIgnoreUnknown, wire.Quote(name))
	})
}

// Ignores reports whether the caller declared a name harmless, and notes that. A key
// covers all keys below it.
func (s *Set) Ignores(name, where string) (bool, error) {
	for _, o := range s.Options.IgnoreUnknown {
		if name != o && !strings.HasPrefix(name, o+".") {
			continue
		}
		note := where + ": " + name
		if where == "" {
			note = name
		}
		if slices.Contains(s.Ignored, note) {
			return true, nil
		}
		if err := s.Budget.Hold(int64(len(note))); err != nil {
			return false, err
		}
		var err error
		s.Ignored, err = limits.Append(s.Budget, s.Ignored, note)
		return true, err
	}
	return false, nil
}
