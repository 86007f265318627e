package cli

import (
	"context"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// wireFlags ask inspect for the bytes.
type wireFlags struct {
	Wire bool `help:"Print the header of a GGUF file field by field instead: offset, bytes, meaning. Of a refused file, up to the place of the error."`
}

// dumpFiles prints an annotated dump of each file.
func (s *session) dumpFiles(ctx context.Context, paths []word) error {
	if s.json {
		return usage{"--wire prints text, not JSON"}
	}
	for i, p := range paths {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if len(paths) > 1 {
			if i > 0 {
				s.line("")
			}
			s.line("%s:", showPath(string(p)))
		}
		err := s.dumpFile(ctx, string(p))
		s.note(err)
		if err != nil {
			s.complain(string(p), err)
		}
	}
	return s.out.Flush()
}

func (s *session) dumpFile(ctx context.Context, path string) error {
	r, size, closer, err := s.openPickles(ctx, path)
	if err != nil {
		return err
	}
	defer closer.Close()
	b := s.policy.Budget(ctx)
	defer b.Close()
	var magic [4]byte
	if n, _ := r.ReadAt(magic[:], 0); n == 4 && string(magic[:]) != gguf.Magic {
		format, err := parser.Detect(b, r, size)
		if err != nil {
			return err
		}
		return wire.ErrUnsupported.With("a %s file; --wire shows GGUF only", format)
	}
	return gguf.Dump(b, s.out, r, size)
}
