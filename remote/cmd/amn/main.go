// Amn, with addresses: what the program of the core does with files, this one does with
// hf://, https://, s3://, gs://, oci:// and ollama:// too. See package cli, and
// remote.Open for the forms.
package main

import (
	"context"
	"io/fs"
	"os"
	"slices"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/remote"
)

// allowPrivate is the one flag that this program has besides those of package cli.
const allowPrivate = "--allow-private"

func main() {
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return a == allowPrivate })
	o := remote.FromEnv()
	o.AllowPrivate = len(args) < len(os.Args)-1
	os.Exit(cli.Main(context.Background(), args, cli.Stdio{
		In: os.Stdin, Out: os.Stdout, Err: os.Stderr,
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
