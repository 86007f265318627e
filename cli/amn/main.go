// Amn reads model files nobody vouches for. See package cli.
package main

import (
	"context"
	"os"

	"github.com/anamnesis-go/anamnesis/cli"
)

func main() {
	os.Exit(cli.Main(context.Background(), os.Args[1:], cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}))
}
