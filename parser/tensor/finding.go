package tensor

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// Severity orders findings for people; only the policy refuses.
type Severity uint8

// The severities.
const (
	Note Severity = iota
	Warning
	Danger
)

var severities = [...]string{"note", "warning", "danger"}

func (s Severity) String() string { return severities[s] }

// A Finding is something a person should know about a file that is accepted:
// other loaders may disagree about it, or it is unusual. The code is stable.
type Finding struct {
	Code     string // "gguf.token-dup"
	Severity Severity
	Where    string // place in the file's own words, names quoted
	Off      int64  // offset, or -1
	Text     string
	// Case says which of a rule's cases it is, where libraries and versions are known for one alone;
	// "" for no such case.
	Case string
}

// A Findings list charges what it holds, and refuses what the policy refuses.
type Findings struct {
	list []Finding
}

// Add records a finding, or returns the refusal of the policy.
func (f *Findings) Add(b *limits.Budget, format string, found Finding) error {
	if !limits.IsFinding(found.Code) {
		return wire.At(format, found.Where, found.Off, wire.ErrInternal.Errorf("no policy can name the finding %s", found.Code))
	}
	if b.Policy().RefusesFinding(found.Code) {
		return wire.At(format, found.Where, found.Off,
			wire.ErrForbidden.WithRule(found.Code).Errorf("the policy refuses the finding %s: %s", found.Code, found.Text))
	}
	if err := b.Items(1); err != nil {
		return wire.At(format, found.Where, found.Off, err)
	}
	if err := b.Hold(int64(len(found.Where) + len(found.Text))); err != nil {
		return wire.At(format, found.Where, found.Off, err)
	}
	list, err := limits.Append(b, f.list, found)
	if err != nil {
		return wire.At(format, found.Where, found.Off, err)
	}
	f.list = list
	return nil
}

// All returns the findings in the order in which they were made.
func (f *Findings) All() []Finding { return f.list }

func (f Finding) String() string {
	if f.Where == "" {
		return fmt.Sprintf("%s: %s", f.Code, f.Text)
	}
	return fmt.Sprintf("%s: %s: %s", f.Code, f.Where, f.Text)
}
