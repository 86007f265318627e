package vm

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// mostUnmet bounds the names in one refusal.
const mostUnmet = 32

// RefusalBut is [Report.Refusal] for a caller who excuses some of the events. It is nil if
// nothing is left, and otherwise names everything that is, in one list. Objections of a loader
// that reads the arrays of joblib differently are not excused: its events are not in this
// report.
func (r *Report) RefusalBut(excuses func(*Event) bool) error {
	if _, ok := errors.AsType[*Forbidden](r.forbidden); !ok || r.differ {
		return r.Refusal()
	}
	var first *Forbidden
	var names []string
	more := 0
	for e := range r.Events() {
		if e.OK || excuses(&e) {
			continue
		}
		if first == nil {
			first = r.forbiddenBy(&e)
		}
		switch name := e.name(); {
		case slices.Contains(names, name):
		case len(names) == mostUnmet:
			more++
		default:
			names = append(names, name)
		}
	}
	if first == nil {
		return r.Err
	}
	if len(names) > 1 {
		first.Reason += fmt.Sprintf("; in all it asks for %s", strings.Join(names, ", "))
		if more > 0 {
			first.Reason += " and more"
		}
	}
	return &wire.Error{Format: Format, Where: r.forbiddenWhere(first.Off), Off: first.Off, Err: first}
}

// name says what an event uses, and how.
func (e *Event) name() string {
	module, name, _ := e.On.g.who(e.On.r)
	what := wire.Quote(module + "." + name)
	if e.Use == UseGlobal {
		return what
	}
	return what + " (" + e.Use.String() + ")"
}

// forbiddenBy returns the refusal of an event, with the reason that was noted for it.
func (r *Report) forbiddenBy(e *Event) *Forbidden {
	out := &Forbidden{Off: e.Off}
	out.Module, out.Name, out.Status = e.On.g.who(e.On.r)
	prefix := (&Forbidden{Module: out.Module, Name: out.Name, Status: out.Status}).text()
	for _, why := range r.Safe.Reasons {
		if why.Off == e.Off && why.Code == e.Use.String() {
			out.Reason = strings.TrimPrefix(strings.TrimPrefix(why.Text, prefix), ": ")
			return out
		}
	}
	out.Reason = e.Use.String()
	return out
}

func (r *Report) forbiddenWhere(off int64) string {
	for e := range r.Events() {
		if e.Off == off {
			return e.Op
		}
	}
	return ""
}
