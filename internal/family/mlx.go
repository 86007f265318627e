package family

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// mlx-lm has the names of transformers, but for the experts of a layer: they are one
// tensor under switch_mlp. The reference is mlx_lm.convert 0.32.2.

// mlxLayers are what mlx-lm calls the matrices of an expert, where it is another name.
var mlxLayers = map[string]string{"w1": "gate_proj", "w2": "down_proj", "w3": "up_proj"}

// stackName is the name of a stack in mlx-lm.
func stackName(hf string) string {
	before, layer, _ := strings.Cut(hf, "experts.*.")
	if own, ok := mlxLayers[layer]; ok {
		layer = own
	}
	return before + "switch_mlp." + layer
}

// MLX is a model as mlx-lm has it.
type MLX struct {
	Tensors []Tensor
	// Eight reports a module that is quantized to 8 bits in groups of 64, whatever the
	// others are.
	Eight func(module string) bool
	// DType is what mlx-lm casts all numbers to; Unknown leaves them as they are.
	DType tensor.DType
}

// mlxEight are endings of modules that mlx-lm keeps at 8 bits, by type.
var mlxEight = map[string][]string{
	"qwen3_moe": {"mlp.gate"},
	"granite":   {"self_attn.o_proj", "mlp.down_proj", "lm_head"},
}

var mlxTypes = map[string]tensor.DType{"float16": tensor.F16, "bfloat16": tensor.BF16, "float32": tensor.F32}

// ToMLX plans the way from a folder of transformers to one of mlx-lm. What the row
// does not explain is refused.
func ToMLX(b *limits.Budget, m tensor.Model) (*MLX, error) {
	p, err := reading(b, m, false)
	if err != nil {
		return nil, err
	}
	why := p.c.row.apart
	if p.c.root.Get("vision_config").There {
		why = "the vision part too"
	}
	if why != "" {
		return nil, wire.At(configName, "", wire.NoOffset, wire.ErrUnsupported.With("mlx-lm has %s of %s, which is not written", why, wire.Quote(p.c.row.names[0])))
	}
	p.naming = func(at *place) string {
		if at.name.how == stack {
			return strings.ReplaceAll(p.c.row.layer, "#", itoa(at.layer)) + stackName(at.name.hf) + ".weight"
		}
		return at.original(p.c)
	}
	p.drops = func(at *place) bool {
		return at.name.gguf == "output" && p.c.tied()
	}
	p.asIs = true
	if err := p.tensors(); err != nil {
		return nil, err
	}
	out := &MLX{Tensors: p.Tensors, DType: mlxTypes[p.c.root.Get("torch_dtype").String()]}
	eight := mlxEight[p.c.root.Get("model_type").String()]
	out.Eight = func(module string) bool {
		for _, end := range eight {
			if module == end || strings.HasSuffix(module, "."+end) {
				return true
			}
		}
		return false
	}
	return out, nil
}

// reading begins a plan by the configuration.
func reading(b *limits.Budget, m tensor.Model, projector bool) (*planner, error) {
	root, err := jsontree.Read(b, m.Configs(), configName, maxConfig)
	if err != nil {
		return nil, err
	}
	read := configOf
	if projector {
		read = visionOf
	}
	c, err := read(root)
	if err != nil {
		return nil, wire.At(configName, "", wire.NoOffset, err)
	}
	if err := c.lookAhead(b, m); err != nil {
		return nil, wire.At(configName, "", wire.NoOffset, err)
	}
	p := &planner{Plan: &Plan{Arch: c.row.arch}, b: b, c: c, m: m}
	p.naming = p.target
	return p, nil
}

// Stacked reports a model whose experts are those of mlx-lm: one tensor for all of a
// layer.
func Stacked(m tensor.Model) bool {
	if !Stated(m.Configs()) {
		return false
	}
	for i := range m.Tensors() {
		if strings.Contains(i.Name, ".switch_mlp.") {
			return true
		}
	}
	return false
}

// FromMLX plans the way back: the experts of a layer one by one. Other tensors are
// what they are.
func FromMLX(b *limits.Budget, m tensor.Model) ([]Tensor, error) {
	p, err := reading(b, m, false)
	if err != nil {
		return nil, err
	}
	for i := range m.Tensors() {
		if err := b.Step(1); err != nil {
			return nil, err
		}
		if strings.Contains(i.Name, ".switch_mlp.") {
			err = p.experts(&i)
		} else {
			err = p.add(Tensor{Name: i.Name, DType: i.DType, Shape: i.Shape, Parts: []Part{{Info: i}}})
		}
		if err != nil {
			return nil, wire.At(m.Format(), "tensor "+wire.Quote(i.Name), i.Span.Off, err)
		}
	}
	return p.Tensors, nil
}

// experts plans the experts of one stack.
func (p *planner) experts(i *tensor.Info) error {
	before, after, _ := strings.Cut(p.c.row.layer, "#")
	rest, inside := strings.CutPrefix(i.Name, before)
	number, rest, _ := strings.Cut(rest, after)
	layer, isNumber := index(number)
	rest, isWeight := strings.CutSuffix(rest, ".weight")
	for k := range p.c.row.layers() {
		n := &p.c.row.layers()[k]
		if !inside || !isNumber || !isWeight || n.how != stack || stackName(n.hf) != rest {
			continue
		}
		at := place{name: n, index: k, layer: layer, expert: -1}
		shape, err := p.shape(&at)
		if err != nil {
			return err
		}
		if err := sameShape(i.Shape, append([]int64{p.c.experts()}, shape...)); err != nil {
			return err
		}
		return p.unstack(i, &at, shape)
	}
	return wire.ErrUnsupported.With("%s of transformers has no experts of that name", wire.Quote(p.c.row.names[0]))
}
