package report

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A Plan sums up the quantized weights of a model.
type Plan struct {
	err     error // why they cannot be decoded
	Target  quant.Target
	schemes []schemeGroup
	Total   schemeGroup
	weights []*quant.Weight
	plain   Group
	leftOut []tensor.Info
	ignored []string
}

// A schemeGroup counts the weights of one scheme and layout.
type schemeGroup struct {
	Scheme, Layout  string
	Weights         int64
	Stored, Decoded int64
}

func (g *schemeGroup) add(w *quant.Weight, to quant.Target) {
	g.Weights++
	g.Stored = wire.AddCap(g.Stored, w.Stored())
	g.Decoded = wire.AddCap(g.Decoded, w.Size(to))
}

// plan binds the quantized weights of an accepted model. If they cannot be decoded, the
// report has the error; the file itself is still accepted.
func (r *Report) plan(b *limits.Budget, o quant.Options) {
	if !quant.Any(r.Model) {
		return
	}
	p := &Plan{Target: o.Target}
	bound, err := quant.Plan(b, r.Model, o)
	for i := 0; err == nil && r.verified && i < len(bound.Weights); i++ {
		err = bound.Weights[i].Check(b, r.Model)
	}
	if err != nil {
		p.err = err
		r.planned = p
		return
	}
	if len(bound.Weights) == 0 {
		return
	}
	p.Group(bound.Weights)
	p.weights = bound.Weights
	for _, i := range bound.Plain {
		p.plain.add(&i)
	}
	p.leftOut, p.ignored = bound.LeftOut, bound.Ignored
	r.planned = p
}

// Group sums up weights by scheme and layout, the largest group first.
func (p *Plan) Group(weights []*quant.Weight) {
	at := map[[2]string]int{}
	for _, w := range weights {
		key := [2]string{w.Scheme, w.Layout}
		k, ok := at[key]
		if !ok {
			k = len(p.schemes)
			at[key] = k
			p.schemes = append(p.schemes, schemeGroup{Scheme: w.Scheme, Layout: w.Layout})
		}
		p.schemes[k].add(w, p.Target)
		p.Total.add(w, p.Target)
	}
	slices.SortStableFunc(p.schemes, func(a, b schemeGroup) int { return -cmp.Compare(a.Stored, b.Stored) })
}

// size returns the size of a conversion: the decoded weights and the other tensors.
func (p *Plan) size() int64 { return wire.AddCap(p.Total.Decoded, p.plain.Bytes) }

func printPlan(s *run.Run, p *Plan) {
	if p == nil {
		return
	}
	if p.err != nil {
		s.Out.Fact("", "Quantized", "cannot be decoded: "+fault.Text(p.err))
		return
	}
	s.Out.Fact("", "Quantized", fmt.Sprintf("%s, %s", term.Plural(p.Total.Weights, "weight"), term.Bytes(p.Total.Stored)))
	PrintSchemes(s, p)
	s.Out.Fact("", "Passthrough", fmt.Sprintf("%s, %s", term.Plural(p.plain.Tensors, "tensor"), term.Bytes(p.plain.Bytes)))
	PrintLeftOut(s, p.leftOut)
	PrintIgnored(s, p.ignored)
	s.Out.Fact("", "Decoded", fmt.Sprintf("%s (%v)", term.Bytes(p.size()), p.Target))
	s.Out.Fact("", "Precision", fmt.Sprintf("~%s lost to quantization", term.Bytes(max(0, p.Total.Decoded-p.Total.Stored))))
}

// PrintSchemes prints a row for each scheme and layout.
func PrintSchemes(s *run.Run, p *Plan) {
	name, layout := 0, 0
	for _, g := range p.schemes {
		name, layout = max(name, len(g.Scheme)), max(layout, len(g.Layout))
	}
	for _, g := range p.schemes {
		s.Out.Line("  %-*s  %-*s  %6s  %s", name, g.Scheme, layout, g.Layout, term.Count(g.Weights), term.PadLeft(term.Bytes(g.Stored), term.SizeWidth))
	}
}

// maxLeftOut is how many of the scales that are left out are listed.
const maxLeftOut = 5

// PrintLeftOut prints the scales that are left out, because loaders of the unquantized model
// reject them.
func PrintLeftOut(s *run.Run, scales []tensor.Info) {
	if len(scales) == 0 {
		return
	}
	s.Out.Fact("", "Left out", term.Plural(int64(len(scales)), "scale")+" that only a runtime needs")
	for k, i := range scales {
		if k == maxLeftOut {
			s.Out.Line("  and %s", term.Plural(int64(len(scales)-k), "more scale"))
			break
		}
		s.Out.Line("  %s", term.ShortName(i.Name))
	}
}

// PrintIgnored prints what --ignore-unknown has ignored.
func PrintIgnored(s *run.Run, names []string) {
	if len(names) == 0 {
		return
	}
	s.Out.Fact("", "Ignored", term.Plural(int64(len(names)), "unknown name"))
	for k, name := range names {
		if k == maxLeftOut {
			s.Out.Line("  and %d more", len(names)-k)
			break
		}
		s.Out.Line("  %s", term.ShortName(name))
	}
}

// JSONIgnored is PrintIgnored for JSON.
func JSONIgnored(o *jsonout.Object, names []string) {
	if len(names) == 0 {
		return
	}
	o.List("ignored_unknown", func(add func(func(*jsonout.Object))) {
		for _, name := range names {
			add(func(o *jsonout.Object) { o.Text("name", name) })
		}
	})
}

// JSONLeftOut writes the number and names of the scales that are left out.
func JSONLeftOut(o *jsonout.Object, scales []tensor.Info) {
	o.Number("left_out", int64(len(scales)))
	if len(scales) == 0 {
		return
	}
	o.List("left_out_scales", func(add func(func(*jsonout.Object))) {
		for _, i := range scales {
			add(func(o *jsonout.Object) { o.Text("name", i.Name) })
		}
	})
}

// JSONPlan writes the plan.
func JSONPlan(o *jsonout.Object, p *Plan) {
	if p == nil {
		return
	}
	o.Object("quantized", func(o *jsonout.Object) {
		o.Field("target", p.Target.String())
		if p.err != nil {
			o.Field("error", fault.Text(p.err))
			return
		}
		o.Number("weights", p.Total.Weights)
		o.Number("stored", p.Total.Stored)
		o.Number("decoded", p.size())
		o.Number("passthrough", p.plain.Tensors)
		JSONLeftOut(o, p.leftOut)
		JSONIgnored(o, p.ignored)
		JSONSchemes(o, p)
		jsonBound(o, p.weights)
	})
}

// jsonBound writes which tensors each weight is stored in, by which programs map codes and
// scales to weights.
func jsonBound(o *jsonout.Object, weights []*quant.Weight) {
	o.List("bound", func(add func(func(*jsonout.Object))) {
		for _, w := range weights {
			add(func(o *jsonout.Object) {
				o.Text("name", w.Name)
				o.Numbers("shape", w.Shape)
				o.List("parts", func(add func(func(*jsonout.Object))) {
					for _, part := range w.Parts {
						add(func(o *jsonout.Object) { o.Text("name", part.Name) })
					}
				})
			})
		}
	})
}

// JSONSchemes is PrintSchemes for JSON.
func JSONSchemes(o *jsonout.Object, p *Plan) {
	o.List("schemes", func(add func(func(*jsonout.Object))) {
		for _, g := range p.schemes {
			add(func(o *jsonout.Object) {
				o.Field("scheme", g.Scheme)
				o.Field("layout", g.Layout)
				o.Number("weights", g.Weights)
				o.Number("stored", g.Stored)
				o.Number("decoded", g.Decoded)
			})
		}
	})
}
