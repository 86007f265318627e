package gate

import (
	"io"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A file, and each content of one, is judged in four stages, with a value between each two:
//
//	identify  what could it be?                     subject -> parser.Identity
//	open      which of these is it?                 -> opened
//	judge     what is wrong with it as that kind?   -> report
//	policy    which of that refuses it?             -> draft, and at the end the Verdict
//
// No stage changes what an earlier one returned.

// A subject is what is judged.
type subject struct {
	gate   *Gate
	policy *Policy // for files of its name
	hint   Hint
	size   int64
	bytes  io.ReaderAt // as the caller gave it, or digested while it is read
	layer  int         // how many wrappers enclose it
	outer  string      // prefix of the names of its contents
	asked  bool        // which loaders would open it
}

// subject returns a file that is judged by itself.
func (g *Gate) subject(r io.ReaderAt, size int64, h Hint) *subject {
	g = g.indexed()
	return &subject{gate: g, policy: g.Policy.For(h.Name), hint: h, size: size, bytes: r}
}

// An opened is a subject with what it was opened as.
type opened struct {
	s       *subject
	id      *parser.Identity
	r       io.ReaderAt     // the subject, what the identity read of it in memory
	as      parser.Proposal // the zero value is something else than all proposals
	model   tensor.Model    // of a kind that is opened as one, unless why says why not
	held    *limits.Budget  // of the model
	account *limits.Budget  // of the judgement; the verdict keeps it if it has pickles
	why     error           // why it is not opened as a model
}

// A report is the result of a judge for a subject. The report of a wrapper includes those of its
// contents, each under the policy for its name.
type report struct {
	err                error // what is wrong, nil for nothing
	format             string
	harmless, unlooked string
	beside             bool // it is no model, whatever was found in it
	verified, summed   bool
	totals             Totals
	findings           []tensor.Finding
	ownCount           int // how many findings precede those of contents
	pickles            []pth.Pickle
	allowed            []string
	templates          []Template

	contents         []Content // nil unless it was unpacked
	ignored          []Refusal
	expired          []Exception
	refusals         []Refusal // of contents
	unlistedRefusals bool
	unlistedFindings int64
	starts           []int64 // places of contents at which h5py would look for a file

	openings []Opening
	account  *limits.Budget // holds the pickles
}

// A judge says what is wrong with a subject that was opened as its kind. Its error is that
// of a context which ended.
type judge func(b *limits.Budget, o *opened) (report, error)

// judges has the judge of each kind that is not judged like all others which open alike.
var judges = map[string]judge{
	"dcp":    judgePart,
	"pth":    judgeCheckpoint,
	"onnx":   judgeONNX,
	"hdf5":   judgeHDF5,
	"tflite": judgeTFLite,

	"tfbundle": judgePart,
}

// judgeOf returns the judge of what a subject was opened as.
func judgeOf(as parser.Proposal) judge {
	if j, ok := judges[as.Kind]; ok {
		return j
	}
	switch as.Opens {
	case parser.AsModel:
		return judgeModel
	case parser.AsPickle:
		return judgePickle
	case parser.AsPacked:
		return judgePacked
	}
	return judgeOther
}

// fileSteps are the steps of opening and judging a file or a content, whatever it holds, and those
// of a folder or a link of a walk: it takes some 50 microseconds with the accounts that are opened and
// collected, and a step 100 nanoseconds.
const fileSteps = 500

// report goes through the stages that come before the policy.
func (s *subject) report(b *limits.Budget) (out report, err error) {
	if err := b.Step(fileSteps); err != nil {
		err = wire.At("scan", "", wire.NoOffset, err)
		return report{err: err}, contextError(b, err)
	}
	known := b.Child(*b.Policy())
	defer known.Close()
	id, err := parser.Identify(known, s.bytes, s.size, s.hint.Name)
	if err != nil {
		return report{err: err}, contextError(b, err)
	}
	defer id.Close()
	o := s.open(b, id)
	defer func() {
		if o.close(); err != nil || out.account == nil {
			o.account.Close()
		}
	}()
	if out, err = judgeOf(o.as)(b, o); err != nil {
		return out, err
	}
	if err := contextError(b, out.err); err != nil {
		return out, err
	}
	out = o.checkPlace(o.checkHDF5(out))
	if s.asked {
		out.openings = o.opens(b, &out)
	}
	out.account = o.account
	return out, contextError(b, out.err)
}

// open opens the subject as the first proposal that is sure or proven.
func (s *subject) open(b *limits.Budget, id *parser.Identity) *opened {
	o := &opened{s: s, id: id, r: id.Over(s.bytes), why: id.Explain(id.Err)}
	var head error
	if id.Err != nil {
		head = o.refusedByHead(b, id.Err)
	}
	if id.Packing != "" && id.Promised == "" && s.layer == 0 {
		o.account = b.Whole(s.size)
	} else {
		o.account = b.Child(*b.Policy())
	}
	if format, _ := partOf(s.hint.Name); format != "" { // what describes it says what it is
		o.as = parser.Proposal{Kind: format, Opens: parser.AsGraph, Sure: true}
		return o
	}
	if head != nil { // whatever it is
		o.as, o.why = parser.Proposal{Opens: parser.AsModel}, head
		return o
	}
	for _, p := range id.Proposals {
		is, err := p.Sure, error(nil)
		if !is {
			is, err = o.isPickle()
		}
		if err != nil { // nothing is proven of bytes that cannot be read
			o.as, o.why = parser.Proposal{Opens: parser.AsModel}, err
			return o
		}
		if is {
			o.as = p
			break
		}
	}
	switch {
	case o.as == parser.Proposal{} && (!s.hint.Beside || id.Promised != "") && !o.isDataCalledBin() && !o.isCalledAsSpaCy():
		o.as.Opens = parser.AsModel // it had to be one
	case o.as.Opens == parser.AsModel && o.as.Kind != "pth" && o.why == nil:
		o.held = b.Child(*b.Policy())
		o.model, o.why = id.Open(o.held, o.r)
	}
	return o
}

// isPickle proves a proposal by running it: protocols 0 and 1 begin like a text, and do
// something that only a pickle does. If a limit ends the run before that, the scan reports
// it; the error is that of a read.
func (o *opened) isPickle() (bool, error) {
	is, err := polyglot.Pickle(o.account, o.r, o.s.size)
	if wire.ClassOf(err) == wire.Limit {
		return true, nil
	}
	return is, err
}

// close closes what was opened; the account stays, for pickles.
func (o *opened) close() {
	if o.model != nil {
		o.model.Close()
	}
	if o.held != nil {
		o.held.Close()
	}
}

// draft has what was reported about the subject, before the policy decides.
func (s *subject) draft(r report) *draft {
	v := s.gate.draft(s.hint.Name)
	v.asked = asked{s.hint.Promised, s.hint.Beside, s.hint.Field}
	v.Promised, v.Size, v.SHA256 = s.hint.Promised, s.size, s.hint.SHA256
	v.stored, v.unchanged = s.hint.stored, s.hint.unchanged
	v.take(r)
	return v
}

// take puts what was reported into the draft.
func (v *draft) take(r report) {
	v.Err, v.Format, v.Harmless, v.Unlooked, v.Verified, v.summed = r.err, r.format, r.harmless, r.unlooked, r.verified, r.summed
	v.Totals, v.Findings, v.ownCount, v.Pickles, v.Allowed, v.Templates = r.totals, r.findings, r.ownCount, r.pickles, r.allowed, r.templates
	v.Contents, v.Ignored, v.Expired, v.refusals = r.contents, r.ignored, r.expired, r.refusals
	v.unlistedRefusals, v.unlistedFindings = r.unlistedRefusals, r.unlistedFindings
	v.openings, v.account, v.beside = r.openings, r.account, r.beside
}
