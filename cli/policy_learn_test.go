package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A drafted policy accepts the files that it was drafted for, and says why it names what
// it names.
func TestPolicyLearn(t *testing.T) {
	dir := t.TempDir()
	write := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o666); err != nil {
			t.Fatal(err)
		}
		return path
	}
	model := write("model.pkl", "\x80\x02cmy.module\nModel\n)\x81}X\x01\x00\x00\x00aK\x01sb.")
	other := write("other.pkl", "\x80\x02cmy.module\nOther\nK\x01\x85R.")
	evil := write("evil.pkl", "\x80\x02cos\nsystem\nX\x02\x00\x00\x00id\x85R.")
	policy := filepath.Join(dir, "policy.json")

	got := amn(t, nil, "policy", "learn", model, other, "-o", policy)
	if got.code != 0 || !strings.Contains(got.err, "allowed: my.module.Model (global, call, build), for 1 file") {
		t.Fatalf("%d %s", got.code, got.err)
	}
	if got := amn(t, nil, "scan", "--limits", policy, model, other); got.code != 0 {
		t.Errorf("%d %s%s", got.code, got.out, got.err)
	}
	if got := amn(t, nil, "scan", "--limits", policy, evil); got.code != 7 {
		t.Errorf("%d %s", got.code, got.out)
	}
	if got := amn(t, nil, "policy", "learn", model, "-o", policy); got.code != 2 {
		t.Errorf("a policy is replaced: %d %s", got.code, got.err)
	}

	got = amn(t, nil, "policy", "learn", evil)
	if got.code != 7 || strings.Contains(got.out, "os.system") || !strings.Contains(got.err, "not learned: it asks for os.system: starts programs") {
		t.Errorf("%d %s%s", got.code, got.out, got.err)
	}
	excepted := filepath.Join(dir, "danger.json")
	if got := amn(t, nil, "policy", "learn", evil, "--even-danger", "-o", excepted); got.code != 0 {
		t.Errorf("%d %s", got.code, got.err)
	}
	if got := amn(t, nil, "scan", "--limits", excepted, evil); got.code != 0 {
		t.Errorf("%d %s%s", got.code, got.out, got.err)
	}
	twin := write("twin.pkl", "\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.")
	if got := amn(t, nil, "scan", "--limits", excepted, twin); got.code != 7 {
		t.Errorf("another file with the same name is accepted: %d %s", got.code, got.out)
	}
}
