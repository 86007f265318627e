package report

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/gate"
)

// JSONExceptions writes what the policy allows and suppresses, and expired exceptions.
func JSONExceptions(o *jsonout.Object, rep *gate.Verdict) {
	if len(rep.Ignored) > 0 {
		o.List("ignored", func(add func(func(*jsonout.Object))) {
			for _, r := range rep.Ignored {
				add(func(o *jsonout.Object) {
					o.Field("rule", r.Rule)
					if r.Exception != nil {
						o.Text("reason", r.Exception.Reason)
						o.Field("expires", r.Exception.Expires)
					}
				})
			}
		})
	}
	if len(rep.Expired) > 0 {
		o.List("expired", func(add func(func(*jsonout.Object))) {
			for _, e := range rep.Expired {
				add(func(o *jsonout.Object) {
					o.Field("rule", e.Rule)
					o.Text("reason", e.Reason)
					o.Field("expires", e.Expires)
				})
			}
		})
	}
	if len(rep.Allowed) > 0 {
		o.List("allowed_globals", func(add func(func(*jsonout.Object))) {
			for _, name := range rep.Allowed {
				add(func(o *jsonout.Object) { o.Text("name", name) })
			}
		})
	}
}

func RulesOf(v *gate.Verdict) (list []string) {
	for _, r := range v.Refusals() {
		if !slices.Contains(list, r.Rule) {
			list = append(list, r.Rule)
		}
	}
	return list
}

// ExceptionLines describes the exceptions that applied or have expired.
func ExceptionLines(v *gate.Verdict) (list []string) {
	for _, r := range v.Ignored {
		why := "the policy turns the rule off"
		if r.Exception != nil {
			if why = "excepted: " + term.Tidy(r.Exception.Reason, 256); r.Exception.Expires != "" {
				why += " (until " + r.Exception.Expires + ")"
			}
		}
		list = append(list, "ignored: "+r.Rule+": "+why)
	}
	for _, e := range v.Expired {
		list = append(list, fmt.Sprintf("expired: the exception for %s ran out on %s: %s", term.Tidy(e.Rule, 64), e.Expires, term.Tidy(e.Reason, 256)))
	}
	return list
}
