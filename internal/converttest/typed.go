package converttest

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"slices"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// A Typed is one tensor of testdata/forget/types: its shape, its type in the file of
// the plain model, and that in the file of the quantized one.
type Typed struct {
	Shape       []int64
	Plain, Want string
}

// UnmarshalJSON reads a list of the three.
func (t *Typed) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&t.Shape, &t.Plain, &t.Want})
}

// onesAndMore are 1 and -2.5, one after the other, in each type.
var onesAndMore = map[string][]byte{
	"F16":  {0x00, 0x3c, 0x00, 0xc1},
	"BF16": {0x80, 0x3f, 0x20, 0xc0},
	"F32":  {0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x20, 0xc0},
}

// BodyOf returns the bytes of a tensor of 1 and -2.5.
func BodyOf(t *testing.T, one Typed, dtype string) []byte {
	t.Helper()
	n := int64(1)
	for _, d := range one.Shape {
		n *= d
	}
	pair := onesAndMore[dtype]
	if pair == nil {
		t.Fatalf("a tensor of %s", dtype)
	}
	return bytes.Repeat(pair, int(n/2)+1)[:n*int64(len(pair))/2]
}

// TypedModel returns a model of such tensors, with a config.json that states its type.
func TypedModel(t *testing.T, b *limits.Budget, modelType string, tensors map[string]Typed) tensor.Model {
	t.Helper()
	header, body := map[string]any{}, []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		one, begin := tensors[name], len(body)
		body = append(body, BodyOf(t, one, one.Plain)...)
		header[name] = map[string]any{"dtype": one.Plain, "shape": one.Shape, "data_offsets": []int{begin, len(body)}}
	}
	text, err := json.Marshal(header)
	if err != nil {
		t.Fatal(err)
	}
	file := append(binary.LittleEndian.AppendUint64(nil, uint64(len(text))), text...)
	file = append(file, body...)
	m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
	if err != nil {
		t.Fatal(err)
	}
	return WithConfig(m, `{"model_type": "`+modelType+`"}`)
}

// Shaped returns weights in BF16 of the modules and shapes of list.
func Shaped(list map[string][2]int64) map[string]Typed {
	tensors := map[string]Typed{}
	for name, s := range list {
		tensors[name+".weight"] = Typed{Shape: s[:], Plain: "BF16"}
	}
	return tensors
}
