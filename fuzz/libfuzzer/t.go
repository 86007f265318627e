package libfuzzer

import (
	"context"
	"fmt"
	"os"
	"testing"
)

// T is one input of a target. A method of testing.T that none of ours calls is missing,
// and panics.
type T struct {
	testing.TB
	ctx      context.Context
	failed   bool
	cleanups []func()
}

func (t *T) Helper()      {}
func (t *T) Parallel()    {}
func (t *T) Name() string { return "libfuzzer" }
func (t *T) Failed() bool { return t.failed }

func (t *T) Context() context.Context {
	if t.ctx == nil { // of a target, not of an input
		return context.Background()
	}
	return t.ctx
}

func (t *T) Log(args ...any)                 { fmt.Fprintln(os.Stderr, args...) }
func (t *T) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

func (t *T) Fail()    { t.failed = true }
func (t *T) FailNow() { panic("the target failed") }
func (t *T) SkipNow() { panic(skipped{}) }

func (t *T) Error(args ...any)                 { t.Log(args...); t.Fail() }
func (t *T) Errorf(format string, args ...any) { t.Logf(format, args...); t.Fail() }
func (t *T) Fatal(args ...any)                 { panic(fmt.Sprint(args...)) }
func (t *T) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
func (t *T) Skip(...any)                       { t.SkipNow() }
func (t *T) Skipf(string, ...any)              { t.SkipNow() }

func (t *T) Cleanup(f func()) { t.cleanups = append(t.cleanups, f) }

// clean calls what was registered, the last first.
func (t *T) clean() {
	for len(t.cleanups) > 0 {
		last := len(t.cleanups) - 1
		f := t.cleanups[last]
		t.cleanups = t.cleanups[:last]
		f()
	}
}

func (t *T) TempDir() string {
	dir, err := os.MkdirTemp("", "libfuzzer")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// Run calls f at once, as a part of the same input.
func (t *T) Run(name string, f func(*T)) bool {
	before := t.failed
	t.failed = false
	f(t)
	ok := !t.failed
	t.failed = t.failed || before
	return ok
}
