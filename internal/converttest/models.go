package converttest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"math"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Source returns a safetensors model of matrices of F32.
func Source(t testing.TB, matrices map[string][]float32, shapes map[string][]int64) tensor.Model {
	t.Helper()
	var names []string
	for name := range matrices {
		names = append(names, name)
	}
	slices.Sort(names)
	header, body := "{", []byte(nil)
	for i, name := range names {
		if i > 0 {
			header += ","
		}
		begin := len(body)
		for _, x := range matrices[name] {
			body = binary.LittleEndian.AppendUint32(body, math.Float32bits(x))
		}
		shape, _ := json.Marshal(shapes[name])
		header += fmt.Sprintf(`%q:{"dtype":"F32","shape":%s,"data_offsets":[%d,%d]}`, name, shape, begin, len(body))
	}
	header += "}"
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...)
	file = append(file, body...)
	m, err := safetensors.Decode(limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context()), bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Wave returns n numbers that do not repeat soon.
func Wave(n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(math.Sin(float64(i)*0.7) * math.Exp(math.Sin(float64(i)*0.013)*3))
	}
	return out
}

// Account returns an account without a deadline, closed when the test ends.
func Account(t testing.TB) *limits.Budget {
	t.Helper()
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(t.Context())
	t.Cleanup(b.Close)
	return b
}

// Open opens a model and an account that it charges, both closed when the test ends.
func Open(t *testing.T, path string) (tensor.Model, *limits.Budget) {
	t.Helper()
	b := Account(t)
	m, err := parser.Open(b, path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m, b
}

// WithConfig puts a config.json beside a model, in place of what was there.
func WithConfig(m tensor.Model, config string) tensor.Model { return configured{m, config} }

type configured struct {
	tensor.Model
	config string
}

func (m configured) Configs() fs.FS {
	return fstest.MapFS{"config.json": {Data: []byte(m.config)}}
}

// InOrder is a model whose bodies are read in order only.
type InOrder struct{ tensor.Model }

func (m InOrder) At(tensor.Info) (io.ReaderAt, bool) { return nil, false }

func (m InOrder) Body(_ *limits.Budget, i tensor.Info) (io.ReadCloser, error) {
	r, _ := m.Model.At(i)
	return io.NopCloser(io.NewSectionReader(r, 0, i.Span.Len)), nil
}
