package fuzz_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// FuzzBind changes models of every scheme: types, shapes, names and absence of companions,
// configurations and values. Whatever binds must request only bytes that exist, and decode
// without panic. All else must be refused with a class.
func FuzzBind(f *testing.F) {
	models := append(schemeModels(f), mlxStacks())
	for _, arch := range []string{"gpt_oss", "llama4"} {
		config := []byte(`{"model_type":"` + arch + `","quantization":{"bits":4,"group_size":16,"mode":"nvfp4"}}`)
		f.Add(uint16(1<<15/len(models)*len(models)+2*len(models)-1), []byte{}, config)
	}
	for i := range models {
		f.Add(uint16(i), []byte{}, []byte(nil))
		f.Add(uint16(i), []byte{1, 2, 3, 0, 4, 1}, []byte(`{"quantization_config":{"quant_method":"fp8"}}`))
	}
	for i, m := range models {
		if m.name == "fp8-cast" { // a scalar of FP8 with a scale
			f.Add(uint16(i), []byte{0, 6, 0}, []byte(nil))
		}
		f.Add(uint16(i), []byte{0, 6, 0, 1, 6, 0, 2, 1, 0}, []byte(nil)) // scalars, and nothing at all
		f.Add(uint16(i+1<<15/len(models)*len(models)+len(models)), []byte{}, []byte(`{"model_type":"gpt2"}`))
	}
	f.Fuzz(func(t *testing.T, which uint16, changes, config []byte) {
		m := models[int(which)%len(models)].changed(changes, config)
		b := limits.Policy{MaxSteps: 1 << 24}.Budget(context.Background())
		defer b.Close()
		b.Source(1 << 40)
		bound, err := quant.Plan(b, m, quant.Options{Folder: which >= 1<<15})
		if err != nil {
			if c := wire.ClassOf(err); c == wire.Internal && !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("no class: %v", err)
			}
			return
		}
		for _, w := range bound.Weights {
			decodeSome(t, m, w)
		}
	})
}

// decodeSome decodes the first, a middle and the last row.
func decodeSome(t *testing.T, m tensor.Model, w *quant.Weight) {
	if w.Rows() == 0 || w.Cols() == 0 || w.Cols() > 1<<16 {
		return
	}
	for _, lo := range []int64{0, w.Rows() / 2, w.Rows() - 1} {
		var parts [][]byte
		for p, info := range w.Parts {
			span := w.Matrix().Need(p, lo, lo+1)
			if span.Off < 0 || span.Len < 0 || span.End() > info.Span.Len {
				t.Fatalf("%s: part %d (%v %v) has %d bytes, row %d needs %+v", w.Scheme, p, info.TypeName(), info.Shape, info.Span.Len, lo, span)
			}
			if span.Len > 1<<22 {
				return
			}
			part := make([]byte, span.Len)
			r, _ := m.At(info)
			if err := wire.ReadFull(r, part, span.Off); err != nil {
				return // the body is shorter than the changed shape says
			}
			parts = append(parts, part)
		}
		w.Matrix().Decode(make([]byte, 4*w.Cols()), asm.F32, parts, lo, lo+1, make([]float32, w.Cols()))
	}
}

// A schemeModel is a golden model in memory.
type schemeModel struct {
	name   string
	infos  []tensor.Info
	bodies [][]byte
	texts  map[string]string
	config []byte
}

func schemeModels(f *testing.F) (models []schemeModel) {
	files, err := filepath.Glob("../quant/*/testdata/*/model.safetensors")
	if err != nil || len(files) == 0 {
		f.Fatalf("no models: %v", err)
	}
	for _, file := range files {
		b := limits.Policy{}.Budget(context.Background())
		m, err := parser.Open(b, file)
		if err != nil {
			f.Fatal(err)
		}
		s := schemeModel{name: filepath.Base(filepath.Dir(file)), texts: map[string]string{}}
		for i := range m.Tensors() {
			body, err := m.Body(b, i)
			if err != nil {
				f.Fatal(err)
			}
			data, err := io.ReadAll(body)
			if err != nil {
				f.Fatal(err)
			}
			s.infos, s.bodies = append(s.infos, i), append(s.bodies, data)
		}
		for k, v := range m.Meta() {
			s.texts[k], _ = v.(string)
		}
		s.config, _ = os.ReadFile(filepath.Join(filepath.Dir(file), "config.json"))
		models = append(models, s)
		m.Close()
		b.Close()
	}
	return models
}

// mlxStacks returns experts of gpt-oss as mlx-lm stores them.
func mlxStacks() schemeModel {
	s := schemeModel{name: "mlx-stacks", config: []byte(`{"model_type":"gpt_oss","quantization":{"bits":4,"group_size":16,"mode":"nvfp4"}}`)}
	for _, layer := range []string{"gate_proj", "up_proj", "down_proj"} {
		for _, part := range []struct {
			name  string
			dtype tensor.DType
			shape []int64
		}{
			{".weight", tensor.U32, []int64{2, 16, 2}}, {".scales", tensor.U8, []int64{2, 16, 1}},
			{".global_scale", tensor.F32, []int64{2}}, {".bias", tensor.F32, []int64{2, 16}},
		} {
			i := tensor.Info{Name: "model.layers.0.mlp.experts." + layer + part.name, DType: part.dtype, Shape: part.shape}
			n, _ := sizeOf(&i)
			s.infos, s.bodies = append(s.infos, i), append(s.bodies, make([]byte, n))
		}
	}
	return s
}

// changed applies changes of three bytes each: the tensor, the kind of change, the value.
func (s schemeModel) changed(changes, config []byte) tensor.Model {
	infos := slices.Clone(s.infos)
	bodies := slices.Clone(s.bodies)
	for ; len(changes) >= 3 && len(infos) > 0; changes = changes[3:] {
		at := int(changes[0]) % len(infos)
		if changes[1]%changeKinds == 3 {
			infos, bodies = slices.Delete(infos, at, at+1), slices.Delete(bodies, at, at+1)
			continue
		}
		other := &infos[int(changes[2])%len(infos)]
		change(&infos[at], other, changes[1]%changeKinds, int(changes[2]))
		if body := bodies[at]; changes[1]%changeKinds == 5 && len(body) > 0 {
			body = slices.Clone(body)
			body[int(changes[2])%len(body)] ^= changes[0]
			bodies[at] = body
		}
	}
	m := &memoryModel{texts: s.texts}
	m.Name = "safetensors"
	if len(config) == 0 {
		config = s.config
	}
	if len(config) > 0 {
		m.Folder = fstest.MapFS{"config.json": {Data: config}}
	}
	var all []byte
	for k, i := range infos {
		n, ok := sizeOf(&i)
		if !ok {
			continue
		}
		i.Span = tensor.Span{Off: int64(len(all)), Len: n}
		all = append(all, bodies[k]...)
		for int64(len(all)) < i.Span.End() && n < 1<<20 {
			all = binary.LittleEndian.AppendUint32(all, uint32(len(all))*2654435761)
		}
		m.Infos = append(m.Infos, i)
	}
	m.Source = readerOf(all)
	return m
}

// edges are sizes of dimensions at which arithmetic tends to break.
var edges = [...]int64{0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 96, 127, 128, 129, 255, 256, 1 << 15, 1<<31 - 1, 1 << 31, 1 << 40, 1<<58 + 1, 1<<62 - 1, 1<<63 - 1}

// endings are suffixes of companions.
var endings = [...]string{
	"", "_scale", "_scale_inv", "_scale_2", "_zero_point", "_global_scale", "_g_idx", "_shape", "_packed", "_blocks", "_scales", "_bias",
	".absmax", ".quant_map", ".nested_absmax", ".quant_state.bitsandbytes__nf4", ".quant_state.bitsandbytes__fp4",
}

const changeKinds = 10

// change makes one change to one tensor, except kinds 3 and 5, which its caller makes.
func change(i, other *tensor.Info, kind byte, value int) {
	i.Shape = slices.Clone(i.Shape)
	n := len(i.Shape)
	switch kind {
	case 0:
		types := tensor.DTypes()
		i.DType = types[value%len(types)]
	case 1:
		if n > 0 {
			i.Shape[value%n] = edges[value/7%len(edges)]
		}
	case 2:
		i.Shape = append(i.Shape, edges[value%len(edges)])
	case 4:
		i.Name = other.Name + endings[value/3%len(endings)]
	case 6:
		i.Shape = i.Shape[:value%(n+1)]
	case 7:
		i.Shape = slices.Clone(other.Shape)
	case 8:
		i.Shape = append([]int64{edges[value%len(edges)]}, i.Shape...)
	case 9:
		i.Name = i.Name[:max(0, len(i.Name)-value%24)] + endings[value/24%len(endings)]
	}
}

// sizeOf returns the size that a parser would have proven.
func sizeOf(i *tensor.Info) (int64, bool) {
	n, ok := wire.Product(i.Shape)
	g, known := i.DType.Geometry()
	if !ok || !known {
		return 0, false
	}
	size, ok := g.Size(n)
	return int64(size), ok
}

type memoryModel struct {
	tensor.File
	texts map[string]string
}

func (m *memoryModel) Meta() iter.Seq2[string, any] {
	return func(yield func(string, any) bool) {
		for k, v := range m.texts {
			if !yield(k, v) {
				return
			}
		}
	}
}

type readerOf []byte

func (r readerOf) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(r)) {
		return 0, io.EOF
	}
	n := copy(p, r[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}
