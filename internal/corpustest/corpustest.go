// Package corpustest holds a decoder to the hostile recipes of its format.
package corpustest

import (
	"bytes"
	"errors"
	"io"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// A Decoder reads the structure of a file and returns how its bodies are read,
// nil for a format whose bodies say nothing.
type Decoder func(b *limits.Budget, r io.ReaderAt, size int64) (verify func(*limits.Budget) error, err error)

// Refused gives each recipe of the format, of which there are at least least, to
// the decoder, at once and one byte at a time: class, offset and axis of the
// refusal are what the recipe says, and it comes from the depth that it says.
func Refused(t *testing.T, format string, least int, decode Decoder) {
	list := corpus.Hostile(format)
	if len(list) < least {
		t.Errorf("%d recipes", len(list))
	}
	for _, r := range list {
		t.Run(r.Name, func(t *testing.T) {
			data := r.Bytes()
			for _, reader := range []io.ReaderAt{bytes.NewReader(data), Trickle(data)} {
				refused(t, &r, format, refusal(t, &r, reader, decode))
			}
		})
	}
}

func refusal(t *testing.T, r *corpus.Recipe, from io.ReaderAt, decode Decoder) error {
	b := Account(t, r.Policy)
	defer func() {
		if n := limitstest.Used(b, limits.Depth); n != 0 {
			t.Errorf("%d levels left open", n)
		}
	}()
	verify, err := decode(b, from, int64(len(r.Bytes())))
	if r.Depth != corpus.Whole {
		return err
	}
	if err != nil {
		t.Fatalf("refused by the structure: %v", err)
	}
	return verify(b)
}

func refused(t *testing.T, r *corpus.Recipe, format string, err error) {
	t.Helper()
	placed, ok := errors.AsType[*wire.Error](err)
	if !ok {
		t.Fatalf("error %v", err)
	}
	if class := wire.ClassOf(err).String(); class != r.Expect || placed.Off != r.Offset || placed.Format != format {
		t.Errorf("%s: %s at %#x, want %s at %#x: %v", placed.Format, class, placed.Off, r.Expect, r.Offset, err)
	}
	axis := ""
	if limit, ok := errors.AsType[*limits.Error](err); ok {
		axis = limit.Axis.String()
	}
	if axis != r.Axis {
		t.Errorf("axis %q, want %q", axis, r.Axis)
	}
}

// Account opens an account under a policy of a recipe, the default one where
// there is none.
func Account(t testing.TB, policy []byte) *limits.Budget {
	t.Helper()
	if policy == nil {
		policy = []byte("{}")
	}
	p, err := limits.ParsePolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	return limitstest.Open(t, p)
}

// Trickle is a reader that gives one byte at a time.
type Trickle []byte

// ReadAt is that of [io.ReaderAt], but for its habit.
func (d Trickle) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(d)) {
		return 0, io.EOF
	}
	return copy(p[:min(len(p), 1)], d[off:]), nil
}
