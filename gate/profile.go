package gate

import (
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/limits"
)

// New returns a gate with a policy, such as that of a profile:
//
//	p, _ := gate.Profile("upload")
//	g := gate.New(p)
func New(p Policy) *Gate { return &Gate{Policy: p} }

// profiles are the policies that set more than the limits of the same name.
var profiles = map[string]Policy{
	"strict":   {FailOn: FailOnWarning, Pickle: PickleRefuse, Code: CodeRefuse},
	"tabular":  {Classes: []string{"sklearn", "imblearn", "lightgbm", "xgboost", "scipy"}},
	"training": {Classes: []string{"lightning", "optuna"}, AllowGlobals: []string{"hf-trainer"}},
	"upload":   {Code: CodeRefuse, Rules: []Change{{sidecar.CodeUnexplained, danger.String()}, {sidecar.CodeNoKind, danger.String()}, {"sidecar.index-path", danger.String()}, {"onnx.loop", danger.String()}, {"tflite.loop", danger.String()}}},
}

// Profiles lists the names of the profiles, the default first: server; strict, for a gate
// that protects others, which refuses pickles and findings of severity warning; edge, for a
// small machine; upload, for a host of many tenants; tabular,
// which allows the classes of libraries of tables; training, which allows what trainers
// write beside a model.
func Profiles() []string { return limits.Profiles() }

// Profile returns a named policy. With strict, notes are only reported: a split file, for
// example, does not fail.
func Profile(name string) (Policy, bool) {
	l, ok := limits.Profile(name)
	if !ok {
		return Policy{}, false
	}
	p := profiles[name]
	if p.FailOn != FailOnDanger { // the severity decides, in place of the list
		l.RefuseFindings = nil
	}
	if p.Pickle == PickleRefuse { // refused by a rule of its own
		l.RefuseFormats = nil
	}
	p.Limits = l
	return p, true
}
