package quant

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// orphan refuses a part of a quantized weight whose codes are missing. Transformers warns
// and continues with random numbers. Only schemes that the configuration may mean are
// considered.
func (s *set) orphan(info *tensor.Info) error {
	if len(s.Config.Sources) == 0 || info.Elements() == 0 {
		return nil
	}
	var missing []string // names of codes that it could belong to
	for _, row := range s.Table.Rows {
		if !row.Stands(s.Config.Method()) {
			continue
		}
		for k := range row.Mains {
			m := &row.Mains[k]
			if err := s.Budget.Step(1); err != nil {
				return err
			}
			for _, part := range m.Parts {
				stem, ok := scheme.Suffix(info, part)
				if !ok {
					continue
				}
				codes := stem + m.Codes
				if _, ok := s.Names.Find(codes); ok {
					return nil
				}
				if m.Tells(part, stem) && !slices.Contains(missing, codes) {
					missing = append(missing, codes)
				}
			}
		}
	}
	if len(missing) == 0 {
		return nil
	}
	end := info.Name[strings.LastIndexByte(info.Name, '.')+1:]
	ignored, err := s.Ignores(end, "")
	if err != nil || ignored {
		return err
	}
	for i, codes := range missing {
		place, err := s.OtherFile(info, codes)
		if err != nil {
			return err
		}
		if place != "" {
			return wire.ErrUnsupported.Errorf("the codes that it belongs to, %s, are in %s", wire.Quote(codes), place)
		}
		missing[i] = wire.Quote(codes)
	}
	return wire.ErrMissing.Errorf("%s says that it belongs to codes, and there is no %s: a loader that goes on without them has random numbers for the weight: start from the whole model, or %s %s",
		s.Config.File, strings.Join(missing, " or "), wire.OptionIgnoreUnknown, wire.Quote(end))
}
