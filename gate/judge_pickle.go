package gate

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// PickleFormat is the format name of a plain pickle.
const PickleFormat = "pickle"

// JoblibFormat is the format name of a plain pickle with arrays written by joblib.
const JoblibFormat = "joblib"

// judgePickle judges a plain pickle by all that it asks its loader for.
func judgePickle(_ *limits.Budget, o *opened) (report, error) {
	found, p := o.scan(), o.s.policy
	out := report{pickles: found.Pickles, format: plainFormat(found), err: found.Err, verified: found.Err == nil}
	out.summed = out.verified // it was read to its end
	for _, one := range found.Pickles {
		out.findings = append(out.findings, notes(one)...)
	}
	if out.err == nil {
		out.err = p.allowsFormat(out.format)
	}
	if out.err == nil && p.Limits.RefusesFormat("pth") {
		out.err = disallow(formatRule, "scan", "", "the policy refuses pickles (format pth)")
	}
	return p.onPickles(out, found), nil
}

// judgeCheckpoint judges a checkpoint of PyTorch: its pickles, and if they ask for nothing
// else than data, the model that they describe.
func judgeCheckpoint(b *limits.Budget, o *opened) (report, error) {
	denied := o.id.Refusal(b)
	found := o.scan()
	out := report{err: cmp.Or(denied, o.id.Explain(found.Err))}
	if out.err != nil {
		if head := o.refusedByHead(b, out.err); head != nil {
			return report{err: head}, nil
		}
	}
	switch {
	case out.err == nil && found.File == nil:
		out.err = errNotJudged
	case out.err == nil:
		if out.err = o.id.Note(o.account, found.File); out.err == nil {
			out = o.s.gate.examine(o.account, o.s.policy, found.File, true)
		}
		out.err = o.orByHead(b, out.err)
	case denied == nil && b.Policy().Quirk(pth.QuirkTensorsOnly): // whatever else it asks for
		out = o.tensorsOnly(b, out.err)
	}
	if wire.ClassOf(found.Err) == wire.Forbidden && wire.ClassOf(out.err) != wire.Internal {
		out.err = found.Err
	}
	out.pickles, out.format = found.Pickles, cmp.Or(out.format, "pth")
	return o.s.policy.onPickles(out, found), nil
}

// tensorsOnly reports the tensors of a checkpoint that is refused for err.
func (o *opened) tensorsOnly(b *limits.Budget, err error) report {
	b = b.Child(*b.Policy())
	defer b.Close()
	m, failed := o.id.Open(b, o.r)
	if failed != nil {
		return report{err: err}
	}
	defer m.Close()
	out := o.s.gate.examine(b, o.s.policy, m, true)
	out.err = cmp.Or(out.err, err)
	return out
}

// scan reads all pickles of the subject.
func (o *opened) scan() *pth.Report {
	return pth.ScanKnown(o.account, o.r, o.s.size, o.id.Known(), o.s.policy.refusal)
}

// onPickles adds the policy's decision about pickles to a report.
func (p *Policy) onPickles(out report, found *pth.Report) report {
	switch wire.ClassOf(out.err) {
	case wire.Internal, wire.Forbidden:
	case wire.OK:
		out.err = cmp.Or(p.noPickles(), p.asksTooMuch(found))
	default:
		out.err = cmp.Or(p.noPickles(), out.err)
	}
	if out.err == nil {
		out.allowed = p.onlyAllowed(found)
	}
	return out
}

// plainFormat returns the format of a plain pickle: joblib's if it describes arrays as
// joblib does.
func plainFormat(found *pth.Report) string {
	for _, p := range found.Pickles {
		for _, g := range p.Report.Graph.Globals() {
			if g.ID == vm.JoblibArray {
				return JoblibFormat
			}
		}
	}
	return PickleFormat
}

// onlyAllowed lists the globals that only the policy allows.
func (p *Policy) onlyAllowed(found *pth.Report) (list []string) {
	for _, one := range found.Pickles {
		for _, g := range one.Report.Graph.Globals() {
			if name := wire.Clean(g.String(), 256); p.allows(g) != notAllowed && !slices.Contains(list, name) {
				list = append(list, name)
			}
		}
	}
	return list
}

// notes returns a finding for everything unusual about a plain pickle.
func notes(p pth.Pickle) (list []tensor.Finding) {
	for _, n := range p.Report.Graph.Notes() {
		list = append(list, tensor.Finding{Code: n.Code, Severity: tensor.Warning, Where: p.Name, Off: n.Off, Text: n.Text})
	}
	return list
}
