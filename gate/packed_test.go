package gate_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// A policy that says which formats it allows allows what models are packed in by name.
func TestPoliciesAllowWhatModelsArePackedInByName(t *testing.T) {
	model := empty
	for _, tc := range []struct {
		name, data string
		formats    []string
		refused    string // "" if it is accepted
	}{
		{"a.zip", zipped(t, member{"m.safetensors", model}), nil, ""},
		{"a.zip", zipped(t, member{"m.safetensors", model}), []string{"safetensors"}, "gate.format"},
		{"a.zip", zipped(t, member{"m.safetensors", model}), []string{"safetensors", "zip"}, ""},
		{"a.zip", zipped(t, member{"m.safetensors", model}), []string{"gguf", "zip"}, "gate.format"},
		{"a.tar.gz", gzipped(t, tarred(t, member{"m.safetensors", model})), []string{"safetensors", "gzip"}, "gate.format"},
		{"a.tar.gz", gzipped(t, tarred(t, member{"m.safetensors", model})), []string{"safetensors", "gzip", "tar"}, ""},
		{"a.nemo", tarred(t, member{"m.safetensors", model}), []string{"safetensors", "tar"}, "gate.format"},
		{"a.nemo", tarred(t, member{"m.safetensors", model}), []string{"safetensors", "nemo"}, ""},
		{"a.keras", tarred(t, member{"m.safetensors", model}), []string{"safetensors", "keras"}, "gate.format"},
		{"m.onnx", seed(t, "onnx", "small.onnx"), []string{"safetensors"}, "gate.format"},
		{"m.onnx", seed(t, "onnx", "small.onnx"), []string{"onnx"}, ""},
	} {
		g := gate.Gate{Policy: gate.Policy{Formats: tc.formats, FailOn: gate.FailNever}}
		if err := g.Policy.Validate(); err != nil {
			t.Error(err)
		}
		v, _ := check(t, g, tc.data, gate.Hint{Name: tc.name})
		rule := ""
		if r := v.Refusals(); len(r) > 0 {
			rule = r[0].Rule
		}
		if rule != tc.refused {
			t.Errorf("%s, formats %v: %q, want %q (%v)", tc.name, tc.formats, rule, tc.refused, v.Err)
		}
		if rule := streamed(t, tc.data, tc.name); rule != "" && rule != tc.refused {
			t.Errorf("%s, formats %v: %q while it comes", tc.name, tc.formats, rule)
		}
	}
}
