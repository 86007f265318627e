package cli

import (
	"fmt"
	"strconv"

	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A compareFunc compares two models and calls found for each difference.
type compareFunc func(found func(*compare.Difference) error)

// printText prints a line per difference, and a summary.
func (d *differ) printText(compared compareFunc) error {
	s := d.s
	s.out.prose(4, "--- %s (%s)", showPath(d.sides[0].path), d.sides[0].model.Format())
	s.out.prose(4, "+++ %s (%s)", showPath(d.sides[1].path), d.sides[1].model.Format())
	compared(func(x *compare.Difference) error {
		if d.printed++; d.limit > 0 && d.printed > d.limit {
			return nil
		}
		mark, what := differenceText(x)
		s.out.prose(4, "%s %s  %s", mark, nameText(x.Name), what)
		return nil
	})
	if d.err != nil {
		return nil
	}
	if more := d.printed - d.limit; d.limit > 0 && more > 0 {
		s.out.prose(4, "and %s (--limit 0 prints all)", plural(int64(more), "more difference"))
	}
	r := &d.result
	if r.Different == 0 {
		s.out.line("Equal: %s, %s compared", plural(r.Equal, "tensor"), formatBytes(r.Bytes))
		return nil
	}
	s.out.prose(4, "Different: %s, and %s equal%s", plural(r.Different, "tensor"), formatCount(r.Equal), distanceText(&r.Distance))
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
		return "!", "shape " + formatShape(x.A.Shape) + ", " + formatShape(x.B.Shape)
	case compare.Type:
		return "!", "type " + typeText(x.A.Type) + ", " + typeText(x.B.Type)
	default:
		n := int64(1)
		for _, k := range x.A.Shape {
			n *= k
		}
		text := fmt.Sprintf("%s of %s differ, first %s: %s, %s", formatCount(x.Count), plural(n, "element"), formatShape(x.First), x.Values[0], x.Values[1])
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

func sideText(t *compare.Tensor) string { return typeText(t.Type) + " " + formatShape(t.Shape) }

// printJSON prints the result as schema/diff.json describes it.
func (d *differ) printJSON(compared compareFunc) error {
	object(d.s.out.Writer, func(o *jsonObject) {
		o.field("schema", "amn.diff/1")
		for i, name := range [...]string{"first", "second"} {
			o.object(name, func(o *jsonObject) { jsonSide(o, d.sides[i]) })
		}
		if compared != nil {
			o.list("differences", func(add func(func(*jsonObject))) {
				compared(func(x *compare.Difference) error {
					add(func(o *jsonObject) { jsonDifference(o, x) })
					return nil
				})
			})
			o.number("equal", d.result.Equal)
			o.number("different", d.result.Different)
			o.number("bytes", d.result.Bytes)
			jsonDistance(o, &d.result.Distance)
		}
		o.field("class", d.class().String())
		o.field("exit", d.class().ExitCode())
		if d.err != nil {
			o.object("error", func(o *jsonObject) { jsonError(o, d.err) })
		}
	})
	return d.s.out.WriteByte('\n')
}

func jsonDistance(o *jsonObject, d *quant.Distortion) {
	if d.N == 0 {
		return
	}
	o.object("distance", func(o *jsonObject) {
		o.float("mean", d.MAE(), 64)
		o.float("relative_rmse", d.RelativeRMSE(), 64)
		o.float("max", d.Max, 64)
		o.float("cosine", d.Cosine(), 64)
	})
}

func jsonSide(o *jsonObject, d *side) {
	o.text("path", d.path)
	format := ""
	if d.model != nil {
		format = d.model.Format()
	}
	o.field("format", format)
	if d.err != nil {
		o.object("error", func(o *jsonObject) { jsonError(o, d.err) })
		return
	}
	o.number("tensors", int64(d.model.Len()))
}

func jsonDifference(o *jsonObject, x *compare.Difference) {
	o.field("kind", x.Kind.String())
	o.text("name", x.Name)
	for i, t := range [...]*compare.Tensor{x.A, x.B} {
		if t != nil {
			o.object([...]string{"first", "second"}[i], func(o *jsonObject) {
				o.text("dtype", t.Type)
				o.numbers("shape", t.Shape)
			})
		}
	}
	if x.Kind != compare.Elements {
		return
	}
	o.number("count", x.Count)
	o.numbers("at", x.First)
	o.field("values", x.Values)
	o.float("max", x.Max, 64)
	jsonDistance(o, &x.Distance)
}
