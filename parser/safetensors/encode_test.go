package safetensors_test

import (
	"bytes"
	"errors"
	"io"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/faulty"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The metadata of these is not the reference's to write again: keys in random
// order, an object without entries (Encode has none to write), another writer.
var otherBytes = map[string]bool{"metadata-two.safetensors": true, "metadata-empty.safetensors": true, "mlx.safetensors": true, "mlx-metadata.safetensors": true}

func TestEncodeWritesTheReferencesBytes(t *testing.T) {
	compared := 0
	for _, s := range corpus.Valid("safetensors") {
		f, err := decode(t, s.Data)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		err = safetensors.Encode(account(t, limits.Policy{}), &out, f)
		if s.Name == "unknown-types.txt" {
			if wire.ClassOf(err) != wire.Unsupported {
				t.Errorf("%s: %v", s.Name, err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", s.Name, err)
			continue
		}
		if s.Recipe == nil && !otherBytes[s.Name] {
			compared++
			if !bytes.Equal(out.Bytes(), s.Data) {
				t.Errorf("%s: %q, the reference wrote %q", s.Name, out.Bytes(), s.Data)
			}
		}
		back, err := decode(t, out.Bytes())
		if err != nil {
			t.Fatalf("%s: %v", s.Name, err)
		}
		if diff := cmp.Diff(describe(t, f), describe(t, back)); diff != "" {
			t.Errorf("%s: %s", s.Name, diff)
		}
		if diff := cmp.Diff(texts(f), texts(back)); diff != "" {
			t.Errorf("%s: %s", s.Name, diff)
		}
	}
	if compared < 6 {
		t.Errorf("only %d files compared", compared)
	}
}

func layout(t *testing.T, infos []tensor.Info, meta []safetensors.Entry) (*safetensors.Plan, error) {
	return safetensors.Layout(account(t, limits.Policy{}), infos, meta)
}

func TestLayoutPlansOffsetsAndOrder(t *testing.T) {
	p, err := layout(t, []tensor.Info{
		{Name: "b", DType: tensor.U8, Shape: []int64{3}},
		{Name: "z", DType: tensor.F64, Shape: []int64{1}},
		{Name: "a", DType: tensor.U8, Shape: []int64{2}},
		{Name: "six", DType: tensor.F6E2M3, Shape: []int64{4}},
		{Name: "none", DType: tensor.I64, Shape: []int64{5, 0}},
		{Name: "one", DType: tensor.Bool},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := int64(len(p.Header))
	want := &safetensors.Plan{
		Header: []byte("\x58\x01\x00\x00\x00\x00\x00\x00" + `{"none":{"dtype":"I64","shape":[5,0],"data_offsets":[0,0]},"z":{"dtype":"F64","shape":[1],"data_offsets":[0,8]},` +
			`"a":{"dtype":"U8","shape":[2],"data_offsets":[8,10]},"b":{"dtype":"U8","shape":[3],"data_offsets":[10,13]},` +
			`"six":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[13,16]},"one":{"dtype":"BOOL","shape":[],"data_offsets":[16,17]}}`),
		Order:   []int32{4, 1, 2, 0, 3, 5},
		Offsets: []int64{n + 10, n, n + 8, n + 13, n, n + 16},
		Size:    n + 17,
	}
	for len(want.Header)%8 != 0 {
		want.Header = append(want.Header, ' ')
	}
	want.Header[0], want.Header[1] = byte(len(want.Header)-8), byte((len(want.Header)-8)>>8)
	if diff := cmp.Diff(want, p); diff != "" {
		t.Error(diff)
	}
}

func TestLayoutSortsMetadataAndKeepsTheCallers(t *testing.T) {
	meta := []safetensors.Entry{{Key: "b", Value: "2"}, {Key: "a\x00", Value: "1\n\t\r\b\f\x1f\x7f\"\\é\u2028"}, {Key: "", Value: ""}}
	p, err := layout(t, nil, meta)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"__metadata__":{"":"","a\u0000":"1\n\t\r\b\f\u001f` + "\x7f" + `\"\\é` + "\u2028" + `","b":"2"}}`
	if got := strings.TrimRight(string(p.Header[8:]), " "); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if meta[0].Key != "b" {
		t.Error("the caller's metadata are sorted")
	}
	empty, err := layout(t, nil, []safetensors.Entry{})
	if err != nil || string(empty.Header[8:]) != `{"__metadata__":{}}     ` {
		t.Errorf("%s: %v", empty.Header, err)
	}
	none, err := layout(t, nil, nil)
	if err != nil || string(none.Header[8:]) != `{}      ` || none.Size != 16 {
		t.Errorf("%s: %v", none.Header, err)
	}
}

func TestLayoutRefusesWhatTheFormatCannotHold(t *testing.T) {
	u8 := func(name string) tensor.Info { return tensor.Info{Name: name, DType: tensor.U8, Shape: []int64{1}} }
	for what, c := range map[string]struct {
		infos []tensor.Info
		meta  []safetensors.Entry
		cause error
		text  string
	}{
		"a block type":        {[]tensor.Info{{Name: "w", DType: tensor.Q4_K, Shape: []int64{256}}}, nil, wire.ErrUnsupported, `tensor "w": not supported: safetensors cannot hold the type "Q4_K"`},
		"an unknown type":     {[]tensor.Info{{Name: "w", Stored: "F2"}}, nil, wire.ErrUnsupported, `cannot hold the type "F2"`},
		"the metadata's name": {[]tensor.Info{u8("__metadata__")}, nil, wire.ErrUnsupported, "reserves this name"},
		"a name not UTF-8":    {[]tensor.Info{u8("a\xff")}, nil, wire.ErrUnsupported, `tensor "a\x{ff}"`},
		"two of one name":     {[]tensor.Info{u8("a"), u8("b"), u8("a")}, nil, wire.ErrDuplicate, `two tensors are named "a"`},
		"strides":             {[]tensor.Info{{Name: "w", DType: tensor.U8, Shape: []int64{2}, Strides: []int64{2}}}, nil, wire.ErrUnsupported, "row-major"},
		"big endian":          {[]tensor.Info{{Name: "w", DType: tensor.F32, Shape: []int64{2}, Order: tensor.Big}}, nil, wire.ErrUnsupported, "little-endian"},
		"a negative shape":    {[]tensor.Info{{Name: "w", DType: tensor.U8, Shape: []int64{-1}}}, nil, wire.ErrUnsupported, "63 bits"},
		"a hidden overflow":   {[]tensor.Info{{Name: "w", DType: tensor.U8, Shape: []int64{0, 1 << 62, 4}}}, nil, wire.ErrUnsupported, "63 bits"},
		"one of bytes":        {[]tensor.Info{{Name: "w", DType: tensor.F64, Shape: []int64{0, 1 << 62}}}, nil, wire.ErrUnsupported, "63 bits"},
		"half a byte":         {[]tensor.Info{{Name: "w", DType: tensor.F4, Shape: []int64{3}}}, nil, wire.ErrUnsupported, "3 elements of F4"},
		"too much data":       {[]tensor.Info{{Name: "w", DType: tensor.U8, Shape: []int64{1<<63 - 1}}}, nil, wire.ErrUnsupported, "more bytes"},
		"too much in sum": {[]tensor.Info{{Name: "w", DType: tensor.U8, Shape: []int64{1 << 62}}, {Name: "v", DType: tensor.U8, Shape: []int64{1 << 62}}}, nil,
			wire.ErrUnsupported, "more bytes"},
		"a key twice":                          {nil, []safetensors.Entry{{Key: "a"}, {Key: "b"}, {Key: "a"}}, wire.ErrDuplicate, `named "a"`},
		"a key not UTF-8":                      {nil, []safetensors.Entry{{Key: "\xff"}}, wire.ErrUnsupported, "not UTF-8"},
		"a value not UTF-8":                    {nil, []safetensors.Entry{{Key: "a", Value: "\xff"}}, wire.ErrUnsupported, "not UTF-8"},
		"a header beyond the format's ceiling": {nil, []safetensors.Entry{{Key: "a", Value: strings.Repeat("x", safetensors.MaxHeader+1)}}, wire.ErrUnsupported, "100000000"},
	} {
		_, err := layout(t, c.infos, c.meta)
		if !errors.Is(err, c.cause) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A writer's failure, a body's and a charge's end the writing.
func TestEncodeStopsAtTheFirstError(t *testing.T) {
	data := file(`{"__metadata__":{"k":"v"},"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}`, 4)
	f, err := decode(t, data)
	if err != nil {
		t.Fatal(err)
	}
	for after := range 96 {
		if err := safetensors.Encode(account(t, limits.Policy{}), &faulty.Disk{Left: int64(after)}, f); !errors.Is(err, faulty.ErrDisk) && after < 92 {
			t.Errorf("a disk of %d bytes: %v", after, err)
		}
	}
	failures := 0
	for limit := int64(1); ; limit += 16 {
		err := safetensors.Encode(account(t, limits.Policy{MaxTotalBytes: limit}), io.Discard, f)
		if err == nil {
			break
		}
		if wire.ClassOf(err) != wire.Limit {
			t.Fatalf("%d bytes: %v", limit, err)
		}
		failures++
	}
	if failures < 10 {
		t.Errorf("%d failures", failures)
	}
	short, err := safetensors.Decode(account(t, limits.Policy{}), faulty.Reader{Data: data, From: int64(len(data)) - 1}, int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if err := safetensors.Encode(account(t, limits.Policy{}), io.Discard, short); !errors.Is(err, faulty.ErrDisk) {
		t.Error(err)
	}
	for _, n := range []int{3, 5} {
		if err := safetensors.Encode(account(t, limits.Policy{}), io.Discard, lying{f, n}); !errors.Is(err, wire.ErrMismatch) {
			t.Errorf("a body of %d bytes: %v", n, err)
		}
	}
}

// lying is a model whose bodies have another length than they should.
type lying struct {
	*safetensors.File
	n int
}

func (l lying) Body(*limits.Budget, tensor.Info) (io.ReadCloser, error) {
	return io.NopCloser(bytes.NewReader(make([]byte, l.n))), nil
}

// Metadata values other than text are not written.
func TestEncodeWritesTextsOnly(t *testing.T) {
	var out bytes.Buffer
	if err := safetensors.Encode(account(t, limits.Policy{}), &out, typePrefixes{&tensor.File{Name: "other"}}); err != nil {
		t.Fatal(err)
	}
	if want := `{"__metadata__":{"text":"x"}}`; strings.TrimRight(out.String()[8:], " ") != want {
		t.Errorf("%q", out.String())
	}
}

type typePrefixes struct{ *tensor.File }

func (typePrefixes) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) { _ = yield("number", 7) && yield("text", "x") }
}

// A layout ends as a limit with each charge that is refused.
func TestEachRefusedChargeEndsALayout(t *testing.T) {
	corpustest.EachCharge(t, func() error {
		_, err := layout(t, []tensor.Info{{Name: "b", DType: tensor.U8, Shape: []int64{3}}, {Name: "a", DType: tensor.F64, Shape: []int64{1}}}, []safetensors.Entry{{Key: "z", Value: "1"}, {Key: "y", Value: "2"}})
		return err
	})
}
