package pth

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A view is accepted exactly if each of its elements is inside the storage; small views are checked
// element by element.
func TestViewsAreProvenElementByElement(t *testing.T) {
	const count = 6
	for offset := int64(-1); offset <= count+1; offset++ {
		for a := int64(-1); a <= 4; a++ {
			for b := int64(-1); b <= 3; b++ {
				for s := int64(-1); s <= 4; s++ {
					for u := int64(-1); u <= 3; u++ {
						v := view{offset, []int64{a, b}, []int64{s, u}}
						_, err := v.elements(count)
						want := offset >= 0 && a >= 0 && b >= 0 && s >= 0 && u >= 0
						for i := range max(a, 0) {
							for j := range max(b, 0) {
								want = want && offset+i*s+j*u < count
							}
						}
						if (err == nil) != want {
							t.Fatalf("%v: %v, want %v", v, err, want)
						}
						if err == nil && a*b > 0 && v.rowMajor() != dense2(v) {
							t.Fatalf("%v: row-major %v", v, v.rowMajor())
						}
					}
				}
			}
		}
	}
}

// dense2 reports that the elements of a view of two dimensions are consecutive.
func dense2(v view) bool {
	next := int64(0)
	for i := range v.shape[0] {
		for j := range v.shape[1] {
			if i*v.strides[0]+j*v.strides[1] != next {
				return false
			}
			next++
		}
	}
	return true
}

// Pairs of 4-bit floats become elements if their rows are contiguous, and keep torch's type
// otherwise.
func TestPairsOfFloatsBecomeElements(t *testing.T) {
	for _, c := range []struct {
		view view
		want string
	}{
		{view{0, nil, nil}, "F4 [2] [] 0 100+1"},
		{view{3, []int64{2}, []int64{1}}, "F4 [4] [] 0 103+2"},
		{view{0, []int64{2, 4}, []int64{4, 1}}, "F4 [2 8] [] 0 100+8"},
		{view{1, []int64{2, 2}, []int64{4, 1}}, "F4 [2 4] [8 1] 2 100+16"},
		{view{1, []int64{1, 2, 2}, []int64{1 << 62, 4, 1}}, "F4 [1 2 4] [0 8 1] 2 100+16"},
		{view{0, []int64{3, 1}, []int64{2, 9}}, "F4 [3 2] [4 1] 0 100+16"},
		{view{0, []int64{2, 2}, []int64{1, 4}}, "unknown [2 2] [1 4] 0 100+16"},
		{view{0, []int64{2, 0}, []int64{1, 4}}, "F4 [2 0] [] 0 100+0"},
		{view{0, []int64{0, 1 << 62}, []int64{1, 1}}, "overflows"},
	} {
		d := dense{scalar: findScalar("float4_e2m1fn_x2"), span: tensor.Span{Off: 100, Len: 16}, view: c.view}
		info := tensor.Info{DType: tensor.F4}
		_, err := d.place(&info)
		got := fmt.Sprintf("%v %v %v %d %d+%d", info.DType, info.Shape, info.Strides, info.Offset, info.Span.Off, info.Span.Len)
		if err != nil {
			got = "overflows"
		}
		if got != c.want {
			t.Errorf("%s, want %s, %v", got, c.want, err)
		}
	}
}

func TestPackedRowsFillTheirStorage(t *testing.T) {
	for _, c := range []struct {
		dtype string
		view  view
		bytes int64
		want  string
	}{
		{"quint4x2", view{0, []int64{3, 4}, []int64{4, 1}}, 6, "QU4X2 [3 4]"},
		{"quint4x2", view{0, []int64{3, 5}, []int64{5, 1}}, 9, "unknown [3 5]"},
		{"quint2x4", view{0, []int64{3, 5}, []int64{5, 1}}, 6, "unknown [3 5]"},
		{"quint2x4", view{0, []int64{8}, []int64{1}}, 2, "QU2X4 [8]"},
		{"quint2x4", view{0, []int64{8}, []int64{1}}, 3, "malformed"},
		{"quint2x4", view{1, []int64{8}, []int64{1}}, 2, "unsupported"},
		{"quint2x4", view{0, nil, nil}, 1, "unsupported"},
		{"quint2x4", view{0, []int64{-8}, []int64{1}}, 2, "malformed"},
		{"quint2x4", view{0, []int64{1 << 40, 1 << 40}, []int64{1 << 40, 1}}, 2, "malformed"},
	} {
		s := findScalar(c.dtype)
		d := dense{scalar: s, span: tensor.Span{Len: c.bytes}, view: c.view}
		info := tensor.Info{DType: s.dtype}
		_, err := d.place(&info)
		got := fmt.Sprintf("%v %v", info.DType, info.Shape)
		if err != nil {
			got = wire.ClassOf(err).String()
		}
		if got != c.want {
			t.Errorf("%s %v: %s, want %s, %v", c.dtype, c.view, got, c.want, err)
		}
	}
}

// Shapes of the parts of sparse tensors, good and bad: the rules of torch's
// _validate_sparse_coo_tensor_args and of the compressed layouts.
func TestPartsOfSparseTensorsFit(t *testing.T) {
	layouts := map[string]*sparseLayout{}
	for i := range sparseLayouts {
		layouts[sparseLayouts[i].name[len("torch.sparse_"):]] = &sparseLayouts[i]
	}
	for _, c := range []struct {
		layout string
		size   []int64
		parts  [][]int64
		ok     bool
	}{
		{"coo", []int64{4, 4}, [][]int64{{2, 6}, {6}}, true},
		{"coo", []int64{4, 4}, [][]int64{{1, 3}, {3, 4}}, true},
		{"coo", []int64{}, [][]int64{{0, 1}, {1}}, true},
		{"coo", []int64{4, 4}, [][]int64{{2, 6}, {5}}, false},
		{"coo", []int64{4, 4, 4}, [][]int64{{2, 6}, {6}}, false},
		{"coo", []int64{4, 4}, [][]int64{{1, 3}, {3, 5}}, false},
		{"coo", []int64{4, 4}, [][]int64{{6}, {6}}, false},
		{"coo", []int64{4, 4}, [][]int64{{2, 6}, {}}, false},
		{"coo", []int64{-4, 4}, [][]int64{{2, 6}, {6}}, false},
		{"csr", []int64{4, 5}, [][]int64{{5}, {6}, {6}}, true},
		{"csr", []int64{4, 5}, [][]int64{{6}, {6}, {6}}, false},
		{"csc", []int64{4, 5}, [][]int64{{6}, {6}, {6}}, true},
		{"csc", []int64{4, 5}, [][]int64{{5}, {6}, {6}}, false},
		{"csr", []int64{4, 5}, [][]int64{{5}, {6}, {7}}, false},
		{"csr", []int64{2, 4, 5}, [][]int64{{2, 5}, {2, 6}, {2, 6}}, true},
		{"csr", []int64{3, 4, 5}, [][]int64{{2, 5}, {2, 6}, {2, 6}}, false},
		{"csr", []int64{2, 4, 5}, [][]int64{{2, 5}, {3, 6}, {2, 6}}, false},
		{"csr", []int64{2, 4, 5}, [][]int64{{2, 5}, {2, 6}, {3, 6}}, false},
		{"csr", []int64{4, 5, 7}, [][]int64{{5}, {6}, {6, 7}}, true},
		{"csr", []int64{4, 5, 7}, [][]int64{{5}, {6}, {6, 8}}, false},
		{"csr", []int64{4, 5}, [][]int64{{}, {6}, {6}}, false},
		{"csr", []int64{4, 5}, [][]int64{{5}, {1, 6}, {6}}, false},
		{"csr", []int64{4}, [][]int64{{5}, {6}, {6}}, false},
		{"bsr", []int64{4, 6}, [][]int64{{3}, {4}, {4, 2, 3}}, true},
		{"bsr", []int64{4, 6}, [][]int64{{3}, {4}, {4}}, false},
		{"bsr", []int64{4, 6}, [][]int64{{3}, {4}, {4, 0, 3}}, false},
		{"bsr", []int64{4, 7}, [][]int64{{3}, {4}, {4, 2, 3}}, false},
		{"bsc", []int64{4, 6}, [][]int64{{3}, {4}, {4, 2, 3}}, true},
		{"bsc", []int64{4, 6}, [][]int64{{4}, {4}, {4, 2, 3}}, false},
	} {
		check := sparseCheck{layout: layouts[c.layout], shape: c.size}
		var parts []tensor.Info
		for _, shape := range c.parts {
			parts = append(parts, tensor.Info{DType: tensor.I64, Shape: shape, Storage: "data/0"})
		}
		if err := check.geometry(parts); (err == nil) != c.ok {
			t.Errorf("%s %v of %v: %v", c.layout, c.size, c.parts, err)
		}
		parts[0].DType = tensor.F32
		if check.geometry(parts) == nil {
			t.Errorf("%s: indices are floats", c.layout)
		}
	}
}

// Indices of sparse tensors, good and bad.
func TestIndicesOfSparseTensorsAreVerified(t *testing.T) {
	coo, csr, csc, bsr := &sparseLayouts[0], &sparseLayouts[1], &sparseLayouts[2], &sparseLayouts[3]
	for _, c := range []struct {
		what      string
		layout    *sparseLayout
		size      []int64
		coalesced bool
		parts     [][]int64 // shapes
		indices   [][]int64
		ok        bool
	}{
		{"in order", coo, []int64{3, 3}, true, [][]int64{{2, 3}, {3}}, [][]int64{{0, 1, 1, 2, 0, 2}}, true},
		{"twice, not coalesced", coo, []int64{3, 3}, false, [][]int64{{2, 2}, {2}}, [][]int64{{1, 1, 1, 1}}, true},
		{"twice", coo, []int64{3, 3}, true, [][]int64{{2, 2}, {2}}, [][]int64{{1, 1, 1, 1}}, false},
		{"columns fall", coo, []int64{3, 3}, true, [][]int64{{2, 2}, {2}}, [][]int64{{1, 1, 1, 0}}, false},
		{"rows fall", coo, []int64{3, 3}, true, [][]int64{{2, 2}, {2}}, [][]int64{{1, 0, 0, 1}}, false},
		{"column outside", coo, []int64{3, 2}, false, [][]int64{{2, 1}, {1}}, [][]int64{{0, 2}}, false},
		{"csr", csr, []int64{2, 3}, false, [][]int64{{3}, {3}, {3}}, [][]int64{{0, 2, 3}, {0, 2, 1}}, true},
		{"empty", csr, []int64{2, 3}, false, [][]int64{{3}, {0}, {0}}, [][]int64{{0, 0, 0}, {}}, true},
		{"first is 1", csr, []int64{2, 3}, false, [][]int64{{3}, {3}, {3}}, [][]int64{{1, 2, 3}, {0, 2, 1}}, false},
		{"last too small", csr, []int64{2, 3}, false, [][]int64{{3}, {3}, {3}}, [][]int64{{0, 1, 2}, {0, 2, 1}}, false},
		{"row too long", csr, []int64{2, 2}, false, [][]int64{{3}, {3}, {3}}, [][]int64{{0, 3, 3}, {0, 1, 1}}, false},
		{"columns fall in a row", csr, []int64{2, 3}, false, [][]int64{{3}, {3}, {3}}, [][]int64{{0, 2, 3}, {2, 0, 1}}, false},
		{"column twice in a row", csr, []int64{2, 3}, false, [][]int64{{3}, {3}, {3}}, [][]int64{{0, 2, 3}, {2, 2, 1}}, false},
		{"column negative", csr, []int64{2, 3}, false, [][]int64{{3}, {3}, {3}}, [][]int64{{0, 2, 3}, {-1, 2, 1}}, false},
		{"csc", csc, []int64{2, 3}, false, [][]int64{{4}, {2}, {2}}, [][]int64{{0, 1, 1, 2}, {1, 0}}, true},
		{"csc row outside", csc, []int64{2, 3}, false, [][]int64{{4}, {2}, {2}}, [][]int64{{0, 1, 1, 2}, {2, 0}}, false},
		{"bsr", bsr, []int64{4, 6}, false, [][]int64{{3}, {2}, {2, 2, 3}}, [][]int64{{0, 1, 2}, {1, 0}}, true},
		{"bsr block outside", bsr, []int64{4, 6}, false, [][]int64{{3}, {2}, {2, 2, 3}}, [][]int64{{0, 1, 2}, {2, 0}}, false},
		{"batch", csr, []int64{2, 2, 3}, false, [][]int64{{2, 3}, {2, 2}, {2, 2}}, [][]int64{{0, 1, 2, 0, 2, 2}, {0, 1, 0, 2}}, true},
		{"second of a batch", csr, []int64{2, 2, 3}, false, [][]int64{{2, 3}, {2, 2}, {2, 2}}, [][]int64{{0, 1, 2, 0, 2, 2}, {0, 1, 2, 0}}, false},
		{"no batch at all", csr, []int64{0, 2, 3}, false, [][]int64{{0, 3}, {0, 2}, {0, 2}}, [][]int64{{}, {}}, true},
	} {
		for _, wide := range []tensor.DType{tensor.I64, tensor.I32} {
			if wide == tensor.I32 && c.layout.coo() {
				continue
			}
			var data bytes.Buffer
			f := &File{File: tensor.File{Name: format}}
			for i, shape := range c.parts {
				info := tensor.Info{Name: c.layout.parts[i], DType: wide, Shape: shape, Storage: "data/0", Span: tensor.Span{Off: int64(data.Len())}}
				if i < len(c.indices) {
					for _, n := range c.indices[i] {
						if wide == tensor.I32 {
							binary.Write(&data, binary.LittleEndian, int32(n))
						} else {
							binary.Write(&data, binary.LittleEndian, n)
						}
					}
				}
				info.Span.Len = int64(data.Len()) - info.Span.Off
				f.Infos = append(f.Infos, info)
			}
			f.Source = bytes.NewReader(data.Bytes())
			f.sparse = []sparseCheck{{layout: c.layout, shape: c.size, coalesced: c.coalesced}}
			if err := f.sparse[0].geometry(f.Infos); err != nil {
				t.Fatalf("%s: %v", c.what, err)
			}
			b := limits.Policy{}.Budget(t.Context())
			err := f.Verify(b)
			if (err == nil) != c.ok || err != nil && wire.ClassOf(err) != wire.Malformed {
				t.Errorf("%s, %v: %v", c.what, wide, err)
			}
			b.Close()
			for _, tight := range []limits.Policy{{MaxTotalBytes: 1}, {MaxSteps: 1}} {
				b := tight.Budget(t.Context())
				if err := f.Verify(b); err != nil && wire.ClassOf(err) != wire.Limit && c.ok {
					t.Errorf("%s with %v: %v", c.what, tight, err)
				}
				b.Close()
			}
		}
	}
}

// NumPy's scalars of every kind; the bytes are those that numpy gives.
func TestNumPyScalarsBecomeNumbers(t *testing.T) {
	for _, c := range []struct {
		code, data string
		want       any
	}{
		{"|b1", "\x01", true}, {"b1", "\x00", false},
		{"|i1", "\xff", int64(-1)}, {"|u1", "\xff", int64(255)},
		{"<i2", "\xfe\xff", int64(-2)}, {">i2", "\xff\xfe", int64(-2)}, {"<u2", "\xfe\xff", int64(65534)},
		{"<i4", "\xfe\xff\xff\xff", int64(-2)}, {">u4", "\xff\xff\xff\xfe", int64(4294967294)},
		{"<i8", "\xfe\xff\xff\xff\xff\xff\xff\xff", int64(-2)}, {"<u8", "\xff\xff\xff\xff\xff\xff\xff\xff", "18446744073709551615"},
		{"<f4", "\x00\x00\xc0\x3f", 1.5}, {">f8", "\x3f\xf8\x00\x00\x00\x00\x00\x00", 1.5}, {"=f4", "\x00\x00\xc0\x3f", 1.5},
		{"<f4", "\x00", Array{DType: "<f4", Data: "\x00"}}, {"<c8", "12345678", Array{DType: "<c8", Data: "12345678"}},
		{"", "", Array{}}, {"<M8", "12345678", Array{DType: "<M8", Data: "12345678"}},
	} {
		if diff := cmp.Diff(c.want, numpyScalar(c.code, c.data)); diff != "" {
			t.Errorf("%s: %s", c.code, diff)
		}
	}
}

// Other small data is shown by what it is.
func TestMetadataOfSmallObjects(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	for code, want := range map[string]any{
		glob("torch", "device") + tup(txt("cuda"), num(1)) + "R":                                "cuda:1",
		glob("torch", "device") + tup(txt("cpu")) + "R":                                         "cpu",
		glob("__builtin__", "complex") + tup(num(1), "G\xbf\xf8\x00\x00\x00\x00\x00\x00") + "R": complex(1, -1.5),
		layout: "torch.sparse_coo",
		glob("datetime", "date") + tup("C\x04\x07\xe4\x01\x01") + "R": "datetime.date",
		glob("torch", "Size") + ")R":                                  []any{},
	} {
		if diff := cmp.Diff(want, metaValue(load(t, b, code).Root())); diff != "" {
			t.Errorf("%q: %s", code, diff)
		}
	}
	if v := metaValue(load(t, b, glob("argparse", "Namespace")).Root()); v != "argparse.Namespace" {
		t.Error(v)
	}
	// The attributes of a Namespace are entries of their own.
	g := load(t, b, glob("argparse", "Namespace")+")R"+empty+txt("lr")+num(3)+"sb")
	var got []string
	w := &walker{yield: func(k string, v any) bool { got = append(got, fmt.Sprint(k, "=", v)); return true }}
	if err := w.value(g.Root()); err != nil || len(got) != 1 || got[0] != "lr=3" {
		t.Error(got, err)
	}
}
