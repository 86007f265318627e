package source_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/hub/source"
	"github.com/anamnesis-go/anamnesis/hub/store"
)

func write(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(name), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func find(t *testing.T, where string) (names []string, list []store.Work, err error) {
	t.Helper()
	err = source.Folder(t.Context(), "t", where, func(w store.Work) error {
		names, list = append(names, w.Repo), append(list, w)
		return nil
	})
	return names, list, err
}

func TestARepositoryIsAFolderWithFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "org/a/model.bin", "org/a/sub/deep.bin", "org/b/onnx/model.onnx", "other/config.json")
	if err := os.MkdirAll(filepath.Join(dir, "empty", "still"), 0o755); err != nil {
		t.Fatal(err)
	}
	names, list, err := find(t, dir)
	if want := []string{"org/a", "org/b/onnx", "other"}; err != nil || !slices.Equal(names, want) {
		t.Fatal(names, err)
	}
	if list[0].Cost != 2 || list[0].Address != filepath.Join(dir, "org", "a") || len(list[0].Revision) != 64 {
		t.Errorf("%+v", list[0])
	}
	names, _, err = find(t, filepath.Join(dir, "org", "*")) // which says what the repositories are
	if want := []string{"a", "b"}; err != nil || !slices.Equal(names, want) {
		t.Error(names, err)
	}
	if names, _, err := find(t, filepath.Join(dir, "org", "a")); err != nil || !slices.Equal(names, []string{"a"}) {
		t.Error(names, err)
	}
	if _, _, err := find(t, filepath.Join(dir, "other", "config.json")); err == nil {
		t.Error("a file is a source")
	}
	if _, _, err := find(t, filepath.Join(dir, "absent")); err == nil {
		t.Error("what is not there is a source")
	}
	_, again, err := find(t, dir)
	if err != nil || again[0].Revision != list[0].Revision {
		t.Error("the same files are another revision")
	}
	write(t, dir, "org/a/more.bin")
	if _, again, err = find(t, dir); err != nil || again[0].Revision == list[0].Revision || again[1].Revision != list[1].Revision {
		t.Error("another file is the same revision")
	}
}

// What cannot be looked at is said, and the rest is found.
func TestWhatCannotBeLookedAtIsSaid(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the system lacks names that are not UTF-8")
	}
	dir := t.TempDir()
	write(t, dir, "a/model.bin", "b\xff/model.bin", "c/model.bin")
	names, _, err := find(t, dir)
	if !slices.Equal(names, []string{"a", "c"}) || err == nil || !strings.Contains(err.Error(), "not UTF-8") {
		t.Errorf("%q, %v", names, err)
	}
}

func TestLinksLeadNowhere(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "repo/model.bin", "secret/key")
	for name, to := range map[string]string{"out": filepath.Join(dir, "secret", "key"), "folder": filepath.Join(dir, "secret"), "in": "model.bin", "gone": "nowhere"} {
		if err := os.Symlink(to, filepath.Join(dir, "repo", name)); err != nil {
			t.Skip("the system lacks links: ", err)
		}
	}
	files, err := source.Open(t.Context(), filepath.Join(dir, "repo"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	err = fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			_, err := fs.ReadFile(files, name)
			got[name] = err == nil
			if err == nil != e.Type().IsRegular() {
				t.Errorf("%s: %v, %v", name, e.Type(), err)
			}
		}
		return err
	})
	if err != nil || len(got) != 5 || !got["model.bin"] || !got["in"] || got["out"] || got["folder"] || got["gone"] {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := files.Open("../secret/key"); err == nil {
		t.Error("a name leads out")
	}
}
