package convert_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
)

// A typed is one tensor of testdata/forget/types: its shape, its type in the file of
// the plain model, and that in the file of the quantized one.
type typed struct {
	shape       []int64
	plain, want string
}

func (t *typed) UnmarshalJSON(data []byte) error {
	return json.Unmarshal(data, &[]any{&t.shape, &t.plain, &t.want})
}

// onesAndMore are 1 and -2.5, one after the other, in each type.
var onesAndMore = map[string][]byte{
	"F16":  {0x00, 0x3c, 0x00, 0xc1},
	"BF16": {0x80, 0x3f, 0x20, 0xc0},
	"F32":  {0x00, 0x00, 0x80, 0x3f, 0x00, 0x00, 0x20, 0xc0},
}

// bodyOf is a tensor of such numbers.
func bodyOf(t *testing.T, one typed, dtype string) []byte {
	t.Helper()
	n := int64(1)
	for _, d := range one.shape {
		n *= d
	}
	pair := onesAndMore[dtype]
	if pair == nil {
		t.Fatalf("a tensor of %s", dtype)
	}
	return bytes.Repeat(pair, int(n/2)+1)[:n*int64(len(pair))/2]
}

// typedModel is a model of such tensors.
func typedModel(t *testing.T, b *limits.Budget, modelType string, tensors map[string]typed) tensor.Model {
	t.Helper()
	header, body := map[string]any{}, []byte(nil)
	for _, name := range slices.Sorted(maps.Keys(tensors)) {
		one, begin := tensors[name], len(body)
		body = append(body, bodyOf(t, one, one.plain)...)
		header[name] = map[string]any{"dtype": one.plain, "shape": one.shape, "data_offsets": []int{begin, len(body)}}
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
	return withConfigs{m, `{"model_type": "` + modelType + `"}`}
}

func TestParametersThatTransformersKeepsInFloat32StayFloat32(t *testing.T) {
	data, err := os.ReadFile("../testdata/forget/types/float32.json")
	if err != nil {
		t.Fatal(err)
	}
	var models []struct {
		Type    string `json:"model_type"`
		Tensors map[string]typed
	}
	if err := json.Unmarshal(data, &models); err != nil || len(models) != 12 {
		t.Fatalf("%d models, %v", len(models), err)
	}
	for _, one := range models {
		t.Run(one.Type, func(t *testing.T) {
			b := account(t)
			file, p, err := forget(t, typedModel(t, b, one.Type, one.Tensors), bnb.Layout{}, 2, 0)
			if err != nil {
				t.Fatal(err)
			}
			m, err := safetensors.Decode(b, bytes.NewReader(file), int64(len(file)))
			if err != nil {
				t.Fatal(err)
			}
			want, got := map[string]string{}, allBodies(t, m)
			changed, said := map[string]string{}, map[string]string{}
			for name, x := range one.Tensors {
				if want[name] = x.want + string(bodyOf(t, x, x.want)); x.want != x.plain {
					changed[name] = x.plain
				}
			}
			for _, w := range p.Quantized.Widened {
				said[w.Name] = w.From.String()
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(changed, said); diff != "" {
				t.Error("what it says:", diff)
			}
		})
	}
}
