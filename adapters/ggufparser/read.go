package gguf_parser

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/folder"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ParseGGUFFile reads the structure of a file, and of all files of a split model where
// the path is the name of one of them.
func ParseGGUFFile(path string, opts ...GGUFReadOption) (*GGUFFile, error) {
	o := optionsOf(opts)
	b, done := o.account(context.Background())
	defer done()
	if IsShardGGUFFilename(path) && !strings.HasSuffix(path, ".gguf") {
		path += ".gguf"
	}
	root, err := os.OpenRoot(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("open file: %w", err)
	}
	defer root.Close()
	return parse(b, folder.Below(root), filepath.Base(path), o) // which waits for no pipe
}

// parse reads one file, or those of a split model.
func parse(b *limits.Budget, fsys fs.FS, name string, o *options) (*GGUFFile, error) {
	out := &GGUFFile{TensorInfos: GGUFTensorInfos{}}
	var err error
	if IsShardGGUFFilename(name) {
		err = parseSplit(b, fsys, name, out, o)
	} else {
		err = parseOne(b, fsys, name, out, o)
	}
	if err != nil {
		if errors.Is(err, parser.ErrMagic) {
			return nil, fmt.Errorf("%w: %w", ErrGGUFFileInvalidFormat, err)
		}
		return nil, err
	}
	out.ModelParameters = GGUFParametersScalar(out.TensorInfos.Elements())
	if out.ModelParameters != 0 {
		out.ModelBitsPerWeight = GGUFBitsPerWeightScalar(float64(out.ModelSize) * 8 / float64(out.ModelParameters))
	}
	return out, answers(out)
}

// parseSplit reads the files of a split model, which must agree with each other.
func parseSplit(b *limits.Budget, fsys fs.FS, name string, out *GGUFFile, o *options) error {
	s, err := gguf.OpenSplit(b, fsys, name)
	if err != nil {
		return err
	}
	defer s.Close()
	for i, file := range s.FileNames() {
		st, err := fs.Stat(fsys, file)
		if err != nil {
			return err
		}
		f, ok := s.Parts[i].(*gguf.File)
		if !ok {
			return fmt.Errorf("%s: not a GGUF file", file)
		}
		if err := (&filler{b, o, out}).add(f, st.Size(), len(s.Parts) == 1); err != nil {
			return err
		}
	}
	return nil
}

func parseOne(b *limits.Budget, fsys fs.FS, name string, out *GGUFFile, o *options) error {
	h, err := tensor.OpenFile(fsys, name)
	if err != nil {
		return fmt.Errorf("open file: %w", err)
	}
	defer h.Close()
	f, err := decode(b, h, h.Size, o)
	if err != nil {
		return err
	}
	return (&filler{b, o, out}).add(f, h.Size, true)
}

// decode reads a header; one whose tensors are elsewhere is read as the beginning of a
// file that is as long as they need.
func decode(b *limits.Budget, r io.ReaderAt, size int64, o *options) (*gguf.File, error) {
	f, err := gguf.Decode(b, r, size)
	if err == nil || !o.headerOnly || parser.ClassOf(err) != parser.Truncated {
		return f, err
	}
	f, again := gguf.Decode(b, r, math.MaxInt64)
	if again != nil {
		return nil, err // the header itself ends too early, or more is wrong with it
	}
	return f, nil
}

// answers asks the questions that callers ask, so that what makes them panic is an error
// of ParseGGUFFile.
func answers(f *GGUFFile) (err error) {
	defer caught(&err)
	f.Metadata()
	f.Architecture()
	f.Tokenizer()
	return nil
}

// Estimate is f.EstimateLLaMACppRun with an error where that panics: an array in the place of a
// number, a block count of zero, products that overflow.
func Estimate(f *GGUFFile, opts ...GGUFRunEstimateOption) (e LLaMACppRunEstimate, err error) {
	defer caught(&err)
	return f.EstimateLLaMACppRun(opts...), nil
}

// caught makes an error of a panic that the file's values cause.
func caught(err *error) {
	if p := recover(); p != nil {
		*err = fmt.Errorf("%w: %v", ErrGGUFFileInvalidFormat, p)
	}
}

// Class is the class of an error of this package: malformed, truncated, unsupported,
// limit, forbidden, or internal for what the disk or the network says.
func Class(err error) parser.Class {
	c := parser.ClassOf(err)
	if c == parser.Internal && errors.Is(err, ErrGGUFFileInvalidFormat) {
		return parser.Malformed
	}
	return c
}
