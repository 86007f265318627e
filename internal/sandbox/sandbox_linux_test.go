package sandbox_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/anamnesis-go/anamnesis/internal/sandbox"
)

// A report is what a locked process could do.
type report struct {
	Missing []string
	Did     map[string]string // what was tried, and the error, "" if it could be done
}

// TestMain plays the locked process where it is asked to.
func TestMain(m *testing.M) {
	if dir := os.Getenv("SANDBOX_TEST"); dir != "" {
		locked(dir)
		os.Exit(0)
	}
	if how := os.Getenv("SANDBOX_ESCAPE"); how != "" {
		escape(how)
		os.Exit(0)
	}
	if how := os.Getenv("SANDBOX_LIMIT"); how != "" {
		beyond(how)
	}
	os.Exit(m.Run())
}

// locked tries everything on threads that were there before, and on new ones.
func locked(dir string) {
	const threads = 4
	var ready, tried sync.WaitGroup
	start := make(chan struct{})
	r := report{Did: map[string]string{}}
	var mu sync.Mutex
	note := func(what string, err error) {
		mu.Lock()
		defer mu.Unlock()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if old, ok := r.Did[what]; !ok || old != "" && text == "" { // once is enough
			r.Did[what] = text
		}
	}
	var needs sandbox.Needs
	needs.Read = []string{filepath.Join(dir, "in")}
	if os.Getenv("SANDBOX_WRITE") != "" {
		needs.Write = []string{filepath.Join(dir, "out")}
	}
	open, err := os.Open(filepath.Join(dir, "secret"))
	if err != nil {
		panic(err)
	}
	for range threads {
		ready.Add(1)
		tried.Go(func() {
			runtime.LockOSThread()
			ready.Done()
			<-start
			try(dir, note)
		})
	}
	ready.Wait()
	missing, err := sandbox.Lock(needs)
	if err != nil {
		panic(err)
	}
	r.Missing = missing
	if lacks(missing, "seccomp") { // what is tried would be done
		print(r)
		return
	}
	close(start)
	tried.Wait()
	var fresh sync.WaitGroup
	for range threads {
		fresh.Go(func() { runtime.LockOSThread(); try(dir, note) })
	}
	fresh.Wait()
	_, err = open.Read(make([]byte, 1))
	note("read what was open", err)
	runtime.GC()
	print(r)
}

func print(r report) {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(text))
}

func lacks(missing []string, part string) bool {
	return slices.ContainsFunc(missing, func(m string) bool { return strings.HasPrefix(m, part) })
}

// try does what a judgement may, and what it may not.
func try(dir string, note func(string, error)) {
	_, err := os.ReadFile(filepath.Join(dir, "in", "file"))
	note("read what is needed", err)
	_, err = os.ReadDir(filepath.Join(dir, "in"))
	note("list what is needed", err)
	_, err = os.Stat(filepath.Join(dir, "in", "file"))
	note("ask for its size", err)
	time.Sleep(time.Millisecond)

	_, err = os.ReadFile(filepath.Join(dir, "secret"))
	note("read another file", err)
	_, err = os.ReadFile("/etc/hostname")
	note("read the system's", err)
	_, err = os.ReadFile("/proc/self/environ")
	note("read the environment", err)
	note("write a file", os.WriteFile(filepath.Join(dir, "in", "new"), nil, 0o666))
	note("overwrite one", os.WriteFile(filepath.Join(dir, "in", "file"), []byte("x"), 0o666))
	note("remove one", os.Remove(filepath.Join(dir, "in", "other")))
	note("make a folder", os.Mkdir(filepath.Join(dir, "in", "folder"), 0o777))
	note("make a link", os.Symlink("x", filepath.Join(dir, "in", "link")))
	note("change a mode", os.Chmod(filepath.Join(dir, "in", "file"), 0o777))
	note("write elsewhere", os.WriteFile(filepath.Join(dir, "out", "new"), nil, 0o666))
	note("replace elsewhere", os.Rename(filepath.Join(dir, "out", "new"), filepath.Join(dir, "out", "newer")))
	note("start a program", exec.Command("/bin/true").Run())
	note("become a program", unix.Exec("/bin/true", []string{"true"}, nil))
	for family, name := range map[int]string{unix.AF_INET: "TCP", unix.AF_INET6: "TCP 6", unix.AF_UNIX: "a unix socket", unix.AF_NETLINK: "netlink"} {
		fd, err := unix.Socket(family, unix.SOCK_STREAM, 0)
		if err == nil {
			unix.Close(fd)
		}
		note("open "+name, err)
	}
	_, err = unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	note("open a pair", err)
	note("connect what was open", unix.Connect(3, &unix.SockaddrInet4{Port: 1}))
	note("trace its parent", unix.PtraceAttach(os.Getppid()))
	note("signal its parent", unix.Kill(os.Getppid(), 0))
	_, err = unix.ProcessVMReadv(os.Getppid(), nil, nil, 0)
	note("read its parent", err)
	note("mount", unix.Mount("none", "/tmp", "tmpfs", 0, ""))
	note("leave a namespace", unix.Unshare(unix.CLONE_NEWUSER))
	note("raise a limit", unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 10, Max: 10}))
	_, err = unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE|unix.PROT_EXEC, unix.MAP_ANON|unix.MAP_PRIVATE)
	note("map code", err)
	p, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	note("map memory", err)
	if err == nil {
		note("make it code", unix.Mprotect(p, unix.PROT_READ|unix.PROT_EXEC))
	}
	_, err = unix.MemfdCreate("x", 0)
	note("make a file of memory", err)
	var c byte = ' '
	_, _, no := unix.Syscall(unix.SYS_IOCTL, 0, unix.TIOCSTI, uintptr(unsafe.Pointer(&c)))
	note("type into the terminal", errors.Join(asError(no)))
	_, _, no = unix.RawSyscall(unix.SYS_CLONE, uintptr(unix.SIGCHLD), 0, 0)
	note("fork", errors.Join(asError(no)))
	_, _, no = unix.Syscall(unix.SYS_IO_URING_SETUP, 1, 0, 0)
	note("queue calls", errors.Join(asError(no)))
	_, _, no = unix.Syscall(unix.SYS_BPF, 0, 0, 0)
	note("load BPF", errors.Join(asError(no)))
}

func asError(no unix.Errno) error {
	if no == 0 {
		return nil
	}
	return no
}

// run locks a process of its own.
func run(t *testing.T, write bool) report {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"in/file", "in/other", "out/old", "secret"} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o777), os.WriteFile(filepath.Join(dir, name), []byte("data"), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), "SANDBOX_TEST="+dir)
	if write {
		cmd.Env = append(cmd.Env, "SANDBOX_WRITE=1")
	}
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s%s", err, out, errs.String())
	}
	var r report
	if err := json.Unmarshal(out, &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

// What a locked process still can.
var may = []string{"read what is needed", "list what is needed", "ask for its size", "read what was open", "map memory"}

// What only Landlock keeps it from.
var byLandlock = []string{"read another file", "read the system's", "read the environment"}

func TestALockedProcessReadsAndNothingElse(t *testing.T) {
	r := run(t, false)
	t.Logf("missing: %q", r.Missing)
	if lacks(r.Missing, "seccomp") {
		t.Skip("the system has no filter")
	}
	if len(r.Did) < 30 {
		t.Fatalf("%d tries: %v", len(r.Did), r.Did)
	}
	for what, err := range r.Did {
		switch {
		case slices.Contains(may, what):
			if err != "" {
				t.Errorf("it cannot %s: %s", what, err)
			}
		case slices.Contains(byLandlock, what) && lacks(r.Missing, "Landlock"):
		case err == "":
			t.Errorf("it can %s", what)
		}
	}
}

func TestALockedProcessWritesWhereItMust(t *testing.T) {
	r := run(t, true)
	if len(r.Missing) > 0 {
		t.Skipf("the system lacks %q", r.Missing)
	}
	for what, err := range r.Did {
		can := slices.Contains(may, what) || what == "write elsewhere" || what == "replace elsewhere"
		if (err == "") != can {
			t.Errorf("%s: %q", what, err)
		}
	}
}
