// Upstream reads a GGUF header as gguf-parser-go does: upstream ADDRESS.
package main

import (
	"context"
	"fmt"
	"os"

	parser "github.com/gpustack/gguf-parser-go"
)

func main() {
	f, err := parser.ParseGGUFFileRemote(context.Background(), os.Args[1], parser.SkipCache(), parser.SkipProxy(), parser.SkipTLSVerification())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(len(f.TensorInfos))
}
