package parser

import (
	"io"
	"path"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// zeroFormat is the name of the format of checkpoints of DeepSpeed's ZeRO.
const zeroFormat = "deepspeed"

// IsZeRO reports whether a name is that of the file in which DeepSpeed names the folder of its last
// checkpoint. Other programs have files of that name too.
func IsZeRO(name string) bool { return path.Base(name) == "latest" }

// kindOf returns the row of a format.
func kindOf(format string) *kind {
	for i := range kinds {
		if kinds[i].name == format {
			return &kinds[i]
		}
	}
	return nil
}

// partOfZeRO refuses what only the files of a folder explain.
func partOfZeRO(*limits.Budget, io.ReaderAt, *Identity) (tensor.Model, error) {
	return nil, wire.At(zeroFormat, "", wire.NoOffset, wire.ErrUnsupported.WithRule("file.alone").Errorf("a part of a checkpoint of DeepSpeed: open its folder"))
}
