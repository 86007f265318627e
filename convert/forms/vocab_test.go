package forms_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// A vocabulary that only another library reads is named in the error.
func TestAForeignVocabularyIsRefusedByItsName(t *testing.T) {
	for _, name := range []string{"tiktoken.model", "qwen.tiktoken", "other.tiktoken", "tokenizer.model", ""} {
		b := converttest.Account(t)
		m := converttest.LlamaOf(t, b, converttest.LlamaConfig, "", 1)
		files, class := fstest.MapFS{"config.json": {Data: []byte(converttest.LlamaConfig)}}, wire.Malformed
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
