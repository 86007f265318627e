package cli_test

import (
	"bufio"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program that links C lacks Landlock before Linux 7.0. With --sandbox on it reads and serves
// nothing if a part of the lock is missing, even if its children would be locked; it runs if none
// is missing.
func TestSandboxOnNeedsEveryPart(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the program")
	}
	dir, program := workplace(t), filepath.Join(built(t), "amn")
	version, err := exec.CommandContext(t.Context(), program, "version", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var has struct {
		Lacks []string `json:"sandbox_lacks"`
	}
	if err := json.Unmarshal(version, &has); err != nil {
		t.Fatal(err)
	}
	t.Logf("lacking: %q", has.Lacks)
	for _, line := range []string{
		"scan --sandbox on model.safetensors", "inspect --sandbox on model.safetensors",
		"serve --sandbox on --listen localhost:0", "serve --isolate --sandbox on --listen localhost:0",
	} {
		cmd := exec.CommandContext(t.Context(), program, strings.Fields(line)...)
		cmd.Dir = dir
		log, err := cmd.StderrPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		said, want, code := "", "listening", -1
		if !strings.HasPrefix(line, "serve") {
			want, code = "", 0
		}
		if len(has.Lacks) > 0 {
			want, code = has.Lacks[0], 2
		}
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if said += lines.Text(); strings.Contains(lines.Text(), "msg=listening") && code < 0 {
				_ = cmd.Process.Kill()
			}
		}
		_ = cmd.Wait()
		if got := cmd.ProcessState.ExitCode(); got != code || !strings.Contains(said, want) {
			t.Errorf("%s: exit %d, want %d with %q: %s", line, got, code, want, said)
		}
	}
}
