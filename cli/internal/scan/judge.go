package scan

import (
	"github.com/anamnesis-go/anamnesis/cli/internal/report"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A scanReport is the result of a scan of one file.
type scanReport struct {
	*gate.Verdict

	path    string
	given   bool
	skipped string // why it was skipped or not examined, or ""
}

// class returns the class of the verdict, which decides the exit code.
func (rep *scanReport) class() wire.Class { return rep.Class() }

// rules returns the rules by which the file is refused.
func (rep *scanReport) rules() []string { return report.RulesOf(rep.Verdict) }

// callsOf counts the calls and the persistent ids of a pickle.
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

// isPlain reports whether the format is a pickle that is not a checkpoint.
func isPlain(format string) bool { return format == gate.PickleFormat || format == gate.JoblibFormat }
