package pytorch_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"

	upstream "github.com/nlpodyssey/gopickle/pytorch"

	"github.com/anamnesis-go/anamnesis/adapters/gopickle/pytorch"
	"github.com/anamnesis-go/anamnesis/adapters/gopickle/types"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// theirs is the library's own answer, or why it has none.
func theirs(path string) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return upstream.Load(path)
}

// flat is a value as text, where NaN is NaN and an address is nothing.
func flat(v any) string {
	out := fmt.Sprintf("%T{", v)
	switch v := v.(type) {
	case *types.Dict:
		for _, e := range *v {
			out += flat(e.Key) + ":" + flat(e.Value) + ","
		}
	case *types.OrderedDict:
		for e := v.List.Front(); e != nil; e = e.Next() {
			entry := e.Value.(*types.OrderedDictEntry)
			out += flat(entry.Key) + ":" + flat(entry.Value) + ","
		}
		out += fmt.Sprint(len(v.PyDict))
		for _, key := range slices.Sorted(maps.Keys(v.PyDict)) {
			out += key + ":" + flat(v.PyDict[key]) + ","
		}
	case *types.List:
		for _, e := range *v {
			out += flat(e) + ","
		}
	case *types.Tuple:
		for _, e := range *v {
			out += flat(e) + ","
		}
	case *pytorch.Tensor:
		out += fmt.Sprint(v.StorageOffset, v.Size, v.Stride, v.RequiresGrad, reflect.ValueOf(v.Source).Elem().Interface())
	default:
		out += fmt.Sprint(v)
	}
	return out + "}"
}

func TestACheckpointIsWhatTheLibraryMakesOfIt(t *testing.T) {
	same := 0
	for _, s := range corpus.Valid("pth") {
		path := filepath.Join(t.TempDir(), "model.pth")
		if err := os.WriteFile(path, s.Data, 0o644); err != nil {
			t.Fatal(err)
		}
		got, ours := pytorch.Load(path)
		want, err := theirs(path)
		switch {
		case err != nil || ours != nil:
			t.Logf("%s: the library says %v, we say %v", s.Name, err, ours)
		case flat(got) == flat(want):
			same++
		default:
			t.Errorf("%s:\n%s\nwant\n%s", s.Name, flat(got), flat(want))
		}
	}
	if same < 10 {
		t.Errorf("%d files compared", same)
	}
}

// ollama's convert/reader_torch.go asks for keys, sizes and storages.
func TestWhatOllamaAsksOfACheckpoint(t *testing.T) {
	m, err := pytorch.Load(filepath.Join("..", "..", "..", "corpus", "valid", "pth", "tied.pt"))
	if err != nil {
		t.Fatal(err)
	}
	elements := 0
	for _, k := range m.(*types.Dict).Keys() {
		v := m.(*types.Dict).MustGet(k).(*pytorch.Tensor)
		if storage, ok := v.Source.(*pytorch.FloatStorage); ok {
			elements += len(storage.Data)
		}
	}
	if elements == 0 {
		t.Error("no storage has elements")
	}
}

func TestHostileCheckpointsAreRefusedWithTheirClass(t *testing.T) {
	for _, r := range corpus.Hostile("pth") {
		if r.Policy != nil {
			continue
		}
		data, err := r.Build()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "model.pth")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		b := limits.Policy{}.Budget(t.Context())
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		_, err = pytorch.Read(b, f, int64(len(data)))
		f.Close()
		b.Close()
		if got := parser.ClassOf(err).String(); err == nil || got != r.Expect {
			t.Errorf("%s: %v, want %s", r.Name, err, r.Expect)
		}
	}
}
