package fuzz_test

import (
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
)

// A second reader reads a file as its specification says, in the simplest way and without
// limits, and shares no code with the reader that it checks. It takes what any honest
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

// oneOfSixteen says for which inputs of a target a second reader runs.
func oneOfSixteen(data []byte) bool {
	h := fnv.New32a()
	h.Write(data)
	return h.Sum32()%16 == 0
}

// Questions to the second readers about each file of the corpus, whatever its format.
func TestSecondReadersAgreeAboutTheCorpus(t *testing.T) {
	for _, s := range []struct {
		name  string
		check func(testing.TB, []byte) bool
		least int
	}{
		{"safetensors", secondSafetensorsCheck, 40}, {"npy", secondNPYCheck, 60}, {"zip", secondZipCheck, 250}, {"onnx", secondONNXCheck, 4},
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
