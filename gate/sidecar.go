package gate

import (
	"crypto/sha256"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/sidecar"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// checkSidecar searches a text that no loader takes for a model for requests to the
// program that loads the model beside it, such as to run code.
func (j *judgement) checkSidecar() {
	if !strings.HasSuffix(j.Harmless, "text") || j.policy.Sidecars == SidecarsSkip {
		return
	}
	text := sidecar.Text{Name: j.hint.Name, R: j.r, Size: j.Size, Beside: j.hint.near, JSON: j.Harmless == polyglot.JSONText}
	if j.gate.Digest {
		text.Template = j.addTemplate
	}
	found, err := sidecar.Check(j.account, text)
	if err != nil {
		j.Err = wire.At("sidecar", "", wire.NoOffset, err)
	}
	if j.Findings = found; err != nil || len(found) > 0 {
		j.Harmless = ""
	}
}

// A Template is a chat template in a text beside a model.
type Template struct {
	Where  string // in its file, "" for all of it
	Bytes  int64
	SHA256 [sha256.Size]byte // of the text, escapes resolved
}

// maxTemplates bounds the chat templates listed of one file.
const maxTemplates = 64

func (j *judgement) addTemplate(where, text string) {
	if len(j.Templates) < maxTemplates {
		j.Templates = append(j.Templates, Template{where, int64(len(text)), sha256.Sum256([]byte(text))})
	}
}
