package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// An ending is how a test ended.
type ending int

const (
	passed    ending = iota
	failed           // or used far more of the processor or of memory than without a mutant, or stood still
	undecided        // it had too little of the processor to tell
)

// A test with a mutant may use so much more of the processor than it did without. Wall time
// decides nothing: on a slow machine a test has as many seconds of a processor as on a fast one.
const (
	slower   = 10
	anyTime  = 20 * time.Second
	ownTime  = 3 * time.Second // the same for the tests of a package alone: they are short
	standing = time.Minute     // without a tick of the processor
	patience = 20 * time.Minute
	memory   = 3 << 30
)

// test runs one test of a suite, and returns what it used of the processor. After a run without
// a mutant, look gets the marks of what was reached.
func (r *runner) test(s *suite, name string, id int, took time.Duration, look func(marks []byte)) (ending, time.Duration) {
	marks, err := os.CreateTemp(r.dir, "marks")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return undecided, 0
	}
	defer os.Remove(marks.Name())
	defer marks.Close()
	if err := marks.Truncate(int64(r.count)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return undecided, 0
	}
	var out bytes.Buffer
	binary, _ := r.binary(s.dir)
	cmd := exec.Command(binary, "-test.run", "^"+name+"$", "-test.short", "-test.failfast", "-test.timeout", "0")
	cmd.Dir, cmd.Stdout, cmd.Stderr = filepath.Join(r.root, s.dir), &out, &out
	cmd.Env = append(os.Environ(), "MUTANT="+strconv.Itoa(id), "REACHED="+marks.Name(), "GOMEMLIMIT=2GiB")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return undecided, 0
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	limit := time.Duration(0)
	if id >= 0 {
		if limit = slower*took + anyTime; r.own {
			limit = slower*took + ownTime
		}
	}
	end := watch(cmd.Process.Pid, limit, ended)
	switch {
	case end == undecided:
	case id >= 0 || end == passed:
	default:
		fmt.Fprintf(os.Stderr, "%s.%s:\n%s", s.dir, name, out.Bytes()[max(0, out.Len()-4000):])
	}
	if look != nil && end == passed {
		if body, err := os.ReadFile(marks.Name()); err == nil {
			look(body)
		}
	}
	used := time.Duration(0)
	if cmd.ProcessState != nil {
		used = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	return end, used
}

// watch waits for the end of a process that leads its group, and ends the group if the process
// used more of the processor than limit (0: no limit), more memory than it may, or nothing at all.
func watch(pid int, limit time.Duration, ended <-chan error) ending {
	kill := func(end ending) ending {
		syscall.Kill(-pid, syscall.SIGKILL)
		<-ended
		return end
	}
	began, moved, last := time.Now(), time.Now(), time.Duration(-1)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return failed
			}
			return passed
		case now := <-tick.C:
			used, held, ok := usage(pid)
			if !ok {
				used = now.Sub(began) // no such files here: wall time must do
			}
			if used != last {
				moved, last = now, used
			}
			switch {
			case limit > 0 && used > limit, held > memory:
				return kill(failed)
			case limit > 0 && now.Sub(moved) > standing:
				return kill(failed)
			case now.Sub(began) > patience:
				return kill(undecided)
			}
		}
	}
}

// usage returns what a process used of the processor and how many bytes of memory it holds.
func usage(pid int) (used time.Duration, held int64, ok bool) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	_, rest, ok := strings.Cut(string(stat), ") ") // the name before it may have spaces
	fields := strings.Fields(rest)
	if !ok || len(fields) < 22 {
		return 0, 0, false
	}
	var ticks int64
	for _, f := range fields[11:15] { // utime, stime, and those of its children
		n, _ := strconv.ParseInt(f, 10, 64)
		ticks += n
	}
	pages, _ := strconv.ParseInt(fields[21], 10, 64)
	return time.Duration(ticks) * (time.Second / 100), pages * int64(os.Getpagesize()), true
}
