package gate

import (
	"errors"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/internal/wrap"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// A Refusal is one reason why a file is refused.
type Refusal struct {
	Rule  string
	Class wire.Class
	Where string // place in the file's own words
	Off   int64  // offset, or -1
	Text  string
	// Exception is what sets it aside, in [Verdict.Ignored]; nil for a finding that is
	// turned off.
	Exception *Exception
}

// Refusals are why the file is refused: each thing that its pickles ask for and
// must not, or the one error that ended the judgement.
func (v *Verdict) Refusals() (list []Refusal) {
	if v.Err == nil {
		return nil
	}
	if _, ok := errors.AsType[*inside](v.Err); ok {
		return slices.Clone(v.refusals)
	}
	if _, ok := errors.AsType[*severe](v.Err); ok {
		for _, f := range v.own() {
			if v.policy.FailOn.refuses(f.Severity) {
				list = append(list, Refusal{Rule: f.Code, Class: wire.Forbidden, Where: f.Where, Off: f.Off, Text: f.Text})
			}
		}
		return list
	}
	if v.Class() == wire.Forbidden && !isDisallowed(v.Err) {
		for _, p := range v.Pickles {
			excused := v.policy.excused(p.Report)
			for _, why := range p.Report.Safe.Reasons {
				if !p.Report.Safe.OK && !excused[why.Off] {
					list = append(list, Refusal{Rule: "pickle." + why.Code, Class: wire.Forbidden, Where: p.Name, Off: why.Off, Text: why.Text})
				}
			}
		}
	}
	if len(list) > 0 {
		return list
	}
	one := Refusal{Class: v.Class(), Off: wire.NoOffset, Text: v.Err.Error(), Rule: v.rule()}
	if e, ok := errors.AsType[*parser.Error](v.Err); ok {
		one.Where, one.Off, one.Text = e.Where, e.Off, e.Err.Error()
	}
	return []Refusal{one}
}

// rule is the identifier of the rule that ended the judgement.
func (v *Verdict) rule() string {
	if _, ok := errors.AsType[*unlooked](v.Err); ok {
		return unlookedRule
	}
	if e, ok := errors.AsType[*disallowed](v.Err); ok {
		return e.rule
	}
	if e, ok := errors.AsType[*limits.Error](v.Err); ok {
		return "limit." + e.Axis.String()
	}
	format := "gate"
	if e, ok := errors.AsType[*parser.Error](v.Err); ok && slices.Contains(places, e.Format) {
		format = e.Format
	}
	for _, c := range causes {
		if errors.Is(v.Err, c.err) {
			return format + "." + c.id
		}
	}
	return "gate.internal"
}

// unlookedRule is that of what could hold a model and was not looked at.
const unlookedRule = "gate.unlooked"

// The rules of what a policy does not allow.
const (
	formatRule      = "gate.format"
	dtypeRule       = "gate.dtype"
	schemeRule      = "gate.scheme"
	pickleRule      = "gate.pickle"
	weightsOnlyRule = "gate.weights-only"
	promiseRule     = "gate.promise"
)

// places are what an error may say that it was found in.
var places = append([]string{"detect", "gguf", "npy", "npz", "ollama", "onnx", "pickle", "pth", "safetensors", "scan", "sidecar"}, wrap.Kinds()...)

// causes are the kinds of what may be wrong, in every format.
var causes = []struct {
	id    string
	err   error
	title string
}{
	{"magic", wire.ErrMagic, "The first bytes are not those of the format."},
	{"syntax", wire.ErrSyntax, "The file does not follow the format's grammar."},
	{"range", wire.ErrRange, "A number lies outside of what the format allows."},
	{"overflow", wire.ErrOverflow, "Sizes that the file states do not fit 64 bits."},
	{"overlap", wire.ErrOverlap, "Two tensors or members share bytes."},
	{"gap", wire.ErrGap, "Bytes belong to nothing: they could be another file."},
	{"align", wire.ErrAlign, "An offset is not aligned as the format asks."},
	{"duplicate", wire.ErrDuplicate, "A name stands twice: loaders differ in which one they take."},
	{"mismatch", wire.ErrMismatch, "Two statements of the file contradict each other."},
	{"trailing", wire.ErrTrailing, "Bytes follow the end: they could be another file."},
	{"text", wire.ErrText, "A text is not valid UTF-8, or not what the format allows."},
	{"checksum", wire.ErrChecksum, "A member's checksum is not that of its bytes."},
	{"missing", wire.ErrMissing, "A part that the file refers to is not there."},
	{"truncated", wire.ErrTruncated, "The file ends before what it states."},
	{"unsupported", wire.ErrUnsupported, "Something legal that is not read here; the message names it and says what to do."},
	{"forbidden", wire.ErrForbidden, "It asks its loader for something that is not data, or the policy refuses it."},
	{"internal", wire.ErrInternal, "It could not be read, or the program has a bug: never accepted."},
}

// pickleReasons are what may speak against a pickle.
var pickleReasons = []struct{ id, title string }{
	{"array", "The bytes of an array would run as a pickle."},
	{"build", "A state is set on an object that must not have one."},
	{"call", "A call of something that is no constructor of data."},
	{"change", "An object changes after its use, so that loaders read different tensors."},
	{"forbidden", "It asks for something that is not data."},
	{"global", "A global outside of the list of constructors of data."},
	{"limit", "A limit was reached while it was read."},
	{"malformed", "The pickle is malformed."},
	{"opcode", "An instruction that the loader does not have."},
	{"truncated", "The pickle ends too early."},
	{"unsupported", "Something that is not read here."},
}

// A Rule is what a refusal or a finding is named by.
type Rule struct {
	ID    string
	Kind  string // "refusal" or "finding"
	Title string
}

// Rules lists every rule, sorted by identifier.
func Rules() []Rule {
	var list []Rule
	for _, place := range slices.Concat(places, []string{"gate"}) {
		for _, c := range causes {
			list = append(list, Rule{place + "." + c.id, "refusal", c.title})
		}
	}
	for _, r := range pickleReasons {
		list = append(list, Rule{"pickle." + r.id, "refusal", r.title})
	}
	for _, a := range limits.Axes() {
		list = append(list, Rule{"limit." + a.String(), "refusal", "A limit of the policy was reached: " + strings.ReplaceAll(a.String(), "_", " ") + "."})
	}
	list = append(list,
		Rule{unlookedRule, "refusal", "It could hold a model and was not looked at."},
		Rule{formatRule, "refusal", "The policy refuses files of this format."},
		Rule{dtypeRule, "refusal", "The policy refuses a type of tensors."},
		Rule{schemeRule, "refusal", "The policy refuses a scheme of quantization."},
		Rule{pickleRule, "refusal", "The policy refuses pickles."},
		Rule{weightsOnlyRule, "refusal", "PyTorch's restricted loader would refuse it, and the policy asks for that."},
		Rule{promiseRule, "refusal", "It is of another format than its sender promised."},
	)
	for _, code := range limits.Findings() {
		list = append(list, Rule{code, "finding", "A finding of the format's parser; its text says what was found."})
	}
	slices.SortStableFunc(list, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(list, func(a, b Rule) bool { return a.ID == b.ID })
}

// IsRule reports an identifier of [Rules].
func IsRule(id string) bool {
	return slices.ContainsFunc(Rules(), func(r Rule) bool { return r.ID == id })
}
