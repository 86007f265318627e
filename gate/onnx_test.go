package gate_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
)

// seed is a file of the corpus.
func seed(t *testing.T, format, name string) string {
	t.Helper()
	for _, s := range corpus.Valid(format) {
		if s.Name == name {
			return string(s.Data)
		}
	}
	t.Fatal(name)
	return ""
}

// The models of ONNX are judged by their structure, and so is what holds their data.
func TestModelsOfONNX(t *testing.T) {
	outside, small, archive := seed(t, "onnx", "outside.onnx"), seed(t, "onnx", "small.onnx"), zipped(t, member{"a", evil})
	text := string(binary.AppendUvarint([]byte{6<<3 | 2}, uint64(len(archive)))) // doc_string
	numbers := strings.Repeat("\x01\x02\x03\x04", 6)
	elsewhere := strings.ReplaceAll(outside, "outside.onnx.data", "../../../.profile")
	named := strings.ReplaceAll(small, "Identity", "PythonOp")
	called := strings.ReplaceAll(outside, "outside.onnx.data", "outer.weights.bin") // of the same length
	for _, c := range []struct {
		what  string
		files map[string]string
		want  string
	}{
		{"a model", map[string]string{"m.onnx": seed(t, "onnx", "small.onnx")}, "m.onnx: ok"},
		{"with data outside", map[string]string{"m.onnx": outside, "outside.onnx.data": numbers}, "m.onnx: ok\noutside.onnx.data: ok the data of an ONNX model beside it"},
		{"with data that are called like a checkpoint", map[string]string{"m.onnx": called, "outer.weights.bin": numbers}, "m.onnx: ok\nouter.weights.bin: ok the data of an ONNX model beside it"},
		{"with data that are called like a checkpoint, and are one", map[string]string{"m.onnx": called, "outer.weights.bin": evil}, "m.onnx: ok\nouter.weights.bin: forbidden pickle.global pickle.call"},
		{"with data that are called like a checkpoint, without a model", map[string]string{"outer.weights.bin": numbers}, "outer.weights.bin: unsupported detect.unknown"},
		{"with data far outside", map[string]string{"m.onnx": elsewhere}, "m.onnx: forbidden onnx.external-path"},
		{"data without a model", map[string]string{"outside.onnx.data": numbers}, "outside.onnx.data: unsupported gate.unlooked"},
		{"data that are a pickle", map[string]string{"m.onnx": outside, "outside.onnx.data": evil}, "m.onnx: ok\noutside.onnx.data: forbidden pickle.global pickle.call"},
		{"data that are another format", map[string]string{"m.onnx": outside, "outside.onnx.data": "\x89HDF\r\n\x1a\n\x00"}, "m.onnx: ok\noutside.onnx.data: truncated hdf5.truncated"},
		{"a pickle by the name", map[string]string{"m.onnx": evil}, "m.onnx: forbidden pickle.global pickle.call"},
		{"a text by the name", map[string]string{"m.onnx": "a note\n"}, "m.onnx: unsupported onnx.field-unknown"},
		{"an archive behind it", map[string]string{"m.onnx": small + archive}, "m.onnx: unsupported onnx.field-unknown"},
		{"an archive for its last text", map[string]string{"m.onnx": small + text + archive}, "m.onnx: unsupported onnx.two-formats"},
	} {
		if got := strings.Join(walked(t, gate.New(gate.Policy{}), lay(t, c.files)), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
	v, _ := check(t, gate.Gate{}, named, gate.Hint{Name: "m.onnx"})
	if list := v.Refusals(); len(list) == 0 || list[0].Rule != "onnx.python" {
		t.Errorf("an operator that runs Python: %v", list)
	}
}

// Code that a Keras model or an archive of TorchServe runs is named in its texts.
func TestArchivesWithCode(t *testing.T) {
	lambda := `{"module": "keras.layers", "class_name": "Lambda", "config": {"function": {"class_name": "__lambda__", "config": {"code": "4w=="}}}}`
	dense := `{"module": "keras.layers", "class_name": "Dense", "config": {"units": 1}}`
	words := `{"module": "keras.layers", "class_name": "StringLookup", "config": {"vocabulary": "/etc/passwd"}}`
	weights := member{"model.weights.h5", seed(t, "hdf5", "small.h5")}
	for _, c := range []struct{ what, name, data, class, rule string }{
		{"a Lambda layer", "m.keras", zipped(t, member{"metadata.json", "{}"}, member{"config.json", lambda}, weights), "forbidden", "sidecar.keras-code"},
		{"honest layers", "m.keras", zipped(t, member{"metadata.json", "{}"}, member{"config.json", dense}, weights), "ok", ""},
		{"weights cut short", "m.keras", zipped(t, member{"config.json", dense}, member{"model.weights.h5", weights.data[:len(weights.data)-1]}), "truncated", "hdf5.truncated"},
		{"a handler of TorchServe's, and Python of its name", "m.mar", zipped(t, member{"MAR-INF/MANIFEST.json", `{"model": {"handler": "image_classifier"}}`}, member{"image_classifier.py", "pass\n"}), "forbidden", "sidecar.mar-handler"},
		{"Python of any name", "m.zip", zipped(t, member{"anything.py", "pass\n"}, member{"MAR-INF/MANIFEST.json", `{"model": {"handler": "image_classifier"}}`}), "forbidden", "sidecar.mar-handler"},
		{"below a folder", "m.zip", zipped(t, member{"m/MAR-INF/MANIFEST.json", `{}`}, member{"m/a/b.PY", "pass\n"}), "forbidden", "sidecar.mar-handler"},
		{"nothing to run", "m.mar", zipped(t, member{"MAR-INF/MANIFEST.json", `{"model": {"handler": "image_classifier"}}`}, member{"index_to_name.json", "{}"}), "ok", ""},
		{"Python beside no manifest", "m.zip", zipped(t, member{"m/modeling.py", "pass\n"}, member{"n/MAR-INF/MANIFEST.json", "{}"}), "ok", ""},
		{"below a folder that looks like an archive's name", "m.zip", zipped(t, member{"m!/MAR-INF/MANIFEST.json", `{}`}, member{"m!/b.py", "pass\n"}), "forbidden", "sidecar.mar-handler"},
		{"an archive in another", "m.zip", zipped(t, member{"m.mar", zipped(t, member{"MAR-INF/MANIFEST.json", "{}"}, member{"b.py", "pass\n"})}, member{"c.py", "pass\n"}), "forbidden", "sidecar.mar-handler"},
		{"Python beside the archive", "m.zip", zipped(t, member{"m.mar", zipped(t, member{"MAR-INF/MANIFEST.json", "{}"})}, member{"c.py", "pass\n"}), "ok", ""},
		{"words out of a file", "m.keras", zipped(t, member{"metadata.json", "{}"}, member{"config.json", words}, weights), "forbidden", "sidecar.keras-file"},
		{"a handler", "m.mar", zipped(t, member{"MAR-INF/MANIFEST.json", `{"model": {"handler": "h.py"}}`}, member{"h.py", "pass\n"}), "forbidden", "sidecar.mar-handler"},
	} {
		v, text := check(t, gate.Gate{}, c.data, gate.Hint{Name: c.name, Beside: true})
		rule := ""
		if list := v.Refusals(); len(list) > 0 {
			rule = list[0].Rule
		}
		if v.Class().String() != c.class || rule != c.rule {
			t.Errorf("%s: %s", c.what, text)
		}
	}
}
