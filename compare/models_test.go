package compare_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/anamnesis-go/anamnesis/compare"
	"github.com/anamnesis-go/anamnesis/internal/ledger"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// model lays tensors out one after the other.
func model(list ...tensor.Info) *tensor.File {
	f := &tensor.File{Name: "test"}
	var body []byte
	for _, i := range list {
		i.Span.Off = int64(len(body))
		body = append(body, i.Stored...)
		i.Span.Len, i.Stored = int64(len(i.Stored)), ""
		f.Infos = append(f.Infos, i)
	}
	f.Source = bytes.NewReader(body)
	return f
}

// of is a tensor with its bytes, which model takes from Stored.
func of(name string, t tensor.DType, data []byte, shape ...int64) tensor.Info {
	return tensor.Info{Name: name, DType: t, Shape: shape, Stored: string(data)}
}

func f32(list ...float64) []byte {
	var p []byte
	for _, x := range list {
		p = binary.LittleEndian.AppendUint32(p, math.Float32bits(float32(x)))
	}
	return p
}

func f64(list ...float64) []byte {
	var p []byte
	for _, x := range list {
		p = binary.LittleEndian.AppendUint64(p, math.Float64bits(x))
	}
	return p
}

func i64(list ...int64) []byte {
	var p []byte
	for _, x := range list {
		p = binary.LittleEndian.AppendUint64(p, uint64(x))
	}
	return p
}

// bf16 takes numbers that it can hold.
func bf16(list ...float64) []byte {
	var p []byte
	for _, x := range list {
		p = binary.LittleEndian.AppendUint16(p, uint16(math.Float32bits(float32(x))>>16))
	}
	return p
}

// summary is a difference without the tensors of both sides.
type summary struct {
	Kind   string
	Name   string
	Count  int64
	First  []int64
	Values [2]string
	Max    float64
}

func differences(t *testing.T, a, b tensor.Model, o compare.Options) ([]summary, compare.Result, error) {
	t.Helper()
	account := limits.Policy{}.Budget(t.Context())
	defer account.Close()
	var out []summary
	r, err := compare.Models(account, a, b, o, func(d *compare.Difference) error {
		out = append(out, summary{d.Kind.String(), d.Name, d.Count, d.First, d.Values, d.Max})
		return nil
	})
	return out, r, err
}

var (
	nan    = math.NaN()
	inf    = math.Inf(1)
	within = func(x float64) compare.Options {
		return compare.Options{Tolerance: compare.Tolerance{Given: true, Absolute: x}}
	}
	percent = func(x float64) compare.Options {
		return compare.Options{Tolerance: compare.Tolerance{Given: true, Relative: x / 100}}
	}
	values = compare.Options{Values: true}
)

func TestModelsAreCompared(t *testing.T) {
	ledger.Charges(t)
	quietNaN := []byte{0, 0, 0xC0, 0x7F}
	otherNaN := []byte{1, 0, 0xC0, 0xFF}
	one := func(t tensor.DType, data []byte, shape ...int64) tensor.Model {
		return model(of("w", t, data, shape...))
	}
	for _, c := range []struct {
		name string
		a, b tensor.Model
		o    compare.Options
		want []summary
	}{
		{"equal in another order",
			model(of("a", tensor.F32, f32(1, 2), 2), of("b", tensor.I64, i64(3), 1)),
			model(of("b", tensor.I64, i64(3), 1), of("a", tensor.F32, f32(1, 2), 2)), compare.Options{}, nil},
		{"names", model(of("a", tensor.F32, f32(1), 1), of("x", tensor.F32, f32(1), 1)), model(of("x", tensor.F32, f32(1), 1), of("b", tensor.F32, f32(1), 1)),
			compare.Options{}, []summary{{Kind: "only-first", Name: "a"}, {Kind: "only-second", Name: "b"}}},
		{"shapes", one(tensor.F32, f32(1, 2), 2), one(tensor.F32, f32(1, 2), 1, 2), values, []summary{{Kind: "shape", Name: "w"}}},
		{"types", one(tensor.F32, f32(1), 1), one(tensor.BF16, bf16(1), 1), compare.Options{}, []summary{{Kind: "type", Name: "w"}}},
		{"types under a tolerance", one(tensor.F32, f32(1), 1), one(tensor.BF16, bf16(1), 1), within(1), []summary{{Kind: "type", Name: "w"}}},
		{"values of two types", one(tensor.F32, f32(1, -0.5), 2), one(tensor.BF16, bf16(1, -0.5), 2), values, nil},
		{"values of two types that differ", one(tensor.F32, f32(1, -0.5), 2), one(tensor.BF16, bf16(1, 0.5), 2), values,
			[]summary{{"elements", "w", 1, []int64{1}, [2]string{"-0.5", "0.5"}, 1}}},
		{"bits", one(tensor.F32, f32(1, 2, 3, 4), 2, 2), one(tensor.F32, f32(1, 2, 5, 8), 2, 2), compare.Options{},
			[]summary{{"elements", "w", 2, []int64{1, 0}, [2]string{"3", "5"}, 4}}},
		{"signs of zeros as bits", one(tensor.F32, f32(0), 1), one(tensor.F32, f32(math.Copysign(0, -1)), 1), compare.Options{},
			[]summary{{"elements", "w", 1, []int64{0}, [2]string{"0", "-0"}, 0}}},
		{"signs of zeros as values", one(tensor.F32, f32(0), 1), one(tensor.F32, f32(math.Copysign(0, -1)), 1), values, nil},
		{"payloads of NaN as bits", one(tensor.F32, quietNaN, 1), one(tensor.F32, otherNaN, 1), compare.Options{},
			[]summary{{"elements", "w", 1, []int64{0}, [2]string{"NaN (0x7fc00000)", "NaN (0xffc00001)"}, 0}}},
		{"payloads of NaN as values", one(tensor.F32, quietNaN, 1), one(tensor.F32, otherNaN, 1), values, nil},
		{"NaN and a number under a tolerance", one(tensor.F32, f32(nan), 1), one(tensor.F32, f32(1), 1), within(1e30),
			[]summary{{"elements", "w", 1, []int64{0}, [2]string{"NaN", "1"}, 0}}},
		{"infinities", one(tensor.F32, f32(inf, inf), 2), one(tensor.F32, f32(inf, -inf), 2), within(1e30),
			[]summary{{"elements", "w", 1, []int64{1}, [2]string{"+Inf", "-Inf"}, inf}}},
		{"inside a tolerance", one(tensor.F32, f32(1, 100), 2), one(tensor.F32, f32(1.25, 100.25), 2), within(0.25), nil},
		{"outside a tolerance", one(tensor.F32, f32(1, 100), 2), one(tensor.F32, f32(1.25, 100.5), 2), within(0.25),
			[]summary{{"elements", "w", 1, []int64{1}, [2]string{"100", "100.5"}, 0.5}}},
		{"inside a percentage", one(tensor.F32, f32(100), 1), one(tensor.F32, f32(101), 1), percent(1), nil},
		{"outside a percentage", one(tensor.F32, f32(1), 1), one(tensor.F32, f32(1.25), 1), percent(10),
			[]summary{{"elements", "w", 1, []int64{0}, [2]string{"1", "1.25"}, 0.25}}},
		{"large integers that a float would take for one", one(tensor.I64, i64(1<<60), 1), one(tensor.I64, i64(1<<60+1), 1), values,
			[]summary{{"elements", "w", 1, []int64{0}, [2]string{"1152921504606846976", "1152921504606846977"}, 1}}},
		{"integers and floats", one(tensor.I64, i64(-3, 4), 2), one(tensor.F64, f64(-3, 4), 2), values, nil},
		{"signs of integers", one(tensor.I8, []byte{0xFF}, 1), one(tensor.U8, []byte{0xFF}, 1), values,
			[]summary{{"elements", "w", 1, []int64{0}, [2]string{"-1", "255"}, 256}}},
		{"packed types by their blocks", one(tensor.F4, []byte{0x21, 0x43}, 4), one(tensor.F4, []byte{0x21, 0x53}, 4), compare.Options{},
			[]summary{{"elements", "w", 2, []int64{2}, [2]string{"43", "53"}, 0}}},
		{"packed types by value", one(tensor.F4, []byte{0x21, 0x43}, 4), one(tensor.F4, []byte{0x21, 0x53}, 4), values,
			[]summary{{"elements", "w", 1, []int64{3}, [2]string{"2", "3"}, 1}}},
		{"complex numbers by their bits", one(tensor.C64, f32(1, 2), 1), one(tensor.C64, f32(1, 3), 1), values,
			[]summary{{"elements", "w", 1, []int64{0}, [2]string{"0000803f00000040", "0000803f00004040"}, 0}}},
		{"nothing in them", one(tensor.F32, nil, 0, 3), one(tensor.F32, nil, 0, 3), compare.Options{}, nil},
		{"a scalar", one(tensor.F32, f32(1)), one(tensor.F32, f32(2)), compare.Options{}, []summary{{"elements", "w", 1, []int64{}, [2]string{"1", "2"}, 1}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, r, err := differences(t, c.a, c.b, c.o)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			if r.Different != int64(len(c.want)) {
				t.Errorf("%+v", r)
			}
		})
	}
}

func TestLayoutsDoNotMatter(t *testing.T) {
	ledger.Charges(t)
	rows := model(of("w", tensor.I64, i64(1, 2, 3, 4, 5, 6), 2, 3))
	columns := of("w", tensor.I64, i64(9, 1, 4, 2, 5, 3, 6), 2, 3)
	columns.Strides, columns.Offset = []int64{1, 2}, 1
	big := of("w", tensor.I64, nil, 2, 3)
	for k := range 6 {
		big.Stored += string([]byte{0, 0, 0, 0, 0, 0, 0, byte(k + 1)})
	}
	big.Order = tensor.Big
	for name, other := range map[string]tensor.Info{"columns first": columns, "big-endian": big} {
		t.Run(name, func(t *testing.T) {
			got, r, err := differences(t, rows, model(other), compare.Options{})
			if err != nil || len(got) > 0 || r.Equal != 1 {
				t.Error(got, r, err)
			}
		})
	}
	c := of("w", tensor.C64, nil, 1)
	c.Stored, c.Order = "\x3f\x80\x00\x00\x40\x00\x00\x00", tensor.Big
	if got, _, err := differences(t, model(c), model(of("w", tensor.C64, f32(1, 2), 1)), compare.Options{}); err != nil || got != nil {
		t.Error(got, err)
	}
}

// Pieces end inside of tensors; what is counted does not depend on where.
func TestLargeTensorsAreReadInPieces(t *testing.T) {
	const n = 100_003
	a, b := make([]byte, 4*n), make([]byte, 4*n)
	for k := range n {
		binary.LittleEndian.PutUint32(a[4*k:], math.Float32bits(float32(k)))
	}
	copy(b, a)
	for _, at := range []int{32767, 32768, 99_999, n - 1} {
		copy(b[4*at:], f32(-float64(at)))
	}
	got, r, err := differences(t, model(of("w", tensor.F32, a, n)), model(of("w", tensor.F32, b, n)), compare.Options{})
	want := []summary{{"elements", "w", 4, []int64{32767}, [2]string{"32767", "-32767"}, 2 * (n - 1)}}
	if diff := cmp.Diff(want, got); diff != "" || err != nil || r.Bytes != 4*n {
		t.Error(diff, r, err)
	}
}

// A quantized weight is compared by what it decodes to.
func TestQuantizedWeightsAreDecodedForTheirValues(t *testing.T) {
	ledger.Charges(t)
	numbers := make([]float32, 3*64)
	for i := range numbers {
		numbers[i] = float32(i%31) - 15
	}
	codes, scales := make([]byte, len(numbers)), make([]float32, 3)
	if err := bnb.EncodeInt8(codes, scales, numbers, 64); err != nil {
		t.Fatal(err)
	}
	back := make([]float32, len(numbers))
	bnb.DecodeInt8(back, codes, scales, 64)
	wide := make([]float64, len(back))
	for i, x := range back {
		wide[i] = float64(x)
	}
	packed := model(of("m.weight", tensor.I8, codes, 3, 64), of("m.SCB", tensor.F32, f32(float64(scales[0]), float64(scales[1]), float64(scales[2])), 3))
	plain := model(of("m.weight", tensor.F32, f32(wide...), 3, 64))
	if got, r, err := differences(t, packed, plain, values); err != nil || got != nil || r.Equal != 1 {
		t.Error(got, r, err)
	}
	if got, _, err := differences(t, packed, plain, compare.Options{}); err != nil || len(got) != 2 || got[0].Kind != "only-first" || got[1].Kind != "type" {
		t.Error(got, err)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	whole := model(of("w", tensor.F32, f32(1, 2), 2))
	cut := model(of("w", tensor.F32, f32(1, 2), 2))
	cut.Source = bytes.NewReader(f32(1))
	unknown := model(of("w", tensor.Unknown, f32(1, 2), 2))
	broken := model(of("w", tensor.F32, f32(1, 2), 2))
	broken.Source = readerAt{iotest.ErrTimeout}
	for _, c := range []struct {
		name string
		m    tensor.Model
		want wire.Class
	}{
		{"a file that became shorter", cut, wire.Truncated},
		{"a type that is not known", unknown, wire.Unsupported},
		{"a disk that fails", broken, wire.Internal},
	} {
		t.Run(c.name, func(t *testing.T) {
			other := whole
			if c.want == wire.Unsupported {
				other = unknown
			}
			if _, _, err := differences(t, c.m, other, compare.Options{}); wire.ClassOf(err) != c.want {
				t.Errorf("%v (%v), want %v", err, wire.ClassOf(err), c.want)
			}
		})
	}
	account := limits.Policy{MaxTotalBytes: 1 << 16}.Budget(t.Context())
	defer account.Close()
	if _, err := compare.Models(account, whole, whole, compare.Options{}, nil); wire.ClassOf(err) != wire.Limit {
		t.Error(err)
	}
	stop := errors.New("enough")
	account = limits.Policy{}.Budget(t.Context())
	defer account.Close()
	if _, err := compare.Models(account, whole, model(), compare.Options{}, func(*compare.Difference) error { return stop }); err != stop {
		t.Error(err)
	}
}

type readerAt struct{ err error }

func (r readerAt) ReadAt([]byte, int64) (int, error) { return 0, r.err }

// How far tensors are apart is measured over all of their elements, whatever type
// they have, but not where one is infinite.
func TestDistances(t *testing.T) {
	for _, c := range []struct {
		name string
		a, b tensor.Model
		o    compare.Options
	}{
		{"bits", model(of("w", tensor.F32, f32(1, 2, 3, 4, inf), 5)), model(of("w", tensor.F32, f32(1, 2, 5, 8, 0), 5)), compare.Options{}},
		{"values", model(of("w", tensor.F32, f32(1, 2, 3, 4), 4)), model(of("w", tensor.BF16, bf16(1, 2, 5, 8), 4)), values},
		{"beside an equal one", model(of("w", tensor.I64, i64(1, 2, 3, 4), 4), of("x", tensor.F32, f32(7), 1)),
			model(of("w", tensor.I64, i64(1, 2, 5, 8), 4), of("x", tensor.F32, f32(7), 1)), compare.Options{}},
	} {
		_, r, err := differences(t, c.a, c.b, c.o)
		d := r.Distance
		// (2+4)/4, sqrt(20/30), 52/sqrt(30*94)
		if err != nil || d.N != 4 || d.MAE() != 1.5 || d.Max != 4 || math.Abs(d.RelativeRMSE()-0.816496580927726) > 1e-15 || math.Abs(d.Cosine()-0.9792166503011223) > 1e-14 {
			t.Errorf("%s: %+v, %v %v, %v", c.name, d, d.RelativeRMSE(), d.Cosine(), err)
		}
	}
	if _, r, err := differences(t, model(of("w", tensor.C64, f32(1, 2), 1)), model(of("w", tensor.C64, f32(1, 3), 1)), compare.Options{}); err != nil || r.Different != 1 || r.Distance.N != 0 {
		t.Errorf("complex numbers: %+v, %v", r, err)
	}
}
