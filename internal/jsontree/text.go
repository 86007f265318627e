package jsontree

import (
	"fmt"

	"github.com/anamnesis-go/anamnesis/limits"
)

// A Text builds JSON, and charges it to the account. Its first error is kept.
type Text struct {
	b   *limits.Budget
	p   []byte
	err error
}

// NewText is an empty one.
func NewText(b *limits.Budget) *Text { return &Text{b: b} }

// Done is what was written.
func (t *Text) Done() ([]byte, error) { return t.p, t.err }

// Err returns the first error.
func (t *Text) Err() error { return t.err }

// Step charges a step for something that is examined but not written.
func (t *Text) Step() {
	if t.err == nil {
		t.err = t.b.Step(1)
	}
}

// Put appends texts unchanged.
func (t *Text) Put(parts ...string) {
	for _, s := range parts {
		if t.err == nil {
			t.p, t.err = limits.Grow(t.b, t.p, len(s))
		}
		if t.err == nil {
			t.p = append(t.p, s...)
		}
	}
}

// Quote writes a string as Python's json does: in ASCII, with other characters escaped as UTF-16.
func (t *Text) Quote(s string) {
	t.Put(`"`)
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			t.Put(`\`, string(r))
		case r == '\n':
			t.Put(`\n`)
		case r == '\r':
			t.Put(`\r`)
		case r == '\t':
			t.Put(`\t`)
		case r == '\b':
			t.Put(`\b`)
		case r == '\f':
			t.Put(`\f`)
		case r >= ' ' && r <= '~':
			t.Put(string(r))
		case r > 0xFFFF:
			r -= 0x10000
			t.Put(fmt.Sprintf(`\u%04x\u%04x`, 0xD800+r>>10, 0xDC00+r&0x3FF))
		default:
			t.Put(fmt.Sprintf(`\u%04x`, r))
		}
	}
	t.Put(`"`)
}

// Names writes a list of names, one per line.
func (t *Text) Names(list []string) {
	t.Put("[")
	for i, name := range list {
		if i > 0 {
			t.Put(",")
		}
		t.Put("\n    ")
		t.Quote(name)
	}
	if len(list) > 0 {
		t.Put("\n  ")
	}
	t.Put("]")
}
