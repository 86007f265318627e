package gguf_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"iter"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/internal/corpustest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

func TestWhatGGUFPyWroteIsWrittenAgainByteForByte(t *testing.T) {
	for _, s := range samples(t) {
		if s.recipe != nil {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			b := account(t, limits.Policy{})
			f := open(t, s.data, b)
			o, err := f.Options(b)
			if err != nil {
				t.Fatal(err)
			}
			var out bytes.Buffer
			if err := gguf.Encode(b, &out, f, o); err != nil {
				t.Fatal(err)
			}
			data := s.data
			if f.Len() == 0 { // gguf-py pads a file without tensors too
				data = data[:out.Len()]
			}
			if !bytes.Equal(out.Bytes(), data) {
				t.Error("other bytes")
			}
		})
	}
}

func TestAlignmentCanBeChosen(t *testing.T) {
	b := account(t, limits.Policy{})
	for _, alignment := range []int64{1, 2, 16, 32, 64, 4096, 1 << 20} {
		f := open(t, seed(t, "plain-align-8.gguf"), b)
		for _, meta := range [][]gguf.Entry{nil, {{"general.alignment", uint32(8)}}, {{"a", "b"}, {"general.alignment", uint32(512)}, {"c", int8(-1)}}} {
			plan, err := gguf.Layout(b, f.Infos, meta, gguf.Options{Alignment: alignment})
			if err != nil {
				t.Fatal(err)
			}
			data := append(bytes.Clone(plan.Header), make([]byte, plan.Size-int64(len(plan.Header)))...)
			back := open(t, data, b)
			if back.Alignment() != alignment || back.DataOffset() != int64(len(plan.Header)) || int64(len(plan.Header))%alignment != 0 {
				t.Errorf("alignment %d of %d entries: %d, data at %d", alignment, len(meta), back.Alignment(), back.DataOffset())
			}
			n := 0
			for i := range back.Tensors() {
				if i.Span.Off != plan.Offsets[n] || i.Span.Len != plan.Sizes[n] {
					t.Errorf("tensor %d at %v, planned %d, %d", n, i.Span, plan.Offsets[n], plan.Sizes[n])
				}
				n++
			}
			if _, ok := back.Get("general.alignment"); ok != (alignment != 32 || len(meta) > 0) {
				t.Errorf("alignment %d of %d entries: the key is there: %v", alignment, len(meta), ok)
			}
		}
	}
}

// One tensor of a file of the corpus, with one thing changed.
func TestLayoutRefusesChangedFilesOfTheCorpus(t *testing.T) {
	plain := open(t, seed(t, "plain-le.gguf"), account(t, limits.Policy{}))
	f32 := func(change func(*tensor.Info)) []tensor.Info {
		i := plain.Infos[1]
		if i.DType != tensor.F32 || len(i.Shape) < 2 {
			t.Fatalf("%+v", i)
		}
		change(&i)
		return []tensor.Info{i}
	}
	entry := func(key string, v any) []gguf.Entry { return []gguf.Entry{{key, v}} }
	for name, c := range map[string]struct {
		infos []tensor.Info
		meta  []gguf.Entry
		o     gguf.Options
		want  error
	}{
		"version 4":                         {o: gguf.Options{Version: 4}, want: wire.ErrUsage},
		"alignment 3":                       {o: gguf.Options{Alignment: 3}, want: wire.ErrUsage},
		"alignment -1":                      {o: gguf.Options{Alignment: -1}, want: wire.ErrUsage},
		"alignment 2^32":                    {o: gguf.Options{Alignment: 1 << 32}, want: wire.ErrUsage},
		"alignment that is not an u32":      {meta: entry("general.alignment", uint64(32)), want: wire.ErrUnsupported},
		"alignment 3 in the metadata":       {meta: entry("general.alignment", uint32(3)), want: wire.ErrUsage},
		"an empty key":                      {meta: entry("", "x"), want: wire.ErrUnsupported},
		"a key with a NUL":                  {meta: entry("a\x00", "x"), want: wire.ErrUnsupported},
		"a key of 65536 bytes":              {meta: entry(string(bytes.Repeat([]byte("k"), 65536)), "x"), want: wire.ErrUnsupported},
		"a text that is not UTF-8":          {meta: entry("k", "\xff"), want: wire.ErrUnsupported},
		"a text with a NUL in a list":       {meta: entry("k", []string{"a", "\x00"}), want: wire.ErrUnsupported},
		"an int":                            {meta: entry("k", 1), want: wire.ErrUnsupported},
		"nil":                               {meta: entry("k", nil), want: wire.ErrUnsupported},
		"two equal keys":                    {meta: []gguf.Entry{{"k", "a"}, {"k", "b"}}, want: wire.ErrDuplicate},
		"two equal names":                   {infos: append(f32(func(*tensor.Info) {}), f32(func(*tensor.Info) {})...), want: wire.ErrDuplicate},
		"a name with a NUL":                 {infos: f32(func(i *tensor.Info) { i.Name = "\x00" }), want: wire.ErrUnsupported},
		"five dimensions":                   {infos: f32(func(i *tensor.Info) { i.Shape = []int64{1, 1, 1, 1, 1} }), want: wire.ErrUnsupported},
		"a view":                            {infos: f32(func(i *tensor.Info) { i.Strides = []int64{1, 2} }), want: wire.ErrUnsupported},
		"a type that ggml lacks":            {infos: f32(func(i *tensor.Info) { i.DType = tensor.F8E4M3 }), want: wire.ErrUnsupported},
		"an unknown type without a number":  {infos: f32(func(i *tensor.Info) { i.DType = tensor.Unknown }), want: wire.ErrUnsupported},
		"an unknown type with a known one":  {infos: f32(func(i *tensor.Info) { i.DType = tensor.Unknown }), o: gguf.Options{Types: []gguf.Type{0}}, want: wire.ErrUnsupported},
		"another byte order":                {infos: f32(func(i *tensor.Info) { i.Order = tensor.Big }), want: wire.ErrUnsupported},
		"rows that are not whole blocks":    {infos: f32(func(i *tensor.Info) { i.DType, i.Shape = tensor.Q4_0, []int64{32, 16} }), want: wire.ErrUnsupported},
		"a shape that overflows":            {infos: f32(func(i *tensor.Info) { i.Shape = []int64{1 << 40, 1 << 40} }), want: wire.ErrUnsupported},
		"a negative dimension":              {infos: f32(func(i *tensor.Info) { i.Shape = []int64{-1} }), want: wire.ErrUnsupported},
		"bytes that overflow":               {infos: f32(func(i *tensor.Info) { i.Shape = []int64{1 << 62} }), want: wire.ErrUnsupported},
		"more bytes than a file holds":      {infos: f32(func(i *tensor.Info) { i.Shape = []int64{1<<61 - 1} }), want: wire.ErrUnsupported},
		"more bytes than a file with a key": {infos: f32(func(i *tensor.Info) { i.DType, i.Shape = tensor.I8, []int64{1<<63 - 64} }), want: wire.ErrUnsupported},
		"a dimension too wide for version 1": {infos: f32(func(i *tensor.Info) { i.DType, i.Shape = tensor.I8, []int64{1 << 32} }),
			o: gguf.Options{Version: 1}, want: wire.ErrUnsupported},
	} {
		t.Run(name, func(t *testing.T) {
			b := account(t, limits.Policy{})
			_, err := gguf.Layout(b, c.infos, c.meta, c.o)
			if !errors.Is(err, c.want) {
				t.Errorf("%v, want %v", err, c.want)
			}
		})
	}
}

// A memory is a model that no file holds: deflated members, wrong lengths.
type memory struct {
	infos  []tensor.Info
	bodies [][]byte
}

func (m *memory) Format() string                     { return "memory" }
func (m *memory) Len() int                           { return len(m.infos) }
func (m *memory) Tensors() iter.Seq[tensor.Info]     { return slices.Values(m.infos) }
func (m *memory) Meta() iter.Seq2[string, any]       { return func(func(string, any) bool) {} }
func (m *memory) Findings() []tensor.Finding         { return nil }
func (m *memory) Configs() fs.FS                     { return nil }
func (m *memory) At(tensor.Info) (io.ReaderAt, bool) { return nil, false }
func (m *memory) Close() error                       { return nil }
func (m *memory) Body(_ *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	n, err := 0, wire.ErrUnsupported.Errorf("no body")
	for n = range m.infos {
		if m.infos[n].Name == i.Name && m.bodies[n] != nil {
			return io.NopCloser(bytes.NewReader(m.bodies[n])), nil
		}
	}
	return nil, err
}

func TestEncodesAnyModel(t *testing.T) {
	b := account(t, limits.Policy{})
	m := &memory{
		[]tensor.Info{{Name: "a", DType: tensor.I8, Shape: []int64{3}}, {Name: "b", DType: tensor.I8, Shape: []int64{2, 1}}},
		[][]byte{{1, 2, 3}, {4, 5}},
	}
	var out bytes.Buffer
	if err := gguf.Encode(b, &out, m, gguf.Options{Alignment: 4}); err != nil {
		t.Fatal(err)
	}
	f := open(t, out.Bytes(), b)
	var got [][]byte
	for i := range f.Tensors() {
		r, err := f.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		p, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p)
	}
	if diff := cmp.Diff(m.bodies, got); diff != "" {
		t.Error(diff)
	}
	m.bodies[1] = []byte{4}
	if err := gguf.Encode(b, io.Discard, m, gguf.Options{}); !errors.Is(err, wire.ErrMismatch) {
		t.Errorf("a body that is too short: %v", err)
	}
	m.bodies[1] = []byte{4, 5, 6}
	if err := gguf.Encode(b, io.Discard, m, gguf.Options{}); !errors.Is(err, wire.ErrMismatch) {
		t.Errorf("a body that is too long: %v", err)
	}
	m.bodies[1] = nil
	if err := gguf.Encode(b, io.Discard, m, gguf.Options{}); !errors.Is(err, wire.ErrUnsupported) {
		t.Errorf("no body: %v", err)
	}
}

func TestAnEndedContextEndsEncode(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	f := open(t, seed(t, "plain-le.gguf"), b)
	b2 := limits.Policy{}.Budget(t.Context())
	b2.Close()
	if err := gguf.Encode(b2, io.Discard, f, gguf.Options{}); !errors.Is(err, limits.ErrClosed) {
		t.Error(err)
	}
	b.Close()
}

// A layout ends as a limit with each charge that is refused.
func TestEachRefusedChargeEndsALayout(t *testing.T) {
	f := open(t, seed(t, "plain-le.gguf"), account(t, limits.Policy{}))
	meta := []gguf.Entry{{Key: "a", Value: "b"}, {Key: "list", Value: []string{"c", "d"}}, {Key: "numbers", Value: []int32{1, 2}}}
	corpustest.EachCharge(t, func() error {
		_, err := gguf.Layout(account(t, limits.Policy{}), f.Infos, meta, gguf.Options{})
		return err
	})
}
