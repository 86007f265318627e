package vm_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/limits/limitstest"
	"github.com/anamnesis-go/anamnesis/vm"
)

func scan(t testing.TB, data []byte) *vm.Report {
	t.Helper()
	return vm.Scan(limitstest.Open(t, limits.Policy{}), bytes.NewReader(data), 0, int64(len(data)))
}

// Every hostile pickle was given to torch.load(weights_only=True), each in a
// process with little memory and time.
func TestTheVerdictOnHostilePicklesIsThatOfTorch(t *testing.T) {
	text, err := os.ReadFile("../testdata/pickle/weights_only.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Hostile map[string]string }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	recipes := corpus.Hostile("pickle")
	if len(recipes) != len(want.Hostile) {
		t.Errorf("%d recipes, the golden has %d", len(recipes), len(want.Hostile))
	}
	for _, r := range recipes {
		t.Run(r.Name, func(t *testing.T) {
			report := scan(t, r.Bytes())
			v := report.WeightsOnly
			ok := false
			switch want.Hostile[r.Name] {
			case "takes": // where a ceiling of ours ends the scan, nothing is sure
				ok = v.OK || v.Unsure && slices.ContainsFunc(v.Reasons, func(r vm.Reason) bool {
					return r.Code == "call" || r.Code == "limit" || r.Code == "build"
				})
			case "refuses", "hangs":
				ok = !v.OK
			case "memory":
				ok = v.Unsure
			}
			if !ok {
				t.Errorf("torch %s it, we say %+v", want.Hostile[r.Name], v)
			}
		})
	}
}

// Reasons are given for both verdicts, in the order of the file.
func TestAVerdictSaysWhy(t *testing.T) {
	data := []byte("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85Rcmy.mod\nThing\n)\x81}b\x86.")
	report := scan(t, data)
	if report.Err != nil {
		t.Fatal(report.Err)
	}
	var safe []string
	for _, r := range report.Safe.Reasons {
		safe = append(safe, r.Code+" "+r.Text)
	}
	want := []string{
		`global "os.system" is dangerous: starts programs`,
		`call "os.system" is dangerous: called with ("id")`,
		`global "my.mod.Thing": not on the allowlist`,
		`call "my.mod.Thing": called with ()`,
		`build "my.mod.Thing": BUILD gives it dict[0], which it does not accept`,
	}
	if !slices.Equal(safe, want) {
		t.Errorf("got %q", safe)
	}
	if report.Safe.OK || report.Safe.By != "anamnesis" || report.WeightsOnly.OK {
		t.Errorf("%+v %+v", report.Safe, report.WeightsOnly)
	}
	for i, r := range report.WeightsOnly.Reasons[1:] {
		if r.Off < report.WeightsOnly.Reasons[i].Off {
			t.Errorf("reasons out of order: %+v", report.WeightsOnly.Reasons)
		}
	}
	f, ok := errors.AsType[*vm.Forbidden](report.Refusal())
	if !ok || f.Module != "os" || f.Name != "system" || f.Off != 2 || f.Status != vm.Dangerous {
		t.Errorf("refused for %v", report.Refusal())
	}
}

// Instructions before a broken end are reported, and refused by their own rules.
func TestABrokenEndHidesNothing(t *testing.T) {
	report := scan(t, []byte("\x80\x02cos\nsystem\n)R\xff\xff"))
	if wire.ClassOf(report.Err) != wire.Malformed || wire.ClassOf(report.Refusal()) != wire.Forbidden {
		t.Errorf("err %v, refusal %v", report.Err, report.Refusal())
	}
	if report.Len() != 2 {
		t.Errorf("%d events", report.Len())
	}
}

func TestAScanListsWhatThePickleAsksFor(t *testing.T) {
	data := []byte("\x80\x02(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpuK\x04tQ" +
		"cm\nC\n)\x81}b]K\x01aa.")
	var got []string
	for e := range scan(t, data).Events() {
		line := e.Use.String() + " " + e.Op + " " + e.On.String()
		if e.Given {
			line += " " + e.With.Shape()
		}
		if !e.OK {
			line += " refused"
		}
		got = append(got, line)
	}
	want := []string{
		"global GLOBAL torch.FloatStorage",
		`persistent BINPERSID ("storage", torch.FloatStorage, "0", "cpu", int) ("storage", torch.FloatStorage, "0", "cpu", int)`,
		"global GLOBAL m.C refused",
		"call NEWOBJ m.C () refused",
		"build BUILD result of m.C dict[0] refused",
		"change APPEND result of m.C [int] refused",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %s", strings.Join(got, "\n"))
	}
}

// A flood of refusals costs a bounded text.
func TestReasonsAreBounded(t *testing.T) {
	data := []byte("\x80\x02" + strings.Repeat("cos\nsystem\n0", 1000) + "N.")
	report := scan(t, data)
	if n, more := len(report.Safe.Reasons), report.Safe.More; n+more != 1000 || n > 100 {
		t.Errorf("%d reasons and %d more", n, more)
	}
	if g := report.Graph.Globals(); len(g) != 1 || g[0].Uses != 1000 {
		t.Errorf("globals %v", g)
	}
}

// Each change of a deque is an objection of torch's loader, which appends to lists alone: all are
// counted, though few are kept.
func TestObjectionsAreCounted(t *testing.T) {
	count := func(n int) int {
		v := scan(t, []byte("\x80\x02ccollections\ndeque\n)R"+strings.Repeat("Na", n)+".")).WeightsOnly
		if v.OK || len(v.Reasons) > 100 {
			t.Errorf("%d changes: %+v", n, v)
		}
		return len(v.Reasons) + v.More
	}
	none := count(0)
	for _, n := range []int{1, 2, 3, 1000, 2000} {
		if got := count(n); got != none+n {
			t.Errorf("%d objections to %d changes, and %d to the deque", got, n, none)
		}
	}
}
