package parser

import (
	"io"
	"path"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/dcp"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// IsDCP reports whether a name is that of the file which describes a distributed checkpoint of
// PyTorch, the other files of its folder.
func IsDCP(name string) bool { return path.Base(name) == dcp.Index }

// never is the structure of content that only other files explain.
func never(*head) fit { return no }

// partOfDCP refuses a file with parts of a distributed checkpoint.
func partOfDCP(*limits.Budget, io.ReaderAt, *Identity) (tensor.Model, error) {
	return nil, aloneOfDCP()
}

func aloneOfDCP() error {
	return wire.At(dcp.Format, "", wire.NoOffset, wire.ErrUnsupported.WithRule("file.alone").Errorf("a part of a distributed checkpoint: open its folder, whose %s says what is in it", dcp.Index))
}
