package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// shared are names of parts that unquantized models have too: logit_scale, the scale of a
// norm, the shape of a buffer.
var shared = []string{
	"_scale", "_scale_2", ".scale", "_scales", ".zero", "_zero_point", ".zero_point", ".shape", ".axis", ".weight", ".optimize", ".packing",
}

// owners are suffixes of the names of weights. A part with one of them before its own
// name is a part for sure.
var owners = []string{"_proj", ".weight"}

// tells reports whether the name of a part is used only beside codes.
func (m *main) tells(part, stem string) bool {
	if m.codes == "" {
		return endsIn(stem, owners)
	}
	return !slices.Contains(shared, part)
}

// alone returns the suffixes that only parts have.
func (m *main) alone() (ends []string) {
	for _, part := range m.parts {
		switch {
		case m.codes == "":
			for _, owner := range owners {
				ends = append(ends, owner+part)
			}
		case m.tells(part, ""):
			ends = append(ends, part)
		}
	}
	return ends
}

// orphan refuses a part of a quantized weight whose codes are missing. Transformers warns
// and continues with random numbers. Only schemes that the configuration may mean are
// considered.
func (s *set) orphan(info *tensor.Info) error {
	if len(s.config.Sources) == 0 || info.Elements() == 0 {
		return nil
	}
	var missing []string // names of codes that it could belong to
	for _, row := range s.rows.rows {
		if !row.stands(s.config.Method()) {
			continue
		}
		for k := range row.mains {
			m := &row.mains[k]
			if err := s.b.Step(1); err != nil {
				return err
			}
			for _, part := range m.parts {
				stem, ok := suffix(info, part)
				if !ok {
					continue
				}
				codes := stem + m.codes
				if _, ok := s.names.Find(codes); ok {
					return nil
				}
				if m.tells(part, stem) && !slices.Contains(missing, codes) {
					missing = append(missing, codes)
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	end := info.Name[strings.LastIndexByte(info.Name, '.')+1:]
	ignored, err := s.ignores(end, "")
	if err != nil || ignored {
		return err
	}
	for i, codes := range missing {
		place, err := s.otherFile(info, codes)
		if err != nil {
			return err
		}
		if place != "" {
			return wire.ErrUnsupported.Errorf("the codes that it belongs to, %s, are in %s", wire.Quote(codes), place)
		}
		missing[i] = wire.Quote(codes)
	}
	return wire.ErrMissing.Errorf("%s says that it belongs to codes, and there is no %s: a loader that goes on without them has random numbers for the weight: start from the whole model, or %s %s",
		s.config.File, strings.Join(missing, " or "), wire.OptionIgnoreUnknown, wire.Quote(end))
}
