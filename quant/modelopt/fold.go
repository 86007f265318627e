package modelopt

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Fold applies ModelOpt's pre_quant_scale if the caller asked for it, and refuses the
// weight otherwise: without the scale it is not that of the unquantized model.
func Fold(s *scheme.Set, w *scheme.Weight) error {
	scale, ok := s.Find(strings.TrimSuffix(w.Name, ".weight") + ".pre_quant_scale")
	if !ok {
		return nil
	}
	if !s.Options.FoldPreQuant {
		return wire.ErrUnsupported.Errorf("its inputs are multiplied by %s: %s multiplies the weight instead", wire.Quote(scale.Name), wire.OptionFoldPreQuant)
	}
	cols := w.Shape[len(w.Shape)-1]
	read, size, err := scheme.ScaleNumber(scale)
	if err != nil {
		return err
	}
	if len(w.Shape) != 2 || !scheme.Shaped(scale.Shape, []int64{cols}) {
		return scheme.Mismatch(&w.Parts[0], scale)
	}
	w.Form = &form.Folded{Form: w.Form, Cols: cols, Size: size, Read: read, Part: len(w.Parts)}
	w.Parts = append(w.Parts, *scale)
	w.Layout += ", folded pre_quant_scale"
	return nil
}
