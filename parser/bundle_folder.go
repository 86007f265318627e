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

// isPartOfBundle reports whether a name is that of a file with numbers of a checkpoint of TensorFlow.
func isPartOfBundle(name string) bool { return tfbundle.IsShard(name) }
