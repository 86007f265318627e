package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// What is not explained is refused: a weight is decoded if its scheme knows every key of
// every configuration of the model, and every tensor beside it is explained.

// understood refuses a weight if its scheme does not know every key of the
// configurations. It is checked once for each scheme.
func (s *set) understood(w *Weight) error {
	if w.row.decides() || slices.Contains(s.known, w.row) {
		return nil
	}
	for i := range s.config.Sources {
		if err := s.knows(w.row, &s.config.Sources[i]); err != nil {
			return err
		}
	}
	var err error
	s.known, err = limits.Append(s.b, s.known, w.row)
	return err
}

func (s *set) knows(row *scheme, c *config.Source) error {
	method := c.Method()
	if method != "" && !s.rows.methods[method] {
		ignored, err := s.ignores("quant_method", c.File)
		if err != nil || ignored {
			return err
		}
		return wire.ErrUnsupported.Errorf("%s says quant_method %s, which nothing here knows; %s quant_method reads the tensors without it",
			c.File, wire.Quote(method), wire.OptionIgnoreUnknown)
	}
	return s.explains(c, row.under(s.rows, method, s.o.Scheme == row.name))
}

// under returns the keys that a configuration with this method may have. A configuration
// without a method may have those of any method, and so may all if the caller has decided
// the scheme.
func (r *scheme) under(t *table, method string, decided bool) (known []string) {
	known = slices.Clone(anyKeys)
	for _, m := range r.methods {
		if m.name == method || method == "" {
			known = append(known, m.known...)
		}
	}
	if !decided {
		return known
	}
	for _, other := range t.rows {
		for _, m := range other.methods {
			if m.name == method {
				known = append(known, m.known...)
			}
		}
	}
	return known
}

// explains refuses a configuration with an unknown key, unless the caller declared it
// harmless.
func (s *set) explains(c *config.Source, known []string) error {
	return config.Known(s.b, c.Object, known, func(name string, v any) error {
		ignored, err := s.ignores(name, c.File)
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

// ignores reports whether the caller declared a name harmless, and notes that. A key
// covers all keys below it.
func (s *set) ignores(name, where string) (bool, error) {
	for _, o := range s.o.IgnoreUnknown {
		if name != o && !strings.HasPrefix(name, o+".") {
			continue
		}
		note := where + ": " + name
		if where == "" {
			note = name
		}
		if slices.Contains(s.ignored, note) {
			return true, nil
		}
		if err := s.b.Hold(int64(len(note))); err != nil {
			return false, err
		}
		var err error
		s.ignored, err = limits.Append(s.b, s.ignored, note)
		return true, err
	}
	return false, nil
}

// besides are suffixes of tensors that accompany weights of any scheme, and unquantized
// ones.
var besides = []string{".bias", "_bias", ".e_score_correction_bias"}

// unplaced refuses a tensor that is not a weight and of which no weight is made.
func (s *set) unplaced(info *tensor.Info, owners *nameList) error {
	if err := s.unexplained(info); err != nil {
		return err
	}
	if err := s.orphan(info); err != nil {
		return err
	}
	return s.stranger(info, owners)
}

// owns reports whether tensors beside the weight may belong to it. That is not so for
// blocks of GGUF and for casts.
func (w *Weight) owns() bool { return w.row.declares != byType && len(w.Parts)+len(w.Extra) > 1 }

// stranger refuses an unexplained tensor beside a quantized weight: the library that
// wrote it will use it.
func (s *set) stranger(info *tensor.Info, bound *nameList) error {
	owner := bound.owner(info.Name)
	if err := s.b.Step(int64(strings.Count(info.Name, ".") + 1)); err != nil {
		return err
	}
	if owner == "" || endsIn(info.Name, besides) || endsIn(info.Name, cacheScales) || endsIn(info.Name, s.rows.explained) || info.Elements() == 0 {
		return nil
	}
	ignored, err := s.ignores(info.Name[strings.LastIndexByte(info.Name, '.')+1:], "")
	if err != nil || ignored {
		return err
	}
	if ignored, err = s.ignores(info.Name, ""); err != nil || ignored {
		return err
	}
	return wire.ErrUnsupported.Errorf("%s %v beside the quantized %s, and nothing here knows what it does to its numbers: "+
		"start from the unquantized model, or %s %s", info.TypeName(), info.Shape, wire.Quote(owner), wire.OptionIgnoreUnknown, wire.Quote(info.Name[strings.LastIndexByte(info.Name, '.')+1:]))
}

// owner returns the weight that a name belongs to: that of its module or of an enclosing
// module, or one whose name it begins with.
func (n *nameList) owner(name string) string {
	for at := len(name); at > 0; {
		at = strings.LastIndexAny(name[:at], "._")
		if at < 0 {
			return ""
		}
		if name[at] == '.' {
			if module := name[:at] + ".weight"; module != name && n.has(module) {
				return module
			}
		}
		if n.has(name[:at]) {
			return name[:at]
		}
	}
	return ""
}
