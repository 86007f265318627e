package vm_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/vm"
)

var update = flag.Bool("update", false, "rewrite the listing in testdata")

func listing(t testing.TB, data []byte) (text string, end error) {
	t.Helper()
	var out strings.Builder
	for line, err := range vm.Disassemble(limitstest.Open(t, limits.Policy{}), bytes.NewReader(data), 0, int64(len(data))) {
		if err != nil {
			return out.String(), err
		}
		out.WriteString(strings.TrimRight(line.String(), " "))
		out.WriteByte('\n')
	}
	return out.String(), nil
}

// The listing is reviewed by people: a golden of our own text, not of values.
func TestAListingIsAnnotated(t *testing.T) {
	data := "\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00}\x94\x8c\x07weights\x94" + tensor + "p7\nsX\x04\x00\x00\x00\x1b[2Jg0\n0" +
		"(I01\nF1.5\nL-7L\nV\\u00e9\nS'a\\tb'\nC\x01\xfftr\x2c\x01\x00\x00j\x2c\x01\x00\x00000" +
		"cos\nsystem\nX\x02\x00\x00\x00id\x85R0\x82\x07)R(K\x010NN\x86b."
	got, err := listing(t, []byte(data))
	const file = "../testdata/pickle/listing.txt"
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, readErr := os.ReadFile(file)
	if readErr != nil {
		t.Fatal(readErr)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
	if wire.ClassOf(err) != wire.Malformed {
		t.Errorf("the listing ends with %v", err)
	}
}

func TestAListingStopsWhenItsReaderDoes(t *testing.T) {
	b := limitstest.Open(t, limits.Policy{})
	data := "\x80\x02" + strings.Repeat("]0", 1000) + "N."
	lines := 0
	for range vm.Disassemble(b, strings.NewReader(data), 0, int64(len(data))) {
		if lines++; lines == 3 {
			break
		}
	}
	if lines != 3 || limitstest.Used(b, limits.Total) != 0 {
		t.Errorf("%d lines, %d bytes held", lines, limitstest.Used(b, limits.Total))
	}
}

// A flood of instructions is paid by its lines, beside what running it costs.
func TestAListingCostsStepsByItsLines(t *testing.T) {
	const lines = 1 << 16
	b := limitstest.Open(t, limits.Policy{MaxSteps: 4 * lines})
	data := strings.Repeat("N", lines) + "."
	var end error
	for _, err := range vm.Disassemble(b, strings.NewReader(data), 0, int64(len(data))) {
		end = err
	}
	if wire.ClassOf(end) != wire.Limit {
		t.Errorf("%d lines end with %v", lines, end)
	}
}

// A line shows no more of a text than 64 bytes, and no character that moves a
// cursor.
func TestAListingIsSafeToPrint(t *testing.T) {
	long := strings.Repeat("a\x1b[31m\u202e", 3000)
	data := "\x80\x02X" + le(uint32(len(long))) + long + "q\x00h\x000."
	got, _ := listing(t, []byte(data))
	for line := range strings.Lines(got) {
		if len(line) > 200 || strings.ContainsAny(line, "\x1b\u202e") {
			t.Errorf("%q", line)
		}
	}
}
