package parser

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/unwrap"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// polyglot refuses a file that another loader would read as an archive, or
// returns the finding if the policy lets it pass.
func (h *head) polyglot(f *format) (*tensor.Finding, error) {
	what, off, err := h.alias()
	if what == "" || err != nil {
		return nil, err
	}
	text := fmt.Sprintf("it is %s from its beginning, and %s too: what a loader sees depends on the loader", f.name, what)
	if !h.b.Policy().Quirk(polyglotQuirk) {
		return nil, wire.At(detection, "", off, wire.ErrUnsupported.With("%s (quirk %s lets it pass)", text, polyglotQuirk))
	}
	return &tensor.Finding{Code: "detect.polyglot", Severity: tensor.Danger, Off: off, Text: text}, nil
}

// alias finds the archive that a file is besides what its first bytes say.
func (h *head) alias() (what string, off int64, err error) {
	if looksZip(h) == yes {
		return "", 0, nil
	}
	what, off, err = unwrap.Alias(h.r, h.size, h.p)
	return what, off, wire.At(detection, "", off, err)
}
