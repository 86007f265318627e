package quant

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/config"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Quantizers replace only linear layers, so Llama-4's experts are quantized one by one,
// while the unquantized model has two parameters for all experts: gate and up side by
// side as [E, in, 2*out], and down as [E, in, out]. A folder has these.

// An expert is one expert of a layer, with its quantized layers.
type expert struct {
	number int64
	layers map[string]*Weight
}

// expertName splits a name such as "stem.experts.3.up_proj.weight".
func expertName(name string) (stem string, number int64, layer string, ok bool) {
	stem, rest, ok := strings.Cut(name, ".feed_forward.experts.")
	if !ok {
		return "", 0, "", false
	}
	digits, rest, ok := strings.Cut(rest, ".")
	layer, isWeight := strings.CutSuffix(rest, ".weight")
	number, err := strconv.ParseInt(digits, 10, 32)
	return stem + ".feed_forward.experts", number, layer, ok && isWeight && err == nil && strconv.FormatInt(number, 10) == digits
}

// fuse replaces the weights of Llama-4's experts by those of the unquantized model.
func fuse(s *scheme.Set, out *scheme.Bound) error {
	if !s.Options.Folder || !strings.HasPrefix(s.Architecture(), "llama4") {
		return nil
	}
	known, stacks := map[string]*expert{}, map[string][]*expert{}
	var order []string
	kept := out.Weights[:0]
	for _, w := range out.Weights {
		stem, number, layer, ok := expertName(w.Name)
		if !ok {
			kept = append(kept, w)
			continue
		}
		if err := s.Budget.Hold(int64(len(w.Name)) + 8*config.NodeCost); err != nil {
			return err
		}
		if stacks[stem] == nil {
			order = append(order, stem)
		}
		key := stem + "." + strconv.FormatInt(number, 10)
		e := known[key]
		if e == nil {
			e = &expert{number, map[string]*Weight{}}
			known[key], stacks[stem] = e, append(stacks[stem], e)
		}
		e.layers[layer] = w
	}
	out.Weights = kept
	for _, i := range out.Plain {
		if stem, _, _, ok := expertName(i.Name); ok {
			return wire.At("quant", "tensor "+wire.Quote(i.Name), wire.NoOffset, wire.ErrUnsupported.Errorf(
				"it is not quantized as others are, and the unquantized model has all experts in %s", wire.Quote(stem+".gate_up_proj")))
		}
	}
	for _, stem := range order {
		experts := stacks[stem]
		slices.SortFunc(experts, func(a, b *expert) int { return int(a.number - b.number) })
		for _, f := range scheme.FusedExperts {
			w, err := stack(s, stem+"."+f.Name, experts, f.Layers)
			if err != nil {
				return wire.At("quant", "tensor "+wire.Quote(stem+"."+f.Name), wire.NoOffset, err)
			}
			out.Weights = append(out.Weights, w)
		}
	}
	return nil
}

// stack returns one parameter made of a layer of all experts.
func stack(s *scheme.Set, name string, experts []*expert, layers []string) (*Weight, error) {
	pieces, err := limits.Make[form.Piece](s.Budget, len(experts)*len(layers))
	if err != nil {
		return nil, err
	}
	f := &form.Transposed{Side: int64(len(layers)), Pieces: pieces[:0]}
	w := &Weight{Name: name, Form: f}
	for i, e := range experts {
		if e.number != int64(i) {
			return nil, wire.ErrMissing.Errorf("expert %d of %d", i, len(experts))
		}
		rows := int64(0)
		for _, layer := range layers {
			part := e.layers[layer]
			if part == nil {
				return nil, wire.ErrMissing.Errorf("a quantized %s of expert %d: all or none must be", layer, i)
			}
			inner, err := scheme.SlicerOf(part)
			if err != nil {
				return nil, err
			}
			if len(part.Shape) != 2 {
				return nil, wire.ErrUnsupported.Errorf("%s %s of shape %v cannot be written transposed", part.Scheme, wire.Quote(part.Name), part.Shape)
			}
			if f.In == 0 {
				f.In, w.Scheme, w.Row, w.Layout = part.Shape[1], part.Scheme, part.Row, part.Layout+", fused experts"
			}
			if part.Shape[1] != f.In {
				return nil, wire.ErrMismatch.Errorf("%s has shape %v beside %d inputs of others", wire.Quote(part.Name), part.Shape, f.In)
			}
			f.Pieces = append(f.Pieces, form.Piece{Form: inner, Rows: part.Shape[0], Part: len(w.Parts), Parts: len(part.Parts)})
			rows += part.Shape[0]
			if err := s.Adopt(w, part); err != nil {
				return nil, err
			}
		}
		if f.Out == 0 {
			f.Out = rows
		}
		if rows != f.Out {
			return nil, wire.ErrMismatch.Errorf("expert %d has %d outputs and others %d", i, rows, f.Out)
		}
	}
	w.Shape = []int64{int64(len(experts)), f.In, f.Out}
	scheme.Resize(w, int64(len(experts))*f.In, f.Out)
	return w, nil
}
