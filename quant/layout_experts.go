package quant

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// MLX stacks the experts of a layer, which are separate in transformers' files and in a
// folder.

// mlxExperts are MLX's names of stacks, and the names of the layers of one expert.
var mlxExperts = []struct {
	stack string
	layer map[string]string
}{
	{".mlp.switch_mlp.", map[string]string{"gate_proj": "gate_proj", "up_proj": "up_proj", "down_proj": "down_proj"}},
	{".block_sparse_moe.switch_mlp.", map[string]string{"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}},
}

// expertOf returns the parts before and after the number in the name of one expert's
// layer.
func expertOf(name string) (before, after string, ok bool) {
	for _, e := range mlxExperts {
		stem, layer, found := strings.Cut(name, e.stack)
		layer, isWeight := strings.CutSuffix(layer, ".weight")
		if found && isWeight && e.layer[layer] != "" {
			return stem + strings.TrimSuffix(e.stack, "switch_mlp.") + "experts.", "." + e.layer[layer] + ".weight", true
		}
	}
	return "", "", false
}

// split separates MLX's stacks.
func (s *set) split(out *Bound) error {
	if !s.Options.Folder {
		return nil
	}
	for _, i := range out.Plain {
		if strings.Contains(i.Name, ".switch_mlp.") {
			return stackError(i.Name)
		}
	}
	var all []*Weight
	for _, w := range out.Weights {
		if w.Row.Stacked && len(w.Shape) == 3 && !w.Matrix().Transposed() {
			before, after, ok := expertOf(w.Name)
			if !ok {
				return stackError(w.Name)
			}
			var err error
			if all, err = s.experts(all, w, before, after); err != nil {
				return err
			}
			continue
		}
		var err error
		if all, err = limits.Append(s.Budget, all, w); err != nil {
			return err
		}
	}
	out.Weights = all
	return nil
}

func stackError(name string) error {
	return wire.At("quant", "tensor "+wire.Quote(name), wire.NoOffset, wire.ErrUnsupported.Errorf(
		"MLX's stack of experts, which transformers has in another form: remember the file, not the folder"))
}

// experts appends the matrices of a stack as weights of their own.
func (s *set) experts(all []*Weight, w *Weight, before, after string) (_ []*Weight, err error) {
	rows := w.Shape[1]
	for e := range w.Shape[0] {
		if err := s.Budget.Items(1); err != nil {
			return nil, err
		}
		number := strconv.FormatInt(e, 10)
		if err := s.Budget.Hold(int64(len(before)+len(number)+len(after)) + 4*config.NodeCost); err != nil {
			return nil, err
		}
		one := *w
		one.Name, one.Shape = before+number+after, w.Shape[1:]
		one.Form = &form.Shifted{Form: w.Form, First: e * rows}
		scheme.Resize(&one, rows, w.Cols())
		if all, err = limits.Append(s.Budget, all, &one); err != nil {
			return nil, err
		}
	}
	return all, nil
}
