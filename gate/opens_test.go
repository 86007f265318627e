package gate_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// A verdict says which loaders would open a file, and as what, whether or not it is
// accepted: crosscheck/loaders.py asks the loaders themselves.
func TestAVerdictListsTheLoadersOfAFile(t *testing.T) {
	program := []member{{"p/data.pkl", "\x80\x02}."}, {"p/constants.pkl", "\x80\x02)."}, {"p/code/a.py", ""}}
	for _, tc := range []struct{ name, data, want string }{
		{"m.pt", valid(t, "pth", "tied.pt"), "torch.load: a checkpoint, numpy.load: an archive of members, zipfile: an archive"},
		{"m.bin", zipped(t, program...), "torch.jit.load: a program (TorchScript), torch.load: a program (TorchScript), numpy.load: an archive of members, zipfile: an archive"},
		{"m.zip", zipped(t, append(program, member{"x.npy", ""})...), "numpy.load: an archive of members, zipfile: an archive"},
		{"m.pt2", zipped(t, member{"p/archive_format", "pt2"}), "torch.export.load: an exported program, numpy.load: an archive of members, zipfile: an archive"},
		{"m.npz", valid(t, "npz", ""), "numpy.load: arrays, zipfile: an archive"},
		{"m.safetensors", empty, "safetensors: tensors, torch.load: tensors"},
		{"m", empty, "safetensors: tensors"},
		{"m.safetensors", empty + zipped(t, member{"a", "b"}), "safetensors: tensors, torch.load: tensors, zipfile: an archive"},
		{"m.gguf", "GGUF\x03\x00\x00\x00", "ggml: GGUF of version 3, llama.cpp: GGUF of version 3, gguf-py: GGUF of version 3, ollama: GGUF of version 3"},
		{"m.gguf", "GGUF\x00\x00\x00\x03", "gguf-py: GGUF of version 3, big-endian"},
		{"m.gguf", "GGUF\x01\x00\x00\x00", "ollama: GGUF of version 1"},
		{"m.tar", tarred(t, member{"pickle", "N."}, member{"storages", "N."}, member{"tensors", "N."}), "tarfile: an archive, torch.load: a checkpoint of torch 0.1"},
		{"m.gz", gzipped(t, "a note\n"), "gzip: compressed data"},
		{"m.gz", gzipped(t, evil), "gzip: compressed data, joblib.load: an object"},
		{"README", "a note\n", ""},
	} {
		v, text := check(t, gate.Gate{}, tc.data, gate.Hint{Name: tc.name, Beside: true})
		var list []string
		for _, o := range v.Opens() {
			list = append(list, o.Loader+": "+o.As)
		}
		if got := strings.Join(list, ", "); got != tc.want {
			t.Errorf("%s: %s\nwant %s", tc.name, got, tc.want)
		}
		if !strings.Contains(text, `"opens":[`) {
			t.Errorf("%s: %s", tc.name, text)
		}
	}
}
