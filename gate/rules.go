package gate

import (
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A Refusal is one reason why a file is refused.
type Refusal struct {
	Rule string
	// Group is the format and the kind of cause, such as "zip.duplicate". It stands for
	// several rules; "" if the rule is in no group.
	Group string
	Class wire.Class
	Where string // place in the file's own words
	Off   int64  // offset, or -1
	Text  string
	// Exception is the exception that suppressed it, in [Verdict.Ignored]; nil for a
	// finding that is turned off.
	Exception *Exception
}

// Refusals are the reasons for which the file would be refused now.
func (v *draft) Refusals() (list []Refusal) {
	if v.Err == nil {
		return nil
	}
	if _, ok := errors.AsType[*inside](v.Err); ok {
		return slices.Clone(v.refusals)
	}
	if _, ok := errors.AsType[*severe](v.Err); ok {
		for _, f := range v.ownFindings() {
			if v.refuses(&f) {
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
					rule, group := pickleRule(p.Report, why)
					list = append(list, Refusal{Rule: rule, Group: group, Class: wire.Forbidden, Where: p.Name, Off: why.Off, Text: why.Text})
				}
			}
		}
	}
	if len(list) > 0 {
		return list
	}
	one := Refusal{Class: v.Class(), Off: wire.NoOffset, Text: v.Err.Error()}
	one.Rule, one.Group = v.rule()
	if e, ok := errors.AsType[*parser.Error](v.Err); ok {
		one.Where, one.Off, one.Text = e.Where, e.Off, e.Err.Error()
	}
	return []Refusal{one}
}

// pickleRule returns the rule of a reason against a pickle, and its group. An error that
// ended the reading names its rule itself.
func pickleRule(r *vm.Report, why vm.Reason) (rule, group string) {
	rule = "pickle." + why.Code
	if named := wire.RuleOf(r.Err); named != "" && IsRule(named) && why.Code == wire.ClassOf(r.Err).String() {
		return named, rule
	}
	return rule, ""
}

// rule returns the rule that ended the judgement, and its group.
func (v *draft) rule() (rule, group string) {
	if _, ok := errors.AsType[*unlooked](v.Err); ok {
		return unlookedRule, ""
	}
	if e, ok := errors.AsType[*disallowed](v.Err); ok {
		return e.rule, ""
	}
	if e, ok := errors.AsType[*limits.Error](v.Err); ok {
		return "limit." + e.Axis.String(), ""
	}
	group = v.group()
	if rule = wire.RuleOf(v.Err); rule != "" && IsRule(rule) {
		return rule, group
	}
	return group, ""
}

// group returns the format and the kind of cause of the error that ended the judgement.
func (v *draft) group() string {
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

// unlookedRule is the rule of a file that could hold a model and was not looked at.
const unlookedRule = "gate.unlooked"

// The rules by which a policy refuses what it does not allow.
const (
	formatRule      = "gate.format"
	dtypeRule       = "gate.dtype"
	schemeRule      = "gate.scheme"
	noPickleRule    = "gate.pickle"
	weightsOnlyRule = "gate.weights-only"
	promiseRule     = "gate.promise"
)

// places are the values that an error may have as its format.
var places = append([]string{"dcp", "deepspeed", "detect", "ggml", "gguf", "hdf5", "keras", "npy", "npz", "ollama", "onnx", "pickle", "pth", "safetensors", "scan", "sidecar", "tfbundle", "tflite"}, unpack.Kinds()...)

// A Rule identifies refusals and findings of one kind.
type Rule struct {
	ID string
	// Kind is "refusal", "finding", or "group": all refusals of a format for one kind
	// of cause, as policies may name them together.
	Kind string
	// Severity is the severity, for a finding before the policy changes it, and the worst
	// one if there are several. A refusal refuses whatever its severity.
	Severity tensor.Severity
	Title    string
	Why      string // why it matters
	Advice   string // what can be done
}

// Page is where the rule is described, in the repository.
func (r *Rule) Page() string {
	if r == nil {
		return ""
	}
	group, _, _ := strings.Cut(r.ID, ".")
	if r.Kind == "group" {
		return "docs/rules/" + group + ".md#groups"
	}
	return "docs/rules/" + group + ".md#" + strings.ReplaceAll(r.ID, ".", "")
}

// Rules lists every rule, sorted by identifier.
func Rules() []Rule { return slices.Clone(sortedRules()) }

// sortedRules is the list of [Rules], made once. It is not to be changed.
var sortedRules = sync.OnceValue(func() []Rule {
	var list []Rule
	add := func(kind, before string, r row, why string) {
		list = append(list, Rule{before + r.id, kind, r.severity, r.title, why, r.advice})
	}
	for _, r := range pickleReasons {
		add("refusal", "pickle.", r, whyPickle[r.id])
	}
	for _, place := range slices.Concat(places, []string{"gate"}) {
		for _, c := range causes {
			kind := "group"
			if c.err == wire.ErrTruncated || c.err == wire.ErrInternal {
				kind = "refusal" // there is no group, or the rule is the group
			}
			add(kind, place+".", c.row, whyCauses[c.id])
		}
	}
	for _, r := range slices.Concat(archivesRefusals, formatsRefusals, pytorchRefusals) {
		add("refusal", "", row{r.id, r.severity, r.title, r.advice}, whyRefused(r.of))
	}
	for _, a := range limits.Axes() {
		add("refusal", "", limitRow(a), whyOf("limit."))
	}
	for _, r := range ownRules {
		add("refusal", "", r, whyOf(r.id))
	}
	for _, code := range limits.Findings() {
		add("finding", "", findingRow(code), whyOf(code))
	}
	slices.SortStableFunc(list, func(a, b Rule) int { return strings.Compare(a.ID, b.ID) })
	return slices.CompactFunc(list, func(a, b Rule) bool { return a.ID == b.ID })
})

// RuleOf returns the rule with an identifier.
func RuleOf(id string) (Rule, bool) {
	list := allRules()
	i, ok := slices.BinarySearchFunc(list, id, func(r Rule, id string) int { return strings.Compare(r.ID, id) })
	if !ok {
		return Rule{}, false
	}
	return list[i], true
}

var allRules = sync.OnceValue(Rules)

// IsRule reports whether id is an identifier of Rules.
func IsRule(id string) bool {
	_, ok := RuleOf(id)
	return ok
}
