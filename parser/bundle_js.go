package parser

import (
	"io/fs"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func openBundle(*limits.Budget, fs.FS, string) (tensor.Model, error) { return nil, aloneOfBundle() }

// NamesBundle reports whether a file is the index of a checkpoint of TensorFlow.
func NamesBundle(fs.FS, string) bool { return false }

func isPartOfBundle(string) bool { return false }
