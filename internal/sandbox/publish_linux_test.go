package sandbox_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/sandbox"
)

// A locked process gives files that are open already their names, and opens none to be
// written in the folder where it may do so.
func TestAFileIsPublishedAfterTheLock(t *testing.T) {
	if dir := os.Getenv("SANDBOX_PUBLISH"); dir != "" {
		publish(dir)
		return
	}
	dir := t.TempDir()
	for _, name := range []string{"temp", "old", "other"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(name), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAFileIsPublishedAfterTheLock$")
	cmd.Env = append(os.Environ(), "SANDBOX_PUBLISH="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var r report
	if err := json.Unmarshal(out[:max(0, lastBrace(out)+1)], &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if lacks(r.Missing, "seccomp") {
		t.Skip(r.Missing)
	}
	for what, allowed := range map[string]bool{"write what is open": true, "sync it": true, "rename it": true, "remove the old one": true, "make a file": false, "write another": false} {
		if did, ok := r.Did[what]; !ok || (did == "") != allowed {
			t.Errorf("%s: %q", what, did)
		}
	}
}

func lastBrace(text []byte) int {
	for i := len(text) - 1; i >= 0; i-- {
		if text[i] == '}' {
			return i
		}
	}
	return -1
}

func publish(dir string) {
	f, err := os.OpenFile(filepath.Join(dir, "temp"), os.O_RDWR, 0)
	if err != nil {
		panic(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		panic(err)
	}
	missing, err := sandbox.Lock(sandbox.Needs{Publish: []string{dir}})
	if err != nil {
		panic(err)
	}
	r := report{Missing: missing, Did: map[string]string{}}
	note := func(what string, err error) {
		r.Did[what] = ""
		if err != nil {
			r.Did[what] = err.Error()
		}
	}
	if !lacks(missing, "seccomp") {
		_, err = f.WriteString("x")
		note("write what is open", err)
		note("sync it", f.Sync())
		note("rename it", root.Rename("temp", "new"))
		note("remove the old one", root.Remove("old"))
		note("make a file", os.WriteFile(filepath.Join(dir, "made"), nil, 0o666))
		_, err = root.OpenFile("other", os.O_WRONLY, 0)
		note("write another", err)
	}
	print(r)
	os.Exit(0)
}
