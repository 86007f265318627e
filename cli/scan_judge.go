package cli

import (
	"slices"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A scanReport is what a scan says of one file.
type scanReport struct {
	*gate.Verdict

	path    string
	given   bool
	skipped string // why it was not judged, or not looked at
}

// class is what the file came to.
func (rep *scanReport) class() wire.Class { return rep.Class() }

// rules are those by which the file is refused.
func (rep *scanReport) rules() []string { return rulesOf(rep.Verdict) }

func rulesOf(v *gate.Verdict) (list []string) {
	for _, r := range v.Refusals() {
		if !slices.Contains(list, r.Rule) {
			list = append(list, r.Rule)
		}
	}
	return list
}

// callsOf counts what a pickle asks its loader to do.
func callsOf(p *vm.Report) (called, stored int64) {
	for e := range p.Events() {
		switch e.Use {
		case vm.UseCall:
			called++
		case vm.UsePersistent:
			stored++
		}
	}
	return called, stored
}

// isPlain reports a pickle that is no checkpoint.
func isPlain(format string) bool { return format == gate.PickleFormat || format == gate.JoblibFormat }
