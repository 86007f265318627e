package cli

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// viewGGUF adds what llama.cpp's tools show. Shapes have their order, fastest dimension first.
func viewGGUF(v *view, f *gguf.File) {
	v.title = fmt.Sprintf("GGUF v%d", f.Version())
	if arch, ok := f.Get("general.architecture"); ok {
		if name, ok := arch.(string); ok {
			v.facts = append(v.facts, fact{"Arch", wire.Clean(name, wire.MaxQuoted)})
		}
	}
	v.last = append(v.last, fact{"Alignment", fmt.Sprintf("%d bytes", f.Alignment())})
	if f.Order() == tensor.Big {
		v.last = append(v.last, fact{"Byte order", "big-endian"})
	}
	v.shape = func(dims []int64) []int64 {
		ne := slices.Clone(dims)
		slices.Reverse(ne)
		return ne
	}
}
