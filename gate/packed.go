package gate

import (
	"path"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/onnx"
	"github.com/anamnesis-go/anamnesis/internal/wrap"
)

// containers are archives that a library writes under a name of its own: the ending
// says which, and the archive must be of that kind.
var containers = map[string]struct{ format, of string }{
	".nemo":  {"nemo", "tar gzip"},
	".mar":   {"mar", "zip"},
	".keras": {"keras", "zip"},
	".skops": {"skops", "zip"},
}

// packedFormats are what models are packed in, and ONNX, whose structure alone is
// judged: a policy that says which formats it allows allows these only by name.
func packedFormats() []string {
	list := append(wrap.Kinds(), onnx.Format)
	for _, c := range containers {
		list = append(list, c.format)
	}
	slices.Sort(list)
	return list
}

// packed is the format by which a policy allows a wrapper: that of the library whose
// name the file has, or else that of the archive.
func (j *judgement) packed(k *wrap.Kind) string {
	c := containers[strings.ToLower(path.Ext(j.hint.Name))]
	if slices.Contains(strings.Fields(c.of), k.Name) {
		return c.format
	}
	return k.Name
}
