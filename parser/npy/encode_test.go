package npy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/npy"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/google/go-cmp/cmp"
)

// dict is the header's text without prefix and padding.
func dict(t testing.TB, i *tensor.Info) string {
	t.Helper()
	head, err := npy.EncodeHeader(account(t, nil), i)
	if err != nil {
		t.Fatal(err)
	}
	if len(head)%64 != 0 || head[len(head)-1] != '\n' {
		t.Errorf("header of %d bytes", len(head))
	}
	return strings.TrimRight(string(head[bytes.IndexByte(head, '{'):]), " \n")
}

func TestTheTypeIsWrittenAsNumPyNamesIt(t *testing.T) {
	for _, c := range []struct {
		info tensor.Info
		want string
	}{
		{tensor.Info{DType: tensor.F32, Stored: "F32"}, "'<f4'"},
		{tensor.Info{DType: tensor.F32, Order: tensor.Big, Stored: "torch.float32"}, "'>f4'"},
		{tensor.Info{DType: tensor.Bool}, "'|b1'"},
		{tensor.Info{DType: tensor.U8, Order: tensor.Big}, "'|u1'"},
		{tensor.Info{DType: tensor.BF16}, "'<V2'"},
		{tensor.Info{DType: tensor.BF16, Stored: "|V2"}, "'|V2'"},
		{tensor.Info{DType: tensor.BF16, Stored: "<f4"}, "'<V2'"},
		{tensor.Info{DType: tensor.BF16, Order: tensor.Big}, "'>V2'"},
		{tensor.Info{DType: tensor.F8E5M2}, "'<f1'"},
		{tensor.Info{DType: tensor.C64}, "'<c8'"},
		{tensor.Info{Stored: "<M8[ns]"}, "'<M8[ns]'"},
		{tensor.Info{Stored: "[('a', '<f4'), ('é', '|O8'[0])]"}, ""},
		{tensor.Info{Stored: "[('a', '<f4')] "}, ""},
		{tensor.Info{Stored: "[('a', '|O')]"}, ""},
		{tensor.Info{Stored: "[('a', '<f4')]", DType: tensor.F32}, ""},
		{tensor.Info{Stored: "[('a', '<f4')]"}, "[('a', '<f4')]"},
		{tensor.Info{DType: tensor.Q4_K}, ""},
		{tensor.Info{DType: tensor.F8E4M3}, ""},
		{tensor.Info{Stored: "whatever"}, ""},
	} {
		want := fmt.Sprintf("{'descr': %s, 'fortran_order': False, 'shape': (), }", c.want)
		head, err := npy.EncodeHeader(account(t, nil), &c.info)
		switch {
		case c.want == "" && wire.ClassOf(err) != wire.Unsupported:
			t.Errorf("%+v: %v", c.info, err)
		case c.want != "" && (err != nil || !strings.Contains(string(head), want)):
			t.Errorf("%+v: %q, %v", c.info, head, err)
		}
	}
}

func TestStridesDecideTheOrder(t *testing.T) {
	for _, c := range []struct {
		shape, strides []int64
		want           string // "" for refused
	}{
		{[]int64{2, 3}, nil, "False"},
		{[]int64{2, 3}, []int64{3, 1}, "False"},
		{[]int64{2, 3}, []int64{1, 2}, "True"},
		{[]int64{2, 3}, []int64{0, 1}, ""},
		{[]int64{2, 3}, []int64{1}, ""},
		{[]int64{2, 3, 4}, []int64{1, 2, 6}, "True"},
		{[]int64{2, 3, 4}, []int64{12, 1, 3}, ""},
		{[]int64{5}, []int64{1}, "False"},
		{[]int64{5}, []int64{2}, ""},
	} {
		i := tensor.Info{DType: tensor.F32, Shape: c.shape, Strides: c.strides}
		head, err := npy.EncodeHeader(account(t, nil), &i)
		if c.want == "" {
			if wire.ClassOf(err) != wire.Unsupported {
				t.Errorf("%v %v: %v", c.shape, c.strides, err)
			}
		} else if err != nil || !strings.Contains(string(head), "'fortran_order': "+c.want) {
			t.Errorf("%v %v: %q, %v", c.shape, c.strides, head, err)
		}
	}
}

// NumPy takes the first version that can hold the header.
func TestTheVersionIsTheFirstThatFits(t *testing.T) {
	fields := func(name string, n int) string {
		var s strings.Builder
		for k := range n {
			fmt.Fprintf(&s, ", ('%s%d', '|u1')", name, k)
		}
		return "[" + s.String()[2:] + "]"
	}
	for _, c := range []struct {
		stored  string
		version byte
	}{
		{"<f4", 1}, {fields("a", 100), 1}, {fields("é", 100), 1}, {fields("a", 5000), 2}, {fields("é", 5000), 2}, {fields("名", 2), 3}, {fields("名", 5000), 3},
	} {
		i := tensor.Info{Stored: c.stored}
		if c.stored == "<f4" {
			i.DType = tensor.F32
		}
		head, err := npy.EncodeHeader(account(t, nil), &i)
		if err != nil || head[6] != c.version || len(head)%64 != 0 {
			t.Errorf("%.20s: version %d, %d bytes, %v", c.stored, head[6], len(head), err)
		}
	}
	if _, err := npy.EncodeHeader(account(t, nil), &tensor.Info{Stored: strings.Replace(fields("a", 2), "a0", strings.Repeat("a", 1<<20), 1)}); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("a header past the ceiling: %v", err)
	}
}

func TestEncodeWritesJustTheData(t *testing.T) {
	i := tensor.Info{DType: tensor.U8, Shape: []int64{4}, Span: tensor.Span{Len: 4}}
	var out bytes.Buffer
	if err := npy.Encode(account(t, nil), &out, &i, strings.NewReader("abcd")); err != nil || !strings.HasSuffix(out.String(), "\nabcd") {
		t.Errorf("%q, %v", out.String(), err)
	}
	if got := dict(t, &i); got != "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }" {
		t.Error(cmp.Diff("", got))
	}
	for _, body := range []string{"abc", "abcde"} {
		if err := npy.Encode(account(t, nil), io.Discard, &i, strings.NewReader(body)); !errors.Is(err, wire.ErrMismatch) {
			t.Errorf("body %q: %v", body, err)
		}
	}
	if err := npy.Encode(account(t, nil), &faulty.Disk{}, &i, strings.NewReader("abcd")); err != faulty.ErrDisk {
		t.Errorf("a full disk: %v", err)
	}
	if err := npy.Encode(account(t, nil), io.Discard, &tensor.Info{}, nil); wire.ClassOf(err) != wire.Unsupported {
		t.Errorf("no type: %v", err)
	}
	if _, err := npy.EncodeHeader(account(t, []byte(`{"max_total_bytes": 100}`)), &i); wire.ClassOf(err) != wire.Limit {
		t.Errorf("no room: %v", err)
	}
}

// A header ends as a limit with each charge that is refused.
func TestEachRefusedChargeEndsAHeader(t *testing.T) {
	for _, i := range []tensor.Info{{DType: tensor.F32, Shape: []int64{2, 3}}, {DType: tensor.BF16, Shape: []int64{4, 5}, Strides: []int64{1, 4}}} {
		corpustest.EachCharge(t, func() error {
			b := limits.Policy{}.Budget(t.Context())
			defer b.Close()
			_, err := npy.EncodeHeader(b, &i)
			return err
		})
	}
}

// Texts and bytes have no order of bytes, whatever their descr says.
func TestBytesHaveNoOrder(t *testing.T) {
	for _, kind := range []string{"S4", "V4", "S1", "V1"} {
		for _, order := range []string{"<", ">", "=", "|"} {
			dict := "{'descr': '" + order + kind + "', 'fortran_order': False, 'shape': (), }"
			data := append([]byte("\x93NUMPY\x01\x00"), byte(len(dict)+1), 0)
			data = append(append(data, dict...), '\n')
			data = append(data, make([]byte, 4)[:kind[1]-'0']...)
			b := limits.Policy{}.Budget(t.Context())
			f, err := npy.Decode(b, bytes.NewReader(data), int64(len(data)))
			if err != nil {
				t.Errorf("%s%s: %v", order, kind, err)
			} else if f.Infos[0].Order != tensor.Little {
				t.Errorf("%s%s: %v", order, kind, f.Infos[0].Order)
			}
			b.Close()
		}
	}
}
