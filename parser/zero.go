//go:build !js

package parser

import (
	"io/fs"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/deepspeed"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// openZeRO reads a checkpoint of DeepSpeed's ZeRO by its file latest, or by one of its parts.
func openZeRO(b *limits.Budget, fsys fs.FS, name string) (tensor.Model, error) {
	return deepspeed.Open(b, fsys, name)
}

// NamesZeRO reports whether a file called latest names a folder beside it, or a path that leaves it:
// DeepSpeed then reads a checkpoint there.
func NamesZeRO(fsys fs.FS, name string) bool { return IsZeRO(name) && deepspeed.Names(fsys, name) }

func isPartOfZeRO(name string) bool { return deepspeed.IsPart(name) }

func isOptimizerOfZeRO(name string) bool { return deepspeed.IsOptimizer(name) }
