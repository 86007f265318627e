// Package effort says how far tests search. `go test ./...` is for whoever changes
// something and waits for the end; what is found by trying more of the same is for `make
// search`, a stage of `.ci/run`, which sets the variable that [Whole] asks for.
package effort

import (
	"flag"
	"os"
)

// Env is the variable that asks for the whole search.
const Env = "ANAMNESIS_SEARCH"

// Whole reports a run that tries all that its tests know to try.
func Whole() bool { return os.Getenv(Env) != "" }

// Of is how many are tried: usual, or all of them in a whole search.
func Of(usual, all int) int {
	if Whole() {
		return all
	}
	return usual
}

// Some reports whether the i-th of many cases is tried that differ in their data and start the same
// goroutines: each, or one of eight under the race detector.
func Some(i int) bool { return !Race || i%8 == 0 }

// Seeds reports a run that needs all seeds of a fuzz target: a search by mutation begins
// with them (the stage fuzz-ci does so for every target). In `go test` a target runs some of
// them, since the files of the corpus have tests of their own.
func Seeds() bool {
	fuzzing := flag.Lookup("test.fuzz")
	return Whole() || fuzzing != nil && fuzzing.Value.String() != ""
}
