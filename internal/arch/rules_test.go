package arch

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/limits"
)

// servers answer clients: they listen, wait and log. The gate's verdict on a file comes from them.
var servers = []string{"gate/host", "gate/handler", "gate/api", "gate/clamd", "internal/spool", "examples"}

// Forbidden things, and the folders where they are allowed.
var forbidden = []struct {
	what   string
	except []string
	found  func(c *checker, s *source, n ast.Node) bool
}{
	{"unsafe", []string{"asm", "internal/guard", "internal/sandbox", "internal/sparse", "internal/tiles"}, imports("unsafe")},
	{"reflect", []string{"asm", "cli", "internal/guard", "internal/tiles", "limits"}, imports("reflect")},
	{"sync.Pool", []string{"asm", "internal/guard", "internal/tiles"}, selects("sync", "Pool")},
	{"a linkname", nil, comment("//go:linkname")},
	{"goto", []string{"asm"}, func(_ *checker, _ *source, n ast.Node) bool {
		b, ok := n.(*ast.BranchStmt)
		return ok && b.Tok == token.GOTO
	}},
	{"func init", nil, func(_ *checker, _ *source, n ast.Node) bool {
		f, ok := n.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "init"
	}},
	{"an import with a dot", nil, func(_ *checker, _ *source, n ast.Node) bool {
		i, ok := n.(*ast.ImportSpec)
		return ok && i.Name != nil && i.Name.Name == "."
	}},
	{"a write to a package's variable", nil, writesGlobal},
	{`a panic that does not begin with "internal error:"`, []string{"fuzz", "internal/ahead"}, loosePanic},
	{"a door to the system: files, processes, network", slices.Concat(servers, []string{"asm", "cli", "convert", "internal/output", "internal/tiles", "internal/guard", "internal/sandbox", "internal/fixtures", "internal/quanttest", "internal/ledger", "internal/effort", "internal/faulty", "corpus/amn-corpus", "internal/skips", "release/sign", "internal/site", "crosscheck", "fuzz/libfuzzer"}), opens},
	{"a goroutine", []string{"cli", "convert", "internal/ahead", "internal/tiles", "fuzz", "crosscheck/cost", "crosscheck/fairbench"}, func(_ *checker, _ *source, n ast.Node) bool {
		_, ok := n.(*ast.GoStmt)
		return ok
	}},
	{"a recover that is not at an entry point", []string{"cli", "convert", "internal/encode", "internal/ahead", "internal/tiles", "fuzz"}, recovers},
	{"printing", slices.Concat(servers, []string{"cli", "corpus/amn-corpus", "internal/skips", "release/sign", "internal/site", "crosscheck", "fuzz/libfuzzer"}), prints},
	{"os.Exit", []string{"cli/amn", "corpus/amn-corpus", "internal/skips", "release/sign", "internal/site", "crosscheck"}, selects("os", "Exit")},
	{"the machine's clock or chance, which would make a verdict depend on more than bytes and policy", slices.Concat(servers, []string{"limits", "cli", "convert", "internal/tiles", "crosscheck/benchconvert", "crosscheck/benchencode", "crosscheck/cost", "crosscheck/fairbench", "crosscheck/peers", "crosscheck/quantize"}), depends},
	{"a note of unfinished work", nil, comment("TO"+"DO", "FIX"+"ME", "XX"+"X", "HA"+"CK")},
}

func TestWhatIsForbidden(t *testing.T) {
	c := check(t)
	for _, s := range sources(t) {
		if s.test() {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if n == nil {
				return false
			}
			for _, rule := range forbidden {
				if !s.in(rule.except...) && rule.found(c, s, n) {
					t.Errorf("%s: %s", place(n), rule.what)
				}
			}
			return true
		})
	}
}

func imports(name string) func(*checker, *source, ast.Node) bool {
	return func(_ *checker, _ *source, n ast.Node) bool {
		i, ok := n.(*ast.ImportSpec)
		return ok && i.Path.Value == `"`+name+`"`
	}
}

func selects(pkg string, names ...string) func(*checker, *source, ast.Node) bool {
	return func(c *checker, _ *source, n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || !slices.Contains(names, sel.Sel.Name) {
			return false
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok {
			return false
		}
		name, ok := c.info.Uses[id].(*types.PkgName)
		return ok && name.Imported().Path() == pkg
	}
}

func comment(words ...string) func(*checker, *source, ast.Node) bool {
	pattern := regexp.MustCompile(`(^|[^A-Za-z])(` + strings.Join(words, "|") + `)([^A-Za-z]|$)`)
	return func(_ *checker, s *source, n ast.Node) bool {
		file, ok := n.(*ast.File)
		if !ok {
			return false
		}
		return slices.ContainsFunc(file.Comments, func(g *ast.CommentGroup) bool {
			return slices.ContainsFunc(g.List, func(c *ast.Comment) bool { return pattern.MatchString(c.Text) })
		})
	}
}

// opens finds the packages that reach outside. The facade opens the files that its caller names,
// and a store is in the user's folder.
func opens(c *checker, s *source, n ast.Node) bool {
	for _, name := range []string{"net", "net/http", "os/exec", "plugin", "os/signal"} {
		if imports(name)(c, s, n) {
			return true
		}
	}
	if s.path == "limits/files_unix.go" {
		return false // asks the system for one number
	}
	facade := s.dir() == "parser" || s.dir() == "parser/ollama" || s.path == "gate/path.go" || s.path == "gate/links.go" || s.in("internal/folder", "internal/stamp")
	return !facade && (imports("os")(c, s, n) || imports("syscall")(c, s, n))
}

func recovers(_ *checker, s *source, n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	entry := s.dir() == "parser" || s.path == "gate/gate.go" || s.path == "gate/stream.go" || s.path == "gate/host/upload.go" || s.path == "gate/clamd/conn.go"
	if !ok || entry {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	return ok && id.Name == "recover"
}

func prints(c *checker, s *source, n ast.Node) bool {
	return selects("fmt", "Print", "Printf", "Println")(c, s, n) || imports("log")(c, s, n) || imports("log/slog")(c, s, n) ||
		selects("os", "Stdout", "Stderr")(c, s, n)
}

func depends(c *checker, s *source, n ast.Node) bool {
	return selects("time", "Now", "Since")(c, s, n) || imports("math/rand")(c, s, n) || imports("math/rand/v2")(c, s, n) ||
		selects("os", "Getenv", "LookupEnv", "Environ")(c, s, n) && !s.in("internal/fixtures", "internal/effort", "internal/ledger", "parser/ollama", "asm")
}

// writesGlobal finds an assignment to a variable of a package, or to a part of
// one. (A method that changes its receiver is not seen.)
func writesGlobal(c *checker, _ *source, n ast.Node) bool {
	var targets []ast.Expr
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			targets = n.Lhs
		}
	case *ast.IncDecStmt:
		targets = []ast.Expr{n.X}
	}
	return slices.ContainsFunc(targets, func(e ast.Expr) bool {
		v, ok := c.info.Uses[base(e)].(*types.Var)
		return ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope()
	})
}

// base is the identifier at the left end of a.b[c].d.
func base(e ast.Expr) *ast.Ident {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return x
		case *ast.SelectorExpr:
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		default:
			return nil
		}
	}
}

// loosePanic finds a panic whose text does not say that it is a bug of ours.
func loosePanic(c *checker, s *source, n ast.Node) bool {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return false
	}
	id, ok := call.Fun.(*ast.Ident)
	if !ok || id.Name != "panic" || selects("net/http", "ErrAbortHandler")(c, s, call.Args[0]) {
		return false // or it ends a connection without an answer, which net/http expects
	}
	found := false
	ast.Inspect(call.Args[0], func(n ast.Node) bool {
		if e, ok := n.(ast.Expr); ok {
			if v := c.info.Types[e].Value; v != nil && v.Kind() == constant.String {
				found = found || strings.HasPrefix(constant.StringVal(v), "internal error:")
			}
		}
		return true
	})
	return !found
}

// codes finds what reads like the code of a finding: a string of our own that
// begins with the name of a format and ends in words with hyphens.
var codes = regexp.MustCompile(`^(dcp|detect|gguf|npy|npz|onnx|pickle|pth|safetensors|scan|sidecar|tflite|zip)\.[a-z0-9]+(-[a-z0-9]+)*$`)

// A finding that no policy may name could not be refused, and a name that no
// finding has refuses nothing. Codes that are put together from pieces are looked
// at when they are made, by tensor.Findings.Add.
func TestPoliciesNameTheFindingsThatExist(t *testing.T) {
	c := check(t)
	said := map[string]bool{}
	for _, s := range sources(t) {
		if s.test() || !s.in("parser", "vm", "quant", "internal/scheme", "internal/encode", "convert", "cli", "internal/sidecar", "parser/onnx") && s.path != "gate/judge_packed.go" {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				if as, ok := call.Fun.(*ast.SelectorExpr); ok && as.Sel.Name == "WithRule" {
					return false // a refusal, which package gate has in its table
				}
			}
			if code := codeOf(c, n); code != "" && code != "npz.members" && !strings.HasSuffix(code, ".load") { // a key of metadata, and Python's loaders
				said[code] = true
				if !slices.Contains(limits.Findings(), code) && !slices.Contains(limits.Quirks(), code) {
					t.Errorf("%s: no policy may name %s: add it to limits/names.go", place(n), code)
				}
			}
			return true
		})
	}
	for _, name := range slices.Concat(limits.Findings(), limits.Quirks()) {
		pieces := strings.HasPrefix(name, "gguf.template-") || strings.HasPrefix(name, "template.") || strings.Contains(name, ".index-")
		if !said[name] && !pieces {
			t.Errorf("limits/names.go lists %s, which nothing says", name)
		}
	}
	if !slices.IsSorted(limits.Findings()) || !slices.IsSorted(limits.Quirks()) {
		t.Error("the lists of limits/names.go are not sorted")
	}
}

// codeOf is the code that a string literal is.
func codeOf(c *checker, n ast.Node) string {
	lit, ok := n.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	if v := c.info.Types[lit].Value; v != nil && codes.MatchString(constant.StringVal(v)) {
		return constant.StringVal(v)
	}
	return ""
}
