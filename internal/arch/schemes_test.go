package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"testing"
)

// folderOf are the schemes that have a folder of their own, both ways, with what names them.
var folderOf = map[string]*regexp.Regexp{
	"quant/bnb": regexp.MustCompile(`(?i)bnb|bitsandbytes|nf4`),
}

// naming are the files outside of a scheme's folder that name it, with how many names they may
// have. There may only be fewer. They are texts of help and advice that name several targets, and the default.
var naming = map[string]map[string]int{
	"quant/bnb": {"cli/commands.go": 1, "cli/convert.go": 5, "cli/forget.go": 11, "cli/forget_budget.go": 1, "cli/quantize.go": 3},
}

// names lists what names a scheme in a file: identifiers, and texts that the program prints.
// Comments may say what they like.
func names(s *source, words *regexp.Regexp) (found []ast.Node) {
	ast.Inspect(s.tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			if words.MatchString(n.Name) {
				found = append(found, n)
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING && words.MatchString(n.Value) {
				found = append(found, n)
			}
		}
		return true
	})
	return found
}

// isTable reports the file that lists all schemes.
func isTable(s *source) bool { return s.path == "quant/scheme.go" }

// Nothing outside of a scheme's folder names it but the table.
func TestNothingNamesASchemeButItsFolder(t *testing.T) {
	for _, folder := range slices.Sorted(maps.Keys(folderOf)) {
		seen := map[string]bool{}
		for _, s := range sources(t) {
			if s.test() || s.generated() || s.in(folder, "crosscheck", "corpus", "examples", "fuzz") || isTable(s) {
				continue
			}
			found := names(s, folderOf[folder])
			if n := len(found) - naming[folder][s.path]; n > 0 {
				t.Errorf("%s: %q names the scheme of %s: what it says belongs to a row of that folder (%d names)", place(found[0]), spelled(found[0]), folder, len(found))
			}
			seen[s.path] = len(found) == naming[folder][s.path]
		}
		for _, file := range slices.Sorted(maps.Keys(naming[folder])) {
			if !seen[file] {
				t.Errorf("%s names the scheme of %s less often than naming says: write the number there", file, folder)
			}
		}
	}
}

func spelled(n ast.Node) string {
	switch n := n.(type) {
	case *ast.Ident:
		return n.Name
	case *ast.BasicLit:
		return n.Value[:min(len(n.Value), 40)]
	}
	return ""
}

func parsed(t *testing.T, body string) *source {
	t.Helper()
	tree, err := parser.ParseFile(fset, "planted.go", "package x\n"+body+"\n", parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return &source{path: "planted.go", tree: tree}
}

// A file that names a scheme is found, whichever way it does.
func TestANameOfASchemeIsFound(t *testing.T) {
	for what, body := range map[string]string{
		"an import":     `import _ "github.com/anamnesis-go/anamnesis/quant/bnb"`,
		"an identifier": `func toBnb() {}`,
		"a text":        `const names = "nf4, fp4"`,
	} {
		s := parsed(t, body)
		if len(names(s, folderOf["quant/bnb"])) != 1 {
			t.Errorf("%s is not found", what)
		}
	}
	if s := parsed(t, "// NF4 of bitsandbytes\nvar x = 1"); len(names(s, folderOf["quant/bnb"])) != 0 {
		t.Error("a comment is taken for a name")
	}
}
