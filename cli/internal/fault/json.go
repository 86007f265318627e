package fault

import (
	"errors"

	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// JSON writes an error; fields that do not apply are left out.
func JSON(o *jsonout.Object, err error) {
	if e, ok := Located(err); ok {
		o.Field("where", e.Where)
		if e.Off >= 0 {
			o.Number("offset", e.Off)
		}
	}
	if e, ok := errors.AsType[*limits.Error](err); ok {
		JSONLimit(o, e.Axis.String(), e.Want, e.Left, AxisFlag(e.Axis))
	}
	if e, ok := errors.AsType[*SpoolFull](err); ok {
		JSONLimit(o, "spool", e.Limit+1, e.Limit, "--max-spool")
	}
	o.Field("message", term.Tidy(Text(err), wire.MaxMessage))
}

// JSONLimit writes which limit was reached, and the flag that raises it.
func JSONLimit(o *jsonout.Object, axis string, want, left int64, flag string) {
	o.Field("axis", axis)
	o.Number("want", want)
	o.Number("left", left)
	o.Field("flag", flag)
}
