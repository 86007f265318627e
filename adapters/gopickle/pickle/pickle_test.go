package pickle_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	upstream "github.com/nlpodyssey/gopickle/pickle"

	"github.com/anamnesis-go/anamnesis/adapters/gopickle/pickle"
	"github.com/anamnesis-go/anamnesis/adapters/gopickle/types"
	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/parser"
)

func theirs(s string) (v any, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return upstream.Loads(s)
}

func TestAPickleIsWhatTheLibraryMakesOfIt(t *testing.T) {
	for name, s := range map[string]string{
		"numbers":  "\x80\x02](K\x01J\xff\xff\xff\xffG?\xf8\x00\x00\x00\x00\x00\x00\x88\x89Ne.",
		"long":     "\x80\x02\x8a\x09\x00\x00\x00\x00\x00\x00\x00\x00\x01.",
		"texts":    "\x80\x04\x95\x0c\x00\x00\x00\x00\x00\x00\x00(\x8c\x02abC\x02xy\x8c\x00t.",
		"dict":     "\x80\x02}(U\x01aK\x01U\x01b](K\x02K\x03eu.",
		"tuple":    "\x80\x02K\x01K\x02\x86.",
		"frozen":   "\x80\x04(K\x01K\x02\x91.",
		"set":      "\x80\x04\x8f(K\x01K\x02\x90.",
		"ordered":  "\x80\x02ccollections\nOrderedDict\n)R(U\x01aK\x01u.",
		"protocol": "(lp0\nI1\nas.",
	} {
		got, ours := pickle.Loads(s)
		want, err := theirs(s)
		if (ours == nil) != (err == nil) {
			t.Errorf("%s: the library says %v, we say %v", name, err, ours)
			continue
		}
		if a, b := show(got), show(want); a != b {
			t.Errorf("%s: %s, want %s", name, a, b)
		}
	}
}

// show is a value as text, without the addresses of an OrderedDict.
func show(v any) string {
	if o, ok := v.(*types.OrderedDict); ok {
		out := "ordered"
		for e := o.List.Front(); e != nil; e = e.Next() {
			entry := e.Value.(*types.OrderedDictEntry)
			out += fmt.Sprintf(" %v:%v", entry.Key, entry.Value)
		}
		return out
	}
	return fmt.Sprintf("%T %v", v, v)
}

func TestHostilePicklesAreRefusedWithTheirClass(t *testing.T) {
	for _, r := range corpus.Hostile("pickle") {
		if r.Policy != nil || r.Depth == corpus.Whole {
			continue
		}
		data, err := r.Build()
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(t.TempDir(), "data.pkl")
		if err := os.WriteFile(path, data, 0o644); err != nil {
			t.Fatal(err)
		}
		_, err = pickle.Load(path)
		if got := parser.ClassOf(err).String(); err == nil || got != r.Expect {
			t.Errorf("%s: %v, want %s", r.Name, err, r.Expect)
		}
	}
}
