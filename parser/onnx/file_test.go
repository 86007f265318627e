package onnx_test

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/onnx"
)

// decode reads a model of the corpus.
func decode(t *testing.T, name string) (*limits.Budget, *onnx.File) {
	t.Helper()
	b := limits.Policy{}.Budget(t.Context())
	t.Cleanup(b.Close)
	for _, s := range corpus.Valid("onnx") {
		if s.Name == name {
			m, err := onnx.Decode(b, bytes.NewReader(s.Data), int64(len(s.Data)))
			if err != nil {
				t.Fatal(err)
			}
			return b, m
		}
	}
	t.Fatal(name)
	return nil, nil
}

// text returns the elements of a tensor as bytes.
func text(t *testing.T, b *limits.Budget, m *onnx.File, name string) string {
	t.Helper()
	for i := range m.Tensors() {
		if i.Name != name {
			continue
		}
		r, err := m.Body(b, i)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		p, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(p)
	}
	t.Fatalf("no tensor %q", name)
	return ""
}

// The values are those that generate.py gave the library.
func TestTensorsHaveTheirNamesAndValues(t *testing.T) {
	b, m := decode(t, "scopes.onnx")
	for name, want := range map[string]string{
		"two": "\x02\x00\x00\x00\x00\x00\x00\x00", "f/value": "\xfd\xff\xff\xff\xff\xff\xff\xff",
		"c":               "\x00\x00\x80\x3f\x00\x00\x00\x40\x00\x00\x40\x40\x00\x00\x80\x40",
		"l/tensors/0":     "\xfc",
		"l/tensors/1":     "\x05",
		"local:Listed/l":  "\x00\x00\xe0\x40",
		"q/then_branch/b": "\x00\x00\x80\x3f", "q/then_branch/k": "\x00\x00\x80\x3f", "q/else_branch/b": "\x00\x00\x00\x40", "l/graphs/0/k": "\x00\x00\x80\x3f",
		"Lonely#5/value": "\x01\x00",
		"s":              "\x00\x00\x00\x00\x00\x00\xa0\x40\x00\x00\x00\x00\x00\x00\xc0\x40",
		"linear":         "\x00\x00\xa0\x40" + string(make([]byte, 16)) + "\x00\x00\xc0\x40",
		"axes":           "\x00\x00\x00\x00\x00\x00\xa0\x40" + string(make([]byte, 12)) + "\x00\x00\xc0\x40",
	} {
		if got := text(t, b, m, name); got != want {
			t.Errorf("%s: % x, want % x", name, got, want)
		}
	}
}

// A tensor is the same as raw data and as numbers of a field.
func TestTypesAreTheSameInBothForms(t *testing.T) {
	b, m := decode(t, "types.onnx")
	compared := 0
	for i := range m.Tensors() {
		if raw := "raw " + i.Name; i.TypeName() != "STRING" && !strings.HasPrefix(i.Name, "raw ") && !strings.HasPrefix(i.Name, "FLOAT6") {
			if compared++; text(t, b, m, i.Name) != text(t, b, m, raw) {
				t.Errorf("%s: % x as numbers, % x as raw data", i.Name, text(t, b, m, i.Name), text(t, b, m, raw))
			}
		}
	}
	if compared != 25 {
		t.Errorf("%d types compared", compared)
	}
	for name, want := range map[string]string{"INT4": "\x01\xfe\x01", "UINT2": "\x01\x02\x01", "INT2": "\x01\xfe\x01", "BFLOAT16": "\x80\x3f\x00\xc0\x80\x3f", "INT16": "\x01\x00\xfe\xff\x01\x00"} {
		if got := text(t, b, m, name); got != want {
			t.Errorf("%s: % x, want % x", name, got, want)
		}
	}
}

// External data is read only after the folder is known.
func TestExternalData(t *testing.T) {
	b, m := decode(t, "outside.onnx")
	for i := range m.Tensors() {
		if _, ok := m.At(i); ok {
			t.Error("data that are not attached")
		}
		if _, err := m.Body(b, i); wire.RuleOf(err) != "onnx.external-missing" {
			t.Error(err)
		}
	}
	if err := m.Attach(b, fstest.MapFS{"outside.onnx.data": {Data: []byte("0123456789abcdefghijklmn")}}); err != nil {
		t.Fatal(err)
	}
	if got := text(t, b, m, "w"); got != "0123456789abcdefghijklmn" || len(m.Outside()) != 0 {
		t.Errorf("%q, outside %q", got, m.Outside())
	}
	if err := m.Close(); err != nil {
		t.Error(err)
	}
}

// twins is a model of two tensors with one range of external data.
const twins = "\x08\x08\x42\x02\x10\x11\x3a\x3a" +
	"\x2a\x1b\x08\x04\x10\x02\x42\x01a\x6a\x10\x0a\x08location\x12\x04data\x70\x01" +
	"\x2a\x1b\x08\x04\x10\x02\x42\x01b\x6a\x10\x0a\x08location\x12\x04data\x70\x01"

func TestTensorsMayShareExternalDataWholly(t *testing.T) {
	b := limits.Policy{}.Budget(t.Context())
	defer b.Close()
	m, err := onnx.Decode(b, bytes.NewReader([]byte(twins)), int64(len(twins)))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Attach(b, fstest.MapFS{"data": {Data: []byte("1234")}}); err != nil {
		t.Fatal(err)
	}
	if x, y := m.Infos[0].Storage, m.Infos[1].Storage; x != y || x == "" {
		t.Errorf("storages %q and %q", x, y)
	}
}

// A model whose data is outside of its folder is not verified, because the data is not read.
func TestDataOutsideOfTheFolderIsNotVerified(t *testing.T) {
	tried := 0
	for _, r := range corpus.Gate() {
		if r.Name != "onnx-external-path" && r.Name != "onnx-external-dots" {
			continue
		}
		tried++
		data, err := r.Build()
		if err != nil {
			t.Fatal(err)
		}
		b := limits.Policy{}.Budget(t.Context())
		m, err := onnx.Decode(b, bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Fatal(err)
		}
		if err := m.Attach(b, fstest.MapFS{}); err != nil {
			t.Fatal(err)
		}
		if err := m.Verify(b); wire.ClassOf(err) != wire.Forbidden {
			t.Errorf("%s: %v", r.Name, err)
		}
		m.Close()
		b.Close()
	}
	if tried != 2 {
		t.Errorf("%d recipes", tried)
	}
}
