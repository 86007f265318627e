package family

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// mlx-lm uses transformers' names, except that the experts of a layer are one tensor under
// switch_mlp. The reference is mlx_lm.convert 0.32.2.

// An mlxRow says what mlx-lm has of a row's models.
type mlxRow struct {
	none  string   // why no folder for mlx-lm is made, "" if one is
	form  *mlxForm // how its tensors differ beyond stacked experts, nil if they do not
	eight []string // suffixes of modules that it keeps at 8 bits
}

// mlxLayers are mlx-lm's names of an expert's matrices, if they differ.
var mlxLayers = map[string]string{"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}

// stackName returns mlx-lm's name of a stack of experts.
func stackName(hf string) string {
	before, layer, _ := strings.Cut(hf, "experts.*.")
	if own, ok := mlxLayers[layer]; ok {
		layer = own
	}
	return before + "switch_mlp." + layer
}

// MLX is a model under mlx-lm's names.
type MLX struct {
	Tensors []Tensor
	// Eight reports a module that is always quantized to 8 bits in groups of 64.
	Eight func(module string) bool
	// DType is the type that mlx-lm casts values to; Unknown leaves them unchanged.
	DType tensor.DType
	// Casts reports a tensor that is cast.
	Casts func(*tensor.Info) bool
	// Stays reports a module that is not quantized.
	Stays func(module string) bool
}

var mlxTypes = map[string]tensor.DType{"float16": tensor.F16, "bfloat16": tensor.BF16, "float32": tensor.F32}

// ToMLX plans the conversion of a folder of transformers to one of mlx-lm. It refuses what
// the row does not explain.
func ToMLX(b *limits.Budget, m tensor.Model) (*MLX, error) {
	p, err := reading(b, m, Options{})
	if err != nil {
		return nil, err
	}
	why, form := p.c.row.mlx.none, p.c.row.mlx.form
	switch there := p.c.root.Get("vision_config").There; {
	case there:
		why = "mlx-lm stores its vision part too, which is not written"
	case !there && form != nil && form.needsVision:
		why = "mlx-lm does not load it as a text model alone"
	}
	if why != "" {
		return nil, wire.At(configName, "", wire.NoOffset, wire.ErrUnsupported.Errorf("no folder for mlx-lm is made of %s: %s", wire.Quote(p.c.row.names[0]), why))
	}
	p.nameOf = func(at *location) string { return form.nameOf(p.c, at) }
	p.skips = func(at *location) bool {
		return at.name.gguf == "output" && p.c.tied() || form != nil && form.skips != nil && form.skips(p.c, at)
	}
	p.asIs, p.form = true, form
	if err := p.tensors(); err != nil {
		return nil, err
	}
	if err := p.c.checkMembers(); err != nil {
		return nil, err
	}
	out := &MLX{Tensors: p.Tensors, DType: mlxTypes[p.c.root.Get("torch_dtype").String()]}
	out.Casts, out.Stays = form.casts, form.stays
	eight := p.c.row.mlx.eight
	out.Eight = func(module string) bool {
		for _, end := range eight {
			if module == end || strings.HasSuffix(module, end) && end != "lm_head" {
				return true
			}
		}
		return false
	}
	return out, nil
}

// reading returns a planner for the configuration of a folder.
func reading(b *limits.Budget, m tensor.Model, o Options) (*planner, error) {
	root, err := jsontree.Read(b, m.Configs(), configName, maxConfig)
	if err != nil {
		return nil, err
	}
	var target jsontree.Value
	if o.Target != nil {
		if target, err = jsontree.Read(b, o.Target, configName, maxConfig); err != nil {
			return nil, err
		}
	}
	read := func(root jsontree.Value) (*config, error) { return draftOf(root, target) }
	if o.Projector {
		read = visionOf
	}
	c, err := read(root)
	if err != nil {
		return nil, wire.At(configName, "", wire.NoOffset, err)
	}
	if err := c.countMTPLayers(b, m); err != nil {
		return nil, wire.At(configName, "", wire.NoOffset, err)
	}
	if err := c.ask(b, m); err != nil {
		return nil, err
	}
	p := &planner{Plan: &Plan{Arch: c.row.arch}, b: b, c: c, m: m}
	p.nameOf = p.target
	return p, nil
}

const apartBERT = "mlx-lm has no such model"

const apartMamba = notCompared

// notCompared is why no folder for mlx-lm is made of a family.
const notCompared = "its tensors were not compared with those of mlx-lm"

const apartT5 = "mlx-lm has no such model"
