package convert_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A vocabulary that only another library reads is named, not missed.
func TestAForeignVocabularyIsRefusedByItsName(t *testing.T) {
	for _, name := range []string{"tiktoken.model", "qwen.tiktoken", "other.tiktoken", "tokenizer.model", ""} {
		b := account(t)
		m := llamaOf(t, b, llamaConfig, "", 1)
		files, class := fstest.MapFS{"config.json": {Data: []byte(llamaConfig)}}, wire.Malformed
		if name != "" {
			files[name], class = &fstest.MapFile{Data: []byte("IQ== 0\n")}, wire.Unsupported
		}
		m.Folder = files
		_, err := forms.LlamaCPP{Name: "x"}.Model(b, m)
		if wire.ClassOf(err) != class || name != "" && !strings.Contains(err.Error(), name) {
			t.Errorf("%q: %v", name, err)
		}
	}
}
