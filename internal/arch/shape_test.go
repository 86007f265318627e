package arch

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// Lengths at which a reader loses the thread. Tables have their own files.
const (
	maxParserFunc   = 40
	maxOtherFunc    = 60
	maxFolderReader = "parser vm internal/wire internal/strictjson internal/jinja"
)

func table(s *source) bool {
	return s.generated() || strings.HasSuffix(s.path, "_table.go") || strings.HasSuffix(s.path, "_tables.go") || strings.HasSuffix(s.path, "_table_test.go")
}

func TestFunctionsStayReadable(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || table(s) {
			continue
		}
		most := maxOtherFunc
		if s.in(strings.Fields(maxFolderReader)...) {
			most = maxParserFunc
		}
		for _, d := range s.tree.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			if n := fset.Position(f.Body.Rbrace).Line - fset.Position(f.Pos()).Line + 1; n > most {
				t.Errorf("%s: %s has %d lines, more than %d", place(f), f.Name.Name, n, most)
			}
		}
	}
}

// Every package has a comment that says what it is.
func TestEveryPackageHasADocument(t *testing.T) {
	said := map[string]bool{}
	for _, s := range sources(t) {
		if !s.test() {
			said[s.dir()] = said[s.dir()] || s.tree.Doc != nil && len(s.tree.Doc.Text()) > 40
		}
	}
	for dir, ok := range said {
		if !ok {
			t.Errorf("%s has no package comment", dir)
		}
	}
}

// Each format's folder has the same files and the same headings, so that a reader of one finds the
// way in all. Comments after the package clause of doc.go are for people who change the reader, and
// not on the page for its users.
func TestFormatsLookAlike(t *testing.T) {
	for _, dir := range []string{"safetensors", "gguf", "npy", "npz", "pth", "zip"} {
		dir = path.Join("parser", dir)
		i := slices.IndexFunc(sources(t), func(s *source) bool { return s.path == dir+"/doc.go" })
		if i < 0 {
			t.Errorf("%s has no doc.go", dir)
			continue
		}
		text := string(sources(t)[i].text)
		for _, heading := range []string{"# Order", "# Limits", "# Not supported"} {
			if !strings.Contains(text, "\n// "+heading+"\n") {
				t.Errorf("%s/doc.go has no section %q", dir, heading)
			}
		}
		if !slices.ContainsFunc(sources(t), func(s *source) bool { return s.path == dir+"/decode.go" }) {
			t.Errorf("%s has no decode.go", dir)
		}
	}
}

// A package that others may import shows how it is used, in an example that runs.
func TestEveryPublicPackageHasAnExample(t *testing.T) {
	has := map[string]bool{}
	for _, s := range sources(t) {
		dir := s.dir()
		if s.in("internal", "fuzz", "crosscheck", "cli", "limits/limitstest") || s.tree.Name.Name == "main" || isRow(s) {
			continue
		}
		has[dir] = has[dir] || slices.ContainsFunc(s.tree.Decls, func(d ast.Decl) bool { return s.test() && runs(s, d) })
	}
	for dir, ok := range has {
		if !ok {
			t.Errorf("%s has no example with output", dir)
		}
	}
}

// isRow reports a file of a scheme that only the table of quant uses: its row, of types that
// are internal. Others have arithmetic for callers.
func isRow(s *source) bool {
	return s.in("quant") && s.dir() != "quant" && !s.in("quant/bnb", "quant/scaled")
}

// runs reports an example whose output is compared.
func runs(s *source, d ast.Decl) bool {
	f, ok := d.(*ast.FuncDecl)
	if !ok || !strings.HasPrefix(f.Name.Name, "Example") || f.Body == nil {
		return false
	}
	return slices.ContainsFunc(s.tree.Comments, func(g *ast.CommentGroup) bool {
		return f.Body.Pos() < g.Pos() && g.End() < f.Body.End() && strings.HasPrefix(strings.ToLower(g.Text()), "output:")
	})
}

// The page of a package is read in a terminal, at once: its comment and one line for each name.
// Facts for people who change the package are after the package clause, and facts about one type
// are at that type.
func TestPagesOfPackagesAreShort(t *testing.T) {
	const most = 75
	pages := map[string]int{}
	for _, s := range sources(t) {
		if s.test() || s.in(notPublic...) {
			continue
		}
		if s.tree.Doc != nil {
			pages[s.dir()] += strings.Count(s.tree.Doc.Text(), "\n")
		}
		for _, d := range s.tree.Decls {
			if g, ok := d.(*ast.GenDecl); ok && (g.Tok == token.CONST || g.Tok == token.VAR) && len(g.Specs) > 1 {
				pages[s.dir()]++ // listed by its first name
				continue
			}
			for _, line := range exported(d) {
				if !strings.Contains(line, ", ") && !strings.HasPrefix(line, "func (") {
					pages[s.dir()]++
				}
			}
		}
	}
	for dir, n := range pages {
		if n > most {
			t.Errorf("%s: go doc prints some %d lines, more than %d", dir, n, most)
		}
	}
}
