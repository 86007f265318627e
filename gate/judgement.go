package gate

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/unwrap"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/internal/wrap"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A way is how a file is judged.
type way uint8

const (
	notAtAll way = iota
	asModel
	asCheckpoint
	asPickle
	asWrapper
	asONNX
)

// PickleFormat is the format name of a plain pickle.
const PickleFormat = "pickle"

// pickleNames end names that promise a pickle.
var pickleNames = map[string]bool{".pkl": true, ".pickle": true, ".joblib": true, ".p": true, ".pck": true, ".dill": true}

// kind decides by content; the name only promises.
func (j *judgement) kind(k *wrap.Kind) way {
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

// promises reports a name that ends like those of models.
func promises(name string) bool { return promised(name) != "" }

// promised is the format that a name promises.
func promised(name string) string {
	ext := strings.ToLower(path.Ext(name))
	for _, f := range parser.Formats() {
		for _, e := range f.Extensions {
			if e == ext {
				return f.Name
			}
		}
	}
	return ""
}

// looksPickled reports a pickle: by its first bytes; by its name; or, since
// protocols 0 and 1 begin like text, because running it comes to a call, or to its
// end. What a ceiling ends before that is for the scan to say.
func (j *judgement) looksPickled() bool {
	if j.sniff() == pth.KindPickle || j.Size > 0 && pickleNames[strings.ToLower(path.Ext(j.hint.Name))] {
		return true
	}
	is, err := unwrap.Pickle(j.account, j.r, j.Size)
	return is || err != nil
}

// JoblibFormat is the format name of a plain pickle with arrays written by joblib.
const JoblibFormat = "joblib"

// scan adds what the pickles ask for.
func (j *judgement) scan(found *pth.Report, kind way) {
	j.Pickles = found.Pickles
	switch {
	case kind == asPickle:
		j.Format, j.Err, j.Verified = plainFormat(found), found.Err, found.Err == nil
		j.proven = j.Verified // it was read to its end
		for _, p := range found.Pickles {
			j.note(p)
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
		// The policy allows what it was refused for.
		if j.look(j.account, found.File, true); j.Err == nil {
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
		j.allow(found)
	}
}

// isPickleError reports a refusal of what a pickle asks for.
func isPickleError(err error) bool {
	_, ok := errors.AsType[*vm.Forbidden](err)
	return ok
}

// misnamed is the finding about a name that promises another format, which a model
// that is opened by its name has from package parser.
func (j *judgement) misnamed(format string) error {
	name := promised(j.hint.Name)
	if name == "" || name == format {
		return nil
	}
	const code = "detect.name"
	if j.policy.Limits.RefusesFinding(code) {
		return wire.At("detect", "", wire.NoOffset, wire.ErrForbidden.By(code).With("the policy refuses finding %s", code))
	}
	j.Findings = append(slices.Clip(j.Findings), tensor.Finding{
		Code: code, Severity: tensor.Warning, Off: wire.NoOffset, Text: "the name promises " + name + ", but the content is " + format,
	})
	return nil
}

// plainFormat tells pickles of joblib from others: by what describes their arrays.
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

// allow lists the globals that only the policy allows.
func (j *judgement) allow(found *pth.Report) {
	for _, p := range found.Pickles {
		for _, g := range p.Report.Graph.Globals() {
			if name := wire.Clean(g.String(), 256); j.policy.allows(g) != notAllowed && !slices.Contains(j.Allowed, name) {
				j.Allowed = append(j.Allowed, name)
			}
		}
	}
}

// note lists what is unusual about a plain pickle.
func (j *judgement) note(p pth.Pickle) {
	for _, n := range p.Report.Graph.Notes() {
		j.Findings = append(j.Findings, tensor.Finding{Code: n.Code, Severity: tensor.Warning, Where: p.Name, Off: n.Off, Text: n.Text})
	}
}
