package jinja

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// MaxIssues bounds the reported issues of one template, besides the first with each code.
const MaxIssues = 16

// maxNest bounds the nesting of brackets, of statements and of the tree: far deeper than in any
// template, and about as deep as Jinja's own parser gets before Python stops it.
const maxNest = 1000

// maxPasses bounds the passes over a tree that find what may be what.
const maxPasses = 16

// The codes of issues.
const (
	CodeDunder   = "dunder"   // an internal attribute is named
	CodeAttr     = "attr"     // an attribute is looked up by the filter made for it
	CodeComputed = "computed" // a name is assembled from pieces
	CodeImport   = "import"   // another template is loaded
	CodeMethod   = "method"   // a method, a filter or a test outside the known harmless ones
	CodeGlobal   = "global"   // a global leads into the interpreter
	CodeCall     = "call"     // the called function is computed, or its name is redefined
	CodeSyntax   = "syntax"   // this is not in the grammar
	CodeGrowth   = "growth"   // it loops or grows beyond what the data say
)

// An Issue is a problem at a place in a template.
type Issue struct {
	Code string
	Off  int    // bytes from the start of the template
	Line int    // from 1
	Text string // what was found, quoted
}

// Check returns the places at which a template reaches outside itself, in order. Each token, and
// each node of the tree in each pass, is a step; what is kept is charged while Check runs.
func Check(b *limits.Budget, template string) ([]Issue, error) {
	if len(template) > math.MaxInt32/2 {
		return []Issue{{CodeSyntax, 0, 1, "a template of more than a gigabyte"}}, nil
	}
	lists := b.Holding()
	defer lists.Close()
	j := judge{src: template, steps: lists.Steps(), b: lists}
	p := parser{lex: lexer{src: template}, b: lists, steps: lists.Steps(), problem: j.problem}
	root := p.parse()
	if p.err != nil {
		return nil, p.err
	}
	j.nodes = p.nodes
	if err := j.judge(root); err != nil {
		return nil, err
	}
	if !j.has(CodeSyntax) {
		if j.grows(root); j.err != nil {
			return nil, j.err
		}
	}
	slices.SortFunc(j.issues, func(a, b Issue) int { return cmp.Compare(a.Off, b.Off) })
	line, from := 1, 0
	for i := range j.issues {
		line += strings.Count(template[from:j.issues[i].Off], "\n")
		from, j.issues[i].Line = j.issues[i].Off, line
	}
	return j.issues, nil
}

// problem adds an issue, unless it is known. The first with a code is always one: a policy may let
// the others pass.
func (j *judge) problem(off int, code, text string) {
	if j.keeps(off, code) {
		j.issues = append(j.issues, Issue{Code: code, Off: off, Text: text})
	}
}

func (j *judge) keeps(off int, code string) bool {
	return !j.has(code) || len(j.issues) < MaxIssues && !slices.ContainsFunc(j.issues, func(i Issue) bool { return i.Off == off && i.Code == code })
}

// has reports whether there is an issue with a code.
func (j *judge) has(code string) bool {
	return slices.ContainsFunc(j.issues, func(i Issue) bool { return i.Code == code })
}

// report adds an issue in the last pass.
func (j *judge) report(off int32, code, format string, args ...any) {
	if j.judging && j.keeps(int(off), code) {
		j.problem(int(off), code, fmt.Sprintf(format, args...))
	}
}
