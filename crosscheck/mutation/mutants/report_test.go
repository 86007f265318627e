package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A floor leaves room for what a sample is by chance.
func TestASampleIsBelowItsFloorOnlyWhereItIsImprobable(t *testing.T) {
	for _, c := range []struct {
		score score
		floor float64
		below bool
	}{
		{score{7, 3}, 80, false}, // one of thirty such samples
		{score{7, 0}, 80, true},
		{score{30, 14}, 80, true},
		{score{30, 17}, 80, false},
		{score{30, 30}, 99, false},
		{score{0, 0}, 99, false},
		{score{3, 0}, 0, false},
		{score{3, 2}, 100, true},
	} {
		if got := c.score.below(c.floor); got != c.below {
			t.Errorf("%+v with a floor of %.0f %%: %v", c.score, c.floor, got)
		}
	}
}

// What was not run counts neither for a package nor against it.
func TestTheReportFailsBelowAFloor(t *testing.T) {
	floors := filepath.Join(t.TempDir(), "floors.txt")
	if err := os.WriteFile(floors, []byte("# share\nvm 90\nall 90\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	list := func(killed, survived, left int) (list []*mutant) {
		for status, n := range map[string]int{"killed": killed, "survived": survived, "": left} {
			for range n {
				list = append(list, &mutant{Package: module + "/vm", Status: status})
			}
		}
		return list
	}
	var out bytes.Buffer
	if err := report(&out, list(5, 0, 20), floors); err != nil {
		t.Error(err)
	}
	err := report(&out, list(10, 10, 0), floors)
	if err == nil || !strings.Contains(err.Error(), "vm: 10 of 20") || !strings.Contains(err.Error(), "all: 10 of 20") {
		t.Errorf("%v", err)
	}
}

// A process is ended by what it uses of the processor, not by the time that it took.
func TestWatchCountsTheProcessor(t *testing.T) {
	for _, c := range []struct {
		script string
		limit  time.Duration
		want   ending
	}{
		{"exit 0", time.Second, passed},
		{"exit 1", time.Second, failed},
		{"while :; do :; done", 300 * time.Millisecond, failed},
	} {
		cmd := exec.Command("sh", "-c", c.script)
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		if got := watch(cmd.Process.Pid, c.limit, ended); got != c.want {
			t.Errorf("%q: %v, not %v", c.script, got, c.want)
		}
	}
}
