package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Unknown parts are refused: a weight is decoded only if its scheme knows every key of every
// configuration of the model, and some scheme explains every tensor beside it.

// understood refuses a weight if its scheme does not know every key of the
// configurations. It is checked once for each scheme.
func (s *set) understood(w *Weight) error {
	if w.Row.Decides() || slices.Contains(s.known, w.Row) {
		return nil
	}
	for i := range s.Config.Sources {
		if err := s.knows(w.Row, &s.Config.Sources[i]); err != nil {
			return err
		}
	}
	var err error
	s.known, err = limits.Append(s.Budget, s.known, w.Row)
	return err
}

func (s *set) knows(row *scheme.Scheme, c *config.Source) error {
	method := c.Method()
	if method != "" && !s.Table.Methods[method] {
		ignored, err := s.Ignores("quant_method", c.File)
		if err != nil || ignored {
			return err
		}
		return wire.ErrUnsupported.Errorf("%s says quant_method %s, which nothing here knows; %s quant_method reads the tensors without it",
			c.File, wire.Quote(method), wire.OptionIgnoreUnknown)
	}
	return s.Explains(c, row.Under(s.Table, method, s.Options.Scheme == row.Name))
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

// stranger refuses an unexplained tensor beside a quantized weight: the library that
// wrote it will use it.
func (s *set) stranger(info *tensor.Info, bound *nameList) error {
	owner := bound.owner(info.Name)
	if err := s.Budget.Step(int64(strings.Count(info.Name, ".") + 1)); err != nil {
		return err
	}
	if owner == "" || scheme.EndsIn(info.Name, besides) || scheme.EndsIn(info.Name, cacheScales) || scheme.EndsIn(info.Name, s.Table.Explained) || info.Elements() == 0 {
		return nil
	}
	ignored, err := s.Ignores(info.Name[strings.LastIndexByte(info.Name, '.')+1:], "")
	if err != nil || ignored {
		return err
	}
	if ignored, err = s.Ignores(info.Name, ""); err != nil || ignored {
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
