//go:build unix

package cli_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process starts the program as a process of its own.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, args...)
	cmd.Env = append(os.Environ(), runAsProgram+"=1")
	return cmd
}

func exitCode(t *testing.T, err error) int {
	t.Helper()
	if err == nil {
		return 0
	}
	e, ok := errors.AsType[*exec.ExitError](err)
	if !ok {
		t.Fatal(err)
	}
	return e.ExitCode()
}

// A signal ends the program with 128+n, whatever it waits for, and leaves
// nothing behind.
func TestSignalsEndWithTheirNumber(t *testing.T) {
	for sig, want := range map[syscall.Signal]int{syscall.SIGINT: 130, syscall.SIGTERM: 143, syscall.SIGHUP: 129} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			if signal.Ignored(sig) {
				t.Skip("it is ignored here, and what is ignored stays so")
			}
			dir := t.TempDir()
			cmd := process(t, "inspect", "-")
			cmd.Env = append(cmd.Env, "TMPDIR="+dir)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			var errs bytes.Buffer
			cmd.Stderr = &errs
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer in.Close()
			// It has set its signals up once it takes what comes in: more than a
			// pipe holds.
			if _, err := io.Copy(in, io.LimitReader(zeros{}, 2<<20)); err != nil {
				t.Fatal(err)
			}
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			if got := exitCode(t, cmd.Wait()); got != want {
				t.Errorf("exit %d, want %d: %s", got, want, errs.String())
			}
			if errs.Len() > 0 {
				t.Errorf("it says %q", errs.String())
			}
			if list, _ := os.ReadDir(dir); len(list) > 0 {
				t.Errorf("%v are left", list)
			}
		})
	}
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// nohup sets SIGHUP to be ignored, and it stays so.
func TestAnIgnoredSignalStaysIgnored(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "sh", "-c", `trap "" HUP; exec "$0" "$@"`, self, "inspect", "-")
	cmd.Env = append(os.Environ(), runAsProgram+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, load(t, filepath.Join(demo, "model.safetensors"))[:1000])
	time.Sleep(100 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	io.WriteString(in, load(t, filepath.Join(demo, "model.safetensors"))[1000:])
	in.Close()
	if got := exitCode(t, cmd.Wait()); got != 0 || !strings.Contains(out.String(), "Tensors:     24") {
		t.Errorf("exit %d: %s", got, out.String())
	}
}

// A reader that goes away ends the program without a word.
func TestAClosedPipeEndsQuietly(t *testing.T) {
	path := filepath.Join(demo, "model.safetensors")
	args := []string{"parse", "--json"}
	for range 200 { // more than a pipe holds
		args = append(args, path)
	}
	cmd := process(t, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.CopyN(io.Discard, out, 100); err != nil {
		t.Fatal(err)
	}
	out.Close()
	err = cmd.Wait()
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); err == nil || !ok || !status.Signaled() || status.Signal() != syscall.SIGPIPE {
		t.Errorf("%v, want the end that SIGPIPE makes", err)
	}
	if errs.Len() > 0 {
		t.Errorf("it says %q", errs.String())
	}
}

// Go's own exit code for a panic is that of wrong usage; ours is not.
func TestExitCodesOfTheProcess(t *testing.T) {
	for want, args := range map[int][]string{ // two of one code have two signs
		0:  {"version"},
		1:  {"inspect", os.DevNull + "/below"}, // not a folder
		2:  {"inspect", "no such file"},
		-2: {"inspect", "--no-such-flag"},
		4:  {"inspect", os.DevNull + "/../null/../null"},
	} {
		if want == 4 {
			path := filepath.Join(t.TempDir(), "empty.npz")
			write(t, path, "")
			args[1] = path
		}
		if got := exitCode(t, process(t, args...).Run()); got != max(want, -want) {
			t.Errorf("amn %s: exit %d, want %d", strings.Join(args, " "), got, want)
		}
	}
}
