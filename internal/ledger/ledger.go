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

// path is the file of a package that has a line for each test that calls [Charges].
const path = "testdata/charges.txt"

const head = `# What each test charges to its accounts, summed by axis: a charge that is dropped, or made of another
# amount, changes a line. go test with CHARGES=write in its environment writes this file; what changes
# there needs a reason in the commit.
`

var (
	file    sync.Mutex // held while the file is read or written
	watched sync.Map   // names of the tests whose charges are summed
)

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

// compare compares the line of a test with that of the file, or writes it.
func compare(name, charged string) error {
	file.Lock()
	defer file.Unlock()
	text, err := os.ReadFile(path)
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	lines := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if of, sums, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "\t"); ok && !strings.HasPrefix(line, "#") {
			lines[of] = sums
		}
	}
	if os.Getenv("CHARGES") != "write" {
		if want, ok := lines[name]; !ok || sameAnywhere(want) != sameAnywhere(charged) {
			return fmt.Errorf("charged %s, and %s says %q (CHARGES=write go test writes it)", charged, path, want)
		}
		return nil
	}
	lines[name] = charged
	out := head
	for _, of := range slices.Sorted(maps.Keys(lines)) {
		out += of + "\t" + lines[of] + "\n"
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return err
	}
	return os.WriteFile(path, []byte(out), 0o666)
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
