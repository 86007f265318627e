package write

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// A targetResult is the size and the error of one target.
type targetResult struct {
	name, layout string
	size         int64   // of the output
	bits         float64 // per quantized number
	weights      int
	lost         quant.Distortion
	plan         *convert.Plan
	refused      error // why --to would not write it; then the rest is empty
}

// quantizerOf returns the quantizer and the sink of the named target; matrix is the
// importance matrix, or nil.
func (c *Quantize) quantizerOf(name string, matrix *ggml.Importance) (convert.Quantizer, convert.Sink, error) {
	if t, ok := quant.TargetNamed(name); ok {
		return c.targetFlags.quantizer(t), nil, nil
	}
	m, ok := mix.Find(name)
	if !ok {
		return nil, nil, fault.Usage(fmt.Sprintf("--compare: %q is not a target (amn formats lists them)", name))
	}
	q, err := c.ggmlFlags.quantizerWith(m, &c.targetFlags)
	if err != nil {
		return nil, nil, err
	}
	q.Measure, q.Matrix = true, matrix
	return q, convert.GGUF{RawNames: true}, nil
}

// compare measures several targets and writes no model.
func (c *Quantize) compare(ctx context.Context, s *run.Run) error {
	c.Grant(s)
	b := s.Policy.Long().Budget(ctx)
	defer b.Close()
	w := &conversionState{path: c.Path}
	list, err := c.compareAll(ctx, s, b, w)
	if w.model != nil {
		defer w.model.Close()
	}
	s.Count.Note(err)
	if err != nil {
		s.PrintError(w.path, err)
		return nil
	}
	if s.JSON {
		return printComparedJSON(s, w, list)
	}
	printTargets(s, list)
	return s.Out.Flush()
}

// printTargets prints a row for each target, as narrow as possible.
func printTargets(s *run.Run, list []targetResult) {
	rows := [][]string{{"target", "size", "bits", "relative RMSE", "SNR, dB", "cosine"}}
	for i := range list {
		r := &list[i]
		if r.refused != nil {
			continue
		}
		rows = append(rows, []string{r.name, term.Bytes(r.size), fmt.Sprintf("%.3f", r.bits), fmt.Sprintf("%.4g", r.lost.RelativeRMSE()), decibels(&r.lost), fmt.Sprintf("%.6f", r.lost.Cosine())})
	}
	wide, space := term.Widths(rows), "  "
	if s.Out.Columns > 0 && s.Out.Columns < term.WidthBefore(wide, []int{0, 1, 2, 3, 4, 5})+wide[5]-2 {
		space = " "
	}
	for _, row := range rows {
		text := term.Pad(row[0], wide[0])
		for k := 1; k < len(row); k++ {
			text += space + term.PadLeft(row[k], wide[k])
		}
		s.Out.Line("%s", text)
	}
	for i := range list {
		r := &list[i]
		if r.refused != nil {
			s.Out.Fact("", "Refused", r.name+": "+fault.Text(r.refused))
			continue
		}
		var known []string
		for k := range r.plan.Quantized.Loads {
			known = append(known, loadText(&r.plan.Quantized.Loads[k], r.plan.Quantized.Type))
		}
		s.Out.Fact("", "Loads", r.name+": "+strings.Join(known, "; "))
	}
}

func (c *Quantize) compareAll(ctx context.Context, s *run.Run, b *limits.Budget, w *conversionState) ([]targetResult, error) {
	f, err := openReport(c.Report.page, c.Force, c.Path)
	if err != nil {
		return nil, err
	}
	defer f.Discard()
	if err := openSource(ctx, s, b, w, c.Weights); err != nil {
		return nil, err
	}
	c.Report.on = true
	all := convert.NewComparison(b)
	var matrix ggml.Quantizer
	if err := c.ggmlFlags.readMatrix(b, &matrix); err != nil {
		return nil, err
	}
	names, made := strings.Split(c.Compare, ","), targetForms{w: w}
	list := make([]targetResult, len(names))
	var first error
	for i, name := range names {
		err := c.addTarget(b, all, &made, name, matrix.Matrix)
		if list[i] = (targetResult{name: name, refused: err}); err == nil {
			continue
		}
		err = fmt.Errorf("%s: %w", name, err)
		if class := wire.ClassOf(err); !isTarget(name) || class != wire.Usage && class != wire.Unsupported {
			return nil, err
		}
		first = cmp.Or(first, err)
	}
	if len(all.Plans) == 0 {
		return nil, first
	}
	done := s.Progress("measuring "+term.Path(w.path), all.Progress)
	err = all.Measure()
	done()
	if err != nil {
		return nil, err
	}
	plans := all.Plans
	for i := range list {
		if list[i].refused == nil {
			list[i], plans = resultOf(names[i], plans[0]), plans[1:]
		}
	}
	if c.Report.page == "" {
		return list, nil
	}
	if isJSON(c.Report.page) {
		writeComparedJSON(f.W, w, list)
	} else {
		writeComparedPage(f.W, w, list)
	}
	return list, f.Commit()
}

// targetForms are the forms that a model has for targets, each made once.
type targetForms struct {
	w          *conversionState
	llama, mlx *conversion
}

// isTarget reports whether a name is that of a target; a misspelt one ends a comparison.
func isTarget(name string) bool {
	_, named := quant.TargetNamed(name)
	_, isMix := mix.Find(name)
	return named || isMix
}

// addTarget plans a target, as --to does. Mixes are planned for the model as llama.cpp runs
// it, and formats of MLX as mlx-lm does.
func (c *Quantize) addTarget(b *limits.Budget, all *convert.Comparison, made *targetForms, name string, matrix *ggml.Importance) error {
	q, sink, err := c.quantizerOf(name, matrix)
	if err != nil {
		return err
	}
	o := convert.Options{
		Quant: *c.Options(c.OutDtype, c.sourceBlock()), Quantize: q, Requantize: c.AllowRequantize, NaN: c.nan(), Sink: sink,
		Alone: true, Keep: c.filter(), Threads: c.Threads,
	}
	m, admit := made.w.model, func(p *convert.Plan) error { return admitQuantized(&conversionState{plan: p}) }
	switch {
	case sink != nil:
		admit = nil
		if made.llama == nil {
			one := &conversion{conversionState: conversionState{path: made.w.path, model: m}}
			if err := forLlamaCPP(b, &one.conversionState, forms.LlamaCPP{Quant: o.Quant}); err != nil {
				return err
			}
			made.llama = one
		}
		m = made.llama.model
	case isMLX(name) && forms.Stated(m):
		if made.mlx == nil {
			one := &conversion{conversionState: conversionState{path: made.w.path, model: m}, opts: o}
			if err := toMLX(b, one); err != nil {
				return err
			}
			made.mlx = one
		}
		m, o.Quant.Target, o.Cast = made.mlx.model, made.mlx.opts.Quant.Target, made.mlx.opts.Cast
	}
	return all.Add(m, o, admit)
}

// resultOf sums up the measurements of a target.
func resultOf(name string, p *convert.Plan) targetResult {
	e := p.Quantized
	r := targetResult{name: name, layout: e.Layout, size: p.Size, weights: len(e.Weights), lost: e.Lost(), plan: p}
	var numbers, after int64
	for i := range e.Weights {
		numbers, after = wire.AddCap(numbers, e.Weights[i].Elements), wire.AddCap(after, e.Weights[i].After)
	}
	if numbers > 0 {
		r.bits = 8 * float64(after) / float64(numbers)
	}
	return r
}

func printComparedJSON(s *run.Run, w *conversionState, list []targetResult) error {
	writeComparedJSON(s.Out.Writer, w, list)
	return s.Out.Flush()
}

func writeComparedJSON(out *bufio.Writer, w *conversionState, list []targetResult) {
	jsonout.Write(out, func(o *jsonout.Object) {
		o.Field("schema", "amn.compare/1")
		o.Text("path", w.path)
		if slices.ContainsFunc(list, func(r targetResult) bool { return r.refused != nil }) {
			o.List("refused", func(add func(func(*jsonout.Object))) {
				for i := range list {
					if r := &list[i]; r.refused != nil {
						add(func(o *jsonout.Object) {
							o.Field("target", r.name)
							o.Text("why", fault.Text(r.refused))
						})
					}
				}
			})
		}
		o.List("targets", func(add func(func(*jsonout.Object))) {
			for i := range list {
				if list[i].refused != nil {
					continue
				}
				add(func(o *jsonout.Object) {
					r := &list[i]
					o.Field("target", r.name)
					o.Field("layout", r.layout)
					o.Number("bytes", r.size)
					o.Number("weights", int64(r.weights))
					o.Float("bits", r.bits, 64)
					jsonLoads(o, r.plan.Quantized.Loads)
					jsonLost(o, &r.lost)
				})
			}
		})
	})
	out.WriteByte('\n') // the writer keeps the error
}
