package output_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/output"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func link(t *testing.T, to, path string) {
	t.Helper()
	if err := os.Symlink(to, path); err != nil {
		t.Skip(err)
	}
}

// list returns the names and contents below a folder.
func list(t *testing.T, dir string) string {
	t.Helper()
	var text strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || path == dir {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		text.WriteString(filepath.ToSlash(rel))
		if e.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text.WriteString("=" + string(data))
		}
		text.WriteString(" ")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(text.String(), " ")
}

func isRefusal(err error, has string) bool {
	r, ok := errors.AsType[*output.Refusal](err)
	return ok && strings.Contains(r.Why, has)
}

// ours accepts files that begin with our mark.
func ours(_ string, head []byte) bool { return bytes.HasPrefix(head, []byte("ours")) }

// No name below the current folder or a guarded one leads anywhere else, and a special file is
// never written.
func TestNamesThatAreRefused(t *testing.T) {
	base := t.TempDir()
	work, home, judged := filepath.Join(base, "work"), filepath.Join(base, "home"), filepath.Join(base, "judged")
	for _, dir := range []string{work, home, judged, filepath.Join(work, "sub")} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(home, "profile"), "mine")
	write(t, filepath.Join(work, "other"), "somebody's")
	write(t, filepath.Join(work, "blobs/x"), "x")
	write(t, filepath.Join(work, "manifests/x"), "x")
	link(t, filepath.Join(home, "profile"), filepath.Join(work, "out"))
	link(t, filepath.Join(home, "absent"), filepath.Join(work, "dangling"))
	link(t, home, filepath.Join(work, "reports"))
	link(t, "../../home", filepath.Join(work, "sub/up"))
	link(t, home, filepath.Join(judged, "away"))
	link(t, work, filepath.Join(base, "system"))
	t.Chdir(work)
	before := list(t, base)
	for path, why := range map[string]string{
		"out": "it is a link", "dangling": "it is a link", "reports/x": "is a link", "sub/up/x": "is a link", "sub/../reports/x": "without ..", "reports/../x": "without ..", "./sub/./../x": "without ..", filepath.Join(work, "sub") + "/../x": "without ..",
		filepath.Join(work, "reports/x"): "is a link", filepath.Join(base, "system/reports/x"): "is a link", filepath.Join(judged, "away/x"): "is a link",
		"sub": "it is a folder", "new/": "name of a folder", ".": "it is a folder", "": "not the name", "none/x": "does not exist", "other/x": "is not a folder",
		"other": "its content is nothing", "blobs/y": "ollama", string(filepath.Separator): "not the name",
	} {
		for _, force := range []bool{false, true} {
			if path == "other" && !force {
				why = "it exists"
			} else if path == "other" {
				why = "does not write such files"
			}
			if err := output.WriteFile(path, []byte("ours"), output.Options{Force: force, Guard: []string{judged}, Ours: ours}); !isRefusal(err, why) {
				t.Errorf("%q, force %v: %v", path, force, err)
			}
			if after := list(t, base); after != before {
				t.Fatalf("%q: it was\n%s\nand is\n%s", path, before, after)
			}
		}
	}
	// A link of the system outside of them leads on.
	if err := output.WriteFile(filepath.Join(base, "system/sub/new"), []byte("ours"), output.Options{}); err != nil {
		t.Error(err)
	}
}

// A path means what it means to the system, also where the current folder was reached by a
// link.
func TestAPathUpIsTheSystems(t *testing.T) {
	base := t.TempDir()
	write(t, filepath.Join(base, "far/deep/a"), "")
	write(t, filepath.Join(base, "near/a"), "")
	link(t, filepath.Join(base, "far/deep"), filepath.Join(base, "near/fl"))
	t.Chdir(filepath.Join(base, "near/fl"))
	t.Setenv("PWD", filepath.Join(base, "near/fl"))
	if err := output.WriteFile("../x", []byte("ours"), output.Options{}); err != nil {
		t.Fatal(err)
	}
	if got := list(t, filepath.Join(base, "near")); strings.Contains(got, "x=") {
		t.Error(got)
	}
	if got := list(t, filepath.Join(base, "far")); got != "deep deep/a= x=ours" {
		t.Error(got)
	}
}

// killed leaves what a killed run leaves of a file.
func killed(t *testing.T, name, content string) {
	t.Helper()
	f, err := output.Create(name, output.Options{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(content)
	f.Close()
}

// killedTree leaves what a killed run leaves of a folder.
func killedTree(t *testing.T, name, file, content string) {
	t.Helper()
	p, err := output.At(name, output.Options{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := p.CreateTree()
	if err != nil {
		t.Fatal(err)
	}
	f, err := tree.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	f.WriteString(content)
	f.Close()
	tree.Suspend()
	if err := tree.Discard(); err != nil {
		t.Fatal(err)
	}
}

// A file of another program under a name that an output needs is neither removed nor written to.
func TestNamesOfOutputsThatOthersUseAreKept(t *testing.T) {
	old := func(t *testing.T) { write(t, "x/a", "ours, the old") }
	for what, c := range map[string]struct {
		make func(t *testing.T)
		file bool // a file is in question, not a folder
		why  string
		o    output.Options
	}{
		"a file":                     {func(t *testing.T) { write(t, ".x.amn-partial", "mine") }, true, "may belong to another program", output.Options{}},
		"a file, resumed":            {func(t *testing.T) { write(t, ".x.amn-partial", "mine") }, true, "may belong to another program", output.Options{Resume: true}},
		"a folder":                   {func(t *testing.T) { write(t, ".x.amn-partial/a", "mine") }, false, "may belong to another program", output.Options{}},
		"a folder, resumed":          {func(t *testing.T) { write(t, ".x.amn-partial/a", "mine") }, false, "may belong to another program", output.Options{Resume: true}},
		"a folder in a folder":       {func(t *testing.T) { write(t, ".x.amn-partial/b/c/d/e", "mine") }, false, "may belong to another program", output.Options{}},
		"a folder for a file":        {func(t *testing.T) { write(t, ".x.amn-partial/a", "mine") }, true, "is not a regular file", output.Options{}},
		"a file for a folder":        {func(t *testing.T) { write(t, ".x.amn-partial", "mine") }, false, "is not a folder", output.Options{}},
		"a file for a mark":          {func(t *testing.T) { write(t, ".x.amn-mark", "mine") }, true, "is not a file of an earlier run", output.Options{}},
		"a file for a folder's mark": {func(t *testing.T) { write(t, ".x.amn-mark", "mine") }, false, "is not a file of an earlier run", output.Options{}},
		"a folder for a mark":        {func(t *testing.T) { write(t, ".x.amn-mark/a", "mine") }, true, "is not a file of an earlier run", output.Options{}},
		"a link for a mark":          {func(t *testing.T) { write(t, "mine", "mine"); link(t, "mine", ".x.amn-mark") }, true, "is not a file of an earlier run", output.Options{}},
		"a file for a journal":       {func(t *testing.T) { write(t, ".x.amn-journal", "mine") }, true, "is not a file of an earlier run", output.Options{}},
		"a file for a folder's one":  {func(t *testing.T) { write(t, ".x.amn-journal", "mine") }, false, "is not a file of an earlier run", output.Options{}},
		"a folder for a journal":     {func(t *testing.T) { write(t, ".x.amn-journal/a", "mine") }, true, "is not a file of an earlier run", output.Options{}},
		"a link for a journal":       {func(t *testing.T) { write(t, "mine", "mine"); link(t, "mine", ".x.amn-journal") }, true, "is not a file of an earlier run", output.Options{}},
		"a file that follows a run's": {func(t *testing.T) {
			killed(t, "x", "ours")
			os.Remove(".x.amn-partial")
			write(t, "keep", "k")
			write(t, ".x.amn-partial", "mine")
		}, true, "may belong to another program", output.Options{}},
		"a mark of another":     {func(t *testing.T) { write(t, ".x.amn-partial", "mine"); write(t, ".x.amn-mark", "amn.mark/1 1 1\n") }, true, "may belong to another program", output.Options{}},
		"a mark without a name": {func(t *testing.T) { write(t, ".x.amn-partial", "mine"); write(t, ".x.amn-mark", "amn.mark/1 \n") }, true, "may belong to another program", output.Options{}},
		"an empty mark":         {func(t *testing.T) { write(t, ".x.amn-partial", "mine"); write(t, ".x.amn-mark", "") }, true, "may belong to another program", output.Options{}},
		"an old folder":         {func(t *testing.T) { old(t); write(t, ".x.amn-old/a", "mine") }, false, "may belong to another program", output.Options{Force: true}},
		"an old folder, empty":  {func(t *testing.T) { old(t); os.Mkdir(".x.amn-old", 0o777) }, false, "may belong to another program", output.Options{Force: true}},
		"an old file":           {func(t *testing.T) { old(t); write(t, ".x.amn-old", "mine") }, false, "may belong to another program", output.Options{Force: true}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			defer output.WithoutExchange()()
			c.make(t)
			before := list(t, ".")
			var err error
			if c.file {
				err = output.WriteFile("x", []byte("new"), c.o)
			} else {
				err = tree("x", c.o, "a")
			}
			if !isRefusal(err, c.why) {
				t.Errorf("error %v", err)
			}
			if got := list(t, "."); got != before {
				t.Errorf("before: %s\nafter:  %s", before, got)
			}
		})
	}
}

// Empty files can be replaced, and so can a stale mark.
func TestEmptyAndStaleNamesOfOutputsAreReplaced(t *testing.T) {
	for what, make := range map[string]func(t *testing.T){
		"an empty file":   func(t *testing.T) { write(t, ".x.amn-partial", "") },
		"a mark alone":    func(t *testing.T) { write(t, ".x.amn-mark", "amn.mark/1 1 1\n") },
		"an empty mark":   func(t *testing.T) { write(t, ".x.amn-mark", "") },
		"an old journal":  func(t *testing.T) { write(t, ".x.amn-journal", "amn.journal/1\n") },
		"an empty one":    func(t *testing.T) { write(t, ".x.amn-journal", "") },
		"of a killed run": func(t *testing.T) { killed(t, "x", "ours") },
		"of two":          func(t *testing.T) { killed(t, "x", "ours"); killed(t, "x", "ours, too") },
	} {
		t.Run(what, func(t *testing.T) {
			t.Chdir(t.TempDir())
			make(t)
			if err := output.WriteFile("x", []byte("new"), output.Options{}); err != nil {
				t.Error(err)
			}
			if got := list(t, "."); got != "x=new" {
				t.Error(got)
			}
		})
	}
	t.Chdir(t.TempDir())
	if err := os.Mkdir(".x.amn-partial", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := tree("x", output.Options{}, "a"); err != nil {
		t.Error(err)
	}
	killedTree(t, "y", "a/b", "ours")
	if err := tree("y", output.Options{}, "a"); err != nil {
		t.Error(err)
	}
	if got := list(t, "."); got != "x x/a=ours y y/a=ours" {
		t.Error(got)
	}
}

// A temporary name that somebody else takes while it is written is not published, and not removed.
func TestATemporaryNameThatIsTakenOver(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := output.Create("x", output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	os.Rename(".x.amn-partial", "aside")
	write(t, ".x.amn-partial", "mine")
	if err := f.Commit(); !isRefusal(err, "replaced in the meantime") {
		t.Errorf("a file: %v", err)
	}
	f.Discard()
	p, err := output.At("y", output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tree, err := p.CreateTree()
	if err != nil {
		t.Fatal(err)
	}
	os.Rename(".y.amn-partial", "beside")
	write(t, ".y.amn-partial", "mine")
	if err := tree.Publish(); !isRefusal(err, "replaced in the meantime") {
		t.Errorf("a folder: %v", err)
	}
	tree.Discard()
	if got := list(t, "."); got != ".x.amn-partial=mine .y.amn-partial=mine aside= beside" {
		t.Error(got)
	}
}

// A file appears only when it is complete, and replaces nothing that was not looked at.
func TestAFileIsWholeOrAbsent(t *testing.T) {
	t.Chdir(t.TempDir())
	f, err := output.Create("a", output.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := output.Create("a", output.Options{}); !isRefusal(err, "another run") {
		t.Errorf("two runs at once: %v", err)
	}
	f.WriteString("ours")
	if got := list(t, "."); !strings.Contains(got, " .a.amn-partial=ours") || !strings.HasPrefix(got, ".a.amn-mark=") || strings.Contains(got, " a=") {
		t.Error(got)
	}
	write(t, "a", "somebody's")
	if err := f.Commit(); !isRefusal(err, "created in the meantime") {
		t.Errorf("a name that somebody took: %v", err)
	}
	f.Discard()
	if got := list(t, "."); got != "a=somebody's" {
		t.Error(got)
	}
	write(t, "a", "ours, the old")
	if f, err = output.Create("a", output.Options{Force: true, Ours: ours}); err != nil {
		t.Fatal(err)
	}
	os.Remove("a")
	write(t, "a", "somebody's")
	if err := f.Commit(); !isRefusal(err, "replaced in the meantime") {
		t.Errorf("another file than was looked at: %v", err)
	}
	f.Discard()
	killed(t, "a", "of a killed run")
	write(t, "a", "ours, the old")
	if err := output.WriteFile("a", []byte("ours"), output.Options{Force: true, Ours: ours}); err != nil {
		t.Fatal(err)
	}
	if got := list(t, "."); got != "a=ours" {
		t.Error(got)
	}
}

// A temporary name that is a link or a folder is not followed, and stays.
func TestTheTemporaryNameIsNotFollowed(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	write(t, "thesis", "mine")
	link(t, "thesis", ".a.amn-partial")
	if err := os.Mkdir(".b.amn-partial", 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a", "b"} {
		if err := output.WriteFile(name, nil, output.Options{Force: true}); !isRefusal(err, "is not a regular file") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := list(t, dir); got != ".a.amn-partial .b.amn-partial thesis=mine" {
		t.Error(got)
	}
}

// tree writes a tree of files with the same content.
func tree(target string, o output.Options, names ...string) error {
	p, err := output.At(target, o)
	if err != nil {
		return err
	}
	has := func(name string, folder bool) bool {
		for _, n := range names {
			if n == name || folder && strings.HasPrefix(n, name+"/") {
				return true
			}
		}
		return false
	}
	if err := p.CheckTree(has); err != nil {
		p.Close()
		return err
	}
	t, err := p.CreateTree()
	if err != nil {
		return err
	}
	defer t.Discard()
	for _, name := range names {
		f, err := t.Create(name)
		if err != nil {
			return err
		}
		f.WriteString("ours")
		if err := f.Close(); err != nil {
			return err
		}
	}
	if err := t.Sync(); err != nil {
		return err
	}
	return t.Publish()
}

// A folder is replaced file by file: one that the new folder does not have, or that is
// another's by its content, keeps all of the old folder.
func TestATreeRemovesOnlyItsOwnFiles(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	force := output.Options{Force: true, Ours: ours}
	if err := tree("m", output.Options{}, "w", "sub/c"); err != nil {
		t.Fatal(err)
	}
	if err := tree("m", output.Options{}, "w", "sub/c"); !isRefusal(err, "it exists") {
		t.Error(err)
	}
	if err := tree("m", force, "w", "sub/c"); err != nil {
		t.Error(err)
	}
	if got := list(t, dir); got != "m m/sub m/sub/c=ours m/w=ours" {
		t.Error(got)
	}
	for name, text := range map[string]string{"thesis.txt": "mine", "sub/secret": "", "w": "mine", "old/x": ""} {
		write(t, filepath.Join("m", name), text)
		before := list(t, dir)
		if err := tree("m", force, "w", "sub/c"); !isRefusal(err, strings.TrimSuffix(name, "/x")) {
			t.Errorf("%s: %v", name, err)
		}
		if after := list(t, dir); after != before {
			t.Errorf("%s: it was\n%s\nand is\n%s", name, before, after)
		}
		os.RemoveAll("m")
		if err := tree("m", output.Options{}, "w", "sub/c"); err != nil {
			t.Fatal(err)
		}
	}
	link(t, "w", "m/x")
	if err := tree("m", force, "w", "sub/c", "x"); !isRefusal(err, "x") {
		t.Errorf("a link: %v", err)
	}
	os.Remove("m/x")
	link(t, "m", "l")
	if err := tree("l", force, "w"); !isRefusal(err, "it is a link") {
		t.Errorf("the folder is a link: %v", err)
	}
	os.Remove("l")
	// A file that appears after the last check stays.
	p, err := output.At("m", force)
	if err != nil {
		t.Fatal(err)
	}
	late, err := p.CreateTree()
	if err != nil {
		t.Fatal(err)
	}
	defer late.Discard()
	for _, name := range []string{"w", "sub/c"} {
		f, err := late.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
	}
	output.BeforeSwap = func() { write(t, "m/thesis.txt", "mine") }
	defer func() { output.BeforeSwap = nil }()
	if err := late.Publish(); err != nil {
		t.Error(err)
	}
	if got := list(t, dir); got != "m m/sub m/sub/c= m/thesis.txt=mine m/w=" {
		t.Error(got)
	}
}

// A leftover of a killed run is removed only if it is what a run leaves.
func TestALeftoverIsOurs(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	killedTree(t, "m", "sub/c", "old")
	if err := tree("m", output.Options{}, "w"); err != nil {
		t.Error(err)
	}
	write(t, "own/thesis", "mine")
	if err := os.Mkdir(".n.amn-partial", 0o777); err != nil {
		t.Fatal(err)
	}
	link(t, "../own", ".n.amn-partial/l")
	link(t, "own", ".o.amn-partial")
	before := list(t, dir)
	for name, why := range map[string]string{"n": "has no mark of an earlier run", "o": "is not a folder"} {
		if err := tree(name, output.Options{}, "w"); !isRefusal(err, why) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := list(t, dir); got != before {
		t.Error(got)
	}
}
