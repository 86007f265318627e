package gate

import (
	"errors"
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Policy says which files are refused although the rules of their format allow them.
type Policy struct {
	// Version is that of the JSON that the policy was read from, 0 for the present one. Rules
	// that are newer only report, and their findings say what they would refuse.
	Version int
	Limits  limits.Policy

	// Formats, DTypes and Schemes are the allowed formats of [Formats], types of tensors,
	// and quantization schemes. Nil allows all, an empty list none.
	Formats, DTypes, Schemes []string

	Pickle Pickle
	// AllowGlobals are further globals that pickles may name: "module.name", or a set of
	// [GlobalSets] such as "hf-trainer". They are not called here, but a loader that trusts
	// this policy will call them.
	AllowGlobals []string
	// Classes are the class sets, of [vm.ClassSets], whose classes pickles may use as the sets
	// say. None is allowed by default.
	Classes []string

	FailOn FailOn
	// ReportUnlooked accepts files that could hold a model but were not looked at.
	ReportUnlooked bool
	Sidecars       Sidecars
	// Code decides about code beside a model that no loader runs by itself.
	Code Code
	// Loaders says which versions of libraries the host runs, as ">=5.3,<6", or "none". It makes notes
	// of findings that none of them can obey; [Libraries] are the names.
	Loaders map[string]string
	// Rules turn findings off or change their severity. The last match counts.
	Rules []Change
	// Paths change this policy for files whose names match, in order.
	Paths []Block
	// Ignore are exceptions, each with its reason.
	Ignore []Exception
}

// Pickle decides about files that are or contain pickles.
type Pickle uint8

// The decisions about pickles.
const (
	PickleSafe        Pickle = iota // they may contain only data, by our list
	PickleWeightsOnly               // PyTorch's restricted loader must take them, too
	PickleRefuse                    // none is accepted
)

var pickleModes = [...]string{"safe", "weights_only", "refuse"}

func (p Pickle) String() string { return word(pickleModes[:], p) }

// Sidecars decides about texts beside models: configurations, chat templates.
type Sidecars uint8

// The decisions about texts beside models.
const (
	SidecarsJudge Sidecars = iota // what they ask of who loads the model is a finding
	SidecarsSkip                  // they are harmless by their content, whatever they ask
)

var sidecarModes = [...]string{"judge", "skip"}

func (s Sidecars) String() string { return word(sidecarModes[:], s) }

// Code decides about code beside models, and files by which tools install or build something.
type Code uint8

// The decisions about code beside models. Code that a loader runs is refused whatever they say.
const (
	CodeReport Code = iota // it is a finding
	CodeRefuse             // it is refused
)

var codeModes = [...]string{"report", "refuse"}

func (c Code) String() string { return word(codeModes[:], c) }

// FailOn is the least severity of a finding that refuses a file.
type FailOn uint8

// The severities, and none.
const (
	FailOnDanger FailOn = iota
	FailOnWarning
	FailOnNote
	FailNever
)

var failOn = [...]string{"danger", "warning", "note", "never"}

func (f FailOn) String() string { return word(failOn[:], f) }

// ParseFailOn reads a severity's name, or "never".
func ParseFailOn(name string) (FailOn, bool) {
	i := slices.Index(failOn[:], name)
	return FailOn(max(i, 0)), i >= 0
}

// refuses reports a finding that is severe enough.
func (f FailOn) refuses(s tensor.Severity) bool {
	return f != FailNever && int(s) >= int(tensor.Danger)-int(f)
}

// A Change gives the findings of a rule another severity, or turns them off.
type Change struct {
	Rule     string // an identifier, or a pattern such as "gguf.template-*"
	Severity string // "off", "note", "warning" or "danger"
}

// applyPolicy applies the policy to what was found, and sets v.Err.
func (v *draft) applyPolicy() {
	p := v.policy
	v.reportNewer()
	v.nameLoaders()
	if p.Code == CodeRefuse {
		v.applyChanges([]Change{{sidecar.CodeCode, danger.String()}})
	}
	v.applyChanges(p.Rules)
	if v.Err == nil {
		v.Err = v.severe()
	}
	if v.Err == nil && v.Unlooked != "" && !p.ReportUnlooked {
		v.Err = &unlooked{wire.At("scan", "", wire.NoOffset, wire.ErrUnsupported.Errorf("it was not read, and it could contain a model: %s", v.Unlooked))}
	}
	list, all := v.Refusals(), !v.unlistedRefusals && !slices.ContainsFunc(v.Pickles, hasMore)
	for i := range list {
		if list[i].Exception = v.gate.exception(v, &list[i]); list[i].Exception == nil {
			all = false
		}
	}
	if all && len(list) > 0 {
		v.Ignored, v.Err = append(v.Ignored, list...), nil
	}
}

// hasMore reports whether there are reasons against a pickle that are not listed: an exception about
// those that are says nothing of them.
func hasMore(p pth.Pickle) bool { return p.Report.Safe.More > 0 }

// applyChanges gives findings the severities that the policy sets.
func (v *draft) applyChanges(rules []Change) {
	if len(rules) == 0 {
		return
	}
	mine := v.ownFindings()
	others := v.Findings[len(mine):]
	kept := mine[:0:0]
	for _, f := range mine {
		to := ""
		for _, c := range rules {
			if match(c.Rule, f.Code) {
				to = c.Severity
			}
		}
		switch s, ok := parseSeverity(to); {
		case to == "off":
			v.Ignored = append(v.Ignored, Refusal{Rule: f.Code, Where: f.Where, Off: f.Off, Text: f.Text})
			continue
		case ok:
			f.Severity = s
		}
		kept = append(kept, f)
	}
	v.ownCount = len(kept)
	v.Findings = append(kept, others...)
}

// parseSeverity reads the name of a finding's severity.
func parseSeverity(name string) (tensor.Severity, bool) {
	for _, s := range [...]tensor.Severity{tensor.Note, tensor.Warning, tensor.Danger} {
		if s.String() == name {
			return s, true
		}
	}
	return 0, false
}

// unlooked marks the refusal of a file that was not looked at.
type unlooked struct{ error }

func (u *unlooked) Unwrap() error { return u.error }

// severe marks the refusal for findings, with the text of the first of them.
type severe struct{ error }

func (s *severe) Unwrap() error { return s.error }

// severe returns the refusal for the first finding that is severe enough, or nil.
func (v *draft) severe() error {
	for _, f := range v.ownFindings() {
		if v.refuses(&f) {
			return &severe{wire.At(v.findingFormat(), f.Where, f.Off, wire.ErrForbidden.Errorf("finding %s is of severity %v: %s", f.Code, f.Severity, f.Text))}
		}
	}
	return nil
}

// findingFormat returns the Format of an error about a finding.
func (v *draft) findingFormat() string {
	if v.Format == "" {
		return "sidecar"
	}
	return v.Format
}

// ownFindings returns the findings of the file itself. Each content was judged with its
// own findings.
func (v *draft) ownFindings() []tensor.Finding {
	if v.Contents == nil {
		return v.Findings
	}
	return v.Findings[:v.ownCount]
}

// disallowed marks a refusal by a rule of the policy.
type disallowed struct {
	error
	rule string
}

func (d *disallowed) Unwrap() error { return d.error }

// disallow returns the refusal by a rule of the policy.
func disallow(rule, format, where, text string, args ...any) error {
	return &disallowed{wire.At(format, where, wire.NoOffset, wire.ErrForbidden.Errorf(text, args...)), rule}
}

// allowsFormat returns an error if the policy does not list the format.
func (p *Policy) allowsFormat(format string) error {
	switch {
	case p.Formats != nil && !slices.Contains(p.Formats, format),
		p.Limits.RefusesFormat(format):
		return disallow(formatRule, format, "", "the policy refuses the format %s", format)
	}
	return nil
}

// allowsType returns an error if the policy does not list the type of the tensor.
func (p *Policy) allowsType(format string, i *tensor.Info) error {
	if p.DTypes == nil || i.DType != tensor.Unknown && slices.Contains(p.DTypes, i.DType.String()) {
		return nil
	}
	name := i.DType.String()
	if i.DType == tensor.Unknown {
		name = wire.Quote(i.Stored)
	}
	return disallow(dtypeRule, format, "tensor "+wire.Quote(i.Name), "the policy refuses the type %s", name)
}

// allowsModel checks what the header of a model tells: its format, types and schemes.
func (p *Policy) allowsModel(b *limits.Budget, m tensor.Model) error {
	format := m.Format()
	if err := p.allowsFormat(format); err != nil {
		return err
	}
	if format == "pth" {
		if err := p.noPickles(); err != nil {
			return err
		}
	}
	if p.DTypes != nil {
		for i := range m.Tensors() {
			if err := p.allowsType(format, &i); err != nil {
				return err
			}
		}
	}
	if p.Schemes == nil {
		return nil
	}
	return p.allowsSchemes(b, m)
}

// isDisallowed reports whether a rule of the policy refused the file.
func isDisallowed(err error) bool {
	_, ok := errors.AsType[*disallowed](err)
	return ok
}

// Formats lists the formats that a policy may allow: the supported formats, plain pickles,
// pickles of joblib, ONNX, and wrappers of these. Each content of a wrapper is checked
// against the policy by itself.
func Formats() []string {
	return append(append(limits.Formats(), PickleFormat, JoblibFormat), packedFormats()...)
}

// Validate reports the first invalid member.
func (p *Policy) Validate() error {
	if p == nil {
		return errNoPolicy
	}
	text, err := p.MarshalJSON()
	if err == nil {
		_, err = ParsePolicy(text)
	}
	if err != nil {
		return fmt.Errorf("%w", err)
	}
	return nil
}

// word returns the name of a decision, or its number if it is unknown; a policy with an unknown
// decision is invalid.
func word[T ~uint8](words []string, n T) string {
	if int(n) < len(words) {
		return words[n]
	}
	return fmt.Sprintf("decision %d", n)
}
