package gate_test

import (
	"strings"
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

// A compressed stream called .bin is no checkpoint: libraries call streams of their own so. Its
// content is judged, whatever its name.
func TestStreamsCalledBinAreUnpacked(t *testing.T) {
	words := strings.Repeat("a word\n", 300)
	model := member{"model.safetensors", empty}
	for _, c := range []struct {
		what  string
		files map[string]string
		want  string
	}{
		{"words", map[string]string{"vocab.bin": gzipped(t, words)}, "vocab.bin: ok"},
		{"words in a tar archive", map[string]string{"m.tar": tarred(t, model, member{"vocab.bin", gzipped(t, words)})}, "m.tar: ok"},
		{"a pickle", map[string]string{"vocab.bin": gzipped(t, evil)}, "vocab.bin: forbidden pickle.global pickle.call"},
		{"what could be anything", map[string]string{"pytorch_model.bin": gzipped(t, strings.Repeat("\x07\x91\xf0\x13", 64))}, "pytorch_model.bin: unsupported gate.unlooked"},
		{"words that are not packed", map[string]string{"vocab.bin": words}, "vocab.bin: unsupported detect.foreign"},
	} {
		if got := strings.Join(walked(t, gate.New(gate.Policy{}), lay(t, c.files)), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}
