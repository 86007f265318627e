package model

import (
	"encoding/binary"
	"io"
	"math"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// kinds are the types whose numbers are read and written here.
var kinds = map[tensor.DType]asm.Type{tensor.F32: asm.F32, tensor.F16: asm.F16, tensor.BF16: asm.BF16}

// Computes reports a type in which numbers are computed: F32, F16 or BF16.
func Computes(d tensor.DType) bool { _, ok := kinds[d]; return ok }

// Size is the bytes of one such number.
func Size(d tensor.DType) int64 { return int64(kinds[d].Size()) }

// Numbers reads the numbers of one tensor at any place.
type Numbers struct {
	r    io.ReaderAt
	kind asm.Type
	size int64
}

// NewNumbers begins to read a tensor of a model that gives it row-major and
// little-endian.
func NewNumbers(m tensor.Model, i tensor.Info) (*Numbers, error) {
	kind, ok := kinds[i.DType]
	if !ok {
		return nil, wire.ErrUnsupported.Errorf("its type is %s: F32, F16 and BF16 are computed with, anything else is to be decoded or cast first", wire.Quote(i.TypeName()))
	}
	r, ok := m.At(i)
	if !ok {
		return nil, wire.ErrUnsupported.Errorf("it lies in an archive that is compressed, or is too large a view: write the model as safetensors first")
	}
	return &Numbers{r, kind, int64(kind.Size())}, nil
}

// Read gives the numbers from a place on; raw has room for their bytes.
func (n *Numbers) Read(dst []float32, raw []byte, first int64) error {
	raw = raw[:int64(len(dst))*n.size]
	if err := wire.ReadFull(n.r, raw, first*n.size); err != nil {
		return err
	}
	widen(dst, n.kind, raw)
	return nil
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// widen makes stored numbers F32.
func widen(dst []float32, from asm.Type, raw []byte) {
	if littleEndian {
		asm.Best().Cast(from, asm.F32, asm.Raw(dst), raw)
		return
	}
	var piece [1024]byte
	for size := from.Size(); len(dst) > 0; {
		n := min(len(dst), len(piece)/4)
		asm.Best().Cast(from, asm.F32, piece[:4*n], raw[:n*size])
		for i := range dst[:n] {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(piece[4*i:]))
		}
		dst, raw = dst[n:], raw[n*size:]
	}
}

// Widen makes stored numbers of a type F32.
func Widen(dst []float32, d tensor.DType, raw []byte) { widen(dst, kinds[d], raw) }

// Round writes numbers in a type, rounded once.
func Round(dst []byte, d tensor.DType, src []float32) { asm.Best().Put(kinds[d], dst, src) }

// PieceElements is how many numbers are computed at once: few enough for the second
// level's cache.
const PieceElements = 16 << 10
