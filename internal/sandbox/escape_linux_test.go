package sandbox_test

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/anamnesis-go/anamnesis/internal/sandbox"
)

// escape locks this process as it is asked to, tries everything, and prints what came of it.
func escape(how string) {
	p := &prisoner{dir: os.Getenv("SANDBOX_DIR"), parent: os.Getppid()}
	var err error
	if p.secret, err = unix.Open(filepath.Join(p.dir, "secret"), unix.O_PATH, 0); err != nil {
		panic(err)
	}
	list := attempts()
	r := report{Did: map[string]string{}}
	switch how {
	case "unlocked":
		list = []attempt{{name: "signal", try: signalByFile}, {name: "map", try: writeByMapping(both, 0, unix.MAP_SHARED)}}
	case "without Landlock":
		sandbox.LeaveOut("Landlock")
		fallthrough
	default:
		if r.Missing, err = sandbox.Lock(sandbox.Needs{Read: []string{filepath.Join(p.dir, "in")}}); err != nil {
			panic(err)
		}
	}
	if !lacks(r.Missing, "seccomp") {
		for _, a := range list {
			no := a.try(p)
			r.Did[a.name] = ""
			if no != 0 {
				r.Did[a.name] = unix.ErrnoName(no)
			}
		}
	}
	print(r)
}

// captive starts the process that tries to escape, and tells which signals came meanwhile and
// what the file holds afterwards.
func captive(t *testing.T, program, how string) (r report, signalled bool, content string) {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"in/file", "secret", "shared"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte("datamore"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	both, err := os.OpenFile(filepath.Join(dir, "shared"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer both.Close()
	read, err := os.Open(filepath.Join(dir, "shared"))
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	one, other := os.NewFile(uintptr(pair[0]), "one"), os.NewFile(uintptr(pair[1]), "other")
	defer one.Close()
	defer other.Close()
	l, err := net.Listen("unix", fmt.Sprintf("@amn-escape-%d", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, signalSent, syscall.SIGIO, syscall.SIGWINCH)
	defer signal.Stop(signals)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "SANDBOX_ESCAPE="+how, "SANDBOX_DIR="+dir)
	cmd.ExtraFiles = []*os.File{both, read, one, other}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %.300s %.2000s", err, out, errs.String())
	}
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// What was sent before the process ended comes before the second of these at the latest.
	for range 2 {
		if err := unix.Kill(os.Getpid(), syscall.SIGWINCH); err != nil {
			t.Fatal(err)
		}
		for s := range signals {
			if s == syscall.SIGWINCH {
				break
			}
			signalled = true
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "shared"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"in/new", "in/folder", "in/device", "in/moved", "in/link", "in/linked"} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			t.Errorf("it made %s", name)
		}
	}
	return r, signalled, string(text)
}

// pure builds this test without C, where Landlock locks every thread on every kernel.
func pure(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "sandbox.test")
	cmd := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return program
}

// Each attempt of a compromised process ends with the refusal of the lock, with Landlock and
// without: no other error counts, since it would mean that the kernel had been asked.
func TestACompromisedProcessDoesNotEscape(t *testing.T) {
	program := pure(t)
	for _, how := range []string{"with Landlock", "without Landlock"} {
		t.Run(how, func(t *testing.T) {
			r, signalled, content := captive(t, program, how)
			t.Logf("missing: %q", r.Missing)
			if lacks(r.Missing, "seccomp") {
				t.Skip("the system has no filter")
			}
			list := attempts()
			if len(r.Did) != len(list) || len(list) < 100 {
				t.Errorf("%d attempts, %d made: two have one name", len(list), len(r.Did))
			}
			for _, a := range list {
				want := a.want
				if want == 0 {
					want = unix.EPERM
				}
				got := r.Did[a.name]
				if a.alone && (how == "without Landlock" || lacks(r.Missing, "Landlock")) {
					continue
				}
				if got != unix.ErrnoName(want) {
					t.Errorf("%s: %q, want %s", a.name, got, unix.ErrnoName(want))
				}
			}
			if signalled {
				t.Error("it signalled its parent")
			}
			if content != "datamore" {
				t.Errorf("it wrote %q", content)
			}
		})
	}
}

// The two attempts that an earlier filter let pass are real: a process without a lock signals
// its parent through a socket, and writes a file through memory.
func TestAProcessWithoutALockDoesEscape(t *testing.T) {
	r, signalled, content := captive(t, os.Args[0], "unlocked")
	if !signalled || r.Did["signal"] != "" {
		t.Errorf("no signal came: %v", r.Did)
	}
	if content != "moremore" || r.Did["map"] != "" {
		t.Errorf("the file holds %q: %v", content, r.Did)
	}
}
