package vm

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/limits"
)

func golden(t *testing.T, name string, into any) {
	t.Helper()
	text, err := os.ReadFile("../testdata/pickle/" + name)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatal(err)
	}
}

func TestWhatTorchTakesIsOnOurListsToo(t *testing.T) {
	var want struct {
		Torch   string
		Globals []string
		Opcodes []int
	}
	golden(t, "weights_only.json", &want)
	if want.Torch != torchVersion {
		t.Errorf("the golden is of torch %s, the tables of %s", want.Torch, torchVersion)
	}
	var globals []string
	for _, e := range allowlist {
		for _, name := range strings.Fields(e.names) {
			if e.weightsOnly {
				globals = append(globals, e.module+"."+name)
			}
		}
	}
	slices.Sort(globals)
	if diff := cmp.Diff(want.Globals, globals); diff != "" {
		t.Errorf("globals: %s", diff)
	}
	var codes []int
	for code, op := range opcodes {
		if op.weightsOnly {
			codes = append(codes, code)
		}
	}
	if diff := cmp.Diff(want.Opcodes, codes); diff != "" {
		t.Errorf("opcodes: %s", diff)
	}
}

func TestNamesOfPython2AreMappedAsCPythonDoes(t *testing.T) {
	var want struct {
		Modules, Names [][2]string
	}
	golden(t, "compat.json", &want)
	modules, names := map[string]string{}, map[string]string{}
	for _, row := range want.Modules {
		modules[row[0]] = row[1]
	}
	for _, row := range want.Names {
		names[row[0]] = row[1]
	}
	if diff := cmp.Diff(modules, pythonTwoModules); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(names, pythonTwoNames); diff != "" {
		t.Error(diff)
	}
	for _, c := range [][4]string{
		{"__builtin__", "xrange", "builtins", "range"},       // both
		{"__builtin__", "set", "builtins", "set"},            // the module alone
		{"collections", "Counter", "collections", "Counter"}, // neither
	} {
		if module, name := python3(c[0], c[1]); module != c[2] || name != c[3] {
			t.Errorf("%s.%s becomes %s.%s", c[0], c[1], module, name)
		}
	}
}

// Each pair is listed once, each id has a rule, and no rule has an unknown letter.
func TestTheAllowlistIsSound(t *testing.T) {
	seen := map[string]bool{}
	used := map[ID]bool{}
	for _, e := range allowlist {
		used[e.id] = true
		for _, name := range strings.Fields(e.names) {
			pair := e.module + " " + name
			if seen[pair] {
				t.Errorf("%s appears twice", pair)
			}
			seen[pair] = true
			if strings.ContainsAny(name, ".") {
				t.Errorf("%s is dotted", pair)
			}
		}
	}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m := newMachine(b, strings.NewReader(""), 0, 0)
	if err := m.begin(); err != nil {
		t.Fatal(err)
	}
	for id := OrderedDict; int(id) < len(rules); id++ {
		if !used[id] && id < JoblibArray { // those of plain files and of sets are elsewhere
			t.Errorf("id %d names nothing", id)
		}
		for _, letter := range rules[id].call + rules[id].new + rules[id].state {
			if !strings.ContainsRune("?*|-(", letter) {
				m.match.fits(string(letter), refNone, refNone) // panics if there is no such letter
			}
		}
	}
	if len(rules) != int(SetMember)+1 {
		t.Errorf("%d rules for %d ids", len(rules), SetMember)
	}
	for pair := range seen {
		module, name, _ := strings.Cut(pair, " ")
		g := Global{Module: module, Name: name}
		if g.judge(); g.Status != Allowed {
			t.Errorf("%s is %v", pair, g.Status)
		}
	}
}

func TestHazardsAreListedOnceWithAReason(t *testing.T) {
	for i, h := range hazards {
		if h.reason == "" {
			t.Errorf("%s has no reason", h.module)
		}
		for _, other := range hazards[:i] {
			if other.module == h.module && (other.names == "" || h.names == "" || other.names == h.names) {
				t.Errorf("%s appears twice", h.module)
			}
			if other.names == "" && within(h.module, other.module) {
				t.Errorf("%s is within %s", h.module, other.module)
			}
		}
	}
}

// The differential search imports these modules before it reads files, and calls
// every other import an effect.
func TestTheSearchKnowsWhichModulesPicklesMayImport(t *testing.T) {
	text, err := os.ReadFile("../crosscheck/differential/loaders.py")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "MODULES = (")
	list, _, _ := strings.Cut(rest, "\n)")
	var got, want []string
	for field := range strings.SplitSeq(list, `"`) {
		if field = strings.TrimSpace(field); field != "" && field != "," {
			got = append(got, field)
		}
	}
	for i := range allowlist {
		want = append(want, allowlist[i].module)
	}
	slices.Sort(want)
	if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
		t.Errorf("(-allowlist +search)\n%s", diff)
	}
}

// Sharded tensors name modules of torch.distributed, of which few start programs.
func TestTensorsOfDistributedModelsAreNotCalledPrograms(t *testing.T) {
	for pair, want := range map[string]string{
		"torch.distributed.tensor DTensor":                     "",
		"torch.distributed.device_mesh DeviceMesh":             "",
		"torch.distributed.checkpoint.metadata Metadata":       "",
		"torch.distributed.run main":                           runsCommands,
		"torch.distributed.elastic.multiprocessing Popen":      runsCommands,
		"torch.distributed.launcher.api LaunchConfig":          runsCommands,
		"torch.distributed.rpc.internal _run_function":         runsCode,
		"torch.distributed.rpc PyRRef":                         runsCode,
		"torch.distributed.elastic.agent.server.api RunResult": runsCommands,
	} {
		module, name, _ := strings.Cut(pair, " ")
		if got := danger(module, name); got != want {
			t.Errorf("%s: %q, want %q", pair, got, want)
		}
	}
}
