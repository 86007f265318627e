package fuzz_test

import (
	"fmt"
	"testing"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// maxOut is the size of the largest output that is examined.
const maxOut = 4 << 20

// writtenOut executes a plan and reads what was written. data is nil for an output above
// maxOut, and answer says so.
func writtenOut(p *convert.Plan) (data []byte, answer string, err error) {
	if p.Size > maxOut {
		return nil, fmt.Sprint("large: ", p.Size), nil
	}
	out := &inMemory{p: make([]byte, p.Size)}
	if _, err := p.Stream(out); err != nil {
		return nil, "", err
	}
	if why := isWritten(out.p, p); why != "" {
		return nil, "", &fuzz.Broken{Property: fuzz.Rewritten, Seen: why}
	}
	return out.p, "", nil
}

// unread executes a plan and discards its output.
func unread(p *convert.Plan) (string, error) {
	if p.Size > maxOut {
		return fmt.Sprint("large: ", p.Size), nil
	}
	_, err := p.Stream(nowhere{})
	return "", err
}

// An agreement is the answer that several ways to do the same must have.
type agreement struct{ first string }

// hold fails if this way has another answer than the ways before.
func (a *agreement) hold(t *testing.T, way, sum any, err error) {
	t.Helper()
	answer := fmt.Sprint(sum, wire.ClassOf(err))
	if a.first == "" {
		a.first = answer
	}
	if answer != a.first {
		t.Fatalf("%+v: %s, %v, before %s", way, answer, err, a.first)
	}
}

// A script is the bytes from which a target builds its file.
type script []byte

// next returns the next byte, or zero at the end.
func (s *script) next() int {
	if len(*s) == 0 {
		return 0
	}
	c := (*s)[0]
	*s = (*s)[1:]
	return int(c)
}
