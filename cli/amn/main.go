// Amn reads model files nobody vouches for. See package cli.
package main

import (
	"context"
	"os"
	"runtime"

	"github.com/anamnesis-go/anamnesis/cli"
)

// spare is how many more goroutines may run than there are workers. Where every
// processor of Go's scheduler has one that is in the system, the scheduler takes
// theirs away after 20 us and wakes threads that look for work: they take the
// machine's processors from those that write, and those wait to get back.
const spare = 2

func main() {
	workers := runtime.GOMAXPROCS(0)
	runtime.GOMAXPROCS(workers + spare)
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Workers: workers, OwnProcess: true}))
}
