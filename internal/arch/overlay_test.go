package arch

import (
	"errors"
	"fmt"
	"go/ast"
	gofmt "go/format"
	"go/parser"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// An example is a diff of CONTRIBUTING.md with the title of its section.
type example struct{ title, diff string }

func examples(t *testing.T) (list []example) {
	t.Helper()
	for _, section := range strings.Split(read(t, "CONTRIBUTING.md"), "\n## ")[1:] {
		title, body, _ := strings.Cut(section, "\n")
		for _, d := range strings.Split(body, "```diff\n")[1:] {
			diff, _, _ := strings.Cut(d, "```")
			list = append(list, example{title, diff})
		}
	}
	return list
}

// A change is what a diff does to one file.
type change struct {
	file  string
	adds  bool     // the file is new
	lines []string // of its hunks, with their marks
}

func changesOf(diff string) (list []*change) {
	for line := range strings.Lines(diff) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "--- "):
			list = append(list, &change{adds: line == "--- /dev/null"})
		case strings.HasPrefix(line, "+++ b/"):
			list[len(list)-1].file = strings.TrimPrefix(line, "+++ b/")
		default:
			list[len(list)-1].lines = append(list[len(list)-1].lines, line)
		}
	}
	return list
}

// apply returns the text of a file with the change. A hunk begins behind the first line that its
// head is a part of, and each line of context is found behind the one before.
func (c *change) apply(text string) (string, error) {
	var lines []string
	if !c.adds {
		lines = strings.Split(text, "\n")
	}
	at := 0
	find := func(from int, is func(line string) bool) error {
		for i := from; i < len(lines); i++ {
			if is(squeeze(lines[i])) {
				at = i + 1
				return nil
			}
		}
		return fs.ErrNotExist
	}
	for _, line := range c.lines {
		mark, rest := " ", ""
		if line != "" {
			mark, rest = line[:1], line[1:]
		}
		want := squeeze(rest)
		var err error
		switch head, isHead := strings.CutPrefix(line, "@@ "); {
		case isHead && strings.HasPrefix(head, "-0,0 "):
		case isHead:
			err = find(0, func(have string) bool { return strings.Contains(have, squeeze(head)) })
		case mark == "+":
			lines = slices.Insert(lines, at, rest)
			at++
		case mark == "-":
			if err = find(max(0, at-1), func(have string) bool { return have == want }); err == nil {
				at--
				lines = slices.Delete(lines, at, at+1)
			}
		default:
			err = find(at, func(have string) bool { return have == want })
		}
		if err != nil {
			return "", fmt.Errorf("%s has no line %q where the diff shows it", c.file, line)
		}
	}
	if c.adds {
		return strings.Join(lines, "\n") + "\n", nil
	}
	return strings.Join(lines, "\n"), nil
}

// undo returns the text without the lines that the change adds; ok is false if some are not
// there, one behind the other.
func (c *change) undo(text string) (_ string, ok bool) {
	lines := strings.Split(text, "\n")
	var run []string
	for _, line := range append(c.lines, "") {
		if added, isAdded := strings.CutPrefix(line, "+"); isAdded {
			run = append(run, added)
			continue
		}
		at := 0
		for at < len(lines) && !(at+len(run) <= len(lines) && slices.Equal(lines[at:at+len(run)], run)) {
			at++
		}
		if at == len(lines) {
			return "", false
		}
		lines, run = slices.Delete(lines, at, at+len(run)), nil
	}
	return strings.Join(lines, "\n"), true
}

// overlay returns the files of the tree with a diff. A diff that the tree already has is taken
// out of it: what is left must do without what the diff adds.
func overlay(t *testing.T, changes []*change) map[string]string {
	t.Helper()
	with, without := map[string]string{}, map[string]string{}
	for _, c := range changes {
		data, err := os.ReadFile(filepath.Join(root(t), c.file))
		have := string(data)
		switch {
		case c.adds && err == nil:
			want, _ := c.apply("")
			if have != want {
				t.Errorf("%s is not as shown", c.file)
			}
			without[c.file] = ""
			continue
		case c.adds && errors.Is(err, fs.ErrNotExist):
			have, err = "", nil
		}
		if err != nil {
			t.Fatal(err)
		}
		if text, ok := c.undo(have); ok && !c.adds {
			without[c.file] = text
			continue
		}
		text, err := c.apply(have)
		if err != nil {
			t.Fatal(err)
		}
		with[c.file] = text
	}
	switch {
	case len(with) == 0:
		return without
	case len(without) > 0:
		t.Fatalf("a part of the diff is in the tree: %v", without)
	}
	return with
}

// Each diff of CONTRIBUTING.md is whole: the tree with it is formatted, compiles and is vetted, and
// imports only what its table allows.
func TestDiffsOfContributingCompile(t *testing.T) {
	for _, e := range examples(t) {
		t.Run(e.title, func(t *testing.T) {
			t.Parallel()
			files := overlay(t, changesOf(e.diff))
			maps.DeleteFunc(files, func(file, _ string) bool { return path.Ext(file) != ".go" })
			pointDown(t, files)
			tree := linked(t, files)
			dirs := map[string][]string{} // packages by module
			for file, text := range files {
				if text == "" {
					continue // removed
				}
				if formatted, err := gofmt.Source([]byte(text)); err != nil || string(formatted) != text {
					t.Errorf("%s: not formatted: %v", file, err)
				}
				module := moduleOf(t, file)
				dir, err := filepath.Rel(module, path.Dir(file))
				if err != nil {
					t.Fatal(err)
				}
				dirs[module] = append(dirs[module], "./"+filepath.ToSlash(dir))
			}
			for module, packages := range dirs {
				slices.Sort(packages)
				cmd := exec.Command("go", append([]string{"vet"}, slices.Compact(packages)...)...)
				cmd.Dir = filepath.Join(tree, module)
				cmd.Env = append(os.Environ(), "PWD="+cmd.Dir, "GOFLAGS="+strings.ReplaceAll(os.Getenv("GOFLAGS"), "-vet=off", "")+" -trimpath")
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("go vet: %v\n%s", err, out)
				}
			}
		})
	}
}

// pointDown tests the imports of files with the table that is one of them, or else the tree's.
func pointDown(t *testing.T, files map[string]string) {
	t.Helper()
	may := mayImport
	if text := files["internal/arch/imports_test.go"]; text != "" {
		may = tableIn(t, text)
	}
	for file, text := range files {
		if text == "" || moduleOf(t, file) != "." {
			continue
		}
		tree, err := parser.ParseFile(fset, file, text, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range misplaced(t, may, &source{file, []byte(text), tree}) {
			t.Error(text)
		}
	}
}

// tableIn evaluates mayImport in a changed imports_test.go.
func tableIn(t *testing.T, text string) map[string][]string {
	t.Helper()
	tree, err := parser.ParseFile(fset, "internal/arch/imports_test.go", text, 0)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]ast.Expr{}
	ast.Inspect(tree, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok {
			for i := range v.Values {
				values[v.Names[i].Name] = v.Values[i]
			}
		}
		return true
	})
	var eval func(e ast.Expr) []string
	all := func(list []ast.Expr) (out []string) {
		for _, e := range list {
			out = append(out, eval(e)...)
		}
		return out
	}
	eval = func(e ast.Expr) []string {
		switch e := e.(type) {
		case *ast.BasicLit:
			name, err := strconv.Unquote(e.Value)
			if err != nil {
				t.Fatal(err)
			}
			return []string{name}
		case *ast.Ident:
			return eval(values[e.Name])
		case *ast.CompositeLit:
			return all(e.Elts)
		case *ast.CallExpr: // with(base, more...)
			return all(e.Args)
		}
		t.Fatalf("an import that is neither a text nor a list: %T", e)
		return nil
	}
	may := map[string][]string{}
	for _, e := range values["mayImport"].(*ast.CompositeLit).Elts {
		pair := e.(*ast.KeyValueExpr)
		may[eval(pair.Key)[0]] = eval(pair.Value)
	}
	return may
}

// The table is evaluated as Go does, so the diffs are tested with the real one.
func TestTheTableOfImportsIsReadAsItIs(t *testing.T) {
	if d := cmp.Diff(mayImport, tableIn(t, read(t, "internal/arch/imports_test.go")), cmpopts.EquateEmpty()); d != "" {
		t.Error(d)
	}
}

// linked returns a tree of links to this one with some files in place of its own. go vet -overlay
// would do, but it runs in the folder of a package, which is not there for a new one.
func linked(t *testing.T, files map[string]string) string {
	t.Helper()
	tree, real := t.TempDir(), map[string]bool{}
	for file := range files {
		for dir := path.Dir(file); !real[dir]; dir = path.Dir(dir) {
			real[dir] = true
		}
	}
	for dir := range real {
		if err := os.MkdirAll(filepath.Join(tree, dir), 0o755); err != nil {
			t.Fatal(err)
		}
		list, err := os.ReadDir(filepath.Join(root(t), dir))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		for _, e := range list {
			name := path.Join(dir, e.Name())
			if _, replaced := files[name]; replaced || real[name] || e.Name() == ".git" {
				continue
			}
			from, to := filepath.Join(root(t), name), filepath.Join(tree, name)
			make := os.Symlink
			if e.Type().IsRegular() { // links are not embedded
				make = copyFile
			}
			if err := make(from, to); err != nil {
				t.Fatal(err)
			}
		}
	}
	for file, text := range files {
		if text == "" {
			continue // removed
		}
		if err := os.WriteFile(filepath.Join(tree, file), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return tree
}

func copyFile(from, to string) error {
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, data, 0o600)
}

// moduleOf returns the folder of the module that a file is in, "." for this one.
func moduleOf(t *testing.T, file string) string {
	t.Helper()
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, err := os.Stat(filepath.Join(root(t), dir, "go.mod")); err == nil {
			return dir
		}
	}
	return "."
}
