package convert

import (
	"hash/crc32"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// NPZ writes archives as numpy.savez does, byte for byte: npy files, stored.
type NPZ struct{}

// npzTypes are NumPy's types, and BF16 as ml_dtypes writes it.
var npzTypes = []tensor.DType{
	tensor.Bool, tensor.U8, tensor.I8, tensor.U16, tensor.I16, tensor.U32, tensor.I32, tensor.U64, tensor.I64,
	tensor.F16, tensor.BF16, tensor.F32, tensor.F64, tensor.C64, tensor.C128,
}

// Name implements [Sink].
func (NPZ) Name() string { return "npz" }

// Stores implements [Sink].
func (NPZ) Stores(d tensor.DType) bool { return slices.Contains(npzTypes, d) }

// Layout implements [Sink]. The format has no metadata.
func (NPZ) Layout(b *limits.Budget, outs []Out, _ []Entry) (*Layout, error) {
	l := &Layout{}
	var err error
	if l.Offsets, err = limits.Make[int64](b, len(outs)); err != nil {
		return nil, err
	}
	z := zipWriter{b: b}
	if z.members, err = limits.Make[member](b, len(outs)); err != nil {
		return nil, err
	}
	at := int64(0)
	for i := range outs {
		info := outs[i].info()
		head, err := npy.EncodeHeader(b, &info)
		if err != nil {
			return nil, err
		}
		m := &z.members[i]
		*m = member{name: outs[i].Name + ".npy", off: at, size: int64(len(head)) + outs[i].Size, head: crc32.ChecksumIEEE(head), body: outs[i].Size}
		if len(m.name) > maxZipName {
			return nil, wire.At("npz", "tensor "+wire.Quote(outs[i].Name), wire.NoOffset, wire.ErrUnsupported.Errorf("the name is longer than %d bytes", maxZipName-4))
		}
		if err := b.Hold(int64(len(m.name))); err != nil {
			return nil, err
		}
		begin := at + m.localSize()
		if l.Head, err = limits.Append(b, l.Head, Patch{begin, head}); err != nil {
			return nil, err
		}
		l.Offsets[i] = begin + int64(len(head))
		at = begin + m.size
	}
	z.start = at
	l.Size = at + z.endSize()
	l.Tail = z.patches
	return l, z.check(l)
}
