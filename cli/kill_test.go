//go:build unix

package cli_test

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/anamnesis-go/anamnesis/internal/effort"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// bigGGUF writes a GGUF file of one matrix of rows, whose blocks are a hole.
func bigGGUF(t *testing.T, path string, rows int64) {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	defer b.Close()
	p, err := gguf.Layout(b, []tensor.Info{{Name: "token_embd.weight", DType: tensor.Q8_0, Shape: []int64{rows, 4096}}}, nil, gguf.Options{})
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(p.Header))
	if err := os.Truncate(path, p.Size); err != nil {
		t.Fatal(err)
	}
}

// However the program is killed, the target is absent, the old file, or the
// whole new one, and the next run for it clears what is left.
func TestAKilledRunLosesNothing(t *testing.T) {
	if testing.Short() {
		t.Skip("runs the program often")
	}
	dir := t.TempDir()
	source, target, partial := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out"), filepath.Join(dir, ".out.amn-partial")
	bigGGUF(t, source, 1500)
	start := time.Now()
	if out, err := process(t, "remember", "-q", "-o", target, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(start)
	whole := []byte(load(t, target))
	// --force replaces a model of this program's, nothing else.
	bigGGUF(t, filepath.Join(dir, "small.gguf"), 1)
	if out, err := process(t, "remember", "-q", "-o", target, "--force", filepath.Join(dir, "small.gguf")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	old := []byte(load(t, target))
	os.Remove(filepath.Join(dir, "small.gguf"))
	count := map[string]int{}
	for i := range effort.Of(30, 200) {
		os.Remove(target)
		if i%2 == 0 {
			write(t, target, string(old))
		}
		cmd := process(t, "remember", "-q", "--force", "-o", target, source)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() { cmd.Wait(); close(ended) }()
		if i%3 == 0 {
			// Wait until the run has begun to write, and not for a leftover of an earlier run.
			before, _ := os.Stat(partial)
			for atWork := false; !atWork; {
				select {
				case <-ended:
					atWork = true
				default:
					now, err := os.Stat(partial)
					atWork = err == nil && (before == nil || !os.SameFile(before, now))
				}
			}
		} else {
			select {
			case <-time.After(rand.N(took * 3 / 2)):
			case <-ended:
			}
		}
		cmd.Process.Kill()
		<-ended
		got, err := os.ReadFile(target)
		switch {
		case os.IsNotExist(err) && i%2 == 1:
			count["absent"]++
		case bytes.Equal(got, old) && i%2 == 0:
			count["old"]++
		case bytes.Equal(got, whole):
			count["new"]++
		default:
			t.Fatalf("run %d: %d bytes that are neither, %v", i, len(got), err)
		}
		if _, err := os.Stat(partial); err == nil {
			count["leftover"]++
		}
	}
	t.Log(count)
	if count["leftover"] == 0 {
		t.Error("none was killed at work")
	}
	if out, err := process(t, "remember", "-q", "--force", "-o", target, source).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 || load(t, target) != string(whole) {
		t.Errorf("%v are left, %v", list, err)
	}
}

// An interrupt ends a conversion with nothing left of it.
func TestAnInterruptLeavesNothing(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		dir := t.TempDir()
		source, target := filepath.Join(dir, "in.gguf"), filepath.Join(dir, "out")
		bigGGUF(t, source, 60000)
		cmd := process(t, "remember", "-o", target, source)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		for {
			if _, err := os.Stat(filepath.Join(dir, ".out.amn-partial")); err == nil {
				break
			}
			time.Sleep(time.Millisecond)
		}
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
		code := exitCode(t, cmd.Wait())
		if want := 128 + int(sig); code != want {
			t.Errorf("exit %d, want %d: %s", code, want, errs.String())
		}
		if list, err := os.ReadDir(dir); err != nil || len(list) != 1 {
			t.Errorf("%v are left, %v", list, err)
		}
	}
}
