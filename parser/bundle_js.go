package parser

import (
	"io/fs"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func openBundle(*limits.Budget, fs.FS, string) (tensor.Model, error) { return nil, aloneOfBundle() }

// NamesBundle reports whether a file is the index of a checkpoint of TensorFlow.
func NamesBundle(fs.FS, string) bool { return false }

// BundleOf returns the name of the index of a file with numbers of a checkpoint of TensorFlow.
func BundleOf(string) string { return "" }

// BundleFiles lists the files with the numbers of a checkpoint of TensorFlow.
func BundleFiles(*limits.Budget, fs.FS, string) ([]string, error) { return nil, aloneOfBundle() }
