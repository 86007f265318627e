package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// AxisFlag returns the name of the flag that sets the ceiling of an axis.
func AxisFlag(a limits.Axis) string {
	if a == limits.Time {
		return "--timeout"
	}
	return "--max-" + strings.ReplaceAll(a.String(), "_", "-")
}

// Located returns the error about a place in a file that err wraps.
func Located(err error) (parser.Error, bool) {
	if e, ok := errors.AsType[*parser.Error](err); ok {
		return *e, true
	}
	return parser.Error{Off: wire.NoOffset}, false
}

// UnfinishedText says how to go on after a failure.
func UnfinishedText(u *convert.Unfinished) string {
	return fmt.Sprintf("%s of %s are written and kept: the same command continues from there; without --resume it starts over", term.Bytes(u.Kept), term.Bytes(u.Size))
}

// Message returns the text of an error to be printed after path. An error of the detection is
// about the whole file, so its place is left out.
func Message(path string, err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok && error(e) == err && (e.Path == path || e.Path == filepath.Base(path)) {
		if isMissing(path, err) {
			return Text(Missing(path, err))
		}
		return e.Err.Error()
	}
	if e, ok := Located(err); ok && e.Format == "detect" && e.Where == "" && path != "" {
		return Text(e.Err)
	}
	return strings.TrimPrefix(Text(err), path+": ") // the errors of an address name it
}

// Hint returns a hint about which flag changes the outcome, or "".
func Hint(err error, p *limits.Policy) string {
	if errors.As(err, new(*OutOfTime)) {
		return "--total-timeout raises it"
	}
	if e, ok := errors.AsType[*limits.Error](err); ok {
		also := ""
		if e.Axis == limits.OpenFiles {
			also = ", and the system's limit (ulimit -n) bounds it"
		}
		return fmt.Sprintf("%s raises it; it is %s%s", AxisFlag(e.Axis), FlagText(e.Axis, p.Limit(e.Axis)), also)
	}
	if _, ok := errors.AsType[*convert.NotFinite](err); ok {
		return "--nan keep copies the weight unquantized, --nan zero replaces the number with 0"
	}
	if _, ok := errors.AsType[*convert.RequantizeError](err); ok {
		return "--allow-requantize quantizes it nevertheless"
	}
	if e, ok := errors.AsType[*convert.Unfinished](err); ok {
		return UnfinishedText(e)
	}
	if e, ok := errors.AsType[*SpoolFull](err); ok {
		return fmt.Sprintf("--max-spool raises it; it is %s", limits.FormatSize(e.Limit))
	}
	return ""
}

// FlagText returns a ceiling in the form that its flag takes.
func FlagText(a limits.Axis, n int64) string {
	switch a {
	case limits.SingleAlloc, limits.Total, limits.WorkingSet:
		return limits.FormatSize(n)
	case limits.Time:
		return limits.FormatTimeout(time.Duration(n))
	default:
		return strconv.FormatInt(n, 10)
	}
}
