// Package ledger holds tests to what they charge.
package ledger

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits/limitstest"
)

// A record is a file of a package with a line for each test, which go test writes if a variable of its
// environment is "write".
type record struct{ path, variable, head string }

var (
	// charges has a line for each test that calls [Charges].
	charges = record{"testdata/charges.txt", "CHARGES", `# What each test charges to its accounts, summed by axis: a charge that is dropped, or made of another
# amount, changes a line. go test with CHARGES=write in its environment writes this file; what changes
# there needs a reason in the commit.
`}
	// verdicts has a line for each file that tests change.
	verdicts = record{"testdata/verdicts.txt", "VERDICTS", `# How each file ends after each change of one byte: how many changes end in each way, and a hash of all of
# them in order. go test with VERDICTS=write in its environment writes this file; what changes there
# needs a reason in the commit.
`}
)

var (
	file    sync.Mutex // held while a record is read or written
	watched sync.Map   // names of the tests whose charges are summed
)

// Verdicts holds how changes of a file end to the line of its name in testdata/verdicts.txt. Where an int
// has 32 bits, an account holds less, and some files end otherwise: nothing is compared there.
func Verdicts(t testing.TB, name, line string) {
	t.Helper()
	if strconv.IntSize < 64 {
		return
	}
	if want, same, err := verdicts.compare(name, line); err != nil {
		t.Fatal(err)
	} else if !same {
		t.Errorf("%s: its changes end as %s, and %s says %q (VERDICTS=write go test writes it)", name, line, verdicts.path, want)
	}
}

// Charges holds what the test charges from now on, summed by axis, to its line of
// testdata/charges.txt. A second call in the same test does nothing. No other test may run beside
// it, and it may not call [limitstest.Watch].
func Charges(t testing.TB) {
	t.Helper()
	if _, again := watched.LoadOrStore(t.Name(), true); again {
		return
	}
	var one sync.Mutex
	sums := map[string]int64{}
	limitstest.Watch(t, func(axis string, n int64) {
		one.Lock()
		sums[axis] += n
		one.Unlock()
	})
	t.Cleanup(func() { // before the watch ends
		watched.Delete(t.Name())
		if t.Failed() || t.Skipped() {
			return
		}
		one.Lock()
		defer one.Unlock()
		var line []string
		for _, axis := range slices.Sorted(maps.Keys(sums)) {
			line = append(line, fmt.Sprintf("%s=%d", strings.ReplaceAll(axis, " ", "-"), sums[axis]))
		}
		if err := compare(t.Name(), strings.Join(line, " ")); err != nil {
			t.Error(err)
		}
	})
}

// compare compares the charges of a test with its line, or writes it.
func compare(name, charged string) error {
	want, same, err := charges.compare(name, charged)
	if err != nil || same {
		return err
	}
	return fmt.Errorf("charged %s, and %s says %q (CHARGES=write go test writes it)", charged, charges.path, want)
}

// compare compares a line with that of a record, or writes it.
func (k *record) compare(name, line string) (want string, same bool, err error) {
	file.Lock()
	defer file.Unlock()
	text, err := os.ReadFile(k.path)
	if err != nil && !os.IsNotExist(err) {
		return "", false, err
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if of, rest, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && !strings.HasPrefix(line, "#") {
			lines[of] = rest
		}
	}
	if os.Getenv(k.variable) != "write" {
		want, ok := lines[name]
		return want, ok && sameAnywhere(want) == sameAnywhere(line), nil
	}
	lines[name] = line
	out := k.head
	for _, of := range slices.Sorted(maps.Keys(lines)) {
		out += of + "\t" + lines[of] + "\n"
	}
	if err := os.MkdirAll(filepath.Dir(k.path), 0o777); err != nil {
		return "", false, err
	}
	return line, true, os.WriteFile(k.path, []byte(out), 0o666)
}

// sameAnywhere returns what of a line holds on this machine: structs have other sizes where an int has 32
// bits, so that bytes are compared only where it has the 64 bits of the machines that write lines.
func sameAnywhere(line string) string {
	if strconv.IntSize == 64 {
		return line
	}
	return strings.Join(slices.DeleteFunc(strings.Fields(line), func(sum string) bool {
		axis, _, _ := strings.Cut(sum, "=")
		return axis == "total" || axis == "working_set"
	}), " ")
}
