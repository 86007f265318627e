package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/hdf5"
	"github.com/anamnesis-go/anamnesis/internal/onnx"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
)

// containers are archives that a library writes with an extension of its own. The
// extension names the library's format; of is the kind that the archive must have.
var containers = map[string]struct{ format, of string }{
	".nemo":  {"nemo", "tar gzip"},
	".mar":   {"mar", "zip"},
	".keras": {"keras", "zip"},
	".skops": {"skops", "zip"},
}

// packedFormats lists the formats that pack models, and ONNX and HDF5, of which only the
// structure is judged. A policy that lists formats allows these only by name.
func packedFormats() []string {
	list := append(unpack.Kinds(), onnx.Format, hdf5.Format)
	for _, c := range containers {
		list = append(list, c.format)
	}
	slices.Sort(list)
	return list
}

// packed returns the format under which a policy allows a wrapper: the library's if the
// name has its extension, else the archive's.
func (j *judgement) packed(k *unpack.Kind) string {
	c := containers[strings.ToLower(path.Ext(j.hint.Name))]
	if slices.Contains(strings.Fields(c.of), k.Name) {
		return c.format
	}
	return k.Name
}
