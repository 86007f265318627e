package view

import (
	"context"
	"io"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// wireFlags are the flags of amn inspect for an annotated dump.
type wireFlags struct {
	Wire bool `help:"Print the header of a GGUF file field by field instead: offset, bytes, meaning. A refused file is printed up to the error."`
}

// dumpFiles prints an annotated dump of each file.
func dumpFiles(ctx context.Context, s *run.Run, paths []string) error {
	if s.JSON {
		return fault.Usage("--wire prints text, not JSON")
	}
	return eachRaw(ctx, s, paths, len(paths) > 1, func(b *limits.Budget, _ string, r io.ReaderAt, size int64) error { return dumpFile(s, b, r, size) })
}

func dumpFile(s *run.Run, b *limits.Budget, r io.ReaderAt, size int64) error {
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); n == 4 && string(magic[:]) != gguf.Magic {
		format, err := parser.Detect(b, r, size)
		if err != nil {
			return err
		}
		return wire.ErrUnsupported.Errorf("a %s file; --wire shows GGUF only", format)
	}
	return gguf.Dump(b, s.Out, r, size)
}
