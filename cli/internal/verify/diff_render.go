package verify

import (
	"fmt"
	"strconv"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A compareFunc compares two models and calls found for each difference.
type compareFunc func(found func(*compare.Difference) error)

// printText prints a line per difference, and a summary.
func (d *differ) printText(compared compareFunc) error {
	s := d.s
	s.Out.Prose(4, "--- %s (%s)", term.Path(d.sides[0].path), d.sides[0].model.Format())
	s.Out.Prose(4, "+++ %s (%s)", term.Path(d.sides[1].path), d.sides[1].model.Format())
	compared(func(x *compare.Difference) error {
		if d.printed++; d.limit > 0 && d.printed > d.limit {
			return nil
		}
		mark, what := differenceText(x)
		s.Out.Prose(4, "%s %s  %s", mark, term.Name(x.Name), what)
		return nil
	})
	if d.err != nil {
		return nil
	}
	if more := d.printed - d.limit; d.limit > 0 && more > 0 {
		s.Out.Prose(4, "and %s (--limit 0 prints all)", term.Plural(int64(more), "more difference"))
	}
	r := &d.result
	if r.Different == 0 {
		s.Out.Line("Equal: %s, %s compared", term.Plural(r.Equal, "tensor"), term.Bytes(r.Bytes))
		return nil
	}
	s.Out.Prose(4, "Different: %s, and %s equal%s", term.Plural(r.Different, "tensor"), term.Count(r.Equal), distanceText(&r.Distance))
	return nil
}

// differenceText returns the mark of a line, as in a patch, and a description.
func differenceText(x *compare.Difference) (mark, text string) {
	switch x.Kind {
	case compare.OnlyFirst:
		return "-", sideText(x.A)
	case compare.OnlySecond:
		return "+", sideText(x.B)
	case compare.Shape:
		return "!", "shape " + term.Shape(x.A.Shape) + ", " + term.Shape(x.B.Shape)
	case compare.Type:
		return "!", "type " + term.Type(x.A.Type) + ", " + term.Type(x.B.Type)
	default:
		n := int64(1)
		for _, k := range x.A.Shape {
			n *= k
		}
		text := fmt.Sprintf("%s of %s differ, first %s: %s, %s", term.Count(x.Count), term.Plural(n, "element"), term.Shape(x.First), x.Values[0], x.Values[1])
		if x.Max > 0 {
			text += ", at most " + strconv.FormatFloat(x.Max, 'g', 4, 64)
		}
		return "!", text + distanceText(&x.Distance)
	}
}

// distanceText returns the distance of the numbers, or "" if none was measured.
func distanceText(d *quant.Distortion) string {
	if d.N == 0 {
		return ""
	}
	return fmt.Sprintf("; mean distance %.4g, relative RMSE %.4g, cosine %.6f", d.MAE(), d.RelativeRMSE(), d.Cosine())
}

func sideText(t *compare.Tensor) string { return term.Type(t.Type) + " " + term.Shape(t.Shape) }

// printJSON prints the result as schema/diff.json describes it.
func (d *differ) printJSON(compared compareFunc) error {
	jsonout.Write(d.s.Out.Writer, func(o *jsonout.Object) {
		o.Field("schema", "amn.diff/1")
		for i, name := range [...]string{"first", "second"} {
			o.Object(name, func(o *jsonout.Object) { jsonSide(o, d.sides[i]) })
		}
		if compared != nil {
			o.List("differences", func(add func(func(*jsonout.Object))) {
				compared(func(x *compare.Difference) error {
					add(func(o *jsonout.Object) { jsonDifference(o, x) })
					return nil
				})
			})
			o.Number("equal", d.result.Equal)
			o.Number("different", d.result.Different)
			o.Number("bytes", d.result.Bytes)
			jsonDistance(o, &d.result.Distance)
		}
		o.Field("class", d.class().String())
		o.Field("exit", d.class().ExitCode())
		if d.err != nil {
			o.Object("error", func(o *jsonout.Object) { fault.JSON(o, d.err) })
		}
	})
	return d.s.Out.WriteByte('\n')
}

func jsonDistance(o *jsonout.Object, d *quant.Distortion) {
	if d.N == 0 {
		return
	}
	o.Object("distance", func(o *jsonout.Object) {
		o.Float("mean", d.MAE(), 64)
		o.Float("relative_rmse", d.RelativeRMSE(), 64)
		o.Float("max", d.Max, 64)
		o.Float("cosine", d.Cosine(), 64)
	})
}

func jsonSide(o *jsonout.Object, d *side) {
	o.Text("path", d.path)
	format := ""
	if d.model != nil {
		format = d.model.Format()
	}
	o.Field("format", format)
	if d.err != nil {
		o.Object("error", func(o *jsonout.Object) { fault.JSON(o, d.err) })
		return
	}
	o.Number("tensors", int64(d.model.Len()))
}

func jsonDifference(o *jsonout.Object, x *compare.Difference) {
	o.Field("kind", x.Kind.String())
	o.Text("name", x.Name)
	for i, t := range [...]*compare.Tensor{x.A, x.B} {
		if t != nil {
			o.Object([...]string{"first", "second"}[i], func(o *jsonout.Object) {
				o.Text("dtype", t.Type)
				o.Numbers("shape", t.Shape)
			})
		}
	}
	if x.Kind != compare.Elements {
		return
	}
	o.Number("count", x.Count)
	o.Numbers("at", x.First)
	o.Field("values", x.Values)
	o.Float("max", x.Max, 64)
	jsonDistance(o, &x.Distance)
}
