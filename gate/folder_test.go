package gate_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// folderOf is a folder of these files.
func folderOf(t *testing.T, files map[string]string) (f *gate.Folder, list []gate.File) {
	t.Helper()
	f = &gate.Folder{}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		one := gate.File{Name: name, Size: int64(len(files[name])), SHA256: sum(files[name])}
		if err := f.Add(one, strings.NewReader(files[name])); err != nil {
			t.Fatal(err)
		}
		list = append(list, one)
	}
	return f, list
}

func checkFolder(t *testing.T, g *gate.Gate, files map[string]string, h gate.Hint) *gate.Verdict {
	t.Helper()
	b := g.Policy.Limits.Budget(t.Context())
	t.Cleanup(b.Close)
	f, _ := folderOf(t, files)
	v, err := g.CheckFolder(b, f, h)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(v.Close)
	return v
}

// three are files of which sha256sum made the digest below: find . -type f | cut -c3- |
// LC_ALL=C sort | xargs -r -d '\n' sha256sum | sha256sum (coreutils 9.7).
var three = map[string]string{"config.json": "{}", "model.safetensors": "\x02\x00\x00\x00\x00\x00\x00\x00{}", "sub/a b.txt": "hello\n"}

const threeHash = "385a9626de2ad19944a4135ca9bed23ba056afd9ab498600fce20eb73cda3990"

// A folder is accepted only as these files under these names.
func TestAFolderIsAcceptedAsAWhole(t *testing.T) {
	g := &gate.Gate{Digest: true, Version: "7"}
	v := checkFolder(t, g, three, gate.Hint{Name: "m"})
	a, ok := v.Acceptance()
	_, list := folderOf(t, three)
	if !ok || v.DirHash() != threeHash || a.DirHash() != threeHash || a.SHA256() != "" || !a.OfFolder(list) || a.Size() != 18 || v.Format != gate.FolderFormat || v.SHA256 != "" {
		t.Fatalf("%v %v, %+v", v.Err, v.DirHash(), a)
	}
	slices.Reverse(list)
	if !a.OfFolder(list) {
		t.Error("the order of the files matters")
	}
	for what, change := range map[string]func([]gate.File) []gate.File{
		"one less":       func(l []gate.File) []gate.File { return l[1:] },
		"one more":       func(l []gate.File) []gate.File { return append(l, gate.File{Name: "x", SHA256: l[0].SHA256}) },
		"another name":   func(l []gate.File) []gate.File { l[0].Name = "x"; return l },
		"another digest": func(l []gate.File) []gate.File { l[0].SHA256 = sum("x"); return l },
		"another size":   func(l []gate.File) []gate.File { l[0].Size++; return l },
		"no digest":      func(l []gate.File) []gate.File { l[0].SHA256 = ""; return l },
		"none":           func([]gate.File) []gate.File { return nil },
	} {
		if a.OfFolder(change(slices.Clone(list))) {
			t.Errorf("%s is accepted as well", what)
		}
	}
	// A file that has the listing as its text has the same digest, and is another thing.
	listing := ""
	for _, name := range slices.Sorted(maps.Keys(three)) {
		listing += sum(three[name]) + "  " + name + "\n"
	}
	if digest := sha256.Sum256([]byte(listing)); hex.EncodeToString(digest[:]) != threeHash || a.Of(digest, 18) || a.Of(digest, int64(len(listing))) {
		t.Error("the listing is accepted as a file")
	}
	b := g.Policy.Limits.Budget(t.Context())
	defer b.Close()
	text, err := g.Check(b, strings.NewReader(listing), int64(len(listing)), gate.Hint{Name: "README", Beside: true})
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	if of, ok := text.Acceptance(); !ok || of.OfFolder(list) || of.DirHash() != "" {
		t.Errorf("the acceptance of a text is one of a folder: %v, %+v", ok, of)
	}
	if (gate.Accepted{}).OfFolder(nil) || (gate.Accepted{}).OfFolder(list) {
		t.Error("the zero acceptance accepts a folder")
	}
}

func TestVerdictsOfFoldersByTheirFiles(t *testing.T) {
	const tiny = "\x02\x00\x00\x00\x00\x00\x00\x00{}"
	for what, tc := range map[string]struct {
		files    map[string]string
		promised string
		class    wire.Class
		where    string
	}{
		"a text beside a model":         {map[string]string{"config.json": "{}", "m.safetensors": tiny}, "", wire.OK, ""},
		"texts alone":                   {map[string]string{"config.json": "{}", "README.md": "# a\n"}, "", wire.Unsupported, ""},
		"an archive of texts":           {map[string]string{"config.json": "{}", "x.tar": tarred(t, member{"a.txt", "a\n"})}, "", wire.OK, ""},
		"a hostile file":                {map[string]string{"config.json": "{}", "sub/m.bin": "cos\nsystem\n(S'id'\ntR."}, "", wire.Forbidden, `"sub/m.bin"`},
		"a hostile file in an archive":  {map[string]string{"m.safetensors": tiny, "x.tar": tarred(t, member{"m.bin", "cos\nsystem\n(S'id'\ntR."})}, "", wire.Forbidden, `"x.tar!m.bin"`},
		"the worst of two":              {map[string]string{"a.safetensors": "no", "b.bin": "cos\nsystem\n(S'id'\ntR."}, "", wire.Forbidden, `"a.safetensors"`},
		"what was promised":             {map[string]string{"config.json": "{}", "m.safetensors": tiny}, "safetensors", wire.OK, ""},
		"something else":                {map[string]string{"config.json": "{}", "m.safetensors": tiny}, "gguf", wire.Forbidden, `"m.safetensors"`},
		"no model, where one was":       {map[string]string{"config.json": "{}"}, "gguf", wire.Forbidden, ""},
		"nothing":                       {nil, "", wire.Unsupported, ""},
		"an archive beside the promise": {map[string]string{"m.safetensors": tiny, "x.tar": tarred(t, member{"a.txt", "a\n"})}, "safetensors", wire.Forbidden, `"x.tar"`},
	} {
		v := checkFolder(t, &gate.Gate{Digest: true}, tc.files, gate.Hint{Name: "m", Promised: tc.promised})
		if v.Class() != tc.class || v.Accepted() != (tc.class == wire.OK) {
			t.Errorf("%s: %v, %v", what, v.Class(), v.Err)
		}
		if _, ok := v.Acceptance(); ok != (tc.class == wire.OK) {
			t.Errorf("%s: an acceptance %v", what, ok)
		}
		if list := v.Refusals(); tc.where != "" && (len(list) == 0 || !strings.HasPrefix(list[0].Where, tc.where)) {
			t.Errorf("%s: %+v", what, list)
		}
	}
}

// A set of texts is accepted if the sender says that no model is needed.
func TestTextsAreAcceptedWithoutAModelOnRequest(t *testing.T) {
	texts := map[string]string{"config.json": "{}", "README.md": "# a\n"}
	for beside, class := range map[bool]wire.Class{false: wire.Unsupported, true: wire.OK} {
		if v := checkFolder(t, &gate.Gate{Digest: true}, texts, gate.Hint{Name: "m", Beside: beside}); v.Class() != class || v.Accepted() != beside {
			t.Errorf("beside %v: %v, %v", beside, v.Class(), v.Err)
		}
	}
}

// The verdict of a child counts only for the files that its parent has.
func TestARemoteVerdictOfAFolder(t *testing.T) {
	evil := map[string]string{"config.json": "{}", "m.bin": "cos\nsystem\n(S'id'\ntR."}
	g := &gate.Gate{Digest: true, Version: "7"}
	for _, files := range []map[string]string{three, evil} {
		_, list := folderOf(t, files)
		v := checkFolder(t, g, files, gate.Hint{Name: "m"})
		text, err := v.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		r, err := g.RemoteFolder(text, list, gate.Hint{Name: "m"})
		if err != nil {
			t.Fatal(err)
		}
		if a, ok := r.Acceptance(); ok != v.Accepted() || ok != a.OfFolder(list) {
			t.Errorf("%v, %+v", ok, a)
		}
		if again, err := r.MarshalJSON(); err != nil || string(again) != string(text) {
			t.Errorf("%v, %s, not %s", err, again, text)
		}
		if _, err := g.Remote(text, v.Size, gate.Hint{Name: "m", SHA256: v.DirHash()}); wire.ClassOf(err) != wire.Internal {
			t.Errorf("a folder is taken for a file: %v", err)
		}
		for _, change := range []map[string]any{{"dir_hash": sum("x")}, {"sha256": sum("x")}, {"format": "safetensors"}, {"name": "x"}, {"accepted": !v.Accepted()}} {
			var doc map[string]any
			if err := json.Unmarshal(text, &doc); err != nil {
				t.Fatal(err)
			}
			maps.Copy(doc, change)
			forged, err := json.Marshal(doc)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := g.RemoteFolder(forged, list, gate.Hint{Name: "m"}); wire.ClassOf(err) != wire.Internal {
				t.Errorf("%v: %v", change, err)
			}
		}
		if _, err := g.RemoteFolder(text, list[:1], gate.Hint{Name: "m"}); wire.ClassOf(err) != wire.Internal {
			t.Errorf("another folder: %v", err)
		}
		if _, err := g.RemoteFolder(text, nil, gate.Hint{Name: "m"}); wire.ClassOf(err) != wire.Internal {
			t.Errorf("no folder: %v", err)
		}
	}
}
