package folder_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/folder"
)

// Names that are not those of files beside each other in one folder, on any system, are
// refused.
func TestNamesThatAreNotOneFolder(t *testing.T) {
	for _, list := range [][]string{
		{"a", "b"}, {"a/b", "a/c", "c"}, {"A", "b/A"}, {"a", "a.b", "a b"}, {strings.Repeat("a", 255)}, {strings.Repeat("a", 255) + "/" + strings.Repeat("a", 255)}, {"..x", ".x", "100%", "5% a"},
		{"猫.png", "犬.png"}, {"é.bin", "e.bin"}, {"テスト/a.json", "テスト/b.json", "モデル/a.json"}, {"e\u0301.bin", "a.bin", "e\u0301.json"}, {"ｄ/a", "ｄ/b", "ｄ/猫.txt", "ｄ/犬.txt"}, {"модель.bin", "Карта.md"},
		{"Résumé (1).txt", "R & D", "a=b", "50%", "[x] {y}"}, {"console.txt", "com10", "nul_", "lpt", "aux-1", "com"}, {"हिन्दी.txt", "readme.txt"}, {"ก่.txt", "x.txt"}, {"ß.txt", "x.json"}, {"😀.png", "😁.png"},
	} {
		if err := add(list); err != nil {
			t.Errorf("%q: %v", list, err)
		}
	}
	for _, list := range [][]string{
		{""}, {"."}, {".."}, {"../a"}, {"a/../b"}, {"a/./b"}, {"./a"}, {"/a"}, {"a/"}, {"a//b"}, {`a\b`}, {"C:a"}, {"c:/a"}, {"a\x00"}, {"a\nb"}, {"\xff"}, {"a\u0085"},
		{strings.Repeat("a", 4097)}, {strings.Repeat("a/", 65) + "a"},
		{strings.Repeat("a", 256)}, {"é" + strings.Repeat("a", 254)}, {"a."}, {"a /b"}, {"a./b"}, {" a"}, {"a "}, {"a\u00a0"}, {"\u3000a"}, {"handler.py::$DATA"}, {"ab:c"}, {"=?utf-8?q?a?="}, {"%2e%2e/x"}, {"a%2epy"}, {"%2Egit"}, {"a&#46;py"}, {"a&amp"}, {"a&#x2e"},
		{"a\u200b"}, {"a\u202eb"}, {"\ufeffa"}, {"a\u00adb"}, {"a\ufe0f"}, {"a\u115f"}, {"a\u2028b"}, {"con"}, {"NUL.txt"}, {"x/Aux"}, {"com1"}, {"COM¹.a.b"}, {"lpt³"}, {"LPT0"}, {"con .txt"}, {"CONIN$"},
		{"a?"}, {"a*"}, {"a|b"}, {"<a"}, {"a>"}, {"a\"b"}, {"．．／a"}, {"a․py"}, {"C：x"}, {"a＼b"},
		{"ａ", "a"}, {"a", "ａ"}, {"\u00e9.bin", "e\u0301.bin"}, {"e\u0301.bin", "\u00e9.bin"}, {"ß", "ss"}, {"ﬁle", "file"}, {"㎏.bin", "kg.bin"}, {"\u00e9/a", "e\u0301/b"}, {"E\u0301", "é"}, {"x/\u212b", "x/å"}, {"가", "\u1100\u1161"}, {"が", "か\u3099"},
		{"q\u0323\u0307", "q\u0307\u0323"}, {"İ", "i\u0307"},
		{"a", "a"}, {"a", "A"}, {"x/a", "X/a"}, {"x/a", "x/A"}, {"x/a", "X/b"}, {"a", "a/b"}, {"a/b", "a"}, {"A/b/c", "a/b"}, {"ſ", "s"}, {"K", "k"},
	} {
		if err := add(list); err == nil {
			t.Errorf("%q are the names of a folder", list)
		}
	}
}

func add(list []string) error {
	var n folder.Names
	for _, name := range list {
		if err := n.Add(name); err != nil {
			return err
		}
	}
	return nil
}

// Names of several spellings are compared with all others, so there are few.
func TestNamesOfSeveralSpellings(t *testing.T) {
	var list []string
	for i := range 257 {
		list = append(list, fmt.Sprintf("%dａ%d", i+1000, i))
	}
	if err := add(list[:256]); err != nil {
		t.Error(err)
	}
	if err := add(list); err == nil {
		t.Error("257 names of several spellings are a folder")
	}
}

// A listing takes names that a system refuses to store, and none that one stores as another.
func TestNamesOfAListing(t *testing.T) {
	for name, want := range map[string]bool{
		"a%2eb": true, "a&amp;b": true, "what?.md": true, "12:30:05.md": true, "a|b": true, strings.Repeat("a", 300): true, "git~1": true, "ab:c": true,
		"a::$DATA": false, "a:b:$DATA": false, "x::$INDEX_ALLOCATION/y": false, "a:": false, "con": false, "a.": false, "a ": false, "a\u200bb": false, "a\uff0epy": false, "../a": false, "": false,
	} {
		var n folder.Names
		if err := n.AddListed(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
	var n folder.Names
	if err := n.AddListed("a%2eb/c"); err != nil {
		t.Error(err)
	}
	if err := n.AddListed("A%2eb/d"); err == nil {
		t.Error("two folders that differ in case are taken")
	}
}

func TestNamesAsSystemsOpenThem(t *testing.T) {
	for name, want := range map[string]string{
		".git": ".git", ".GIT": ".git", ".git.": ".git", ".git ": ".git", ".git. .": ".git", ".git::$INDEX_ALLOCATION": ".git", ".git:$I30:$INDEX_ALLOCATION": ".git", ".g\u200cit": ".git", ".git\ufeff": ".git", ".git\u00a0": ".git",
		"git~1": ".git", "GIT~1": ".git", "git~1.": ".git", "git~1::$INDEX_ALLOCATION": ".git", "gitmod~1": ".gitmodules", "GI7EBA~9": ".gitmodules", "gitcon~2": ".gitconfig",
		"HANDLER.PY::$data": "handler.py", "hand\u200cler.py": "handler.py", "handler\uff0epy": "handler.py", "clas\u017f.py": "class.py",
		"git~": "git~", "git~12": "git~12", "git~!": "git~!", "git~:": "git~:", "foo~1": "foo~1", "git~x": "git~x", "a:b.py": "a:b.py", "x:.py": "x:.py", "::$DATA": "::$data", "a:$b.py": "a:$b.py", ".": ".", "..": "..", "": "",
	} {
		if got := folder.Opened(name); got != want {
			t.Errorf("%q is opened as %q, want %q", name, got, want)
		}
	}
}
