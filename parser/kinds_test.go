package parser_test

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/corpus"
	"github.com/anamnesis-go/anamnesis/internal/polyglot"
	"github.com/anamnesis-go/anamnesis/internal/unpack"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
)

// Each kind is one row, and other packages find their facts about a kind by its name.
func TestEveryKindIsARowOfOneTable(t *testing.T) {
	var names, harmless, packed []string
	for _, k := range parser.Kinds() {
		names = append(names, k.Name)
		switch {
		case k.Opens == parser.AsHarmless, k.Name == "json", k.Name == "text":
			harmless = append(harmless, k.Title)
		case k.Opens == parser.AsPacked && len(k.Of) == 0:
			packed = append(packed, k.Name)
		}
		if k.Opens == parser.NotOpened {
			if k.Judge != "" || k.Advice == "" {
				t.Errorf("%s is only recognized, with judge %q and advice %q", k.Name, k.Judge, k.Advice)
			}
			continue
		}
		if _, err := os.Stat("../" + k.Judge); err != nil || k.Judge == "" {
			t.Errorf("%s is judged by %q, which is no package: %v", k.Name, k.Judge, err)
		}
	}
	slices.Sort(names)
	if unique := slices.Compact(slices.Clone(names)); len(unique) < len(names) {
		t.Errorf("kinds with the same name: %q", names)
	}
	for what, pair := range map[string][2][]string{
		"harmless kinds": {harmless, polyglot.Rules()}, "packings": {packed, unpack.Kinds()},
	} {
		slices.Sort(pair[0])
		slices.Sort(pair[1])
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s: %q in the table, %q in their package", what, pair[0], pair[1])
		}
	}
}

func identity(t *testing.T, data, name string) *parser.Identity {
	t.Helper()
	b := account(t, limits.Policy{})
	id, err := parser.Identify(b, strings.NewReader(data), int64(len(data)), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(id.Close)
	return id
}

// An identity has its proposals in order, and marks those that must be proven.
func TestAnIdentityProposes(t *testing.T) {
	gzip := "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x03\x00\x00\x00\x00\x00\x00\x00\x00\x00"
	for _, c := range []struct{ what, data, name, want string }{
		{"a model", string(safetensors("x")), "", "safetensors"},
		{"a model under another name", string(safetensors("x")), "a.pkl", "safetensors"},
		{"what packs a model", gzip, "a.gz", "gzip"},
		{"the same under the name of a model", gzip, "a.pth", "pickle?"},
		{"the same under a name for any bytes", gzip, "a.bin", "gzip"},
		{"a pickle by its first bytes", "\x80\x04N.", "a", "pickle"},
		{"a pickle by its name", "a note", "a.PKL", "pickle"},
		{"an ONNX model by its name", "a note", "a.onnx", "pickle? onnx"},
		{"HDF5 by its first bytes", "\x89HDF\r\n\x1a\n", "a", "pickle? hdf5"},
		{"a text", "a note", "a.txt", "pickle?"},
		{"nothing", "", "a.pkl", "pickle?"},
		{"an archive without a directory", "PK\x03\x04" + strings.Repeat("\x00", 100), "a.zip", "damaged"},
	} {
		var got []string
		for _, p := range identity(t, c.data, c.name).Proposals {
			switch {
			case p.Kind == "":
				got = append(got, "damaged")
			case p.Sure:
				got = append(got, p.Kind)
			default:
				got = append(got, p.Kind+"?")
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", c.what, got, c.want)
		}
	}
}

// The kind by the first bytes is the kind by the whole file, if it has one.
func TestFirstBytesAndWholeFileAgreeOnTheKind(t *testing.T) {
	for _, format := range corpus.Formats() {
		for _, s := range corpus.Valid(format) {
			id := identity(t, string(s.Data), s.Name)
			first := parser.IdentifyBeginning(s.Data[:min(len(s.Data), 512)], int64(len(s.Data)), s.Name)
			if first.Begins != id.Begins || first.Packing != id.Packing || first.Pickled != id.Pickled || first.Promised != id.Promised || first.Named != id.Named {
				t.Errorf("%s: %+v by its beginning, %+v by all of it", s.Name, first, id)
			}
			if !bytes.HasPrefix(s.Data, id.Beginning()) {
				t.Errorf("%s: its beginning is another", s.Name)
			}
		}
	}
}
