package gguf_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// The output of gguf-py's reader for a file of its writer; see corpus/valid/gguf/generate.py.
// Numbers stay text, because a float64 does not hold every uint64.
type reference struct {
	Version    uint32
	Big        bool
	Alignment  int64
	DataOffset int64 `json:"data_offset"`
	Fields     map[string]refField
	Tensors    []refTensor
}

// A refField is the kinds of a value, outermost first, and the scalars in it.
type refField struct {
	Types  []gguf.Kind
	Values []string
}

// UnmarshalJSON reads a value or a list; floats are in hexadecimal form.
func (f *refField) UnmarshalJSON(text []byte) error {
	var in struct {
		Types []gguf.Kind
		Value json.RawMessage
	}
	if err := json.Unmarshal(text, &in); err != nil {
		return err
	}
	f.Types = in.Types
	list := []json.RawMessage{in.Value}
	if in.Types[0] == gguf.KindArray {
		if err := json.Unmarshal(in.Value, &list); err != nil {
			return err
		}
	}
	leaf := in.Types[len(in.Types)-1]
	for _, v := range list {
		s := string(v)
		if leaf == gguf.KindString || leaf == gguf.KindF32 || leaf == gguf.KindF64 {
			if err := json.Unmarshal(v, &s); err != nil {
				return err
			}
		}
		if leaf == gguf.KindF32 || leaf == gguf.KindF64 {
			x, err := strconv.ParseFloat(s, 64)
			if err != nil {
				return err
			}
			s = fmt.Sprint(x)
		}
		f.Values = append(f.Values, s)
	}
	return nil
}

type refTensor struct {
	Name   string
	NE     []int64
	Type   string
	ID     gguf.Type
	Offset int64
	Bytes  int64
	SHA256 string
}

func TestReadsWhatGGUFPyWroteAsItReadsItBack(t *testing.T) {
	text, err := os.ReadFile("../../testdata/gguf/expect.json")
	if err != nil {
		t.Fatal(err)
	}
	var refs map[string]reference
	if err := json.Unmarshal(text, &refs); err != nil {
		t.Fatal(err)
	}
	if len(refs) < 10 {
		t.Fatalf("%d files", len(refs))
	}
	for name, want := range refs {
		t.Run(name, func(t *testing.T) {
			b := account(t, limits.Policy{})
			f := open(t, seed(t, name), b)
			if err := f.Verify(b); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, described(t, f, b)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// described puts a file into the words of the reference.
func described(t *testing.T, f *gguf.File, b *limits.Budget) reference {
	got := reference{
		Version: f.Version(), Big: f.Order() == tensor.Big, Alignment: f.Alignment(), DataOffset: f.DataOffset(),
		Fields: map[string]refField{}, Tensors: []refTensor{},
	}
	for k, v := range f.Meta() {
		got.Fields[k] = field(t, v, b)
	}
	at := 0
	for i := range f.Tensors() {
		body, err := f.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		h := sha256.New()
		if _, err := io.Copy(h, body); err != nil {
			t.Fatal(err)
		}
		ne := slices.Clone(i.Shape)
		slices.Reverse(ne)
		got.Tensors = append(got.Tensors, refTensor{
			Name: i.Name, NE: ne, Type: i.Stored, ID: f.Type(at), Offset: i.Span.Off, Bytes: i.Span.Len,
			SHA256: hex.EncodeToString(h.Sum(nil)),
		})
		at++
	}
	return got
}

func field(t *testing.T, v any, b *limits.Budget) refField {
	a, ok := v.(gguf.Array)
	if !ok {
		return refField{[]gguf.Kind{kindOf(v)}, []string{scalar(v)}}
	}
	out := refField{Types: []gguf.Kind{gguf.KindArray, a.Elem()}}
	for first, e := range elements(t, a, b) {
		inner, ok := e.(gguf.Array)
		if !ok {
			out.Values = append(out.Values, scalar(e))
			continue
		}
		f := field(t, inner, b) // flattened, as the reference does
		out.Values = append(out.Values, f.Values...)
		if first == 0 {
			out.Types = append(out.Types, f.Types[1:]...)
		}
	}
	return out
}

func elements(t *testing.T, a gguf.Array, b *limits.Budget) []any {
	var list []any
	for e, err := range a.All(b) {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

func kindOf(v any) gguf.Kind {
	switch v.(type) {
	case uint8:
		return gguf.KindU8
	case int8:
		return gguf.KindI8
	case uint16:
		return gguf.KindU16
	case int16:
		return gguf.KindI16
	case uint32:
		return gguf.KindU32
	case int32:
		return gguf.KindI32
	case float32:
		return gguf.KindF32
	case bool:
		return gguf.KindBool
	case string:
		return gguf.KindString
	case uint64:
		return gguf.KindU64
	case int64:
		return gguf.KindI64
	default:
		return gguf.KindF64
	}
}

// scalar is a value as text; a float32 is widened, as Python does.
func scalar(v any) string {
	if x, ok := v.(float32); ok {
		return fmt.Sprint(float64(x))
	}
	return fmt.Sprint(v)
}
