//go:build unix

package cli_test

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/effort"
)

// resuming starts the program with a folder for its key.
func resuming(t *testing.T, state string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	t.Helper()
	cmd := process(t, args...)
	cmd.Env = append(cmd.Env, "AMN_STATE="+state)
	errs := &bytes.Buffer{}
	cmd.Stderr = errs
	return cmd, errs
}

// atWork waits until a run has written some of a journal.
func atWork(journal string, ended <-chan error, least int64) {
	for {
		select {
		case <-ended:
			return
		default:
			if info, err := os.Stat(journal); err == nil && info.Size() > least {
				return
			}
			time.Sleep(time.Millisecond)
		}
	}
}

// A job that is killed at any time goes on, and has the bytes of one that was not; so it has
// if a byte of what is unfinished changes meanwhile.
func TestAKilledJobResumesWithTheSameBytes(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program often")
	}
	state, plain := t.TempDir(), t.TempDir()
	source := filepath.Join(plain, "in.gguf")
	bigGGUF(t, source, 2500)
	want := filepath.Join(plain, "want")
	if out, err := process(t, "remember", "-q", "-o", want, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// A run may end before it is killed, or be killed before it has what is worth keeping: then
	// others follow, which are killed as soon as they have written anything.
	whole, went := load(t, want), 0
	for trial := 0; trial < effort.Of(3, 60) || went == 0 && trial < 100; trial++ {
		dir := t.TempDir()
		target, partial, journal := filepath.Join(dir, "out"), filepath.Join(dir, ".out.amn-partial"), filepath.Join(dir, ".out.amn-journal")
		for round := range 3 {
			cmd, _ := resuming(t, state, "remember", "-q", "--no-sync", "--threads=2", "--resume", "-o", target, source)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			least := int64(600)
			if trial < effort.Of(3, 60) {
				least += rand.Int64N(400) * int64(round+1)
			}
			atWork(journal, ended, least)
			cmd.Process.Kill()
			time.Sleep(20 * time.Millisecond)
			if _, err := os.Stat(target); err == nil && load(t, target) != whole {
				t.Fatal("the target has other bytes")
			}
			if data, err := os.ReadFile(partial); err == nil && trial%2 == 1 && len(data) > 0 {
				data[rand.IntN(len(data))] ^= 1
				write(t, partial, string(data))
			}
		}
		if _, err := os.Stat(target); err == nil {
			continue // a run was faster than its end
		}
		cmd, errs := resuming(t, state, "remember", "--no-sync", "--resume", "--json", "-o", target, source)
		out, err := cmd.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, errs)
		}
		var said struct{ Resumed struct{ Kept, Again int64 } }
		if err := json.Unmarshal(out, &said); err != nil {
			t.Fatal(err)
		}
		if load(t, target) != whole {
			t.Fatalf("trial %d: other bytes, after %+v", trial, said)
		}
		if said.Resumed.Kept > 0 {
			went++
		}
		t.Logf("trial %d: %+v", trial, said.Resumed)
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("%v are left, %v", list, err)
		}
	}
	if went == 0 {
		t.Error("no run had anything to go on with")
	}
}

// The message of an interrupted run is true: the same command resumes, another command is refused
// with the reason, and without --resume nothing is left.
func TestAnInterruptedJobSaysHowToResume(t *testing.T) {
	state, dir := t.TempDir(), t.TempDir()
	source, target, journal := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out"), filepath.Join(dir, ".out.amn-journal")
	bigGGUF(t, source, 60000)
	args := []string{"remember", "--no-sync", "--threads=1", "-o", target, source}
	interrupt := func(args ...string) string {
		cmd, errs := resuming(t, state, args...)
		least := int64(600)
		if info, err := os.Stat(journal); err == nil {
			least += info.Size()
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		wait := journal
		if args[len(args)-1] != "--resume" {
			wait = filepath.Join(dir, ".out.amn-partial")
		}
		atWork(wait, ended, least)
		cmd.Process.Signal(syscall.SIGINT)
		if code := exitCode(t, <-ended); code != 130 {
			t.Fatalf("exit %d: %s", code, errs)
		}
		return errs.String()
	}
	if said := interrupt(args...); !strings.Contains(said, "with --resume") {
		t.Errorf("it says %q", said)
	}
	said := interrupt(append(args, "--resume")...)
	if !strings.Contains(said, "the same command continues") || !strings.Contains(said, "without --resume it starts over") {
		t.Errorf("it says %q", said)
	}
	// A dry run says what is there, and changes nothing.
	was := load(t, journal)
	cmd, errs := resuming(t, state, append(args, "--resume", "--dry-run")...)
	if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), "of an earlier run, to be verified first; ") || load(t, journal) != was {
		t.Errorf("%v: %s%s", err, out, errs)
	}
	cmd, errs = resuming(t, state, append(args, "--resume", "--dry-run", "--to", "f32")...)
	if code := exitCode(t, cmd.Run()); code != 2 || !strings.Contains(errs.String(), `"--to" is "f32", and was not given`) {
		t.Errorf("exit %d: %s", code, errs)
	}
	cmd, errs = resuming(t, state, append(args, "--resume", "--to", "f32")...)
	if code := exitCode(t, cmd.Run()); code != 2 || !strings.Contains(errs.String(), `"--to" is "f32", and was not given`) || !strings.Contains(errs.String(), "--resume") {
		t.Errorf("exit %d: %s", code, errs)
	}
	if said := interrupt(append(args, "--resume")...); !strings.Contains(said, "amn: resuming: ") {
		t.Errorf("it says %q", said)
	}
	// The source changes: the output of the old source is refused, and left in place.
	if err := os.Chtimes(source, time.Time{}, time.Unix(1e9, 0)); err != nil {
		t.Fatal(err)
	}
	cmd, errs = resuming(t, state, append(args, "--resume")...)
	if code := exitCode(t, cmd.Run()); code != 2 || !strings.Contains(errs.String(), "in.gguf") || !strings.Contains(errs.String(), "2001-09-09") {
		t.Errorf("exit %d: %s", code, errs)
	}
	// Its advice.
	small := filepath.Join(dir, "small.gguf")
	bigGGUF(t, small, 1)
	if out, err := process(t, "remember", "-q", "-o", target, small).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if list, _ := filepath.Glob(filepath.Join(dir, ".*")); len(list) > 0 {
		t.Errorf("%v are left", list)
	}
}

// A dry run makes no key.
func TestADryRunOfAResumedJobWritesNothing(t *testing.T) {
	state, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	cmd, errs := resuming(t, state, "dequantize", "--copy", "--resume", "--dry-run", "-o", out, filepath.Join(demo, "model.safetensors"))
	if said, err := cmd.Output(); err != nil || strings.Contains(string(said), "Would resume") {
		t.Errorf("%v: %s%s", err, said, errs)
	}
	for _, dir := range []string{state, filepath.Dir(out)} {
		if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
			t.Errorf("%v are written, %v", list, err)
		}
	}
}

func TestWhatCannotBeResumedSaysSo(t *testing.T) {
	t.Setenv("AMN_STATE", t.TempDir())
	model := filepath.Join(demo, "model.safetensors")
	for want, args := range map[string][]string{
		"name a file with -o":        {"dequantize", "--copy", "--resume", "-o", "-", model},
		"standard input":             {"dequantize", "--resume", "-o", filepath.Join(t.TempDir(), "out"), "-"},
		"--report measures":          {"quantize", "--resume", "--report", "-o", filepath.Join(t.TempDir(), "out"), model},
		"--resume and --in-place":    {"edit", "--resume", "--in-place", "--set", "a=b", model},
		"chmod 600":                  {"dequantize", "--copy", "--resume", "-o", filepath.Join(t.TempDir(), "out"), model},
		"the next run makes another": {"dequantize", "--copy", "--resume", "-o", filepath.Join(t.TempDir(), "out"), model},
		"or has another name":        {"dequantize", "--copy", "--resume", "-o", filepath.Join(t.TempDir(), "out"), model},
		"belongs to another user":    {"dequantize", "--copy", "--resume", "-o", filepath.Join(t.TempDir(), "out"), model},
	} {
		dir := t.TempDir()
		key := filepath.Join(dir, "journal.key")
		switch want {
		case "chmod 600":
			write(t, key, strings.Repeat("k", 32))
			os.Chmod(key, 0o644)
		case "the next run makes another":
			write(t, key, "short")
			os.Chmod(key, 0o600)
		case "or has another name":
			write(t, key, strings.Repeat("k", 32))
			os.Chmod(key, 0o600)
			if err := os.Link(key, key+"2"); err != nil {
				t.Fatal(err)
			}
		case "belongs to another user":
			if os.Geteuid() != 0 {
				continue // only root can give a file away
			}
			write(t, key, strings.Repeat("k", 32))
			os.Chmod(key, 0o600)
			if err := os.Chown(key, 65534, 65534); err != nil {
				t.Fatal(err)
			}
		}
		cmd, errs := resuming(t, dir, args...)
		cmd.Stdin = strings.NewReader(load(t, model))
		if code := exitCode(t, cmd.Run()); code != 2 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d: %s", want, code, errs)
		}
	}
}

// Following the advice of what --resume refuses works.
func TestTheAdviceOfResumingWorks(t *testing.T) {
	dir, many, out := t.TempDir(), t.TempDir(), func() string { return filepath.Join(t.TempDir(), "out") }
	copyFile(t, filepath.Join(many, "model.safetensors"), filepath.Join(demo, "model.safetensors"))
	for i := range 10_000 {
		write(t, filepath.Join(many, strconv.Itoa(i)+".txt"), "")
	}
	run := func(want string, env []string, args ...string) {
		t.Helper()
		cmd, errs := resuming(t, dir, args...)
		cmd.Env = append(cmd.Env, env...)
		if code := exitCode(t, cmd.Run()); (code != 0) != (want != "") || !strings.Contains(errs.String(), want) {
			t.Errorf("%v: exit %d: %s", args, code, errs)
		}
	}
	run("has more than 10000 files: leave --resume out", nil, "dequantize", "--copy", "--resume", "-o", out(), many)
	run("", nil, "dequantize", "--copy", "-o", out(), filepath.Join(many, "model.safetensors"))
	model, homeless := filepath.Join(demo, "model.safetensors"), []string{"AMN_STATE=", "HOME=", "XDG_CONFIG_HOME="}
	run("set HOME, or AMN_STATE to a folder of yours", homeless, "dequantize", "--copy", "--resume", "-o", out(), model)
	for _, mend := range []string{"HOME=" + t.TempDir(), "AMN_STATE=" + t.TempDir()} {
		run("", append(homeless, mend), "dequantize", "--copy", "--resume", "-o", out(), model)
	}
}
