package folder_test

import (
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/folder"
)

// Names that are not those of files beside each other in one folder, on any system, are
// refused.
func TestNamesThatAreNotOneFolder(t *testing.T) {
	for _, list := range [][]string{
		{"a", "b"}, {"a/b", "a/c", "c"}, {"A", "b/A"}, {"a", "a.b", "a b"}, {strings.Repeat("a", 4096)}, {"ａ", "a"}, {"%2e%2e/x", "..x", "x..", "..."},
	} {
		if err := add(list); err != nil {
			t.Errorf("%q: %v", list, err)
		}
	}
	for _, list := range [][]string{
		{""}, {"."}, {".."}, {"../a"}, {"a/../b"}, {"a/./b"}, {"./a"}, {"/a"}, {"a/"}, {"a//b"}, {`a\b`}, {"C:a"}, {"c:/a"}, {"a\x00"}, {"a\nb"}, {"\xff"}, {"a\u0085"},
		{strings.Repeat("a", 4097)}, {strings.Repeat("a/", 65) + "a"},
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
