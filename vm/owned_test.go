package vm

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// testdata/pickle/owned.json is dir() of the classes, written by owned.py beside it.
func TestTheNamesOfClassesAreTheirs(t *testing.T) {
	text, err := os.ReadFile("../testdata/pickle/owned.json")
	if err != nil {
		t.Fatal(err)
	}
	var want struct{ Tensors, Dicts, Namespaces []string }
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	for _, list := range []struct {
		have string
		want []string
	}{{ownedByTensors, want.Tensors}, {ownedByDicts, want.Dicts}, {ownedByNamespaces, want.Namespaces}} {
		if have := strings.Fields(list.have); len(have) != len(list.want) || len(have) == 0 {
			t.Errorf("%d names, the classes have %d", len(have), len(list.want))
		}
		for _, name := range list.want {
			if !owns(list.have, name) || owns(list.have, name[1:]+" ") || owns(list.have, name+"?") {
				t.Errorf("%s", name)
			}
		}
		for _, name := range []string{"", " ", "  ", "no_such_name", list.have, list.have[1:]} {
			if owns(list.have, name) {
				t.Errorf("%q", name)
			}
		}
	}
}
