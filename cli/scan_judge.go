package cli

import (
	"context"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A scanReport is what a scan says of one file.
type scanReport struct {
	*gate.Verdict

	path    string
	given   bool
	skipped string         // why it was not judged, or not looked at
	b       *limits.Budget // of the verdict
}

// failed is the report of a file that could not be judged.
func (sc *scanner) failed(path string, given bool, err error) *scanReport {
	return &scanReport{Verdict: sc.gate.Failed(path, err), path: path, given: given}
}

// judge looks at one file.
func (sc *scanner) judge(ctx context.Context, sub *subject) (*scanReport, error) {
	b := sc.s.policy.Budget(ctx)
	v, err := sc.gate.Check(b, sub.r, sub.size, gate.Hint{Name: sub.name, Beside: !sub.given})
	if err != nil {
		b.Close()
		return nil, err
	}
	return &scanReport{Verdict: v, path: sub.path, given: sub.given, b: b}, nil
}

// judgeModel looks at a model that is found by its name.
func (sc *scanner) judgeModel(ctx context.Context, path string, given, bodies bool, open func(*limits.Budget) (tensor.Model, error)) (*scanReport, error) {
	b := sc.s.policy.Budget(ctx)
	v, err := sc.gate.CheckModel(b, path, bodies, func() (tensor.Model, error) { return open(b) })
	if err != nil {
		b.Close()
		return nil, err
	}
	return &scanReport{Verdict: v, path: path, given: given, b: b}, nil
}

// close gives back what the verdict holds.
func (rep *scanReport) close() {
	rep.Close()
	if rep.b != nil {
		rep.b.Close()
	}
}

// class is what the file came to.
func (rep *scanReport) class() wire.Class { return rep.Class() }

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
