package write

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// printQuantized prints what was quantized, and the loss.
func printQuantized(s *run.Run, c *conversion) {
	if c.plan.Quantized == nil {
		printLoads(s, c.plan)
		return
	}
	e := c.plan.Quantized
	weights := slices.Clone(e.Weights)
	slices.SortStableFunc(weights, func(a, b convert.QuantizedWeight) int { return wire.Natural(a.Name, b.Name) })
	printSizes(s, c, weights)
	printChoices(s, weights)
	if c.dryRun {
		printTypes(s, weights)
	}
	if n := int64(len(e.Kept)); n > 0 {
		s.Out.Fact("", "Kept", matrices(n)+reasonsText(e.Kept))
	}
	if n := int64(len(e.Widened)); n > 0 {
		s.Out.Fact("", "To F32", term.Plural(n, "tensor")+" that transformers computes with in float32")
	}
	if n, weights := e.Zeroed(); n > 0 {
		s.Out.Fact("", "Zeroed", fmt.Sprintf("%s in %s that were NaN or infinite", term.Plural(n, "number"), term.Plural(weights, "weight")))
	}
	switch {
	case e.ByName && c.opts.Sink != nil:
		s.Out.Fact("", "Chosen", fmt.Sprintf("llama.cpp has no architecture %q: the rules of the mix for other architectures apply", term.Tidy(e.Type, 64)))
	case e.ByName && e.Type == "":
		s.Out.Fact("", "Chosen", "by the names of tensors: no config.json beside them states a model_type (--json lists what was kept)")
	case e.ByName:
		s.Out.Fact("", "Chosen", fmt.Sprintf("by the names of tensors: the model_type %q is unknown (--json lists what was kept)", term.Tidy(e.Type, 64)))
	case e.UnknownClass != "":
		s.Out.Fact("", "Chosen", fmt.Sprintf("by model_type %q; the class %q is unknown, so names decide where classes of this type differ", term.Tidy(e.Type, 64), term.Tidy(e.UnknownClass, 64)))
	}
	if e.Guessed > 0 {
		s.Out.Fact("", "By name", fmt.Sprintf("%s that transformers does not build by default for this class: %s%s", matrices(e.Guessed), term.CutName(term.Name(e.FirstGuessed), 48), andMore(e.Guessed-1)))
	}
	printLoads(s, c.plan)
	if c.report && c.result != nil && len(weights) > 0 {
		printErrors(s, weights, e.Lost())
	}
}

// printErrors prints the errors of each weight and of all together.
func printErrors(s *run.Run, weights []convert.QuantizedWeight, all quant.Distortion) {
	width := len("in all")
	for i := range weights {
		width = min(max(width, term.Width(term.Name(weights[i].Name))), 48)
	}
	if s.Out.Columns > 0 {
		width = max(min(width, s.Out.Columns-distanceWidth), len("in all"))
	}
	s.Out.Fact("", "Error", "by weight: mean, relative RMSE, largest, cosine, SNR in dB")
	for i := range weights {
		printDistance(s, weights[i].Name, width, &weights[i].Lost)
	}
	printDistance(s, "in all", width, &all)
}

// printSizes prints the sizes of the weights before and after, and their types.
func printSizes(s *run.Run, c *conversion, weights []convert.QuantizedWeight) {
	var before, after int64
	for i := range weights {
		before, after = wire.AddCap(before, weights[i].Before), wire.AddCap(after, weights[i].After)
	}
	layout := c.plan.Quantized.Layout
	if c.budget != "" {
		layout = "types chosen by --budget, file type " + layout
	}
	s.Out.Fact("", "Quantized", fmt.Sprintf("%s, %s -> %s (%s)", term.Plural(int64(len(weights)), "weight"), term.Bytes(before), term.Bytes(after), layout))
	if c.budget != "" {
		s.Out.Fact("", "Budget", c.budget)
	}
	if c.opts.Sink != nil && len(weights) > 0 {
		s.Out.Fact("", "Types", typesText(weights))
	}
}

// printChoices prints which weights did not get the type that the rules chose, and which are
// not in the importance matrix.
func printChoices(s *run.Run, weights []convert.QuantizedWeight) {
	var fell, bare []string
	for i := range weights {
		if weights[i].Instead != tensor.Unknown {
			fell = append(fell, weights[i].Name)
		}
		if weights[i].Unweighed {
			bare = append(bare, weights[i].Name)
		}
	}
	if n := int64(len(fell)); n > 0 {
		s.Out.Fact("", "Fallback", term.Plural(n, "weight")+" whose columns the chosen type's blocks do not divide: "+firstNames(fell))
	}
	if n := int64(len(bare)); n > 0 {
		s.Out.Fact("", "Unweighed", term.Plural(n, "weight")+" that the importance matrix does not have: "+firstNames(bare))
	}
}

// firstNames returns the first name, and how many more there are.
func firstNames(names []string) string {
	return term.CutName(term.Name(names[0]), 48) + andMore(int64(len(names)-1))
}

// andMore returns " and n more", or "" if n is 0.
func andMore(n int64) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" and %s more", term.Count(n))
}

// printTypes prints the planned type of each weight.
func printTypes(s *run.Run, weights []convert.QuantizedWeight) {
	if len(weights) == 0 {
		return
	}
	width, shape, kind, before, after := len("weight"), 0, 0, 0, 0
	for i := range weights {
		w := &weights[i]
		width = min(max(width, term.Width(term.Name(w.Name))), 48)
		shape, kind = max(shape, len(term.Shape(w.Shape))), max(kind, len(w.Type.String()))
		before, after = max(before, len(term.Bytes(w.Before))), max(after, len(term.Bytes(w.After)))
	}
	if s.Out.Columns > 0 { // names give way to numbers
		width = max(min(width, s.Out.Columns-len("    "+"  "+"  "+" -> ")-shape-kind-before-after), len("blk.0.weight"))
	}
	s.Out.Fact("", "Plan", "by weight: shape, type, size before and after")
	for i := range weights {
		w := &weights[i]
		instead := ""
		if w.Instead != tensor.Unknown {
			instead = fmt.Sprintf(" (for %v)", w.Instead)
		}
		s.Out.Line("  %s  %-*s  %-*v  %*s -> %s%s", term.Pad(term.CutName(term.Name(w.Name), width), width), shape, term.Shape(w.Shape), kind, w.Type, before, term.Bytes(w.Before), term.Bytes(w.After), instead)
	}
}

// typesText lists the types of weights: "Q4_K (24, 1.2 MiB), Q6_K (8, 0.6 MiB)".
func typesText(weights []convert.QuantizedWeight) string {
	var order []tensor.DType
	count, size := map[tensor.DType]int64{}, map[tensor.DType]int64{}
	for i := range weights {
		w := &weights[i]
		if count[w.Type]++; count[w.Type] == 1 {
			order = append(order, w.Type)
		}
		size[w.Type] = wire.AddCap(size[w.Type], w.After)
	}
	slices.SortStableFunc(order, func(a, b tensor.DType) int { return cmp.Compare(size[b], size[a]) })
	var list []string
	for _, t := range order {
		list = append(list, fmt.Sprintf("%v (%s, %s)", t, term.Count(count[t]), term.Bytes(size[t])))
	}
	return strings.Join(list, ", ")
}

// reasonsText counts the reasons why matrices are not quantized: " (embedding x2, router)".
func reasonsText(kept []convert.KeptMatrix) string {
	var order []string
	count := map[string]int{}
	for _, k := range kept {
		if count[k.Why]++; count[k.Why] == 1 {
			order = append(order, k.Why)
		}
	}
	text := ""
	for i, why := range order {
		text += [...]string{" (", ", "}[min(i, 1)] + why
		if count[why] > 1 {
			text += " x" + strconv.Itoa(count[why])
		}
	}
	return text + ")"
}

// distanceWidth is the width of a row of distances besides the name.
const distanceWidth = len("    0.001454   0.09249   0.008311   0.995716 20.68")

func printDistance(s *run.Run, name string, width int, d *quant.Distortion) {
	name = term.Pad(term.CutName(term.Name(name), width), width)
	if d.N == 0 {
		s.Out.Line("  %s  not measured: its rows and the blocks of its scales do not align", name)
		return
	}
	s.Out.Line("  %s  %-10.4g %-9.4g %-10.4g %.6f %s", name, d.MAE(), d.RelativeRMSE(), d.Max, d.Cosine(), decibels(d))
}

// jsonQuantized writes what printQuantized prints.
func jsonQuantized(o *jsonout.Object, c *conversion) {
	if c.plan == nil || c.plan.Quantized == nil {
		return
	}
	e := c.plan.Quantized
	o.Object("forgotten", func(o *jsonout.Object) {
		o.Field("layout", e.Layout)
		if e.ByName {
			o.Field("by_name", true)
		}
		if e.UnknownClass != "" {
			o.Text("unknown_class", e.UnknownClass)
		}
		if e.Guessed > 0 {
			o.Number("guessed", e.Guessed)
			o.Text("first_guessed", e.FirstGuessed)
		}
		if e.BreaksAgain != "" {
			o.Field("breaks_again", e.BreaksAgain)
		}
		jsonLoads(o, e.Loads)
		o.List("weights", func(add func(func(*jsonout.Object))) {
			for i := range e.Weights {
				add(func(o *jsonout.Object) { jsonQuantizedWeight(o, &e.Weights[i]) })
			}
		})
		o.List("kept", func(add func(func(*jsonout.Object))) {
			for _, k := range e.Kept {
				add(func(o *jsonout.Object) {
					o.Text("name", k.Name)
					o.Field("why", k.Why)
				})
			}
		})
		if len(e.Widened) > 0 {
			o.List("widened", func(add func(func(*jsonout.Object))) {
				for _, k := range e.Widened {
					add(func(o *jsonout.Object) {
						o.Text("name", k.Name)
						o.Field("type", k.From.String())
					})
				}
			})
		}
		all := e.Lost()
		jsonLost(o, &all)
	})
}

func jsonQuantizedWeight(o *jsonout.Object, w *convert.QuantizedWeight) {
	o.Text("name", w.Name)
	o.Field("type", w.Type.String())
	o.Numbers("shape", w.Shape)
	o.Number("before", w.Before)
	o.Number("after", w.After)
	if w.Instead != tensor.Unknown {
		o.Field("instead_of", w.Instead.String())
	}
	if w.Unweighed {
		o.Field("unweighed", true)
	}
	if w.Zeroed > 0 {
		o.Number("zeroed", w.Zeroed)
	}
	jsonLost(o, &w.Lost)
}

func jsonLost(o *jsonout.Object, d *quant.Distortion) {
	if d.N == 0 {
		return
	}
	o.Object("lost", func(o *jsonout.Object) {
		o.Number("elements", d.N)
		o.Float("mae", d.MAE(), 64)
		o.Float("relative_rmse", d.RelativeRMSE(), 64)
		o.Float("max", d.Max, 64)
		o.Float("cosine", d.Cosine(), 64)
		if d.Square > 0 {
			o.Float("snr_db", d.SNR(), 64)
		}
	})
}

func matrices(n int64) string {
	if n == 1 {
		return "1 matrix"
	}
	return term.Count(n) + " matrices"
}
