package fuzz

import (
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"unicode"
	"unicode/utf8"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A run is the result of one reading.
type run struct {
	answer Answer
	err    error
	class  wire.Class
	off    int64
	usage  map[limits.Axis]limits.AxisUsage
	left   string // what the host account still held
}

func (g Target) run(r io.ReaderAt, size int64, policy limits.Policy) *run {
	host := limits.Policy{MaxTotalBytes: math.MaxInt64, MaxItems: math.MaxInt64, Timeout: limits.NoTimeout}.Budget(background)
	defer host.Close()
	account := host.Child(policy)
	answer, err := g.Read(account, r, size)
	out := &run{answer: answer, err: err, class: wire.ClassOf(err), off: wire.NoOffset, usage: map[limits.Axis]limits.AxisUsage{}}
	if placed, ok := errors.AsType[*wire.Error](err); ok {
		out.off = placed.Off
	}
	for _, u := range account.Usage() {
		out.usage[u.Axis] = u
	}
	if n := account.Children(); n != 0 {
		out.left = fmt.Sprintf(" %d open children", n)
	}
	account.Close()
	for _, u := range host.Usage() {
		if u.Used != 0 && (u.Axis == limits.Total || u.Axis == limits.Items) {
			out.left += fmt.Sprintf(" %v %d", u.Axis, u.Used)
		}
	}
	return out
}

func (r *run) String() string {
	if r.err != nil {
		return fmt.Sprintf("%v at %#x (%v)", r.class, r.off, r.err)
	}
	return "accepted " + r.answer.Exact
}

// same compares answers, and errors except their text, which may contain the last request.
func (r *run) same(other *run) bool {
	return r.class == other.class && r.off == other.off && r.answer == other.answer
}

// faults checks what a single run can show.
func (r *run) faults(size int64) error {
	if err := Placed(r.err, size); err != nil {
		return err
	}
	if r.left != "" {
		return broken(Returned, "left are%s", r.left)
	}
	return nil
}

// Placed checks what every error of a parser must have.
func Placed(err error, size int64) error {
	if err == nil {
		return nil
	}
	if already, ok := errors.AsType[*Broken](err); ok {
		return already
	}
	switch class := wire.ClassOf(err); class {
	case wire.Malformed, wire.Truncated, wire.Unsupported, wire.Limit, wire.Forbidden:
	default:
		return broken(Classed, "class %v: %v", class, err)
	}
	placed, ok := errors.AsType[*wire.Error](err)
	if !ok {
		return broken(Classed, "not a *wire.Error: %v", err)
	}
	if placed.Off < wire.NoOffset || placed.Off > size {
		return broken(Classed, "offset %#x in %d bytes: %v", placed.Off, size, err)
	}
	text := err.Error()
	if placed.Format == "" || len(text) > wire.MaxMessage || !utf8.ValidString(text) {
		return broken(Classed, "%d bytes of text, format %q", len(text), placed.Format)
	}
	for _, r := range text {
		if r != ' ' && !unicode.IsGraphic(r) {
			return broken(Classed, "the text shows %U: %q", r, text)
		}
	}
	return nil
}

// Cost runs f and returns the bytes allocated meanwhile, and those charged to the account.
// Nothing else may run at the same time.
func Cost(account *limits.Budget, f func()) (allocated, charged int64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return int64(after.TotalAlloc - before.TotalAlloc), account.Charged()
}
