// Command shape prints the shape of the code: the types with the most methods, the structs with
// the most fields, the longest files and functions, and the files that name a scheme of
// quantization outside its folder or a model's type outside internal/family. It judges nothing;
// a reviewer compares two prints. Run it in the root: make shape.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// most is how many rows of each table are printed.
const most = 12

// A count is a row: how many, of what.
type count struct {
	n    int
	what string
}

// A house is what was counted.
type house struct {
	files, functions, fields []count
	methods                  map[string]int
	schemes, types           map[string]int
	scheme                   []*regexp.Regexp // one for each folder of quant
	modelTypes               *regexp.Regexp
}

func main() {
	h := &house{methods: map[string]int{}, schemes: map[string]int{}, types: map[string]int{}}
	if err := h.learn(); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
	if err := filepath.WalkDir(".", h.visit); err != nil {
		fmt.Fprintln(os.Stderr, "shape:", err)
		os.Exit(1)
	}
	print("methods of a type", rows(h.methods))
	print("fields of a struct", h.fields)
	print("lines of a file", h.files)
	print("lines of a function", h.functions)
	print("files outside quant/<scheme> that name it", rows(h.schemes))
	print("files outside internal/family that name types of models", rows(h.types))
}

// learn reads the names of schemes, which are folders, and those of models' types, which are
// texts in the rows of families.
func (h *house) learn() error {
	folders, err := os.ReadDir("quant")
	if err != nil {
		return err
	}
	for _, f := range folders {
		if f.IsDir() && !strings.HasPrefix(f.Name(), "_") && f.Name() != "testdata" {
			h.scheme = append(h.scheme, regexp.MustCompile(`(?i)(?:^|[^a-z])`+regexp.QuoteMeta(f.Name())))
		}
	}
	list, err := filepath.Glob("internal/family/row_*.go")
	if err != nil {
		return err
	}
	var names []string
	for _, path := range list {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, m := range regexp.MustCompile(`"([a-z][a-z0-9]+_?[a-z0-9_]*[0-9][a-z0-9_]*)"`).FindAllSubmatch(text, -1) {
			names = append(names, regexp.QuoteMeta(string(m[1])))
		}
	}
	h.modelTypes = regexp.MustCompile(`^"(?:` + strings.Join(names, "|") + `)"$`)
	return nil
}

func (h *house) visit(path string, e fs.DirEntry, err error) error {
	switch {
	case err != nil:
		return err
	case e.IsDir() && (path != "." && strings.HasPrefix(e.Name(), ".") || e.Name() == "testdata" || e.Name() == "_gen" || e.Name() == "crosscheck"):
		return fs.SkipDir
	case e.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
		return nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	set := token.NewFileSet()
	file, err := parser.ParseFile(set, path, text, parser.ParseComments)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) || strings.Contains(path, "_table") {
		return nil
	}
	h.files = append(h.files, count{bytes.Count(text, []byte("\n")), path})
	dir := filepath.ToSlash(filepath.Dir(path))
	named, typed := map[string]bool{}, false
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			h.function(set, dir, n)
		case *ast.TypeSpec:
			if s, ok := n.Type.(*ast.StructType); ok {
				h.fields = append(h.fields, count{s.Fields.NumFields(), dir + "." + n.Name.Name})
			}
		case *ast.Ident:
			h.names(dir, n.Name, named)
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				h.names(dir, n.Value, named)
				typed = typed || !strings.HasPrefix(dir, "internal/family") && h.modelTypes.MatchString(n.Value)
			}
		}
		return true
	})
	for name := range named {
		h.schemes[name]++
	}
	if typed {
		h.types[dir]++
	}
	return nil
}

// names notes the schemes that an identifier or a text names outside their folders.
func (h *house) names(dir, text string, named map[string]bool) {
	for _, is := range h.scheme {
		scheme := strings.TrimPrefix(is.String(), `(?i)(?:^|[^a-z])`)
		if is.MatchString(text) && !strings.HasPrefix(dir, "quant/"+scheme) {
			named[scheme] = true
		}
	}
}

// function counts the lines of a function, and that its receiver has one more method.
func (h *house) function(set *token.FileSet, dir string, f *ast.FuncDecl) {
	name := f.Name.Name
	if f.Recv != nil {
		t := f.Recv.List[0].Type
		if star, ok := t.(*ast.StarExpr); ok {
			t = star.X
		}
		if list, ok := t.(*ast.IndexExpr); ok {
			t = list.X
		}
		if id, ok := t.(*ast.Ident); ok {
			h.methods[dir+"."+id.Name]++
			name = id.Name + "." + name
		}
	}
	h.functions = append(h.functions, count{set.Position(f.End()).Line - set.Position(f.Pos()).Line + 1, dir + "." + name})
}

func rows(m map[string]int) (list []count) {
	for what, n := range m {
		list = append(list, count{n, what})
	}
	return list
}

// print prints the largest rows of a table.
func print(title string, list []count) {
	slices.SortFunc(list, func(a, b count) int { return cmp.Or(b.n-a.n, strings.Compare(a.what, b.what)) })
	fmt.Printf("%s:\n", title)
	for _, c := range list[:min(most, len(list))] {
		fmt.Printf("  %5d  %s\n", c.n, c.what)
	}
}
