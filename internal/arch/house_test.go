package arch

import (
	"go/ast"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root(t), name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// documents lists the pages at the root.
func documents(t *testing.T) []string {
	t.Helper()
	pages, err := fs.Glob(os.DirFS(root(t)), "*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	return pages
}

// testNames lists the tests, fuzz targets, benchmarks and examples as
// "parser/npy.TestDecode".
func testNames(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, s := range sources(t) {
		if !s.test() {
			continue
		}
		for _, d := range s.tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if ok && f.Recv == nil && regexp.MustCompile(`^(Test|Fuzz|Benchmark|Example)`).MatchString(f.Name.Name) {
				names = append(names, s.dir()+"."+f.Name.Name)
			}
		}
	}
	// Those of remote, a module of its own.
	files, err := fs.Glob(os.DirFS(root(t)), "remote/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of tests in remote, %v", len(files), err)
	}
	for _, file := range files {
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(read(t, file), -1) {
			names = append(names, "remote."+m[1])
		}
	}
	return names
}

// A target without a count would not run in CI, and a count without a target
// would run nothing.
func TestEveryFuzzTargetHasACount(t *testing.T) {
	var targets, rows []string
	for _, name := range testNames(t) {
		if target, ok := strings.CutPrefix(name, "fuzz.Fuzz"); ok {
			targets = append(targets, "Fuzz"+target)
		}
	}
	for _, row := range regexp.MustCompile(`(?m)^\t(Fuzz\w+)=[1-9]\d*`).FindAllStringSubmatch(read(t, "Makefile"), -1) {
		rows = append(rows, row[1])
	}
	for _, target := range targets {
		if !slices.Contains(rows, target) {
			t.Errorf("%s has no row in the Makefile", target)
		}
	}
	for _, row := range rows {
		if !slices.Contains(targets, row) {
			t.Errorf("the Makefile counts %s, which does not exist", row)
		}
	}
	if len(targets) == 0 {
		t.Error("no targets found")
	}
}

// A document that names a test as what holds a promise names one that exists.
func TestDocumentsNameTestsThatExist(t *testing.T) {
	names := testNames(t)
	pattern := regexp.MustCompile("`((?:[a-z0-9]+/)*[a-z0-9]+\\.(?:Test|Fuzz|Benchmark|Example)\\w*)`")
	for _, doc := range append(documents(t), soundness) {
		found := pattern.FindAllStringSubmatch(read(t, doc), -1)
		for _, m := range found {
			if !slices.Contains(names, m[1]) {
				t.Errorf("%s names %s, which does not exist", doc, m[1])
			}
		}
		if doc == "SECURITY.md" && len(found) < 20 {
			t.Errorf("SECURITY.md names only %d tests", len(found))
		}
	}
}

const soundness = "docs/soundness.md"

// Each finding is a recipe: each name in the table stands for at least one, and each row has its
// test.
func TestWhatWasFoundNamesItsRecipesAndTests(t *testing.T) {
	text := read(t, soundness)
	for _, m := range regexp.MustCompile("`((?:detect|gguf|npy|npz|pickle|pth|safetensors|zip)/[a-z0-9^*-]+)`").FindAllStringSubmatch(text, -1) {
		found := false
		for _, folder := range [...]string{"hostile", "valid"} {
			files, err := fs.Glob(os.DirFS(root(t)), path.Join("corpus", folder, m[1]+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			found = found || len(files) > 0
		}
		if !found {
			t.Errorf("there is no recipe %s", m[1])
		}
	}
	findings := false
	for row := range strings.Lines(text) {
		switch {
		case strings.HasPrefix(row, "| finding"):
			findings = true
		case !strings.HasPrefix(row, "|"):
			findings = false
		case findings && strings.HasPrefix(row, "| ") && !regexp.MustCompile("\\.(Test|Fuzz)\\w+`").MatchString(row):
			t.Errorf("no test holds %s", row)
		}
	}
}

// Every promise in the tables of SECURITY.md is held by something.
func TestEveryPromiseNamesItsTest(t *testing.T) {
	promises, inTable := 0, false
	for row := range strings.Lines(read(t, "SECURITY.md")) {
		switch {
		case strings.HasPrefix(row, "| promise |"):
			inTable = true
		case !strings.HasPrefix(row, "|"):
			inTable = false
		case inTable && strings.HasPrefix(row, "| "):
			promises++
			if !regexp.MustCompile("\\.(Test|Fuzz)\\w+`").MatchString(row) {
				t.Errorf("no test holds %s", row)
			}
		}
	}
	if promises < 100 {
		t.Errorf("SECURITY.md has only %d promises", promises)
	}
}
