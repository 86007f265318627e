package compressed

import (
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Says compares a weight with the groups of compressed-tensors' configuration that its
// module may belong to. One of them must describe it.
func Says(s *scheme.Set, stem, kind string, group int64, zeros bool, scales *tensor.Info) error {
	groups, err := s.Groups(stem)
	if err != nil {
		return err
	}
	zero := true
	if zeros && len(groups) > 0 {
		if zero, err = s.AllZero(stem + ".weight_zero_point"); err != nil {
			return err
		}
	}
	for _, g := range groups {
		weights, strategy := g.Within("weights"), g.Within("weights").Get("strategy").String()
		symmetric, known := weights.Get("symmetric").Bool()
		n, sized, bad := s.Number("group_size", weights.Get("group_size"))
		switch {
		case bad != nil:
			err = bad
		case known && !symmetric && !zeros:
			err = wire.ErrMissing.Errorf("its companion %s, which %s promises (symmetric false)", wire.Quote(stem+".weight_zero_point"), s.Config.File)
		case known && symmetric && zeros && !zero:
			err = wire.ErrMismatch.Errorf("%s says symmetric true, with which its library takes no zero points, and %s is not zero", s.Config.File, wire.Quote(stem+".weight_zero_point"))
		case sized && (strategy == "group" || strategy == "tensor_group") && n != group:
			err = wire.ErrMismatch.Errorf("%s says group_size %d, and %s of shape %v says %d", s.Config.File, n, wire.Quote(scales.Name), scales.Shape, group)
		case weights.Get("type").String() != "" && weights.Get("type").String() != kind:
			err = wire.ErrMismatch.Errorf("%s says type %s, but the codes beside %s are of type %s", s.Config.File, wire.Quote(weights.Get("type").String()), wire.Quote(scales.Name), kind)
		default:
			return nil
		}
	}
	return err
}

// Unrotated refuses weights that compressed-tensors stores rotated, since the unquantized
// model does not rotate its inputs.
func Unrotated(s *scheme.Set, w *scheme.Weight) error {
	if !s.Options.Folder || len(w.Shape) < 2 || len(s.Config.Quant.Within("transform_config", "config_groups").Names()) == 0 {
		return nil
	}
	return wire.ErrUnsupported.Errorf("%s says transform_config: the weights are stored rotated, and the unquantized model would not rotate its inputs; remember the file, not the folder",
		s.Config.File)
}
