// Amn is the program of package cli that also opens addresses: hf://, https://, s3://, gs://,
// oci:// and ollama://. See remote.Open for their forms. Releases contain this program. Without an
// address it opens no connection, and the commands that judge files (scan, inspect, serve) lock
// themselves like those of the program without addresses.
package main

import (
	"context"
	"io/fs"
	"os"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/remote"
)

// allowPrivate is the only flag of this program that package cli does not have.
const allowPrivate = "--allow-private"

// cutFlag removes allowPrivate from the flags, and reports whether it was given. Arguments after --
// are paths.
func cutFlag(args []string) (rest []string, given bool) {
	for i, a := range args {
		switch a {
		case "--":
			return append(rest, args[i:]...), given
		case allowPrivate:
			given = true
		default:
			rest = append(rest, a)
		}
	}
	return rest, given
}

func main() {
	args, allowed := cutFlag(os.Args[1:])
	o := remote.FromEnv()
	o.AllowPrivate = allowed
	os.Exit(cli.Program(args, cli.Stdio{
		Remote: func(_ context.Context, b *limits.Budget, address string) (tensor.Model, error) {
			return remote.Open(b, address, o)
		},
		RemoteHelp: [][2]string{
			{"hf://OWNER/REPO", "a repository of the hub; @REVISION and /FILE may follow"},
			{"https://HOST/PATH", "a file of a server"},
			{"s3://BUCKET/KEY", "an object, or what lies below it; gs:// at Google"},
			{"oci://HOST/REPOSITORY:TAG", "an artifact of a registry; @DIGEST for :TAG, #FILE of it"},
			{"ollama://MODEL:TAG", "a model of ollama's registry"},
			{allowPrivate, "Allow http, and private, loopback and link-local addresses"},
		},
		RemoteFiles: func(_ context.Context, b *limits.Budget, address string) (fs.FS, string, error) {
			return remote.Files(b, address, o)
		},
	}))
}
