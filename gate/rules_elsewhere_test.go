package gate_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/pth"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/zip"
)

// A situation makes a rule refuse that the bytes of a file cannot trigger.
type situation struct {
	what string
	err  func(t *testing.T, b *limits.Budget) error
}

var situations = map[string]situation{
	"file.changed": {"a file that is written again while a model from it is open", func(t *testing.T, b *limits.Budget) error {
		return rewritten(t, b, empty+" ")
	}},
	"detect.truncated": {"a file that shrinks while a model from it is open", func(t *testing.T, b *limits.Budget) error {
		return rewritten(t, b, empty[:5])
	}},
	"deepspeed.folder": {"a host that opens a file latest whose folder is not there; the gate takes it for a text", func(_ *testing.T, b *limits.Budget) error {
		_, err := parser.OpenFS(b, fstest.MapFS{"latest": {Data: []byte("global_step1")}}, "latest")
		return err
	}},
	"file.missing": {"a name on the command line that no file has", func(*testing.T, *limits.Budget) error {
		return wire.ErrUsage.WithRule("file.missing").Errorf("no such file or directory")
	}},
	"file.alone": {"a host that reads a model without its folder", func(t *testing.T, b *limits.Budget) error {
		data := seed(t, "onnx", "outside.onnx")
		id, err := parser.Identify(b, strings.NewReader(data), int64(len(data)), "m.onnx")
		if err != nil {
			return err
		}
		defer id.Close()
		_, err = id.Open(b, strings.NewReader(data))
		return err
	}},
	"file.path-escape": {"a host that opens a name out of its folder", func(*testing.T, *limits.Budget) error {
		_, err := tensor.OpenFile(fstest.MapFS{"a": {Data: []byte(empty)}}, "../a")
		return err
	}},
	"shards.other-set": {"a host that names shards of two models as one", func(*testing.T, *limits.Budget) error {
		_, err := tensor.SortShards("safetensors", []string{"m-00001-of-00002.safetensors", "n-00002-of-00002.safetensors"})
		return err
	}},
	"gguf.number-signed": {"a program that asks an array for numbers of 63 bits", func(_ *testing.T, b *limits.Budget) error {
		data := []byte("GGUF\x03\x00\x00\x00")
		for _, n := range []uint64{0, 1, 1} {
			data = binary.LittleEndian.AppendUint64(data, n)
		}
		data = append(data, "a\x09\x00\x00\x00\x0a\x00\x00\x00"...)
		for _, n := range []uint64{1, 1 << 63} {
			data = binary.LittleEndian.AppendUint64(data, n)
		}
		f, err := gguf.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		list, _ := f.Get("a")
		for _, err := range list.(gguf.Array).Ints(b) {
			return err
		}
		return nil
	}},
	"tensor.type-unknown": {"a program that reads a tensor of a type that is not known", func(_ *testing.T, b *limits.Budget) error {
		head := `{"a":{"dtype":"X9","shape":[4],"data_offsets":[0,4]}}`
		data := string(binary.LittleEndian.AppendUint64(nil, uint64(len(head)))) + head + "\x00\x00\x00\x00"
		m, err := parser.Decode(b, strings.NewReader(data), int64(len(data)))
		if err != nil {
			return err
		}
		defer m.Close()
		for i := range m.Tensors() {
			_, err = m.Body(b, i)
		}
		return err
	}},
	"zip.deflated": {"a program that asks for an archive without deflated members", func(_ *testing.T, b *limits.Budget) error {
		for _, s := range corpus.Valid("zip") {
			if s.Name == "infozip-9.zip" {
				_, err := zip.Decode(b, bytes.NewReader(s.Data), int64(len(s.Data)), zip.Options{StoredOnly: true})
				return err
			}
		}
		return nil
	}},
	"pickle.zlib": {"a program that scans a stream of zlib for pickles", func(_ *testing.T, b *limits.Budget) error {
		data := "x\x9c\x03\x00\x00\x00\x00\x01"
		return pth.Scan(b, strings.NewReader(data), int64(len(data))).Err
	}},
	"limit.requests": {"a model elsewhere that takes more requests than the policy allows", func(*testing.T, *limits.Budget) error {
		b := limits.Policy{MaxRequests: 1}.Budget(context.Background())
		defer b.Close()
		return errors.Join(b.Request(), b.Request())
	}},
	"limit.fetched": {"a model elsewhere of which more is fetched than the policy allows", func(*testing.T, *limits.Budget) error {
		b := limits.Policy{MaxFetched: 1}.Budget(context.Background())
		defer b.Close()
		return b.Fetch(2)
	}},
}

// rewritten opens a model and writes its file again.
func rewritten(t *testing.T, b *limits.Budget, data string) error {
	t.Helper()
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := os.WriteFile(path, []byte(empty), 0o666); err != nil {
		t.Fatal(err)
	}
	m, err := parser.Open(b, path)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
		t.Fatal(err)
	}
	return parser.Unchanged(b, m)
}

// shrunk is a file that is emptied after some reads.
type shrunk struct {
	io.ReaderAt
	reads int
}

func (s *shrunk) ReadAt(p []byte, off int64) (int, error) {
	if s.reads--; s.reads < 0 {
		return 0, io.EOF
	}
	return s.ReaderAt.ReadAt(p, off)
}

// shrinking adds the rules by which the gate refuses files that are emptied while it
// reads them.
func (e examples) shrinking(t *testing.T) {
	var arrays []member // more than is read at once
	for i := range 64 {
		arrays = append(arrays, member{fmt.Sprintf("%d.npy", i), npy(t)})
	}
	files := []struct{ name, data string }{
		{"m.txt", strings.Repeat("text ", 40<<10)}, {"chat_template.jinja", strings.Repeat("text ", 40<<10)}, {"m.safetensors", empty},
		{"tokenizer_config.json", `{"chat_template": "a"` + strings.Repeat(" ", 200<<10) + "}"}, {"m.npz", zipped(t, arrays...)},
	}
	for _, f := range files {
		for i := range 48 {
			b := limits.Policy{}.Budget(t.Context())
			g := gate.Gate{Digest: i%2 > 0}
			v, err := g.Check(b, &shrunk{strings.NewReader(f.data), i / 2}, int64(len(f.data)), gate.Hint{Name: f.name, Beside: true})
			if err != nil {
				t.Fatal(f.name, err)
			}
			for _, r := range v.Refusals() {
				e.add(r.Rule, "a file `"+f.name+"` that shrinks while it is read")
			}
			v.Close()
			b.Close()
		}
	}
}

// unreached are the rules that no test file reaches, each with the reason why it is kept.
var unreached = map[string]string{
	"deepspeed.truncated":  "A part that ends too early is refused by the rules of its own format. Only a file that changes afterwards can reach this rule.",
	"gguf.string-crosses":  "The lengths of all strings of an array are checked when the structure is read. Only a file that changes afterwards can reach this rule.",
	"gguf.vocabulary-size": "It requires a vocabulary of 2^40 bytes, which is larger than a file of the corpus can be.",
	"json.size":            "It requires a text of 2 GiB, which is larger than a file of the corpus can be.",
	"pickle.malformed":     "It is for causes of the pickle machine without a rule of their own; today every cause has one.",
	"pickle.unsupported":   "It is for causes of the pickle machine without a rule of their own; today every cause has one.",
	"pickle.opcode":        "It concerns PyTorch's restricted loader, in the verdict weights_only. A policy that asks for that verdict refuses by gate.weights-only.",
}

// Each rule that no file shows is shown by a situation.
func TestRulesOfSituations(t *testing.T) {
	for rule, s := range situations {
		b := limits.Policy{}.Budget(t.Context())
		err := s.err(t, b)
		g := gate.Gate{}
		v, lost := g.CheckOpened(b, "m", nil, err, nil, 0)
		if lost != nil {
			t.Fatal(rule, lost)
		}
		if list := v.Refusals(); len(list) != 1 || list[0].Rule != rule {
			t.Errorf("%s: %s: %+v, %v", rule, s.what, list, err)
		}
		v.Close()
		b.Close()
	}
}

var recipePath = regexp.MustCompile(`corpus/(gate|hostile/[a-z]+)/[a-z0-9-]+\.txt`)

// The reasons for rules that no file reaches are true for the recipes that they name.
func TestReasonsNameRecipes(t *testing.T) {
	for rule, why := range unreached {
		if row, ok := gate.RuleOf(rule); !ok || row.Kind == "group" {
			t.Errorf("%s is not a rule", rule)
		}
		path := recipePath.FindString(why)
		if path == "" {
			continue
		}
		list := corpus.Gate()
		if format := strings.Split(path, "/")[2]; !strings.Contains(format, ".") {
			list = corpus.Hostile(format)
		}
		found := false
		for _, r := range list {
			if r.Path() != path {
				continue
			}
			found = true
			if r.Rule == "" {
				r.File = "file." + r.Format
			}
			if rules, _ := rulesOf(t, r); len(rules) != 1 || !strings.Contains(why, " "+rules[0]) {
				t.Errorf("%s: %s is refused by %q", rule, path, rules)
			}
		}
		if !found {
			t.Errorf("%s: no recipe %s", rule, path)
		}
	}
}
