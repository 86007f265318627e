package main

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// The weights that are packed along columns: 1024 inputs, 64 outputs, groups of
// 128, as run.py and the Rust peer have them.
const in, out, group = 1024, elems / 1024, 128

// packed measures GPTQ and AWQ: whole weights, as they are planned, of which
// only the codes differ from source to source.
func packed(what string) func(dst, src []byte) {
	shapes := map[string]struct {
		method string
		bits   int64
		codes  []int64
	}{
		"GPTQ-4":     {"gptq", 4, []int64{in / 8, out}},
		"GPTQ-8":     {"gptq", 8, []int64{in / 4, out}},
		"GPTQ-4-act": {"gptq", 4, []int64{in / 8, out}},
		"AWQ":        {"awq", 4, []int64{in, out / 8}},
	}
	s, ok := shapes[what]
	if !ok {
		return nil
	}
	f := &tensor.File{Name: "safetensors", Folder: fstest.MapFS{"config.json": {Data: fmt.Appendf(nil,
		`{"quantization_config":{"quant_method":%q,"bits":%d,"group_size":%d,"sym":false}}`, s.method, s.bits, group)}}}
	var body []byte
	add := func(name string, dtype tensor.DType, data []byte, shape ...int64) {
		f.Infos = append(f.Infos, tensor.Info{Name: name, DType: dtype, Shape: shape, Span: tensor.Span{Off: int64(len(body)), Len: int64(len(data))}})
		body = append(body, data...)
	}
	scales, index := []byte(nil), []byte(nil)
	for i := range uint16(in / group * out) {
		scales = binary.LittleEndian.AppendUint16(scales, 0x2400|i%97)
	}
	for i := range uint32(in) {
		index = binary.LittleEndian.AppendUint32(index, i*7919%in/group)
	}
	add("m.qweight", tensor.I32, make([]byte, elems*s.bits/8), s.codes...)
	add("m.qzeros", tensor.I32, bytes.Repeat([]byte{0x77}, int(in/group*out*s.bits/8)), in/group, out*s.bits/32)
	add("m.scales", tensor.F16, scales, in/group, out)
	if what == "GPTQ-4-act" {
		add("m.g_idx", tensor.I32, index, in)
	}
	f.Source = bytes.NewReader(body)
	w, parts, err := planned(f, body)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return nil
	}
	tile := make([]float32, elems)
	return func(dst, src []byte) {
		parts[0] = src
		w.Matrix().Decode(dst[:2*elems], asm.BF16, parts, 0, out, tile)
	}
}

// planned is the one weight of a model, and its parts in memory.
func planned(m *tensor.File, body []byte) (*quant.Weight, [][]byte, error) {
	b := limits.Policy{Timeout: limits.NoTimeout}.Budget(context.Background())
	defer b.Close()
	b.Source(int64(len(body)))
	bound, err := quant.Plan(b, m, quant.Options{})
	if err != nil {
		return nil, nil, err
	}
	if len(bound.Weights) != 1 {
		return nil, nil, fmt.Errorf("%d weights", len(bound.Weights))
	}
	var parts [][]byte
	for _, p := range bound.Weights[0].Parts {
		parts = append(parts, body[p.Span.Off:p.Span.End()])
	}
	return bound.Weights[0], parts, nil
}
