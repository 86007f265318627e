// Amn, with addresses: what the program of the core does with files, this one does with
// hf://owner/repo[@revision][/path] and https:// too. See package cli.
package main

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/remote"
)

// allowPrivate is the one flag that this program has besides those of package cli.
const allowPrivate = "--allow-private"

func main() {
	args := slices.DeleteFunc(slices.Clone(os.Args[1:]), func(a string) bool { return a == allowPrivate })
	o := remote.Options{AllowPrivate: len(args) < len(os.Args)-1, Hub: os.Getenv("HF_ENDPOINT"), Token: token()}
	open := func(ctx context.Context, b *limits.Budget, address string) (tensor.Model, error) {
		return remote.Open(ctx, b, address, o)
	}
	os.Exit(cli.Main(context.Background(), args, cli.Stdio{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Remote: open}))
}

// token is the hub's, from where its own tools keep it. It is never printed.
func token() string {
	if t := os.Getenv("HF_TOKEN"); t != "" {
		return t
	}
	file := os.Getenv("HF_TOKEN_PATH")
	if file == "" {
		home := os.Getenv("HF_HOME")
		if home == "" {
			cache, err := os.UserHomeDir()
			if err != nil {
				return ""
			}
			home = filepath.Join(cache, ".cache", "huggingface")
		}
		file = filepath.Join(home, "token")
	}
	text, err := os.ReadFile(file)
	if err != nil || len(text) > 4096 {
		return ""
	}
	return strings.TrimSpace(string(text))
}
