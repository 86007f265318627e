package mlx

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// mlx-lm keeps the experts of gpt-oss and Llama-4 as three stacks of linear layers.
// transformers has two parameters, [E, in, out]; gate and up are the two halves of the
// outputs, or interleaved.

// fusedStacks has those architectures by model_type.
var fusedStacks = map[string]struct {
	stack       string // part of the name before the layer
	interleaved bool   // gate and up are interleaved
}{
	"gpt_oss":     {".mlp.experts.", true},
	"llama4":      {".feed_forward.experts.", false},
	"llama4_text": {".feed_forward.experts.", false},
}

// layersOf are the stacks of a module by the last part of their names.
type layersOf struct {
	weights map[string]*scheme.Weight
	biases  map[string]*tensor.Info
}

// stackLayers are the layers of an expert.
var stackLayers = []string{"gate_proj", "up_proj", "down_proj"}

// Restack replaces mlx-lm's stacks by the parameters of the unquantized model.
func Restack(s *scheme.Set, out *scheme.Bound) error {
	arch, ok := fusedStacks[s.Architecture()]
	if !s.Options.Folder || !ok {
		return nil
	}
	known := map[string]*layersOf{}
	var order []string
	of := func(name, end string) (*layersOf, string, error) {
		stem, layer, found := strings.Cut(name, arch.stack)
		layer, ends := strings.CutSuffix(layer, end)
		if !found || !ends || !slices.Contains(stackLayers, layer) {
			return nil, "", nil
		}
		if err := s.Budget.Hold(int64(len(name)) + 8*config.NodeCost); err != nil {
			return nil, "", err
		}
		stem += strings.TrimSuffix(arch.stack, ".")
		if known[stem] == nil {
			known[stem] = &layersOf{map[string]*scheme.Weight{}, map[string]*tensor.Info{}}
			order = append(order, stem)
		}
		return known[stem], layer, nil
	}
	weights := out.Weights[:0]
	for _, w := range out.Weights {
		stacks, layer, err := of(w.Name, ".weight")
		switch {
		case err != nil:
			return err
		case stacks != nil && w.Row.Stacked && len(w.Shape) == 3:
			stacks.weights[layer] = w
		default:
			weights = append(weights, w)
		}
	}
	plain := out.Plain[:0]
	for _, i := range out.Plain {
		stacks, layer, err := of(i.Name, ".bias")
		if stacks == nil && len(i.Shape) == 3 && err == nil { // a stack that is not quantized is reported as missing below
			stacks, layer, err = of(i.Name, ".weight")
		}
		switch {
		case err != nil:
			return err
		case stacks != nil && len(i.Shape) == 2:
			stacks.biases[layer] = &i
		case stacks != nil:
		default:
			plain = append(plain, i)
		}
	}
	out.Weights, out.Plain = weights, plain
	for _, stem := range order {
		if err := fuseStacks(s, out, stem, known[stem], arch.interleaved); err != nil {
			return wire.At("quant", "tensor "+wire.Quote(stem), wire.NoOffset, err)
		}
	}
	return nil
}

// fuseStacks appends the parameters of one module's experts.
func fuseStacks(s *scheme.Set, out *scheme.Bound, stem string, l *layersOf, interleaved bool) error {
	for _, p := range scheme.FusedExperts {
		w, err := fuseStack(s, stem+"."+p.Name, l, p.Layers, interleaved)
		if err != nil {
			return err
		}
		if out.Weights, err = limits.Append(s.Budget, out.Weights, w); err != nil {
			return err
		}
		w, err = fuseBias(s, stem+"."+p.Name+"_bias", l, p.Layers)
		if err != nil {
			return err
		}
		if w == nil {
			continue
		}
		if out.Weights, err = limits.Append(s.Budget, out.Weights, w); err != nil {
			return err
		}
	}
	return nil
}

// fuseStack returns one parameter for all experts, made of one stack or of two.
func fuseStack(s *scheme.Set, name string, l *layersOf, layers []string, interleaved bool) (*scheme.Weight, error) {
	f := &form.Transposed{Side: int64(len(layers)), Interleaved: interleaved && len(layers) > 1}
	w := &scheme.Weight{Name: name, Form: f}
	for _, layer := range layers {
		part := l.weights[layer]
		if part == nil {
			return nil, wire.ErrMissing.Errorf("a quantized stack %s for %s: all or none must be", layer, wire.Quote(name))
		}
		if w.Shape == nil {
			w.Shape, w.Scheme, w.Row, w.Layout = []int64{part.Shape[0], part.Shape[2], 0}, part.Scheme, part.Row, part.Layout+", fused experts"
		}
		if part.Shape[0] != w.Shape[0] || part.Shape[2] != w.Shape[1] || w.Shape[2] > 0 && part.Shape[1] != w.Shape[2] {
			return nil, wire.ErrMismatch.Errorf("%s has shape %v beside %s of %v", wire.Quote(part.Name), part.Shape,
				wire.Quote(l.weights[layers[0]].Name), l.weights[layers[0]].Shape)
		}
		w.Shape[2] = part.Shape[1]
	}
	w.Shape[2] *= f.Side
	f.In, f.Out = w.Shape[1], w.Shape[2]
	scheme.Resize(w, w.Shape[0]*f.In, f.Out)
	pieces, err := scheme.Sized[form.Piece](s.Budget, w.Shape[0]*f.Side)
	if err != nil {
		return nil, err
	}
	f.Pieces = pieces
	for k, layer := range layers {
		part := l.weights[layer]
		inner, err := scheme.SlicerOf(part)
		if err != nil {
			return nil, err
		}
		for e := range part.Shape[0] {
			f.Pieces[e*f.Side+int64(k)] = form.Piece{Form: inner, First: e * part.Shape[1], Rows: part.Shape[1], Part: len(w.Parts), Parts: len(part.Parts)}
		}
		if err := s.Adopt(w, part); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// fuseBias returns the biases of the same layers, interleaved alike. Only gpt-oss has
// them.
func fuseBias(s *scheme.Set, name string, l *layersOf, layers []string) (*scheme.Weight, error) {
	of := l.weights[layers[0]]
	w := &scheme.Weight{Name: name, Scheme: of.Scheme, Row: of.Row, Layout: "biases, fused experts"}
	f := &form.Interleaved{}
	for _, layer := range layers {
		part, weight := l.biases[layer], l.weights[layer]
		if part == nil {
			continue
		}
		as, ok := form.KernelType(part.DType)
		if !ok {
			return nil, wire.ErrUnsupported.Errorf("%s is %s", wire.Quote(part.Name), part.TypeName())
		}
		if !slices.Equal(part.Shape, weight.Shape[:2]) {
			return nil, wire.ErrMismatch.Errorf("%s has shape %v beside %s of %v", wire.Quote(part.Name), part.Shape, wire.Quote(weight.Name), weight.Shape)
		}
		if err := scheme.AsStored(part); err != nil {
			return nil, err
		}
		f.Cols, f.Lanes = part.Shape[1], append(f.Lanes, form.LaneOf(part.DType, as))
		w.Parts = append(w.Parts, *part)
	}
	if len(w.Parts) == 0 {
		return nil, nil
	}
	if len(w.Parts) != len(layers) {
		return nil, wire.ErrMissing.Errorf("a bias for %s beside %s", wire.Quote(name), wire.Quote(w.Parts[0].Name))
	}
	w.Form, w.Shape = f, []int64{w.Parts[0].Shape[0], f.Cols * int64(len(layers))}
	scheme.Resize(w, w.Shape[0], w.Shape[1])
	if err := s.Budget.Items(1); err != nil {
		return nil, err
	}
	return w, s.Budget.Expand(w.Size(s.Options.Target))
}
