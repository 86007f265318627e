package fuzz_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// A second reader reads a file as its specification says, in the simplest way and without
// limits, and shares nothing with the reader that it stands beside. It takes what any honest
// loader could take, so that what it refuses has to be refused; what is accepted, it has to
// read equal.
//
// Each returns a line for every part, in an order that does not depend on the reader.

// errNot is why a second reader does not take a file.
var errNot = errors.New("not of this format")

func not(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errNot, fmt.Sprintf(format, args...))
}

// sameAsSecond fails the test unless a file that was accepted, and read as ours, is read equal.
func sameAsSecond(t testing.TB, second func([]byte) ([]string, error), data []byte, ours []string) {
	t.Helper()
	theirs, err := second(data)
	if err != nil {
		t.Fatalf("it is accepted, and the second reader refuses it: %v", err)
	}
	if a, b := strings.Join(ours, "\n"), strings.Join(theirs, "\n"); a != b {
		t.Fatalf("it is accepted and read as\n%s\nand by the second reader as\n%s", a, b)
	}
}

// A cost is what a reader owes for a file that it accepts: as many items, and at least as many
// bytes and steps, as the part "Limits" of its documentation says, computed from what the second
// reader has read. Bytes are at most a constant more than twice that, so that a charge that is
// too large shows as well.
type cost struct{ items, bytes, steps int64 }

// paid fails the test unless an account was charged what a file costs.
func paid(t testing.TB, b *limits.Budget, c cost) {
	t.Helper()
	if n := limitstest.Peak(b, limits.Items); n != c.items {
		t.Fatalf("%d items are charged, and it has %d", n, c.items)
	}
	if n := limitstest.Peak(b, limits.Total); n < c.bytes || n > 2*c.bytes+1<<20 {
		t.Fatalf("%d bytes are charged, and it holds %d", n, c.bytes)
	}
	if n := limitstest.Used(b, limits.StepCount); n < c.steps {
		t.Fatalf("%d steps are charged, and it takes %d", n, c.steps)
	}
}

// oneOfSixteen says for which inputs of a target a second reader runs.
func oneOfSixteen(data []byte) bool {
	h := fnv.New32a()
	h.Write(data)
	return h.Sum32()%16 == 0
}

// What the second readers are asked about each file of the corpus, whatever its format.
func TestSecondReadersAgreeAboutTheCorpus(t *testing.T) {
	for _, s := range []struct {
		name  string
		check func(testing.TB, []byte) bool
		least int
	}{
		{"safetensors", secondSafetensorsCheck, 40}, {"npy", secondNPYCheck, 60}, {"zip", secondZipCheck, 250},
	} {
		t.Run(s.name, func(t *testing.T) {
			accepted := 0
			for _, format := range corpus.Formats() {
				for _, file := range append(hostile(t, format), valid(t, format)...) {
					if len(file.data) <= corpus.MaxSeed && s.check(named{t, format + "/" + file.name}, file.data) {
						accepted++
					}
				}
			}
			if t.Logf("%d files are accepted", accepted); accepted < s.least {
				t.Errorf("only %d files are accepted", accepted)
			}
		})
	}
}

// A named test says of which file its failures are, and goes on.
type named struct {
	testing.TB
	file string
}

func (n named) Fatalf(format string, args ...any) {
	n.Helper()
	n.Errorf("%s: %s", n.file, fmt.Sprintf(format, args...))
}
