package report

import (
	"fmt"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// viewGGUF adds what llama.cpp's tools show. Shapes have their order, fastest dimension first.
func viewGGUF(v *View, f *gguf.File) {
	v.Title = fmt.Sprintf("GGUF v%d", f.Version())
	if arch, ok := f.Get("general.architecture"); ok {
		if name, ok := arch.(string); ok {
			v.facts = append(v.facts, fact{"Arch", wire.Clean(name, wire.MaxQuoted)})
		}
	}
	v.last = append(v.last, fact{"Alignment", fmt.Sprintf("%d bytes", f.Alignment())})
	if f.Order() == tensor.Big {
		v.last = append(v.last, fact{"Byte order", "big-endian"})
	}
	v.Shape = func(dims []int64) []int64 {
		ne := slices.Clone(dims)
		slices.Reverse(ne)
		return ne
	}
}
