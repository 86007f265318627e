//go:build !js

package parser

import (
	"io/fs"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/parser/tfbundle"
)

// openBundle reads a checkpoint of TensorFlow by its index, or by the text that names one.
func openBundle(b *limits.Budget, fsys fs.FS, name string) (tensor.Model, error) {
	return tfbundle.Open(b, fsys, name)
}

// NamesBundle reports whether a file is the index of a checkpoint of TensorFlow, or the text called checkpoint that names one.
func NamesBundle(fsys fs.FS, name string) bool { return tfbundle.Names(fsys, name) }

// BundleOf returns the name of the index of a file with numbers of a checkpoint of TensorFlow, "" for other names.
func BundleOf(name string) string { return tfbundle.IndexOf(name) }

// BundleFiles lists the files with the numbers of a checkpoint of TensorFlow, by its index.
func BundleFiles(b *limits.Budget, fsys fs.FS, index string) ([]string, error) {
	return tfbundle.Files(b, fsys, index)
}
