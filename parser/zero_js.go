package parser

import (
	"io/fs"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A page in a browser reads single files: what folders alone explain is left out of it.

func openZeRO(*limits.Budget, fs.FS, string) (tensor.Model, error) {
	return nil, wire.At(zeroFormat, "", wire.NoOffset, wire.ErrUnsupported.WithRule("file.alone").Errorf("folders are not read here"))
}

// NamesZeRO reports whether a file names the folder of a checkpoint of DeepSpeed.
func NamesZeRO(fs.FS, string) bool { return false }

func isPartOfZeRO(string) bool { return false }

func isOptimizerOfZeRO(string) bool { return false }
