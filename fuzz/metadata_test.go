package fuzz_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/anamnesis-go/anamnesis/fuzz"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/gguf/edit"
)

// FuzzMetadata tests that accepted metadata of a GGUF file can be written, and that a
// reader of the file returns the same values.
func FuzzMetadata(f *testing.F) {
	for _, format := range []string{"metadata", "setting"} {
		answersFirst(f, format)
		for _, file := range hostile(f, format) {
			f.Add(string(file.data))
		}
	}
	for _, s := range []string{
		`{}`, `{"a": 1}`, `{"a": -1, "b": 4294967296, "c": 18446744073709551615, "d": 1.5e-3, "e": "\u00e9", "f": true}`,
		`{"a": [1, 2], "b": ["x"], "c": [false], "d": [0.5], "e": [-1]}`, `{"general.alignment": 64}`,
		`{"a": {"type": "u8", "value": 7}, "b": {"value": [1], "item_type": "i16", "type": "array"}}`,
		`{"a": {"type": "array", "item_type": "string", "value": []}}`, `{"a": null}`, `{"a": [[1]]}`, `{"a": {"type": "i8", "value": 200}}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		b := fuzz.Ceilings.Budget(t.Context())
		defer b.Close()
		meta, err := edit.Metadata(b, s)
		if err != nil {
			e, ok := errors.AsType[*wire.Error](err)
			if class := wire.ClassOf(err); !ok || class == wire.Internal || class == wire.Usage || e.Off > int64(len(s)) {
				t.Fatal(err)
			}
			return
		}
		written(t, meta, b)
	})
}

func written(t *testing.T, meta []gguf.Entry, b *limits.Budget) {
	plan, err := gguf.Layout(b, nil, meta, gguf.Options{})
	if class := wire.ClassOf(err); class == wire.Unsupported || class == wire.Usage || class == wire.Limit {
		return // general.alignment of another kind, or no power of two
	}
	if err != nil {
		t.Fatal(err)
	}
	f, err := gguf.Decode(b, bytes.NewReader(plan.Header), plan.Size)
	if wire.ClassOf(err) == wire.Limit {
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	i := 0
	for key, v := range f.Meta() {
		got, err := flat(b, v)
		if err != nil {
			if wire.ClassOf(err) == wire.Limit {
				return
			}
			t.Fatal(err)
		}
		if want := fmt.Sprintf("%T %v", meta[i].Value, meta[i].Value); key != meta[i].Key || got != want {
			t.Fatalf("%q is %s, want %q %s", key, got, meta[i].Key, want)
		}
		i++
	}
	if i != len(meta) {
		t.Fatalf("%d keys of %d", i, len(meta))
	}
}

// flat prints a value read from a file like the Go value that it was written from.
func flat(b *limits.Budget, v any) (string, error) {
	a, ok := v.(gguf.Array)
	if !ok {
		return fmt.Sprintf("%T %v", v, v), nil
	}
	kind := map[gguf.Kind]string{
		gguf.KindU8: "uint8", gguf.KindI8: "int8", gguf.KindU16: "uint16", gguf.KindI16: "int16", gguf.KindU32: "uint32", gguf.KindI32: "int32",
		gguf.KindF32: "float32", gguf.KindBool: "bool", gguf.KindString: "string", gguf.KindU64: "uint64", gguf.KindI64: "int64", gguf.KindF64: "float64",
	}[a.Elem()]
	list := []any{}
	for e, err := range a.All(b) {
		if err != nil {
			return "", err
		}
		list = append(list, e)
	}
	return fmt.Sprintf("[]%s %v", kind, list), nil
}
