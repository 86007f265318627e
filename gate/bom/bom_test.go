package bom_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/digest"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/gate/bom"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// written is the document about a file.
func written(t testing.TB, name string, data []byte) string {
	t.Helper()
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	var model *bom.Model
	g := gate.Gate{Digest: true, Seen: func(b *limits.Budget, m tensor.Model) (err error) {
		model, err = bom.Describe(b, m, digest.Options{})
		return err
	}}
	v, err := g.Check(b, bytes.NewReader(data), int64(len(data)), gate.Hint{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var out strings.Builder
	w := bom.New(&out, "1.2.3")
	if err := w.Add(name, v, model); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestEveryTensorAndTemplateHasItsDigest(t *testing.T) {
	data, err := os.ReadFile("../../testdata/demo/tiny.gguf")
	if err != nil {
		t.Fatal(err)
	}
	text := written(t, "tiny.gguf", data)
	var doc struct {
		SerialNumber string
		Components   []struct {
			Type, Name string
			Hashes     []struct{ Alg, Content string }
			Components []struct {
				Type, Name string
				Hashes     []struct{ Alg, Content string }
				Properties []struct{ Name, Value string }
			}
		}
	}
	if err := json.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	if len(doc.Components) != 1 || doc.Components[0].Type != "machine-learning-model" || len(doc.Components[0].Hashes) != 1 || len(doc.Components[0].Components) < 4 {
		t.Fatalf("%+v", doc)
	}
	for _, c := range doc.Components[0].Components {
		if c.Type != "data" || c.Name == "" || len(c.Hashes) != 1 || len(c.Hashes[0].Content) != 64 || len(c.Properties) == 0 {
			t.Errorf("%+v", c)
		}
	}
	if !regexp.MustCompile(`^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`).MatchString(doc.SerialNumber) {
		t.Error(doc.SerialNumber)
	}
	if again := written(t, "tiny.gguf", data); again != text {
		t.Error("the same file has another document")
	}
	if other := written(t, "other.gguf", data); strings.Contains(other, doc.SerialNumber) {
		t.Error("another document has the same serial number")
	}
}

// A refused file is listed with its rules, and without its contents.
func TestARefusedFileIsListed(t *testing.T) {
	text := written(t, "a\"\\\n.pkl", []byte("cos\nsystem\n(S'id'\ntR."))
	var doc struct{ Components []map[string]any }
	if err := json.Unmarshal([]byte(text), &doc); err != nil || len(doc.Components) != 1 || doc.Components[0]["type"] != "file" || !strings.Contains(text, `"amn:rule","value":"pickle.global"`) {
		t.Errorf("%v, %s", err, text)
	}
}

func Example() {
	data := "\x38\x00\x00\x00\x00\x00\x00\x00" + `{"w":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}   abcd`
	b := limits.Policy{}.Budget(context.Background())
	defer b.Close()
	g, out := gate.Gate{Digest: true}, bom.New(io.Discard, "1.2.0")
	var model *bom.Model
	g.Seen = func(b *limits.Budget, m tensor.Model) (err error) {
		model, err = bom.Describe(b, m, digest.Options{})
		return err
	}
	v, err := g.Check(b, strings.NewReader(data), int64(len(data)), gate.Hint{Name: "m.safetensors"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer v.Close()
	if err := errors.Join(out.Add("m.safetensors", v, model), out.Close()); err != nil {
		fmt.Println(err)
	}
	for _, t := range model.Tensors {
		fmt.Println(t.Name, t.Type, t.Shape, t.Sum)
	}
	// Output: w U8 [4] 88d4266fd4e6338d13b845fcf289579d209c897823b9217da3e161936f031589
}

// A chat template beside a model has the digest of its text, wherever it is.
func TestTemplatesBesideAModelHaveTheirDigest(t *testing.T) {
	const template = "{{ messages }}\n"
	want := fmt.Sprintf("%x", sha256.Sum256([]byte(template)))
	for name, data := range map[string]string{
		"tokenizer_config.json": `{"chat_template":"{{ messages }}\n"}`,
		"chat_template.jinja":   template,
		"chat_template.json":    `{"chat_template":"\u007b\u007b messages }}\n"}`,
	} {
		b := limits.Policy{}.Budget(t.Context())
		g := gate.Gate{Digest: true}
		v, err := g.Check(b, strings.NewReader(data), int64(len(data)), gate.Hint{Name: name, Beside: true})
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		w := bom.New(&out, "1.2.0")
		if err := errors.Join(w.Add(name, v, nil), w.Close()); err != nil {
			t.Fatal(err)
		}
		if !json.Valid([]byte(out.String())) || !strings.Contains(out.String(), `"name":"chat_template","hashes":[{"alg":"SHA-256","content":"`+want) {
			t.Errorf("%s: %s", name, out.String())
		}
		v.Close()
		b.Close()
	}
}
