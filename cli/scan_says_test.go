package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/corpus"
)

// A clean file says what was looked at; a hostile one says what, where and why.
func TestScanReportsWhatItRead(t *testing.T) {
	dir := t.TempDir()
	clean, bad := filepath.Join(dir, "clean.pt"), filepath.Join(dir, "bad.pt")
	write(t, clean, honest(t, "tied.pt"))
	write(t, bad, hostile(t, "nested-call"))
	r := amn(t, nil, "scan", clean)
	for _, text := range []string{"ok ", "looked at: PyTorch checkpoint, 6 tensors", "data read and checked", "data.pkl: 3 globals", "safe: yes", "weights_only: yes"} {
		if !strings.Contains(r.out, text) {
			t.Errorf("%q is missing in\n%s", text, r.out)
		}
	}
	if r.code != 0 || r.err != "" {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	r = amn(t, nil, "scan", bad)
	for _, text := range []string{"forbidden", "dangerous os.system: starts programs", "called with", "safe: no", "weights_only: no"} {
		if !strings.Contains(r.out, text) {
			t.Errorf("%q is missing in\n%s", text, r.out)
		}
	}
	if r.code != 7 {
		t.Errorf("exit %d", r.code)
	}
	all := amn(t, nil, "scan", "--all", clean).out
	for _, text := range []string{"allowed   torch._utils._rebuild_tensor_v2", "persistent", "call "} {
		if !strings.Contains(all, text) {
			t.Errorf("%q is missing in\n%s", text, all)
		}
	}
	both := amn(t, nil, "scan", dir)
	if !strings.Contains(both.err, "2 files judged: 1 ok, 1 forbidden") || both.code != 7 {
		t.Errorf("exit %d, %s", both.code, both.err)
	}
}

func TestScanReadsStandardInput(t *testing.T) {
	in := strings.NewReader(honest(t, "tied.pt"))
	if r := amn(t, in, "scan", "-"); r.code != 0 || !strings.Contains(r.out, "6 tensors") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
	in = strings.NewReader("\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.")
	if r := amn(t, in, "scan", "-", "-"); r.code != 7 || !strings.Contains(r.out, "only once") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.err)
	}
}

// The policy holds in a scan: formats that it refuses, ceilings, findings.
func TestScanFollowsThePolicy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.pt")
	write(t, path, honest(t, "tied.pt"))
	if r := amn(t, nil, "scan", "--limits", "strict", path); r.code != 7 || !strings.Contains(r.out, "the policy refuses") {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
	if r := amn(t, nil, "scan", "--max-items", "10", path); r.code != 6 || !strings.Contains(r.out, "--max-items") {
		t.Errorf("exit %d\n%s", r.code, r.out)
	}
}

func TestParseListsPickles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.pt")
	write(t, path, honest(t, "typed-dtypes-legacy.pt"))
	r := amn(t, nil, "parse", "--pickle", path)
	for _, text := range []string{"pickle 1 (magic), protocol 2", "pickle 5 (keys)", "REDUCE", "torch._utils._rebuild_tensor_v2"} {
		if !strings.Contains(r.out, text) {
			t.Errorf("%q is missing", text)
		}
	}
	if r.code != 0 {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	r = amn(t, nil, "parse", "--pickle", "--json", path)
	count := 0
	for line := range strings.Lines(r.out) {
		valid(t, "pickle", line)
		count++
	}
	if count != 5 || r.code != 0 {
		t.Errorf("%d pickles, exit %d", count, r.code)
	}
	write(t, path, hostile(t, "nested-call"))
	for _, flag := range []string{"--quiet", "--json"} {
		r = amn(t, nil, "parse", "--pickle", flag, path)
		if r.code != 7 || !strings.Contains(r.err, "os.system") {
			t.Errorf("exit %d, %s", r.code, r.err)
		}
	}
	if r := amn(t, nil, "parse", "--pickle", filepath.Join(dir, "gone.pt")); r.code != 2 {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	in := strings.NewReader("\x80\x02K\x01.")
	if r := amn(t, in, "parse", "--pickle", "-"); r.code != 0 || !strings.Contains(r.out, "BININT1") {
		t.Errorf("exit %d, %s%s", r.code, r.out, r.err)
	}
}

// A folder of 1,000 small checkpoints; files/s is what counts.
func BenchmarkScanFolder(b *testing.B) {
	dir := b.TempDir()
	const files = 1000
	var seeds []string
	for _, s := range corpus.Valid("pth") {
		if s.Recipe == nil {
			seeds = append(seeds, string(s.Data))
		}
	}
	for i := range files {
		write(b, filepath.Join(dir, fmt.Sprintf("%04d.pt", i)), seeds[i%len(seeds)])
	}
	for b.Loop() {
		code := cli.Main(b.Context(), []string{"scan", "-q", dir}, cli.Stdio{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard})
		if code != 0 {
			b.Fatalf("exit %d", code)
		}
	}
	b.ReportMetric(float64(files*b.N)/b.Elapsed().Seconds(), "files/s")
}

// Reports are written beside the text, or in its place, and never over a file that
// is scanned.
func TestScanWritesReports(t *testing.T) {
	dir := t.TempDir()
	evil := filepath.Join(dir, "evil.pkl")
	write(t, evil, "cos\nsystem\n(S'id'\ntR.")
	sarif, junit := filepath.Join(dir, "out.sarif"), filepath.Join(dir, "out.xml")
	r := amn(t, nil, "scan", "--output", "sarif="+sarif, "--output", "junit="+junit, evil)
	if r.code != 7 || !strings.Contains(r.out, "os.system") {
		t.Errorf("exit %d: %s", r.code, r.out)
	}
	for path, want := range map[string]string{sarif: `"ruleId":"pickle.global"`, junit: `<failure type="pickle.global"`} {
		if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s: %v in %s", path, err, text)
		}
	}
	if r := amn(t, nil, "scan", "--format", "github", evil); !strings.HasPrefix(r.out, "::error file=") || r.code != 7 {
		t.Errorf("exit %d: %s", r.code, r.out)
	}
	if r := amn(t, nil, "scan", "-q", "--format", "json", evil); r.code != 7 {
		t.Errorf("exit %d", r.code)
	} else {
		valid(t, "scan", r.out)
	}
	for _, args := range [][]string{
		{"--output", "sarif=" + evil}, {"--output", "sarif"}, {"--output", "pdf=" + junit}, {"--json", "--format", "sarif"},
	} {
		if r := amn(t, nil, append(append([]string{"scan"}, args...), evil)...); r.code != 2 {
			t.Errorf("%v: exit %d", args, r.code)
		}
	}
}

// A policy's exceptions hold in a scan, and flags go over it.
func TestScanAppliesExceptionsOfAPolicy(t *testing.T) {
	dir, models := t.TempDir(), t.TempDir()
	policy := filepath.Join(dir, "policy.json")
	write(t, filepath.Join(models, "model.safetensors"), "\x02\x00\x00\x00\x00\x00\x00\x00{}")
	write(t, filepath.Join(models, "x.pkl.lz4"), "\x04\"M\x18d@\xa7\x00")
	for text, want := range map[string]int{
		`{"version": 2}`:                       5,
		`{"version": 2, "unlooked": "report"}`: 0,
		`{"version": 2, "ignore": [{"rule": "gate.unlooked", "path": "*.lz4", "reason": "judged elsewhere"}]}`:                   0,
		`{"version": 2, "ignore": [{"rule": "gate.unlooked", "path": "*.lz4", "reason": "as before", "expires": "2020-01-01"}]}`: 5,
		`{"version": 2, "ignore": [{"rule": "gate.nothing", "path": "*.lz4", "reason": "no such rule"}]}`:                        2,
		`{"max_depth": 64}`: 5,
	} {
		write(t, policy, text)
		if r := amn(t, nil, "scan", "-q", "--limits", policy, models); r.code != want {
			t.Errorf("%s: exit %d, want %d: %s", text, r.code, want, r.out+r.err)
		}
	}
	write(t, policy, `{"version": 2, "unlooked": "report"}`)
	if r := amn(t, nil, "scan", "-q", "--limits", policy, "--unlooked", "refuse", models); r.code != 5 {
		t.Errorf("a flag goes over the policy: exit %d", r.code)
	}
}
