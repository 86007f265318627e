package fuzz_test

import (
	"crypto/sha256"
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// ledgerFile has for each function that charges an account, and each axis on which it does, the
// file of the corpus that costs most there, and how much. It is no golden of what is right, which
// the documents of the packages state and their tests hold: it makes a charge that was lost or
// became less a decision.
const ledgerFile = "testdata/ledger.txt"

var update = flag.Bool("update", false, "rewrite "+ledgerFile)

// A ledger compares what functions charge for files with what they did.
type ledger struct {
	before   map[string]entry // by function and axis
	most     map[string]entry
	now      map[string]int64 // for the file that is read
	compared int
	less     []string
}

type entry struct {
	file, digest string
	amount       int64
}

var closure = regexp.MustCompile(`(\.func[0-9]+|-range[0-9]+|\.gowrap[0-9]+).*$`)

// outermost returns the function that contains a closure.
func outermost(function string) string {
	return strings.ReplaceAll(closure.ReplaceAllString(function, ""), "[...]", "")
}

func (l *ledger) charge(function, axis string, n int64) {
	if function != "" {
		l.now[function+" "+axis] += n
	}
}

// end compares the file that was read.
func (l *ledger) end(file string, data []byte) {
	digest := fmt.Sprintf("%x", sha256.Sum256(data))[:8]
	for key, old := range l.before {
		if old.file != file || old.digest != digest {
			continue
		}
		l.compared++
		if n := l.now[key]; n < old.amount {
			l.less = append(l.less, fmt.Sprintf("%s charges %d for %s, and did %d", key, n, file, old.amount))
		}
	}
	for key, n := range l.now {
		if n > l.most[key].amount {
			l.most[key] = entry{file, digest, n}
		}
	}
}

func readLedger(t *testing.T) ledger {
	l := ledger{before: map[string]entry{}, most: map[string]entry{}, now: map[string]int64{}}
	body, err := os.ReadFile(ledgerFile)
	if err != nil {
		if *update {
			return l
		}
		t.Fatal(err)
	}
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		var e entry
		if len(f) != 4 {
			t.Fatalf("%s: %q", ledgerFile, line)
		}
		if _, err := fmt.Sscan(f[1], &e.amount); err != nil {
			t.Fatal(err)
		}
		e.file, e.digest = f[2], f[3]
		l.before[f[0]] = e
	}
	return l
}

// check fails the test for what became less, or writes the ledger.
func (l *ledger) check(t *testing.T) {
	if *update {
		var out strings.Builder
		out.WriteString("# What each function charges, by axis, for the file of the corpus for which it charges most: go test ./fuzz -run EveryPlaceThatCharges -update.\n" +
			"# A line whose amount becomes less has its reason in the commit.\n")
		for _, key := range slices.Sorted(maps.Keys(l.most)) {
			e := l.most[key]
			fmt.Fprintf(&out, "%s\t%d\t%s\t%s\n", key, e.amount, e.file, e.digest)
		}
		if err := os.WriteFile(ledgerFile, []byte(out.String()), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	slices.Sort(l.less)
	for _, s := range l.less {
		t.Errorf("%s: where that is meant, run this test with -update and say in the commit why", s)
	}
	// What was renamed, or whose file changed, is not compared.
	if t.Logf("%d of %d amounts are compared", l.compared, len(l.before)); l.compared*10 < len(l.before)*8 {
		t.Errorf("only %d of %d amounts are compared: run this test with -update", l.compared, len(l.before))
	}
}

func TestClosuresBelongToTheirFunction(t *testing.T) {
	for in, want := range map[string]string{
		"vm.(*machine).run": "vm.(*machine).run", "vm.(*machine).run.func1": "vm.(*machine).run", "vm.load.func2.3": "vm.load", "parser/gguf.array[...].func1": "parser/gguf.array",
		"quant.plan-range1": "quant.plan", "quant.plan.func1-range2": "quant.plan", "gate.function": "gate.function",
	} {
		if got := outermost(in); got != want {
			t.Errorf("%s: %s, not %s", in, got, want)
		}
	}
}
