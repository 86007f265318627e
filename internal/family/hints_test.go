package family

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/tokenizer"
	"github.com/anamnesis-go/anamnesis/limits"
)

// hint reads files beside the weights, and returns the text of the error.
func hint(t *testing.T, read func(*keys) error, r *row, names ...string) string {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	files := fstest.MapFS{}
	for _, name := range names {
		name, text, _ := strings.Cut(name, "=")
		files[name] = &fstest.MapFile{Data: []byte(text)}
	}
	k := newTestKeys(b, r, files)
	err := read(k)
	if err == nil {
		err = k.err
	}
	if err == nil {
		return ""
	}
	return err.Error()
}

// No family says that a file of a vocabulary is not there where it is: a vocabulary that is no
// vocabulary is an error of its file, and one of another kind names what is needed instead.
func TestMissingVocabulariesAreMissing(t *testing.T) {
	vocabularies := []string{tokenizer.FileName, tokenizer.PlamoName, tokenizer.SPMName, spieceName, "tekken.json", "vocab.txt", "vocab.json", "qwen.tiktoken", "tiktoken.model"}
	asked := 0
	for _, r := range rows {
		if r.vocab == nil {
			continue
		}
		none := hint(t, r.vocab, r)
		if none == "" {
			continue // a family without a vocabulary
		}
		asked++
		for _, name := range vocabularies {
			said := hint(t, r.vocab, r, name+"={}")
			_, missing, found := strings.Cut(said, "neither ")
			missing, _, _ = strings.Cut(missing, " beside")
			if found && strings.Contains(missing, name) {
				t.Errorf("%s: %s is there: %s", r.names[0], name, said)
			}
			if said == none && strings.Contains(none, name+" ") {
				t.Errorf("%s: with %s and without it: %s", r.names[0], name, said)
			}
		}
	}
	if asked < 50 {
		t.Errorf("%d families have a vocabulary", asked)
	}
}

// The numbers by which images are normalized are missed in the file that should have them.
func TestMissingImageNormalizationNamesItsFile(t *testing.T) {
	read := func(k *keys) error {
		k.c.full = jsontree.Object()
		k.imageNormalization("image_mean")
		return k.err
	}
	for _, c := range []struct {
		files []string
		says  string
	}{
		{nil, `neither it nor processor_config.json beside the weights has "image_mean"`},
		{[]string{"preprocessor_config.json={}"}, `neither it nor processor_config.json beside the weights has "image_mean"`},
		{[]string{"preprocessor_config.json={\"image_mean\": null}"}, "image_mean"},
		{[]string{"preprocessor_config.json={\"image_mean\": []}"}, "0 numbers, where each colour has one"},
		{[]string{"preprocessor_config.json={\"image_mean\": [\"0.5\"]}"}, "something other than a number"},
		{[]string{"preprocessor_config.json={\"image_mean\": [0.5, 0.5, 0.5]}"}, ""},
		{[]string{"processor_config.json={\"image_processor\": {\"image_mean\": [0.5, 0.5, 0.5]}}"}, ""},
	} {
		said := hint(t, read, rows[0], c.files...)
		t.Log(said)
		if !strings.Contains(said, c.says) || (said == "") != (c.says == "") {
			t.Errorf("%q: %s", c.files, said)
		}
		if strings.Contains(said, "0x0") {
			t.Errorf("%q: the offset of a file that is not there: %s", c.files, said)
		}
	}
}
