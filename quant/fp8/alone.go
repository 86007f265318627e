package fp8

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// elsewhere refuses a tensor whose scale is in another file. If only one shard of a model
// is given, its codes would otherwise be taken for numbers.
func elsewhere(s *scheme.Set, info *tensor.Info) error {
	for _, n := range scaleNames {
		stem, ok := scheme.Suffix(info, n.weight)
		if !ok {
			continue
		}
		place, err := s.OtherFile(info, stem+n.scale)
		if err != nil {
			return err
		}
		if place != "" {
			return wire.ErrUnsupported.Errorf("its scale %s is in %s", wire.Quote(stem+n.scale), place)
		}
	}
	return s.Apart()
}

// scaledOtherwise refuses a tensor without an FP8 scale that has companions of another
// scheme.
func scaledOtherwise(s *scheme.Set, info *tensor.Info) error {
	for _, row := range s.Table.Rows {
		for _, m := range row.Mains {
			stem, ok := scheme.Suffix(info, m.Codes)
			if !ok {
				continue
			}
			for _, part := range m.Parts {
				if err := s.Budget.Step(1); err != nil {
					return err
				}
				if beside, ok := s.Find(stem + part); ok && !slices.Contains(row.Besides, part) {
					return wire.ErrUnsupported.Errorf("%s %s without a scale of FP8, and %s beside it is a part of %s",
						info.TypeName(), wire.Quote(info.Name), wire.Quote(beside.Name), row.Name)
				}
			}
		}
	}
	return nil
}

// sentinel reports whether a tensor is ComfyUI's mark that the weights of a file are
// scaled.
func sentinel(info *tensor.Info) bool {
	_, isFP8 := form.Float8Of(info.DType)
	return isFP8 && info.Elements() <= 2 && (info.Name == "scaled_fp8" || strings.HasSuffix(info.Name, ".scaled_fp8"))
}
