package fault

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Errors of os.Root name the system's calls that take a folder, which say nothing to a user.
func TestErrorsOfFoldersReadPlainly(t *testing.T) {
	root, err := os.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	_, open := root.Open("none")
	_, stat := root.Stat("none")
	_, lstat := root.Lstat("none")
	_, link := root.Readlink("none")
	for _, err := range []error{open, stat, lstat, link, root.Mkdir("none/x", 0o777), root.Remove("none"), root.Rename("none", "x"), root.RemoveAll("../x"), root.Chmod("none", 0), root.Link("none", "x"), root.Symlink("x", "none/x")} {
		if err == nil {
			t.Fatal("no error")
		}
		for _, text := range []string{Text(err), Text(fmt.Errorf("a: %w", err)), Message("b", err)} {
			call, _, _ := strings.Cut(strings.TrimPrefix(text, "a: "), " ")
			if strings.HasSuffix(call, "at") && call != "stat" && call != "lstat" || call == "RemoveAll" {
				t.Errorf("%s", text)
			}
		}
	}
}
