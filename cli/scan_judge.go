package cli

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/unwrap"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A scanReport is what a scan says of one file.
type scanReport struct {
	path     string
	given    bool
	skipped  string // why it was not judged: it is harmless
	unlooked string // why it was not looked at, although it could hold a model
	err      error
	format   string
	size     int64
	verified bool
	total    group
	findings []tensor.Finding
	pickles  []pth.Pickle
	close    func() // gives back what the pickles hold
}

// pickleFormat is what a plain pickle is called.
const pickleFormat = "pickle"

// pickleNames end names that promise a pickle.
var pickleNames = []string{".pkl", ".pickle", ".joblib", ".p", ".pck", ".dill"}

// judge looks at one file as a model and, if it has pickles, at those.
func (sc *scanner) judge(ctx context.Context, sub *subject) *scanReport {
	rep := &scanReport{path: sub.path, given: sub.given, size: sub.size}
	b := sc.s.policy.Budget(ctx)
	defer b.Close()
	rep.open(b, func() (tensor.Model, error) {
		if sub.path == "-" {
			return parser.Decode(b, sub.r, sub.size)
		}
		return parser.OpenFS(b, scanFS{sub}, sub.alias())
	})
	// An account of its own: the first one still holds the model.
	account := sc.s.policy.Budget(ctx)
	rep.close = account.Close
	switch kind := rep.kind(account, sub); kind {
	case asModel:
	case asCheckpoint, asPickle:
		rep.scan(pth.Scan(account, sub.r, sub.size), kind)
		rep.refuse(&sc.s.policy)
	default:
		rep.beside(account, sub)
	}
	return rep
}

// beside is for a file of a folder that is no model and promises none: it is
// harmless, or it could hold one.
func (rep *scanReport) beside(b *limits.Budget, sub *subject) {
	what, err := unwrap.Harmless(b, sub.r, sub.size)
	switch {
	case err != nil:
		rep.err = wire.At("scan", "", wire.NoOffset, err)
	case what != "":
		rep.skipped = what
	default:
		rep.unlooked = strings.TrimPrefix(bareText(rep.err), "this is ")
	}
}

// refuse holds a plain pickle to a policy that refuses checkpoints, which are
// pickles, too.
func (rep *scanReport) refuse(p *limits.Policy) {
	if rep.format == pickleFormat && rep.err == nil && p.RefusesFormat("pth") {
		rep.err = wire.At("scan", "", wire.NoOffset, wire.ErrForbidden.With("the policy refuses pickles (format pth)"))
	}
}

// A scanKind is how a file is judged.
type scanKind uint8

const (
	notAtAll scanKind = iota
	asModel
	asCheckpoint
	asPickle
)

// kind decides by content; the name only promises.
func (rep *scanReport) kind(b *limits.Budget, sub *subject) scanKind {
	e, _ := placed(rep.err)
	switch {
	case rep.format == "pth", e.Format == "pth", e.Format == vm.Format && isCheckpoint(sub):
		return asCheckpoint
	case rep.err == nil || wire.ClassOf(rep.err) == wire.Internal || e.Format != "detect" && e.Format != "":
		return asModel
	case looksPickled(b, sub):
		return asPickle
	case sub.given || promises(sub.name):
		return asModel
	default:
		return notAtAll
	}
}

// isCheckpoint tells a legacy checkpoint from a plain pickle.
func isCheckpoint(sub *subject) bool {
	k := sniff(sub)
	return k == pth.KindArchive || k == pth.KindLegacy
}

func sniff(sub *subject) pth.Kind {
	var buf [pth.SniffLen]byte
	head := buf[:min(sub.size, pth.SniffLen)]
	if wire.ReadFull(sub.r, head, 0) != nil {
		return pth.KindNone
	}
	k, _ := pth.Sniff(head)
	return k
}

// promises reports a name that ends like those of models or pickles.
func promises(name string) bool {
	ext := strings.ToLower(path.Ext(name))
	for _, f := range parser.Formats() {
		if slices.Contains(f.Extensions, ext) {
			return true
		}
	}
	return false
}

// looksPickled reports a pickle: by its first bytes; by its name; or, since
// protocols 0 and 1 begin like text, because running it comes to a call, or to
// its end. What a ceiling ends before that is for the scan to say.
func looksPickled(b *limits.Budget, sub *subject) bool {
	if sniff(sub) == pth.KindPickle || sub.size > 0 && slices.Contains(pickleNames, strings.ToLower(path.Ext(sub.name))) {
		return true
	}
	is, err := unwrap.Pickle(b, sub.r, sub.size)
	return is || err != nil
}

// scan adds what the pickles ask for.
func (rep *scanReport) scan(found *pth.Report, kind scanKind) {
	rep.pickles = found.Pickles
	switch {
	case kind == asPickle:
		rep.format, rep.err, rep.verified = pickleFormat, found.Err, found.Err == nil
		for _, p := range found.Pickles {
			rep.note(p)
		}
	case rep.err == nil || wire.ClassOf(found.Err) == wire.Forbidden && wire.ClassOf(rep.err) != wire.Internal:
		rep.err = found.Err
	}
	if rep.format == "" {
		rep.format = "pth"
	}
}

// note lists what is unusual about a plain pickle.
func (rep *scanReport) note(p pth.Pickle) {
	for _, n := range p.Report.Graph.Notes() {
		rep.findings = append(rep.findings, tensor.Finding{Code: n.Code, Severity: tensor.Warning, Where: p.Name, Off: n.Off, Text: n.Text})
	}
}

// class is what the file came to.
func (rep *scanReport) class() wire.Class { return wire.ClassOf(rep.err) }

// bareText is an error without its place.
func bareText(err error) string {
	e, ok := placed(err)
	if !ok {
		return flagged(err)
	}
	return strings.TrimPrefix(flagged(e.Err), wire.ErrUnsupported.Error()+": ")
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
