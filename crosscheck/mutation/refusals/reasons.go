package main

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

// A reason is why no committed file reaches a place. It is one of four:
//
//	invariant: PROOF              the place ends as internal, and no file comes to it
//	PACKAGE.TEST: WHY             this test reaches it; why it takes more than a file
//	word32: WHY                   an int of 64 bits holds the number, whatever it is
//	size: HOW MUCH                it takes more bytes than a test can make
type reason struct {
	file, text, why string
	test            string // PACKAGE.TEST, or ""
	used            bool
}

// A known is a list of reasons.
type known struct {
	path  string
	list  []*reason
	wrong error
}

var namesTest = regexp.MustCompile(`^([a-z0-9/]+\.(?:Test|Fuzz)[A-Za-z0-9_]+): .`)

// readKnown reads lines of a file, a tab, the text of the line, a tab and the reason.
func readKnown(path string) (*known, error) {
	k := &known{path: path}
	return k, source.EachReason(path, func(file, text, why string) error {
		r := &reason{file: file, text: text, why: why}
		if m := namesTest.FindStringSubmatch(why); m != nil {
			r.test = m[1]
		} else if !strings.HasPrefix(why, "invariant: ") && !strings.HasPrefix(why, "word32: ") && !strings.HasPrefix(why, "size: ") {
			return errors.New("a reason begins with invariant, word32, size or the test that reaches the place")
		}
		k.list = append(k.list, r)
		return nil
	})
}

// take returns the reason of a place, once.
func (k *known) take(p *place) *reason {
	i := slices.IndexFunc(k.list, func(r *reason) bool { return !r.used && r.file == p.File && r.text == p.Text })
	if i < 0 {
		return nil
	}
	r := k.list[i]
	r.used = true
	if strings.HasPrefix(r.why, "invariant: ") && !p.Internal {
		k.wrong = errors.Join(k.wrong, fmt.Errorf("%s:%d is no invariant, because it does not end as internal: %s", p.File, p.Line, p.Text))
	}
	return r
}

// left says which reasons are of no place.
func (k *known) left() (err error) {
	for _, r := range k.list {
		if !r.used {
			err = errors.Join(err, fmt.Errorf("listed in %s, and reached or gone: %s\t%s", k.path, r.file, r.text))
		}
	}
	return err
}

// internalErrors returns what tells the statements of a package that end as internal: they name
// the cause, a variable of the package that is made of it, or a mistake of a reader of Go's.
func internalErrors(p *source.Package) func(f *source.File, at ast.Stmt) bool {
	vars := map[string]bool{"ErrInternal": true, "ErrNoProgress": true}
	names := func(n ast.Node) (found bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && vars[id.Name]
			return !found
		})
		return found
	}
	for _, f := range p.Files {
		for _, d := range f.Tree.Decls {
			g, ok := d.(*ast.GenDecl)
			if !ok || g.Tok != token.VAR {
				continue
			}
			for _, s := range g.Specs {
				if v := s.(*ast.ValueSpec); len(v.Names) == 1 && len(v.Values) == 1 && names(v.Values[0]) {
					vars[v.Names[0].Name] = true
				}
			}
		}
	}
	return func(_ *source.File, at ast.Stmt) bool { return names(at) }
}

// checkReasons runs each test that a reason names, and asks whether it reaches its place.
func checkReasons(root, dir, overlay string, all []*place, k *known) (err error) {
	of := map[string][]int{} // places by test
	for i, p := range all {
		if r := k.take(p); r != nil && r.test != "" {
			of[r.test] = append(of[r.test], i)
		}
	}
	binaries := map[string]string{}
	for _, test := range slices.Sorted(maps.Keys(of)) {
		pkg, name, _ := strings.Cut(test, ".")
		binary, built := binaries[pkg]
		if !built {
			made, fails := build(root, dir, overlay, pkg)
			if fails != nil {
				return fails
			}
			binary, binaries[pkg] = made, made
		}
		seen, _, fails := marks(root, dir, binary, pkg, "^"+name+"$", len(all))
		if fails != nil {
			return fails
		}
		for _, i := range of[test] {
			if seen[i] == 0 {
				err = errors.Join(err, fmt.Errorf("%s does not reach %s:%d\t%s", test, all[i].File, all[i].Line, all[i].Text))
			}
		}
		fmt.Printf("%-80s %d places\n", test, len(of[test]))
	}
	return errors.Join(err, k.wrong)
}
