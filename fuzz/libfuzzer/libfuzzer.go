// Package libfuzzer runs fuzz targets of this module under libFuzzer, which OSS-Fuzz uses:
// fuzz/ossfuzz/build.sh copies the targets with this package in the place of testing, and
// make libfuzzer-check runs what it builds.
//
// [Load] calls a target once, so what it sets up is set up once, and keeps what it gives to
// [F.Fuzz]. [WriteSeeds] writes what it adds.
package libfuzzer

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"
)

// What the files of the targets name beside F and T.
type (
	TB = testing.TB
	B  = testing.B
)

// F is a target.
type F struct {
	T
	body  any
	seeds [][]byte
}

// Add keeps a seed of bytes. Those of other types have no form that libFuzzer reads.
func (f *F) Add(args ...any) {
	if len(args) != 1 {
		return
	}
	if seed, ok := args[0].([]byte); ok {
		f.seeds = append(f.seeds, seed)
	}
}

// Fuzz keeps the body of the target.
func (f *F) Fuzz(body any) { f.body = body }

// Load returns what libFuzzer calls with each input. A target that takes more than one
// []byte cannot be run.
func Load(target func(*F)) func(data []byte) {
	f := new(F)
	target(f)
	body, ok := f.body.(func(*T, []byte))
	if !ok {
		panic(fmt.Sprintf("libfuzzer: a target of %T", f.body))
	}
	return func(data []byte) { input(func(t *T) { body(t, data) }) }
}

// WriteSeeds writes what targets add into a folder, each file in a folder of the target's
// name.
func WriteSeeds(folder string, targets map[string]func(*F)) error {
	for name, target := range targets {
		f := new(F)
		target(f)
		if err := f.write(filepath.Join(folder, name)); err != nil {
			return err
		}
	}
	return nil
}

func (f *F) write(folder string) error {
	if len(f.seeds) == 0 {
		return nil
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	for i, seed := range f.seeds {
		if err := os.WriteFile(filepath.Join(folder, fmt.Sprint(i)), seed, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// skipped ends an input that a target does not take.
type skipped struct{}

// input runs the body for one input. A failure is a panic.
func input(body func(*T)) {
	ctx, cancel := context.WithCancel(context.Background())
	t := &T{ctx: ctx}
	defer func() {
		cancel()
		t.clean()
		if r := recover(); r != nil && r != (skipped{}) {
			panic(r)
		}
		if t.failed {
			panic("the target reported an error")
		}
	}()
	body(t)
}

// Guard calls f and, if it panics, says why and calls abort, which libFuzzer notices: Go
// would end the process with a status of its own, and the input would be lost.
func Guard(abort, f func()) {
	defer func() {
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n\n%s\n", r, debug.Stack())
			abort()
		}
	}()
	f()
}
