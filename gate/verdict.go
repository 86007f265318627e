package gate

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A Verdict is a gate's judgement of one file. It depends on no clock: exceptions expire by
// [Gate.Today].
//
// Only the end of a judgement makes a verdict that is accepted. The zero Verdict, and one
// that a program fills in itself, are refusals of class Internal.
type Verdict struct {
	Name     string
	Path     string // where [Gate.CheckPath] found it; not in the JSON
	Size     int64
	Promised string // the format that the sender stated, or else the name promises
	SHA256   string // in hex, if [Gate.Digest] is set
	Format   string // "" if unknown

	// Err is the reason of the refusal, or nil. parser.ClassOf returns its class.
	Err error
	// Harmless says why no loader takes the file for a model; such a file is accepted.
	Harmless string
	// Excluded says that [Gate.Exclude] left the file out; it was not judged.
	Excluded bool
	// Unlooked says why the file was not looked at although it could hold a model.
	Unlooked string
	// Verified says that everything was checked which the format allows to check.
	// [Verdict.Bodies] says how much of the bodies was read.
	Verified bool

	Totals   Totals
	Findings []tensor.Finding
	Pickles  []pth.Pickle
	// Contents are the contents of an archive or a compressed file, nil for any other file.
	Contents []Content
	// Templates are the chat templates of a text beside a model, if [Gate.Digest] is set.
	Templates []Template
	// Allowed are the globals of its pickles that only the policy allows.
	Allowed []string
	// Ignored are refusals suppressed by an exception of the policy, and findings whose
	// rule it turns off.
	Ignored []Refusal
	// Expired are exceptions that would apply if they had not expired.
	Expired []Exception

	end              outcome
	asked            asked
	accepted         Accepted // if it has a digest
	gate             *Gate
	openings         []Opening
	summed           bool           // bodies were compared with checksums
	account          *limits.Budget // holds the pickles
	refusals         []Refusal      // refusals of contents
	remote           []byte         // JSON written by another process
	ownCount         int            // how many findings precede those of contents
	unlistedFindings int64          // number of findings of contents that are not listed
	stored           string         // where the file is stored, if not under its name
	unlistedRefusals bool           // there are more refusals of contents
	policy           *Policy        // the policy for files of this name
	unchanged        watch          // says whether the file is still what was read
	listing          []File         // of a folder
	beside           bool           // it is no model: it counts for none in its folder
	dirHash          string         // of a folder, if its files have digests
}

// BesideModel reports whether no loader takes the file for a model: it is harmless, or it belongs
// beside a model, such as a configuration.
func (v *Verdict) BesideModel() bool {
	return v != nil && (v.Harmless != "" || v.beside)
}

// Totals sum up the tensors of a model.
type Totals struct{ Tensors, Elements, Bytes int64 }

func (t *Totals) add(i *tensor.Info) {
	t.Tensors++
	t.Elements = wire.AddCap(t.Elements, i.Elements())
	t.Bytes = wire.AddCap(t.Bytes, i.Bytes())
}

// A draft is a verdict in the making. It has no acceptance: [draft.conclude] gives that.
type draft Verdict

// Close frees the memory of the pickles.
func (v *draft) Close() {
	if v != nil && v.account != nil {
		v.account.Close()
	}
}

// Class returns the class of what was found so far.
func (v *draft) Class() wire.Class { return wire.ClassOf(v.Err) }

// Close frees the memory of the pickles.
func (v *Verdict) Close() { (*draft)(v).Close() }

// Class returns the class of the outcome: OK for a file that is accepted, or that was left
// out on request.
func (v *Verdict) Class() wire.Class { return wire.ClassOf(v.reason()) }

// Accepted reports whether the file may pass. [Verdict.Acceptance] says which bytes.
func (v *Verdict) Accepted() bool { return v != nil && v.end == passed && v.Err == nil }

// reason returns why the file is refused, or nil.
func (v *Verdict) reason() error {
	if v == nil {
		return errNotJudged
	}
	if v.Err == nil && v.end != passed && v.end != leftOut {
		return errNotJudged
	}
	return v.Err
}

// Refusals are the reasons why the file is refused: every forbidden request of its pickles,
// or the error that ended the judgement.
func (v *Verdict) Refusals() []Refusal {
	if err := v.reason(); err != nil && (v == nil || v.Err == nil) {
		return []Refusal{{Rule: "gate.internal", Class: wire.Internal, Off: wire.NoOffset, Text: err.Error()}}
	}
	return (*draft)(v).Refusals()
}

// Bodies says what is known about tensor data. "verified": all of it was read and compared
// with the checksums in the file. "read": all of it was read for the digest, and the format
// has no checksums. "not read": only the header was read, as for safetensors and GGUF.
func (v *Verdict) Bodies() string {
	switch {
	case v == nil:
	case v.Verified && v.summed:
		return "verified"
	case v.Verified && (v.SHA256 != "" || v.dirHash != ""):
		return "read"
	}
	return "not read"
}

// checkPromise refuses a file of another format than was promised.
func (v *draft) checkPromise() {
	if v.Promised != "" && v.Err == nil && v.Format != v.Promised {
		v.Err = otherThanPromised(v.Promised, v.formatName())
	}
}

func otherThanPromised(promised, is string) error {
	return disallow(promiseRule, "gate", "", "%s was promised, and it is %s", wire.Quote(promised), wire.Quote(is))
}

// formatName returns the format for messages.
func (v *draft) formatName() string {
	if v.Format == "" {
		return "no model"
	}
	return v.Format
}

// hash sets the SHA-256 of the file.
func (v *draft) hash(b *limits.Budget, r io.ReaderAt) error {
	if v.SHA256 != "" {
		return nil
	}
	s, ok := r.(*hashingReader)
	if !ok {
		s = newHashingReader(r, v.Size)
	}
	sum, err := s.sum(b)
	v.SHA256 = sum
	return v.readFailed(b, err)
}

// readFailed records that the rest of the file could not be read. It returns the error
// only if the context ended.
func (v *draft) readFailed(b *limits.Budget, err error) error {
	if lost := contextError(b, err); lost != nil {
		return lost
	}
	if err != nil {
		v.Err = err
	}
	return nil
}

// Safe is our verdict about all pickles: that of the first refused one, if any. It is empty
// for a file without pickles.
func (v *Verdict) Safe() vm.Verdict {
	return v.strictest(func(p *pth.Pickle) (vm.Verdict, bool) { return p.Report.Safe, true })
}

// WeightsOnly is the verdict of PyTorch's restricted loader, which does not read additional
// pickles in a checkpoint.
func (v *Verdict) WeightsOnly() vm.Verdict {
	out := v.strictest(func(p *pth.Pickle) (vm.Verdict, bool) { return p.Report.WeightsOnly, !p.Beside })
	if c := v.Class(); out.OK && c != wire.OK && c != wire.Forbidden {
		// The loader accepts the pickles, but what they refer to is damaged.
		out.OK, out.Unsure = false, true
		out.Reasons = []vm.Reason{{Code: c.String(), Off: wire.NoOffset, Unsure: true, Text: v.Err.Error()}}
	}
	return out
}

// strictest returns the first of the worst verdicts: a sure refusal, else a possible one,
// else acceptance. of returns the verdict of a pickle, and whether it counts.
func (v *Verdict) strictest(of func(*pth.Pickle) (vm.Verdict, bool)) (out vm.Verdict) {
	if v == nil {
		return out
	}
	found := false
	for i := range v.Pickles {
		one, counts := of(&v.Pickles[i])
		if counts && (!found || out.OK || out.Unsure && !one.OK && !one.Unsure) {
			out, found = one, true
		}
	}
	return out
}
