package pth

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"testing"
	"testing/iotest"

	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Conjugate and negative views by hand: the sign bit of a float, two's complement of an integer;
// for a conjugate, only of the imaginary part.
func TestViewsAreResolvedAsTheyAreRead(t *testing.T) {
	for _, c := range []struct {
		storage  string
		dtype    tensor.DType
		order    tensor.Order
		in, want string
	}{
		{asNeg, tensor.F32, tensor.Little, "0000803f0000008000000000", "000080bf0000000000000080"},
		{asNeg, tensor.F32, tensor.Big, "3f80000080000000", "bf80000000000000"},
		{asNeg, tensor.F16, tensor.Little, "003c0080", "00bc0000"},
		{asNeg, tensor.BF16, tensor.Big, "3f80", "bf80"},
		{asNeg, tensor.F64, tensor.Little, "000000000000f03f", "000000000000f0bf"},
		{asConj, tensor.C64, tensor.Little, "0000803f00000040", "0000803f000000c0"},
		{asConj, tensor.C32, tensor.Little, "003c0040", "003c00c0"},
		{asConj, tensor.C128, tensor.Big, "3ff00000000000004000000000000000", "3ff0000000000000c000000000000000"},
		{asConjNeg, tensor.C64, tensor.Little, "0000803f00000040", "000080bf00000040"},
		{asNeg, tensor.C64, tensor.Little, "0000803f00000040", "000080bf000000c0"},
		{asNeg, tensor.I8, tensor.Little, "0180ff00", "ff800100"},
		{asNeg, tensor.U8, tensor.Little, "01ff", "ff01"},
		{asNeg, tensor.I16, tensor.Little, "0100ff7f", "ffff0180"},
		{asNeg, tensor.I16, tensor.Big, "00017fff", "ffff8001"},
		{asNeg, tensor.I32, tensor.Little, "00010000", "00ffffff"},
		{asNeg, tensor.U64, tensor.Big, "0000000000000001", "ffffffffffffffff"},
		{asNeg, tensor.I64, tensor.Little, "0000000000000080", "0000000000000080"},
	} {
		in, _ := hex.DecodeString(c.in)
		in = bytes.Repeat(in, 3*resolveBuf/len(in)+1) // longer than the buffer
		f := &File{File: tensor.File{Name: format, Source: bytes.NewReader(in)}}
		i := tensor.Info{Name: "w", DType: c.dtype, Order: c.order, Storage: c.storage + "data/0", Span: tensor.Span{Len: int64(len(in))}}
		if _, ok := f.At(i); ok {
			t.Errorf("%v: random access to bytes that are not those of the file", c)
		}
		b := limits.Policy{}.Budget(t.Context())
		r, err := f.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(iotest.OneByteReader(r))
		r.Close()
		want, _ := hex.DecodeString(c.want)
		if err != nil || !bytes.Equal(got, bytes.Repeat(want, len(in)/len(want))) {
			t.Errorf("%v: %v, %x", c, err, got[:len(want)])
		}
		if held := b.Usage()[limits.Total].Used; held != 0 {
			t.Errorf("%d bytes are held after Close", held)
		}
		b.Close()
	}
}

func TestBodiesThatCannotBeRead(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	f := &File{File: tensor.File{Name: format, Source: bytes.NewReader(make([]byte, 8))}}
	for _, c := range []struct {
		info tensor.Info
		want wire.Class
	}{
		{tensor.Info{Name: "w", DType: tensor.Unknown, Stored: "torch.bits8", Storage: "data/0"}, wire.Unsupported},
		{tensor.Info{Name: "w", DType: tensor.Unknown, Stored: "torch.bits8", Storage: asNeg + "data/0"}, wire.Unsupported},
		{tensor.Info{Name: "w", DType: tensor.U8, Storage: inPickle + "7"}, wire.OK}, // no such body: read as what the span says
	} {
		r, err := f.Body(b, c.info)
		if wire.ClassOf(err) != c.want {
			t.Errorf("%v: %v", c.info, err)
		}
		if err == nil {
			r.Close()
		}
	}
	tight := limits.Policy{MaxTotalBytes: 100}.Budget(t.Context())
	defer tight.Close()
	if _, err := f.Body(tight, tensor.Info{DType: tensor.F32, Storage: asNeg + "data/0", Span: tensor.Span{Len: 8}}); wire.ClassOf(err) != wire.Limit {
		t.Error(err)
	}
	// A file that became shorter is truncated, never a silent end.
	r, err := f.Body(b, tensor.Info{Name: "w", DType: tensor.F32, Storage: asNeg + "data/0", Span: tensor.Span{Len: 16}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); wire.ClassOf(err) != wire.Truncated {
		t.Error(err)
	}
}

// A reader's own error is neither a verdict on the file nor lost.
func TestErrorsOfTheReaderStayItsOwn(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	f := &File{File: tensor.File{Name: format, Source: faulty.Reader{Data: make([]byte, 64), From: 32}}}
	i := tensor.Info{Name: "s.indices", DType: tensor.I64, Shape: []int64{1, 8}, Storage: "data/0", Span: tensor.Span{Len: 64}}
	f.Infos = []tensor.Info{i, {Shape: []int64{8}}}
	f.sparse = []sparseCheck{{layout: &sparseLayouts[0], shape: []int64{9}}}
	if err := f.Verify(b); !errors.Is(err, faulty.ErrDisk) || wire.ClassOf(err) != wire.Internal {
		t.Error(err)
	}
	r, err := f.Body(b, tensor.Info{DType: tensor.F32, Storage: asNeg + "data/0", Span: tensor.Span{Len: 64}})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); !errors.Is(err, faulty.ErrDisk) {
		t.Error(err)
	}
}

// Indices of any stride and order, 32 and 64 bits wide.
func TestIndicesAreReadByTheirStrides(t *testing.T) {
	data := make([]byte, 4096*8+64)
	for i := range data {
		data[i] = byte(i >> 3)
	}
	f := &File{File: tensor.File{Name: format, Source: bytes.NewReader(data)}}
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	steps := b.Steps()
	for _, c := range []struct {
		info tensor.Info
		at   []int64
		want []int64
	}{
		{tensor.Info{DType: tensor.I64, Shape: []int64{2, 3}}, []int64{1}, []int64{0x0303030303030303, 0x0404040404040404, 0x0505050505050505}},
		{tensor.Info{DType: tensor.I32, Shape: []int64{2, 3}}, []int64{1}, []int64{0x01010101, 0x02020202, 0x02020202}},
		{tensor.Info{DType: tensor.I64, Shape: []int64{2, 3}, Strides: []int64{1, 2}, Offset: 1}, []int64{1}, []int64{0x0202020202020202, 0x0404040404040404, 0x0606060606060606}},
		{tensor.Info{DType: tensor.I64, Shape: []int64{2}, Strides: []int64{2048}}, nil, []int64{0, 0}},
		{tensor.Info{DType: tensor.I64, Shape: []int64{2, 2, 1}, Order: tensor.Big}, []int64{1, 1}, []int64{0x0303030303030303}},
		{tensor.Info{DType: tensor.I64, Shape: []int64{3}, Strides: []int64{0}, Offset: 1}, nil, []int64{0x0101010101010101, 0x0101010101010101, 0x0101010101010101}},
	} {
		c.info.Span.Len = int64(len(data))
		x := f.indices(&c.info, &steps, c.at)
		for k, want := range c.want {
			if got, err := x.next(); got != want || err != nil {
				t.Errorf("%v: element %d is %#x, want %#x, %v", c.info, k, got, want, err)
			}
		}
	}
}
