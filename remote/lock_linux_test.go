package remote_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The program that takes addresses opens no connection for files and uploads: before it reads
// the first byte of them, every thread has the filter of system calls, which lists no new socket
// (package sandbox tries them). For an address it has none, and --sandbox on refuses one.
func TestFilesAndUploadsAreReadLocked(t *testing.T) {
	bin := program(t)
	if lacks := lacking(t, bin); len(lacks) > 0 {
		t.Skipf("this system lacks %s", strings.Join(lacks, ", "))
	}
	for _, args := range [][]string{
		{"scan", "--sandbox", "on", "-"},
		{"serve", "--sandbox", "on", "--listen", "localhost:0"},
	} {
		t.Run(args[0], func(t *testing.T) {
			cmd := exec.CommandContext(t.Context(), bin, args...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				cmd.Process.Kill()
				cmd.Wait()
			}()
			for looks := 0; !filtered(t, cmd.Process.Pid); looks++ {
				if looks == 60_000 {
					t.Fatal("it never locks itself")
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	h := newHub(t, demo+"sharded")
	h.mu.Lock()
	h.any = true
	h.mu.Unlock()
	for _, c := range []struct {
		args     []string
		code     int
		connects bool
	}{{[]string{"--sandbox", "on"}, 2, false}, {nil, 0, true}} {
		run := exec.CommandContext(t.Context(), bin, append([]string{"--allow-private", "scan", "hf://owner/repo"}, c.args...)...)
		run.Env = append(os.Environ(), "HF_ENDPOINT="+h.URL)
		out, _ := run.CombinedOutput()
		if code := run.ProcessState.ExitCode(); code != c.code || h.count() > 0 != c.connects {
			t.Errorf("an address with %q: exit %d, %d requests: %s", c.args, code, h.count(), out)
		}
	}
}

// lacking returns what of the lock this system does not have.
func lacking(t *testing.T, bin string) (parts []string) {
	out, err := exec.CommandContext(t.Context(), bin, "version", "--json").Output()
	if err != nil {
		t.Fatal(err)
	}
	var said struct {
		Lacks *[]string `json:"sandbox_lacks"`
	}
	if err := json.Unmarshal(out, &said); err != nil || said.Lacks == nil {
		t.Fatalf("%v: %s", err, out)
	}
	return *said.Lacks
}

// filtered reports whether all threads of a process have a filter of system calls and may gain
// no privileges.
func filtered(t *testing.T, pid int) bool {
	threads, err := filepath.Glob(filepath.Join("/proc", strconv.Itoa(pid), "task", "*", "status"))
	if err != nil || len(threads) == 0 {
		t.Fatalf("the process has ended: %v", err)
	}
	for _, name := range threads {
		status, err := os.ReadFile(name)
		if err != nil {
			continue // a thread that has ended
		}
		if s := string(status); !strings.Contains(s, "\nSeccomp:\t2\n") || !strings.Contains(s, "\nNoNewPrivs:\t1\n") {
			return false
		}
	}
	return true
}
