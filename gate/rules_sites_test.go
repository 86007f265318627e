package gate

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// rulesInSources are the rules by which the sources of this module refuse, each with
// the names of the causes that it is a case of.
func rulesInSources(t *testing.T) map[string][]string {
	t.Helper()
	sites := map[string][]string{}
	for _, dir := range []string{"../parser", "../vm", "../internal", "../gate", "../cli"} {
		err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if rule, cause := ruleAt(n); rule != "" && !slices.Contains(sites[rule], cause) {
					sites[rule] = append(sites[rule], cause)
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return sites
}

// ruleAt reads wire.ErrGap.WithRule("zip.prefix").
func ruleAt(n ast.Node) (rule, cause string) {
	call, ok := n.(*ast.CallExpr)
	if !ok || len(call.Args) != 1 {
		return "", ""
	}
	as, ok := call.Fun.(*ast.SelectorExpr)
	text, literal := call.Args[0].(*ast.BasicLit)
	if !ok || !literal || as.Sel.Name != "WithRule" {
		return "", ""
	}
	switch on := as.X.(type) {
	case *ast.SelectorExpr:
		cause = on.Sel.Name
	case *ast.Ident:
		cause = on.Name
	}
	rule, _ = strconv.Unquote(text.Value)
	return rule, cause
}

// The table has a row for each rule that a reader names, of the same cause, and no
// other row.
func TestEachRuleHasOneSourceAndOneRow(t *testing.T) {
	names := map[*wire.Cause]string{
		wire.ErrMagic: "ErrMagic", wire.ErrSyntax: "ErrSyntax", wire.ErrRange: "ErrRange", wire.ErrOverflow: "ErrOverflow",
		wire.ErrOverlap: "ErrOverlap", wire.ErrGap: "ErrGap", wire.ErrAlign: "ErrAlign", wire.ErrDuplicate: "ErrDuplicate",
		wire.ErrMismatch: "ErrMismatch", wire.ErrTrailing: "ErrTrailing", wire.ErrText: "ErrText", wire.ErrChecksum: "ErrChecksum",
		wire.ErrMissing: "ErrMissing", wire.ErrUsage: "ErrUsage", wire.ErrTruncated: "ErrTruncated", wire.ErrUnsupported: "ErrUnsupported", wire.ErrForbidden: "ErrForbidden",
	}
	sites := rulesInSources(t)
	if len(sites) < 300 {
		t.Fatalf("%d rules in the sources", len(sites))
	}
	rows := map[string]bool{}
	for _, r := range slices.Concat(archivesRefusals, formatsRefusals, pytorchRefusals) {
		if rows[r.id] {
			t.Errorf("%s: two rows", r.id)
		}
		rows[r.id] = true
		if causes := sites[r.id]; len(causes) != 1 || causes[0] != names[r.of] {
			t.Errorf("%s: the table says %s, the sources %q", r.id, names[r.of], causes)
		}
	}
	for _, r := range ownRules {
		rows[r.id] = true
	}
	for rule := range sites {
		if !rows[rule] {
			t.Errorf("%s has no row", rule)
		}
	}
	kinds := map[string]string{}
	for _, r := range Rules() {
		if was, twice := kinds[r.ID]; twice {
			t.Errorf("%s is a %s and a %s", r.ID, was, r.Kind)
		}
		kinds[r.ID] = r.Kind
	}
	for rule := range rows {
		if kinds[rule] != "refusal" {
			t.Errorf("%s is a %q", rule, kinds[rule])
		}
	}
}
