package convert_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/converttest"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

func TestAnEditChangesKeys(t *testing.T) {
	meta := []convert.Entry{{Key: "a", Value: "1"}, {Key: "b", Value: uint32(2)}, {Key: "c", Value: "3"}}
	for _, c := range []struct {
		name string
		edit convert.Edit
		want []convert.Entry
	}{
		{"nothing", convert.Edit{}, meta},
		{"a key keeps its place", convert.Edit{Set: []convert.Entry{{Key: "b", Value: "x"}, {Key: "d", Value: "y"}}},
			[]convert.Entry{{Key: "a", Value: "1"}, {Key: "b", Value: "x"}, {Key: "c", Value: "3"}, {Key: "d", Value: "y"}}},
		{"a key is deleted", convert.Edit{Delete: []string{"a", "c"}}, meta[1:2]},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := c.edit.Apply(converttest.Account(t), meta)
			if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
				t.Errorf("%v, want -, got +:\n%s", err, diff)
			}
		})
	}
	missing := convert.Edit{Delete: []string{"z"}}
	if _, err := missing.Apply(converttest.Account(t), meta); wire.ClassOf(err) != wire.Usage {
		t.Error(err)
	}
	for _, e := range []convert.Edit{
		{Delete: []string{"a", "a"}}, {Set: meta[:1], Delete: []string{"a"}}, {Set: []convert.Entry{{}}},
		{Delete: []string{"split.no"}}, {Set: []convert.Entry{{Key: "general.alignment", Value: uint32(64)}}},
	} {
		if err := e.Check("gguf"); wire.ClassOf(err) != wire.Usage {
			t.Errorf("%v: %v", e, err)
		}
	}
}

// An input is replaced only on request, and as a whole.
func TestInPlace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "model.safetensors")
	data, err := os.ReadFile("../testdata/demo/model.safetensors")
	if err == nil {
		err = os.WriteFile(path, data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []bool{false, true} {
		m, b := converttest.Open(t, path)
		e := convert.Edit{Set: []convert.Entry{{Key: "name", Value: "mine"}}}
		p, err := convert.NewPlan(b, m, convert.Options{AsIs: true, InPlace: place, Meta: func(meta []convert.Entry) ([]convert.Entry, error) { return e.Apply(b, meta) }})
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.Write(path, true)
		if (err == nil) != place {
			t.Errorf("in place %v: %v", place, err)
		}
	}
	m, _ := converttest.Open(t, path)
	found := ""
	for k, v := range m.Meta() {
		if k == "name" {
			found = v.(string)
		}
	}
	info, err := os.Stat(path)
	if err != nil || found != "mine" || info.Mode().Perm() != 0o600 {
		t.Errorf("%q, %v, %v", found, info.Mode(), err)
	}
	if list, err := os.ReadDir(filepath.Dir(path)); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
}

// A tensor whose text is not the name of a type does not get a name under which HQQ's loader runs
// it as Python.
func TestNamesThatAreEvaluatedAreNotWritten(t *testing.T) {
	m, b := converttest.Open(t, "../testdata/demo/model.safetensors")
	renaming, err := convert.ParseRenaming("*=*.compute_dtype")
	if err != nil {
		t.Fatal(err)
	}
	names := convert.Names{Rename: []convert.Renaming{renaming}}
	renamed, err := names.Model(b, m)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := convert.NewPlan(b, renamed, convert.Options{AsIs: true}); wire.ClassOf(err) != wire.Forbidden {
		t.Error(err)
	}
}
