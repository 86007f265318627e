// Package effort says how far tests search. `go test ./...` is for whoever changes
// something and waits for the end; what is found by trying more of the same is for `make
// search`, a stage of `.ci/run`, which sets the variable that [Whole] asks for.
package effort

import "os"

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
