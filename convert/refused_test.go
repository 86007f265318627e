package convert_test

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// A given is a model of tensors of zeros that no file has to be able to hold.
type given struct {
	tensor.Model
	infos  []tensor.Info
	files  fs.FS
	format string
}

// givenOf is a model of tensors, each of one type and shape.
func givenOf(t *testing.T, d tensor.DType, shape []int64, names ...string) *given {
	t.Helper()
	m := &given{Model: converttest.Source(t, nil, nil), files: fstest.MapFS{}, format: "safetensors"}
	for _, name := range names {
		i := tensor.Info{Name: name, DType: d, Shape: shape}
		i.Span.Len = i.Bytes()
		m.infos = append(m.infos, i)
	}
	return m
}

func (m *given) Format() string                       { return m.format }
func (m *given) Len() int                             { return len(m.infos) }
func (m *given) Tensors() iter.Seq[tensor.Info]       { return slices.Values(m.infos) }
func (m *given) Configs() fs.FS                       { return m.files }
func (m *given) zeros(i tensor.Info) *bytes.Reader    { return bytes.NewReader(make([]byte, i.Span.Len)) }
func (m *given) At(i tensor.Info) (io.ReaderAt, bool) { return m.zeros(i), true }
func (m *given) Body(_ *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	return io.NopCloser(m.zeros(i)), nil
}

// adapter is one of PEFT.
func adapter(t *testing.T) *given {
	m := givenOf(t, tensor.F32, []int64{2, 2}, "base_model.model.q_proj.lora_A.weight")
	m.files = fstest.MapFS{"adapter_config.json": {Data: []byte(`{}`)}}
	return m
}

// numbered are n names.
func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("blk.%d.w", i))
	}
	return names
}

// A conversion that cannot be done is refused with its class before anything is written.
func TestPlansThatAreRefused(t *testing.T) {
	all := func(*tensor.Info) bool { return true }
	shape, some := []int64{4, 32}, []string{"a.weight"}
	wrong := givenOf(t, tensor.F32, shape, "a.weight")
	wrong.infos[0].Span.Len += 4
	blocks := givenOf(t, tensor.Q4_0, shape, "a.weight")
	blocks.format = "gguf"
	for name, c := range map[string]struct {
		m    tensor.Model
		o    convert.Options
		want wire.Class
	}{
		"an adapter as GGUF":              {adapter(t), convert.Options{Sink: convert.GGUF{}}, wire.Unsupported},
		"a quantized adapter":             {adapter(t), convert.Options{Quantize: converttest.To(t, "fp8")}, wire.Unsupported},
		"two tensors of a name":           {givenOf(t, tensor.F32, shape, "a", "a"), convert.Options{}, wire.Malformed},
		"a layout that nothing has":       {givenOf(t, tensor.F32, shape, some...), convert.Options{Quant: quant.Options{As: "mlx"}}, wire.Usage},
		"a cast of F64":                   {givenOf(t, tensor.F64, shape, some...), convert.Options{Cast: all}, wire.Unsupported},
		"blocks of GGUF as they are":      {blocks, convert.Options{AsIs: true}, wire.Unsupported},
		"a quantized tensor cast to FP8":  {blocks, convert.Options{Cast: all, CastTo: tensor.F8E4M3}, wire.Unsupported},
		"more bytes than its shape needs": {wrong, convert.Options{}, wire.Malformed},
		"a name that ZIP cannot state":    {givenOf(t, tensor.F32, shape, strings.Repeat("n", 1<<16)), convert.Options{Sink: convert.NPZ{}}, wire.Unsupported},
		"GGUF without an architecture":    {givenOf(t, tensor.F32, shape, some...), convert.Options{Sink: convert.GGUF{}}, wire.Unsupported},
		"more files than a number has": {
			givenOf(t, tensor.F32, []int64{1}, numbered(1<<16)...), convert.Options{Sink: convert.GGUF{RawNames: true}, Split: &convert.Split{Tensors: 1}}, wire.Unsupported,
		},
	} {
		p, err := convert.NewPlan(converttest.Account(t), c.m, c.o)
		if p.Close(); wire.ClassOf(err) != c.want || err == nil {
			t.Errorf("%s: %v: %v", name, wire.ClassOf(err), err)
		}
	}
}

// A plan is written to as many places as it has files, one file in one pass, under a key that is long
// enough to be secret.
func TestPlansAreWrittenWhereTheyFit(t *testing.T) {
	plan := func(m tensor.Model, o convert.Options) *convert.Plan {
		p, err := convert.NewPlan(converttest.Account(t), m, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(p.Close)
		return p
	}
	two := plan(givenOf(t, tensor.F32, []int64{4}, "a", "b"), convert.Options{Sink: convert.GGUF{RawNames: true}, Split: &convert.Split{Tensors: 1}})
	one := plan(givenOf(t, tensor.F32, []int64{4}, "a", "b"), convert.Options{})
	zip := plan(givenOf(t, tensor.F32, []int64{4}, "a", "b"), convert.Options{Sink: convert.NPZ{}})
	_, pipeTwo := two.Pipe(io.Discard)
	_, pipeZip := zip.Pipe(io.Discard)
	_, streamed := one.Stream()
	short := plan(givenOf(t, tensor.F32, []int64{4}, "a"), convert.Options{Resume: &convert.Resume{Key: make([]byte, 15)}})
	_, key := short.Write(filepath.Join(t.TempDir(), "x.safetensors"), false)
	for name, err := range map[string]error{"several files in one pass": pipeTwo, "checksums before tensors": pipeZip, "no writer": streamed, "a short key": key} {
		if wire.ClassOf(err) != wire.Usage || err == nil {
			t.Errorf("%s: %v: %v", name, wire.ClassOf(err), err)
		}
	}
	var out bytes.Buffer
	if _, err := one.Pipe(&out); err != nil || int64(out.Len()) != one.Size {
		t.Errorf("one file in one pass: %d of %d bytes: %v", out.Len(), one.Size, err)
	}
}

// A text beside a model that is longer than its reader takes ends as a limit.
func TestTextsBesideAModelAreBounded(t *testing.T) {
	b := converttest.Account(t)
	files := fstest.MapFS{"config.json": {Data: []byte("12345")}}
	if text, err := encode.ReadText(b, files, "config.json", 5); err != nil || text != "12345" {
		t.Errorf("%q: %v", text, err)
	}
	if _, err := encode.ReadText(b, files, "config.json", 4); wire.ClassOf(err) != wire.Limit {
		t.Errorf("5 bytes of 4: %v", err)
	}
}
