package arch

import (
	"go/ast"
	"go/types"
	"slices"
	"strings"
	"testing"
)

// The packages that read files: in them memory is asked for on somebody else's
// word, so it is asked of an account.
var readers = []string{"parser", "vm", "quant", "internal/scheme", "internal/encode", "internal/config", "internal/form", "convert", "merge", "compare", "internal/model", "internal/transformers", "internal/wire", "internal/strictjson", "internal/jinja", "internal/polyglot", "internal/jsontree", "internal/tokenizer", "internal/family", "internal/msgpack"}

// Functions that allocate as much as an argument or a reader says.
var unbounded = []string{
	"io.ReadAll", "os.ReadFile", "fs.ReadFile", "slices.Grow", "slices.Repeat", "strings.Repeat", "bytes.Repeat",
	"maps.Collect", "slices.Collect", "json.Unmarshal", "json.NewDecoder",
}

// In a package that reads files the size of a make is a constant; whatever a
// file may decide goes through limits.Make and its kin.
func TestMakeHasAConstantSize(t *testing.T) {
	c := check(t)
	checked := 0
	for _, s := range sources(t) {
		if s.test() || !s.in(readers...) {
			continue
		}
		sized, loose := makes(c, s.tree)
		checked += sized
		for _, call := range loose {
			t.Errorf("%s: make with a size that is not constant: use limits.Make", place(call))
		}
	}
	if checked == 0 {
		t.Error("no make was looked at: the test sees nothing")
	}
}

// makes counts the calls of make and returns those whose size is not constant.
func makes(c *checker, tree ast.Node) (n int, loose []ast.Node) {
	ast.Inspect(tree, func(node ast.Node) bool {
		call, ok := node.(*ast.CallExpr)
		if !ok {
			return true
		}
		id, ok := ast.Unparen(call.Fun).(*ast.Ident)
		if !ok {
			return true
		}
		if b, ok := c.info.Uses[id].(*types.Builtin); !ok || b.Name() != "make" {
			return true
		}
		n++
		for _, size := range call.Args[1:] {
			if c.info.Types[size].Value == nil {
				loose = append(loose, call)
			}
		}
		return true
	})
	return n, loose
}

func TestReadersCallNothingThatAllocatesUnbounded(t *testing.T) {
	for _, s := range sources(t) {
		if s.test() || !s.in(readers...) {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if pkg, ok := sel.X.(*ast.Ident); ok {
					if slices.Contains(unbounded, pkg.Name+"."+sel.Sel.Name) {
						t.Errorf("%s: %s.%s allocates what it is told", place(n), pkg.Name, sel.Sel.Name)
					}
				}
			}
			return true
		})
	}
}

// Every axis of a policy is charged by code that reads files: an axis without a charge would be an
// empty promise.
func TestEveryAxisIsCharged(t *testing.T) {
	c := check(t)
	called := map[string]bool{}
	for _, s := range sources(t) {
		if s.test() || !s.in(readers...) {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if obj := c.info.Uses[sel.Sel]; obj != nil && obj.Pkg() != nil && obj.Pkg().Path() == module+"/limits" {
					called[sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	for axis, verbs := range map[string]string{
		"MaxSingleAlloc":  "Alloc Lease Make Grow Append Clone String",
		"MaxTotalBytes":   "Hold Alloc Make",
		"MaxItems":        "Items",
		"MaxInflateRatio": "Inflate",
		"MaxExpandRatio":  "Expand",
		"MaxDepth":        "Enter",
		"MaxSteps":        "Steps Step",
		"MaxWorkingSet":   "Workspace",
		"MaxOpenFiles":    "OpenFile",
		"Timeout":         "Steps Err",
	} {
		found := false
		for verb := range strings.FieldsSeq(verbs) {
			found = found || called[verb]
		}
		if !found {
			t.Errorf("%s is never charged: no call of %s", axis, verbs)
		}
	}
}
