package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const module = "github.com/anamnesis-go/anamnesis"

// A source is one Go file of the tree, whatever its build tags say.
type source struct {
	path string // from the root, with slashes: "parser/npy/decode.go"
	text []byte
	tree *ast.File
}

func (s *source) dir() string     { return path.Dir(s.path) }
func (s *source) test() bool      { return strings.HasSuffix(s.path, "_test.go") }
func (s *source) generated() bool { return ast.IsGenerated(s.tree) }

// in reports whether the file lies in one of the folders, or below it.
func (s *source) in(folders ...string) bool { return under(s.dir(), folders...) }

func under(dir string, folders ...string) bool {
	return slices.ContainsFunc(folders, func(f string) bool { return dir == f || strings.HasPrefix(dir, f+"/") })
}

var fset = token.NewFileSet()

// root is the folder of go.mod.
func root(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err != nil {
		t.Fatal(err)
	}
	return dir
}

var load = sync.OnceValues(func() ([]*source, error) {
	var out []*source
	tree := os.DirFS("../..")
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		switch base := path.Base(name); {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") || base == "testdata"):
			return fs.SkipDir // not packages of this module
		case d.IsDir() && name != "." && hasModule(tree, name):
			return fs.SkipDir // another module, which imports this one
		case d.IsDir() || !strings.HasSuffix(base, ".go"):
			return nil
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		out = append(out, &source{name, text, file})
		return nil
	})
	return out, err
})

func hasModule(tree fs.FS, dir string) bool {
	_, err := fs.Stat(tree, dir+"/go.mod")
	return err == nil
}

// sources lists every Go file of the module.
func sources(t *testing.T) []*source {
	t.Helper()
	out, err := load()
	if err != nil {
		t.Fatal(err)
	}
	if len(out) < 20 {
		t.Fatalf("only %d files found: the walk is wrong", len(out))
	}
	return out
}

// place returns the position of a node, as people write it.
func place(n ast.Node) string {
	p := fset.Position(n.Pos())
	return p.String()
}

// A checker gives the types of our own packages. Packages of others are empty
// to it, so a value or constant of theirs is unknown: a rule that asks for a
// constant then refuses, which is the safe side.
type checker struct {
	files map[string][]*ast.File // by import path
	done  map[string]*types.Package
	info  types.Info
}

func newChecker() *checker {
	return &checker{
		files: map[string][]*ast.File{},
		done:  map[string]*types.Package{},
		info:  types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}},
	}
}

// checked are the types of the whole module, found once for all tests.
var checked = sync.OnceValues(func() (*checker, error) {
	all, err := load()
	if err != nil {
		return nil, err
	}
	c := newChecker()
	for _, s := range all {
		if !s.test() {
			name := path.Join(module, s.dir())
			c.files[name] = append(c.files[name], s.tree)
		}
	}
	for name := range c.files {
		if _, err := c.Import(name); err != nil {
			return nil, err
		}
	}
	return c, nil
})

func check(t *testing.T) *checker {
	t.Helper()
	c, err := checked()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Import type-checks a package of ours, or makes an empty one.
func (c *checker) Import(name string) (*types.Package, error) {
	if p, ok := c.done[name]; ok {
		return p, nil
	}
	if c.files[name] == nil {
		p := types.NewPackage(name, path.Base(name))
		p.MarkComplete()
		c.done[name] = p
		return p, nil
	}
	config := types.Config{Importer: c, Error: func(error) {}}
	p, _ := config.Check(name, fset, c.files[name], &c.info) // files of all platforms together: some errors are expected
	c.done[name] = p
	return p, nil
}
