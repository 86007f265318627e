// Package corpustest holds a decoder to the hostile recipes and the honest files of its format.
package corpustest

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Decoder reads the structure of a file and returns how its bodies are read,
// nil for a format whose bodies say nothing.
type Decoder func(b *limits.Budget, r io.ReaderAt, size int64) (verify func(*limits.Budget) error, err error)

// Refused gives each recipe of the format, of which there are at least least, to
// the decoder, at once and one byte at a time: class, offset and axis of the
// refusal are what the recipe says, and it comes from the depth that it says. The decoder takes
// the recipes that gates names: others refuse them.
func Refused(t *testing.T, format string, least int, decode Decoder, gates ...string) {
	list := corpus.Hostile(format)
	if len(list) < least {
		t.Errorf("%d recipes", len(list))
	}
	for _, r := range list {
		t.Run(r.Name, func(t *testing.T) {
			data := r.Bytes()
			for _, reader := range []io.ReaderAt{bytes.NewReader(data), Trickle(data)} {
				err := refusal(t, &r, reader, decode)
				if !slices.Contains(gates, r.Name) {
					refused(t, &r, format, err)
				} else if err != nil {
					t.Errorf("refused by the decoder: %v", err)
				}
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

// Whole returns how all of a model is read: each tensor of a known type, and what there is to verify. The model is then closed.
func Whole(m tensor.Model) func(*limits.Budget) error {
	return func(b *limits.Budget) error {
		for i := range m.Tensors() {
			if i.DType == tensor.Unknown {
				continue
			}
			body, err := m.Body(b, i)
			if err == nil {
				_, err = io.Copy(io.Discard, body)
			}
			if err != nil {
				return err
			}
		}
		return errors.Join(m.(tensor.Verifier).Verify(b), m.Close())
	}
}

// Account opens an account under a policy of a recipe, the default one where
// there is none.
func Account(t testing.TB, policy []byte) *limits.Budget {
	t.Helper()
	return limitstest.Open(t, policyOf(t, policy))
}

func policyOf(t testing.TB, policy []byte) limits.Policy {
	t.Helper()
	if policy == nil {
		policy = []byte("{}")
	}
	p, err := limits.ParsePolicy(policy)
	if err != nil {
		t.Fatal(err)
	}
	return p
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

// maxPoints is how many charges or reads of a file are refused, one at a time: all those of most files.
// Of a format with many files fewer are.
const maxPoints, someOfMany, many = 300, 40, 100

// Accepted gives each honest file of the format, of which there are at least least, to the decoder:
// at once and one byte at a time it is read whole, and charges what testdata/charges.txt says.
// Where a charge is refused, that ends the reading as a limit, and where a read fails, its error does.
// Each ends as testdata/verdicts.txt says after each change of one byte. Where open is given, its model
// keeps the contract of [tensor.Model], and what it says is part of that line.
func Accepted(t *testing.T, format string, least int, decode Decoder, open ...Opener) {
	list := corpus.Valid(format)
	if len(list) < least {
		t.Errorf("%d files", len(list))
	}
	for _, s := range list {
		if len(s.Data) > 64<<10 {
			continue
		}
		var policy []byte
		if s.Recipe != nil {
			policy = s.Recipe.Policy
		}
		t.Run(s.Name, func(t *testing.T) {
			ledger.Charges(t)
			read := func(r io.ReaderAt) error {
				b := Account(t, policy)
				verify, err := decode(b, r, int64(len(s.Data)))
				if err == nil && verify != nil {
					err = verify(b)
				}
				return err
			}
			for _, r := range []io.ReaderAt{bytes.NewReader(s.Data), Trickle(s.Data)} {
				if err := read(r); err != nil {
					t.Fatal(err)
				}
			}
			fail(t, s.Data, points(len(list)), read)
		})
		for _, open := range open {
			t.Run("model/"+s.Name, func(t *testing.T) { held(t, policy, s.Data, open) })
		}
		most := MostPlaces
		if len(list) > many {
			most /= 4
		}
		t.Run("damaged/"+s.Name, func(t *testing.T) {
			Damaged(t, s.Data, most, func(data []byte) string { return ending(t, policyOf(t, policy), data, decode, open...) })
		})
	}
}

// held holds the model of a file to its contract, and what it says to a line of testdata/verdicts.txt.
func held(t *testing.T, policy, data []byte, open Opener) {
	b := Account(t, policy)
	m, err := open(b, bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	Held(t, b, m)
	m, err = open(b, bytes.NewReader(data), int64(len(data)))
	ledger.Verdicts(t, t.Name(), Said(t, b, m, err))
}

// fail refuses each charge of a file, and lets each read fail.
func fail(t *testing.T, data []byte, most int, read func(io.ReaderAt) error) {
	t.Helper()
	refuseEach(t, most, func() error { return read(bytes.NewReader(data)) })
	each(most, func(n int) bool {
		r := failsAt{bytes.NewReader(data), n, new(int)}
		err := read(r)
		if *r.reads >= n && !errors.Is(err, faulty.ErrDisk) || *r.reads < n && err != nil {
			t.Errorf("read %d of %d fails: %v", n, *r.reads, err)
		}
		return *r.reads >= n
	})
}

// EachCharge refuses the charges of what do does, one at a time: it must end as a limit each time, and
// well when none is refused.
func EachCharge(t *testing.T, do func() error) {
	t.Helper()
	refuseEach(t, maxPoints, do)
}

func refuseEach(t *testing.T, most int, do func() error) {
	t.Helper()
	each(most, func(n int) bool {
		asked := 0
		limitstest.Refuse(t, func(string, int64) bool { asked++; return asked == n })
		err := do()
		if asked >= n && !errors.Is(err, limits.ErrLimit) || asked < n && err != nil {
			t.Errorf("charge %d of %d is refused: %v", n, asked, err)
		}
		return asked >= n
	})
	limitstest.Refuse(t, func(string, int64) bool { return false })
}

func points(files int) int {
	if files > many {
		return someOfMany
	}
	return maxPoints
}

// each calls do with 1, 2 and so on, until it reports that there is no such point.
func each(most int, do func(n int) bool) {
	for n := 1; n <= most && do(n); n++ {
	}
}

// A failsAt is a file of which one read fails.
type failsAt struct {
	io.ReaderAt
	at    int
	reads *int
}

func (f failsAt) ReadAt(p []byte, off int64) (int, error) {
	if *f.reads++; *f.reads == f.at {
		return 0, faulty.ErrDisk
	}
	return f.ReaderAt.ReadAt(p, off)
}
