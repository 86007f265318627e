package gate

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A fileKind says how a file is judged.
type fileKind uint8

const (
	notAtAll fileKind = iota
	asModel
	asCheckpoint
	asPickle
	asWrapper
	asONNX
	asHDF5
)

// PickleFormat is the format name of a plain pickle.
const PickleFormat = "pickle"

// pickleNames are the extensions that promise a pickle.
var pickleNames = map[string]bool{".pkl": true, ".pickle": true, ".joblib": true, ".p": true, ".pck": true, ".dill": true}

// classify returns how to judge the file. Its content decides; its name is only a
// promise.
func (j *judgement) classify(k *unpack.Kind) fileKind {
	e, _ := errors.AsType[*parser.Error](j.Err)
	format := ""
	if e != nil {
		format = e.Format
	}
	switch {
	case j.Format == "pth", format == "pth", format == vm.Format && j.isCheckpoint():
		return asCheckpoint
	case j.Err == nil || wire.ClassOf(j.Err) == wire.Internal || format != "detect" && format != "":
		return asModel
	case k != nil:
		return asWrapper
	case j.looksPickled():
		return asPickle
	case j.promisesONNX():
		return asONNX
	case j.isHDF5():
		return asHDF5
	case !j.hint.Beside || promises(j.hint.Name):
		return asModel
	}
	return notAtAll
}

// isCheckpoint tells a legacy checkpoint from a plain pickle.
func (j *judgement) isCheckpoint() bool {
	k := j.sniff()
	return k == pth.KindArchive || k == pth.KindLegacy
}

func (j *judgement) sniff() pth.Kind {
	var buf [pth.SniffLen]byte
	head := buf[:min(j.Size, pth.SniffLen)]
	if wire.ReadFull(j.r, head, 0) != nil {
		return pth.KindNone
	}
	k, _ := pth.Sniff(head)
	return k
}

// promises reports whether a name has the extension of a model.
func promises(name string) bool { return promised(name) != "" }

// promised returns the format that a name promises, or "".
func promised(name string) string {
	return formatOf()[strings.ToLower(path.Ext(name))]
}

// formatOf has the format of each extension.
var formatOf = sync.OnceValue(func() map[string]string {
	of := map[string]string{}
	for _, f := range parser.Formats() {
		for _, e := range f.Extensions {
			of[e] = cmp.Or(of[e], f.Name) // the first one
		}
	}
	return of
})

// looksPickled reports whether the file is a pickle: by its first bytes, by its name, or,
// since protocols 0 and 1 begin like text, because running it reaches a call or its end.
// If a limit ends the run before that, the scan reports it.
func (j *judgement) looksPickled() bool {
	if j.sniff() == pth.KindPickle || j.Size > 0 && pickleNames[strings.ToLower(path.Ext(j.hint.Name))] {
		return true
	}
	is, err := polyglot.Pickle(j.account, j.r, j.Size)
	return is || err != nil
}

// JoblibFormat is the format name of a plain pickle with arrays written by joblib.
const JoblibFormat = "joblib"

// scan adds the result of scanning the pickles to the verdict.
func (j *judgement) scan(found *pth.Report, kind fileKind) {
	j.Pickles = found.Pickles
	switch {
	case kind == asPickle:
		j.Format, j.Err, j.Verified = plainFormat(found), found.Err, found.Err == nil
		j.summed = j.Verified // it was read to its end
		for _, p := range found.Pickles {
			j.addNotes(p)
		}
		if j.Err == nil {
			j.Err = j.policy.allowsFormat(j.Format)
		}
		if j.Err == nil && j.policy.Limits.RefusesFormat("pth") {
			j.Err = disallow(formatRule, "scan", "", "the policy refuses pickles (format pth)")
		}
	case j.Err == nil || wire.ClassOf(found.Err) == wire.Forbidden && wire.ClassOf(j.Err) != wire.Internal:
		j.Err = found.Err
	case found.Err == nil && found.File != nil && isPickleError(j.Err):
		// The policy allows everything that the pickle was refused for.
		if j.examine(j.account, found.File, true); j.Err == nil {
			j.Err = j.misnamed("pth")
		}
	}
	if j.Format == "" {
		j.Format = "pth"
	}
	switch wire.ClassOf(j.Err) {
	case wire.Internal, wire.Forbidden:
	case wire.OK:
		j.Err = cmp.Or(j.policy.noPickles(), j.policy.asksTooMuch(found))
	default:
		j.Err = cmp.Or(j.policy.noPickles(), j.Err)
	}
	if j.Err == nil {
		j.listAllowed(found)
	}
}

// isPickleError reports whether err refuses a request of a pickle.
func isPickleError(err error) bool {
	_, ok := errors.AsType[*vm.Forbidden](err)
	return ok
}

// misnamed adds the finding about a name that promises another format. Package parser
// reports it for models that are opened by name.
func (j *judgement) misnamed(format string) error {
	name := promised(j.hint.Name)
	if name == "" || name == format {
		return nil
	}
	const code = "detect.name"
	if j.policy.Limits.RefusesFinding(code) {
		return wire.At("detect", "", wire.NoOffset, wire.ErrForbidden.WithRule(code).Errorf("the policy refuses finding %s", code))
	}
	j.Findings = append(slices.Clip(j.Findings), tensor.Finding{
		Code: code, Severity: tensor.Warning, Off: wire.NoOffset, Text: "the name promises " + name + ", but the content is " + format,
	})
	return nil
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

// listAllowed lists the globals that only the policy allows.
func (j *judgement) listAllowed(found *pth.Report) {
	for _, p := range found.Pickles {
		for _, g := range p.Report.Graph.Globals() {
			if name := wire.Clean(g.String(), 256); j.policy.allows(g) != notAllowed && !slices.Contains(j.Allowed, name) {
				j.Allowed = append(j.Allowed, name)
			}
		}
	}
}

// addNotes adds a finding for everything unusual about a plain pickle.
func (j *judgement) addNotes(p pth.Pickle) {
	for _, n := range p.Report.Graph.Notes() {
		j.Findings = append(j.Findings, tensor.Finding{Code: n.Code, Severity: tensor.Warning, Where: p.Name, Off: n.Off, Text: n.Text})
	}
}
