package gate_test

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// An unknown member whose value could name something is refused in every text of every kind of
// folder, also by the default policy. Words pass. A text whose
// name other libraries use too is one in a folder of the kind.
func TestAnInventedMemberIsRefusedInEveryKindOfFolder(t *testing.T) {
	texts := 0
	for _, k := range sidecar.Kinds() {
		for _, of := range k.Texts {
			if of.Group == "" {
				continue
			}
			for _, name := range of.Names {
				texts++
				mark := ""
				if of.Shared {
					mark = k.Marks[0]
				}
				inventedMembers(t, k.Name, strings.ReplaceAll(name, "*", "bert"), mark)
			}
		}
	}
	if texts < 28 {
		t.Errorf("%d texts of kinds of folders", texts)
	}
}

// inventedMembers judges a text with such a member, beside a file by which the folder is of its kind.
func inventedMembers(t *testing.T, kind, name, mark string) {
	t.Helper()
	for value, refused := range map[string]bool{
		"some.module": true, "evil/repository": true, "../elsewhere": true, "a.b(c)": true, "{{ a }}": true, "https://example.org/x": true,
		"gAVLAC4AAAAA": true, "$(id)": true, "a word": false, "3.5": false,
	} {
		text := `{"invented_on_the_spot": {"deep": ["` + value + `"]}}`
		switch {
		case strings.EqualFold(name, "mlmodel") && !strings.Contains(value, "("):
			name, text = "MLmodel", "flavors:\n  invented_on_the_spot: {deep: [\""+value+"\"]}\n"
		case strings.HasSuffix(name, ".yaml"):
			text = "invented_on_the_spot:\n  deep: \"" + value + "\"\n"
		}
		for _, profile := range []string{"server", "upload", "strict"} {
			policy, ok := gate.Profile(profile)
			if !ok {
				t.Fatal(profile)
			}
			var v *gate.Verdict
			if mark == "" {
				v, _ = check(t, gate.Gate{Policy: policy}, text, gate.Hint{Name: name, Beside: true})
			} else {
				v = inFolder(t, policy, fstest.MapFS{name: {Data: []byte(text)}, mark: {Data: []byte("# a mark\n")}, "model.safetensors": {Data: tiny()}})
			}
			if got := v.Class() == wire.Forbidden; got != refused || v.Class() != wire.OK && v.Class() != wire.Forbidden {
				t.Errorf("%s: %s with %q under %s: %v (%v)", kind, name, value, profile, v.Class(), v.Err)
			}
			v.Close()
		}
	}
}

// tiny is a model of four bytes.
func tiny() []byte {
	header := `{"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`
	return []byte(string(binary.LittleEndian.AppendUint64(nil, uint64(len(header)))) + header + "\x01\x02\x03\x04")
}

func inFolder(t *testing.T, policy gate.Policy, files fstest.MapFS) *gate.Verdict {
	t.Helper()
	b := policy.Limits.Budget(t.Context())
	t.Cleanup(b.Close)
	v, err := gate.New(policy).CheckFolder(b, files, gate.Hint{Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// The files that a library looks for decide the kind of a folder and of its parts. A folder with
// only weights is a kind; a configuration in any other folder is reported, and refused by upload
// and strict.
func TestAFolderHasAKindOrItsTextsAreReported(t *testing.T) {
	model := tiny()
	for _, c := range []struct {
		files string
		none  bool
		odd   bool // and a text that no row has, whatever kind the folder is of
	}{
		{"model.safetensors", false, false},
		{"a/model.safetensors b/model.safetensors README.md", false, false},
		{"model.safetensors notes.txt data.csv", false, false},
		{"model.safetensors config.json notes.json", false, true},
		{"model_index.json unet/model.safetensors unet/notes.json", false, true},
		{"modules.json model.safetensors 1_Pooling/deep/notes.yaml", false, true},
		{"model.safetensors hyperparams.yaml notes.json", false, true},
		{"model.safetensors notes.json", true, true},
		{"model.safetensors notes.yaml", true, true},
		{"a/model.safetensors a/config.json b/notes.json", true, true},
	} {
		files := fstest.MapFS{}
		for name := range strings.FieldsSeq(c.files) {
			data := []byte(`{"a": 1}`)
			switch {
			case strings.HasSuffix(name, ".safetensors"):
				data = model
			case strings.HasSuffix(name, ".yaml"):
				data = []byte("a: 1\n")
			case strings.HasSuffix(name, ".txt"), strings.HasSuffix(name, ".csv"), strings.HasSuffix(name, ".md"):
				data = []byte("some words\n")
			}
			files[name] = &fstest.MapFile{Data: data}
		}
		for profile, refuses := range map[string]bool{"server": false, "upload": true, "strict": true} {
			policy, _ := gate.Profile(profile)
			g := gate.New(policy)
			b := policy.Limits.Budget(t.Context())
			v, err := g.CheckFolder(b, files, gate.Hint{Name: "m"})
			if err != nil {
				t.Fatal(err)
			}
			told := slices.ContainsFunc(v.Findings, func(f tensor.Finding) bool { return f.Code == sidecar.CodeNoKind })
			if got := v.Class() == wire.Forbidden; told != c.none || got != (c.odd && refuses) || v.Class() != wire.OK && !got {
				t.Errorf("%s by %s: %v, told %v (%v)", c.files, profile, v.Class(), told, v.Err)
			}
			v.Close()
			b.Close()
		}
	}
}

// A model of skops is of a kind by its own name, wherever it lies: its schema is no text that
// nothing reads. The same archive under another name has no kind.
func TestTheNameOfAnArchiveDecidesItsKind(t *testing.T) {
	var model bytes.Buffer
	z := zip.NewWriter(&model)
	w, err := z.Create("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	io.WriteString(w, `{"__class__": "LogisticRegression", "__module__": "sklearn.linear_model._logistic", "__loader__": "ObjectNode"}`)
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	policy, _ := gate.Profile("upload")
	for name, want := range map[string]bool{"model.skops": false, "a/model.skops": false, "model.zip": true} {
		b := policy.Limits.Budget(t.Context())
		v, err := gate.New(policy).CheckFolder(b, fstest.MapFS{name: {Data: model.Bytes()}}, gate.Hint{Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if told := slices.ContainsFunc(v.Findings, func(f tensor.Finding) bool { return f.Code == sidecar.CodeNoKind }); told != want {
			t.Errorf("%s: told %v, want %v (%v)", name, told, want, v.Err)
		}
		v.Close()
		b.Close()
	}
}
