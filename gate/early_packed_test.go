package gate_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
)

// framed is a text as one frame of zstd, in blocks that are not compressed.
func framed(text string) string {
	out := binary.LittleEndian.AppendUint32([]byte("\x28\xb5\x2f\xfd\xa0"), uint32(len(text)))
	for text != "" {
		n := min(len(text), 1<<10)
		head := uint32(n) << 3
		if n == len(text) {
			head |= 1
		}
		out = append(out, byte(head), byte(head>>8), byte(head>>16))
		out = append(out, text[:n]...)
		text = text[n:]
	}
	return string(out)
}

// A packed model is refused from its first bytes by the rule that refuses the whole file, and not
// before it is certain.
func TestArchivesAreRefusedWhileTheyArrive(t *testing.T) {
	rest := strings.Repeat("x", 1<<20)
	noise := member{"noise.safetensors", header(uint64(61), `{"a":{"dtype":"U8","shape":[1048576],"data_offsets":[0,1048576]}}`[:61]) + rest}
	flags := func(s string, at int, c byte) string { return s[:at] + string([]byte{c}) + s[at+1:] }
	for _, tc := range []struct {
		what, data, name string
		formats          []string
		promised, rule   string // "" if it is taken in
	}{
		{"a ZIP archive that is encrypted", flags(zipped(t, noise), 6, 1), "m.zip", nil, "", "zip.encrypted"},
		{"a path that leaves its folder", zipped(t, member{"../m", rest}), "m.zip", nil, "", "zip.path-escape"},
		{"an unknown compression", flags(zipped(t, noise), 8, 99), "m.pt", nil, "", "zip.encrypted"},
		{"a ZIP archive where none is taken", zipped(t, noise), "m.zip", []string{"gguf"}, "", "gate.format"},
		{"one under the name of a model", zipped(t, noise), "m.safetensors", []string{"zip", "safetensors"}, "", "gate.format"},
		{"one that was promised to be GGUF", zipped(t, noise), "m.gguf", nil, "gguf", "gate.promise"},
		{"one that may be a checkpoint", zipped(t, noise), "m.pt", []string{"pth"}, "", ""},
		{"a tar archive where none is taken", tarred(t, noise), "m.tar", []string{"safetensors"}, "", "gate.format"},
		{"a tar archive that begins with an attack", tarred(t, member{"a.pkl", evil}, member{"b", rest}), "m.tar", nil, "", "pickle.global"},
		{"an honest one", tarred(t, member{"README", "a note\n"}, member{"b", rest}), "m.tar", nil, "", ""},
		{"a compressed attack", gzipped(t, evil+rest), "m.pkl.gz", nil, "", "pickle.global"},
		{"the same by zlib", deflated(t, evil+rest), "m.joblib", nil, "", "pickle.global"},
		{"the same by zstd", framed(evil + rest), "m.zst", nil, "", "pickle.global"},
		{"a compressed tar archive with an attack", gzipped(t, tarred(t, member{"a.pkl", evil}, member{"b", rest})), "m.tar.gz", nil, "", "pickle.global"},
		{"a compressed GGUF of no version", gzipped(t, "GGUF\x09\x00\x00\x00"+rest), "m.gguf.gz", nil, "", "gguf.version-unknown"},
		{"a compressed text", gzipped(t, strings.Repeat("a note\n", 1<<16)), "m.txt.gz", nil, "", ""},
	} {
		g := gate.Gate{Policy: gate.Policy{Formats: tc.formats}}
		b := g.Policy.Limits.Budget(t.Context())
		s := g.Stream(b, int64(len(tc.data)), gate.Hint{Name: tc.name, Promised: tc.promised})
		_, _ = s.Write([]byte(tc.data[:min(len(tc.data), 4<<10)])) // the verdict says it
		got := ""
		if v := s.Verdict(); v != nil {
			got = v.Refusals()[0].Rule
		}
		s.Close()
		b.Close()
		if got != tc.rule {
			t.Errorf("%s: %q while it comes, want %q", tc.what, got, tc.rule)
		}
		if v, _ := check(t, g, tc.data, gate.Hint{Name: tc.name, Promised: tc.promised}); tc.rule != "" && (v.Accepted() || v.Refusals()[0].Rule != tc.rule) {
			t.Errorf("%s: %+v when it is there", tc.what, v.Refusals())
		}
	}
}
