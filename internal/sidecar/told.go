package sidecar

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// maxFound is how many findings about one text are listed, besides the first of each kind.
const maxFound = 64

// told are the findings about one text. A policy makes of a finding what it makes of all with the same
// rule and case, by their severity. So the first of each of these is listed however many others are,
// and nothing ends the search for more: no finding hides another that the policy judges differently.
type told struct {
	found tensor.Findings
	more  int // findings that are not listed
}

func (t *told) add(b *limits.Budget, f tensor.Finding) error {
	if len(t.found.All()) >= maxFound && t.has(func(g *tensor.Finding) bool { return covers(g, &f) }) {
		t.more++
		return nil
	}
	return t.found.Add(b, format, f)
}

// covers reports whether whatever policy refuses f refuses g.
func covers(g, f *tensor.Finding) bool {
	return g.Code == f.Code && g.Case == f.Case && g.Severity >= f.Severity
}

// has reports whether such a finding is listed.
func (t *told) has(such func(*tensor.Finding) bool) bool {
	all := t.found.All()
	for i := range all {
		if such(&all[i]) {
			return true
		}
	}
	return false
}

// all returns the findings, at the end how many there are that are not listed.
func (t *told) all(b *limits.Budget) ([]tensor.Finding, error) {
	if t.more > 0 {
		more := tensor.Finding{Code: "scan.findings", Severity: tensor.Note, Off: wire.NoOffset, Text: strconv.Itoa(t.more) + " more findings are not listed, each by the rule of one that is"}
		if err := t.found.Add(b, format, more); err != nil {
			return nil, err
		}
		t.more = 0
	}
	return t.found.All(), nil
}
