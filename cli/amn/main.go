// Amn reads untrusted model files. See package cli. It opens no connection; the program
// of the module remote, which releases have, takes addresses too.
package main

import (
	"os"

	"github.com/anamnesis-go/anamnesis/cli"
)

func main() { os.Exit(cli.Program(os.Args[1:], cli.Stdio{})) }
