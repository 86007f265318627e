package gate

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A Verdict is a gate's judgement of one file. It depends on no clock: exceptions expire by
// [Gate.Today].
type Verdict struct {
	Name     string
	Path     string // where [Gate.CheckPath] found it; the JSON does not say
	Size     int64
	Promised string // by the sender, or by the name
	SHA256   string // in hex, where [Gate.Digest] asks for it
	Format   string // what it is, "" if that is not known

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

	gate     *Gate
	openings []Opening
	proven   bool           // bodies were held to checksums
	account  *limits.Budget // what pickles hold
	refusals []Refusal      // of contents
	remote   []byte         // what another process wrote
	mine     int            // findings before those of contents
	more     int64          // findings of contents that are not listed
	stored   string         // where it lies, if not under its name
	unlisted bool           // there are more of them
	policy   *Policy        // for files of this name
}

// Totals sum up the tensors of a model.
type Totals struct{ Tensors, Elements, Bytes int64 }

func (t *Totals) add(i *tensor.Info) {
	t.Tensors++
	t.Elements = wire.AddCap(t.Elements, i.Elements())
	t.Bytes = wire.AddCap(t.Bytes, i.Bytes())
}

// Close frees the memory of the pickles.
func (v *Verdict) Close() {
	if v.account != nil {
		v.account.Close()
	}
}

// Class is the class of the outcome.
func (v *Verdict) Class() wire.Class { return wire.ClassOf(v.Err) }

// Accepted reports whether the file may pass.
func (v *Verdict) Accepted() bool { return v.Err == nil }

// Bodies says what is known about tensor data. "verified": all of it was read and compared
// with the checksums in the file. "read": all of it was read for the digest, and the format
// has no checksums. "not read": only the header was read, as for safetensors and GGUF.
func (v *Verdict) Bodies() string {
	switch {
	case v.Verified && v.proven:
		return "verified"
	case v.Verified && v.SHA256 != "":
		return "read"
	}
	return "not read"
}

// proves reports a model whose bodies were read and compared with their checksums.
func proves(m tensor.Model) bool {
	in, ok := m.(interface{ Container() *zip.Archive })
	return ok && in.Container() != nil
}

// open decodes a model and reads its bodies.
func (v *Verdict) open(b *limits.Budget, bodies bool, open func() (tensor.Model, error)) {
	m, err := open()
	if err != nil {
		v.Err = err
		return
	}
	defer m.Close()
	v.look(b, m, bodies)
}

// look holds a model to the policy, and reads its bodies.
func (v *Verdict) look(b *limits.Budget, m tensor.Model, bodies bool) {
	v.Format, v.Findings = m.Format(), m.Findings()
	if v.Err = v.policy.allowsModel(b, m); v.Err != nil {
		return
	}
	for i := range m.Tensors() {
		v.Totals.add(&i)
	}
	if !bodies {
		return
	}
	if v.Err = parser.Verify(b, m); v.Err != nil {
		return
	}
	v.proven = proves(m)
	if v.Verified = true; v.gate.Seen != nil {
		v.Err = v.gate.Seen(b, v, m)
	}
}

// promise refuses another format than the sender said.
func (v *Verdict) promise() {
	if v.Promised != "" && v.Err == nil && v.Format != v.Promised {
		v.Err = otherThanPromised(v.Promised, v.what())
	}
}

func otherThanPromised(promised, is string) error {
	return disallow(promiseRule, "gate", "", "%s was promised, and it is %s", wire.Quote(promised), wire.Quote(is))
}

// what the file is, in a word.
func (v *Verdict) what() string {
	if v.Format == "" {
		return "no model"
	}
	return v.Format
}

// hash is the SHA-256 of the file.
func (v *Verdict) hash(b *limits.Budget, r io.ReaderAt) error {
	if v.SHA256 != "" {
		return nil
	}
	s, ok := r.(*summed)
	if !ok {
		s = newSummed(r, v.Size)
	}
	sum, err := s.sum(b)
	v.SHA256 = sum
	return v.unread(b, err)
}

// unread is why the rest of a file could not be read: the verdict says so, unless the
// context ended, which is the error.
func (v *Verdict) unread(b *limits.Budget, err error) error {
	if lost := lost(b, err); lost != nil {
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
	return v.first(func(p *pth.Pickle) (vm.Verdict, bool) { return p.Report.Safe, true })
}

// WeightsOnly is the verdict of PyTorch's restricted loader, which does not read additional
// pickles in a checkpoint.
func (v *Verdict) WeightsOnly() vm.Verdict {
	out := v.first(func(p *pth.Pickle) (vm.Verdict, bool) { return p.Report.WeightsOnly, !p.Beside })
	if c := v.Class(); out.OK && c != wire.OK && c != wire.Forbidden {
		// The pickles are taken, but what they lead to is not sound.
		out.OK, out.Unsure = false, true
		out.Reasons = []vm.Reason{{Code: c.String(), Off: wire.NoOffset, Unsure: true, Text: v.Err.Error()}}
	}
	return out
}

// first is a verdict that is sure to refuse, else one that may, else one that does
// not.
func (v *Verdict) first(of func(*pth.Pickle) (vm.Verdict, bool)) (out vm.Verdict) {
	found := false
	for i := range v.Pickles {
		one, counts := of(&v.Pickles[i])
		if counts && (!found || out.OK || out.Unsure && !one.OK && !one.Unsure) {
			out, found = one, true
		}
	}
	return out
}
