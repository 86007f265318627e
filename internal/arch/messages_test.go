package arch

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// flagOrProgram finds a flag or the program in a text.
var flagOrProgram = regexp.MustCompile(`(^|[\s("';:,])(--[a-z]|amn [a-z])`)

// Other programs print the library's messages: a message that names a flag of amn would mislead
// their users. wire.Option is how a message names a setting.
func TestTheLibraryNamesNoFlag(t *testing.T) {
	c := check(t)
	seen := 0
	for _, s := range sources(t) {
		if s.test() || s.generated() || s.in("cli", "corpus/amn-corpus", "release/sign", "internal/site", "crosscheck") {
			continue
		}
		ast.Inspect(s.tree, func(n ast.Node) bool {
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				v := c.info.Types[lit].Value
				if v == nil {
					return true // a tag or an import
				}
				seen++
				if flagOrProgram.MatchString(constant.StringVal(v)) {
					t.Errorf("%s: %s names a flag or the program", place(n), lit.Value)
				}
			}
			return true
		})
	}
	if seen < 1000 {
		t.Errorf("only %d texts were looked at", seen)
	}
}

func TestFlagsAreFoundInTexts(t *testing.T) {
	for text, want := range map[string]bool{
		"it exists; --force replaces it": true, "--scheme decides": true, "(--tensor leaves some out)": true,
		"amn scan judges it": true, "run amn formats": true,
		"AMN_CPU": false, "a -- b": false, "x--y": false, "damn it": false, "--": false,
	} {
		if got := flagOrProgram.MatchString(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}

// An option that a message names is one that a caller finds.
func TestOptionsOfMessagesExist(t *testing.T) {
	c := check(t)
	for _, o := range wire.Options() {
		if o == wire.OptionForce {
			continue // the argument of convert's Write
		}
		part := strings.Split(string(o), ".")
		if len(part) != 3 {
			t.Errorf("%s is not package.Type.Field", o)
			continue
		}
		pkg := c.done[path.Join(module, part[0])]
		if pkg == nil || pkg.Scope().Lookup(part[1]) == nil {
			t.Errorf("%s: no such type", o)
			continue
		}
		field, _, _ := types.LookupFieldOrMethod(pkg.Scope().Lookup(part[1]).Type(), true, pkg, part[2])
		if _, ok := field.(*types.Var); !ok {
			t.Errorf("%s: no such field", o)
		}
	}
}
