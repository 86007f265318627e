package mlx

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

// expertStacks are MLX's names of stacks, and the names of the layers of one expert.
var expertStacks = []struct {
	stack string
	layer map[string]string
}{
	{".mlp.switch_mlp.", map[string]string{"gate_proj": "gate_proj", "up_proj": "up_proj", "down_proj": "down_proj"}},
	{".block_sparse_moe.switch_mlp.", map[string]string{"gate_proj": "w1", "down_proj": "w2", "up_proj": "w3"}},
}

// expertOf returns the parts before and after the number in the name of one expert's
// layer.
func expertOf(name string) (before, after string, ok bool) {
	for _, e := range expertStacks {
		stem, layer, found := strings.Cut(name, e.stack)
		layer, isWeight := strings.CutSuffix(layer, ".weight")
		if found && isWeight && e.layer[layer] != "" {
			return stem + strings.TrimSuffix(e.stack, "switch_mlp.") + "experts.", "." + e.layer[layer] + ".weight", true
		}
	}
	return "", "", false
}

// Split separates MLX's stacks.
func Split(s *scheme.Set, out *scheme.Bound) error {
	if !s.Options.Folder {
		return nil
	}
	for _, i := range out.Plain {
		if strings.Contains(i.Name, ".switch_mlp.") {
			return stackError(i.Name)
		}
	}
	var all []*scheme.Weight
	for _, w := range out.Weights {
		if w.Row.Stacked && len(w.Shape) == 3 && !w.Matrix().Transposed() {
			before, after, ok := expertOf(w.Name)
			if !ok {
				return stackError(w.Name)
			}
			var err error
			if all, err = experts(s, all, w, before, after); err != nil {
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
func experts(s *scheme.Set, all []*scheme.Weight, w *scheme.Weight, before, after string) (_ []*scheme.Weight, err error) {
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
