package main

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/crosscheck/mutation/source"
)

// A mutant is one change of the code, which is chosen when the program runs.
type mutant struct {
	ID                 int
	Package, File      string
	Line               int
	Operator, Function string
	Text, Change       string

	Killed string `json:",omitempty"` // the suite that noticed it
	Status string `json:",omitempty"` // killed, survived, or not reached
}

// A mutator inserts the mutants of one package.
type mutator struct {
	pkg     *source.Package
	info    *types.Info
	file    *source.File
	fn      string
	generic bool
	add     func(m mutant) int
	inserts func(id int) bool // whether a mutant is in the program
	failing bool              // inside of an if that asks for an error
	errors  *source.Errors    // what makes an error in the package
	last    int               // the mutant that was noted last
}

// Functions whose results are texts for people: a mutant of them changes a message alone.
var texts = map[string]bool{"Errorf": true, "Sprintf": true, "Quote": true, "Fprintf": true, "New": true, "Fprint": true, "Fprintln": true, "Clean": true, "panic": true}

// Methods that charge an account.
var charges = map[string]bool{"Step": true, "Take": true, "Steps": true, "Items": true, "Hold": true, "Alloc": true, "Enter": true, "Fetch": true, "Request": true, "Inflate": true, "Expand": true, "Lease": true}

// Calls whose statement is not dropped: locks, whose loss only hangs.
var kept = map[string]bool{"Lock": true, "Unlock": true, "RLock": true, "RUnlock": true, "Wait": true, "Done": true, "Add": true, "panic": true}

func (w *mutator) mutate() {
	w.errors = source.ErrorsOf(w.pkg)
	for _, f := range w.pkg.Files {
		if strings.Contains(f.Name, "_tables.go") {
			continue
		}
		w.file = f
		for _, d := range f.Tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil || fn.Name.Name == "String" || fn.Name.Name == "Error" || fn.Name.Name == "init" {
				continue
			}
			w.fn, w.generic = fn.Name.Name, fn.Type.TypeParams != nil || fn.Recv != nil && isGeneric(fn.Recv)
			w.list(fn.Body.List, 0)
		}
	}
}

func isGeneric(recv *ast.FieldList) bool {
	generic := false
	ast.Inspect(recv, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.IndexExpr, *ast.IndexListExpr:
			generic = true
		}
		return true
	})
	return generic
}

// new notes a mutant of a node and returns its number.
func (w *mutator) new(n ast.Node, operator, format string, args ...any) int {
	w.last = w.add(mutant{
		Package: w.pkg.Path, File: w.file.Name, Line: w.file.Line(n.Pos()), Operator: operator, Function: w.fn,
		Text: w.file.LineText(n.Pos()), Change: strings.Join(strings.Fields(fmt.Sprintf(format, args...)), " "),
	})
	return w.last
}

func (w *mutator) text(n ast.Node) string { return w.file.Source(n) }

// around inserts texts of the last mutant around a node. Depths are multiplied so that an operator may put one
// text inside another of the same node.
func (w *mutator) around(n ast.Node, depth int, before, after string) {
	if w.inserts(w.last) {
		w.file.Around(n, depth, before, after)
	}
}

func (w *mutator) list(list []ast.Stmt, depth int) {
	for _, s := range list {
		if drop(s) {
			id := w.new(s, "statement dropped", "%s", w.text(s))
			w.around(s, depth, fmt.Sprintf("if !mutant.On(%d) { ", id), " }")
		}
		w.walk(s, nil, depth+1)
	}
}

// drop reports whether a program without the statement still compiles.
func drop(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.AssignStmt:
		id, isIdent := s.Lhs[0].(*ast.Ident)
		return s.Tok != token.DEFINE && len(s.Lhs) == 1 && !(isIdent && id.Name == "_")
	case *ast.IncDecStmt:
		return true
	case *ast.ExprStmt:
		call, ok := s.X.(*ast.CallExpr)
		return ok && !kept[calls(call)]
	}
	return false
}

// calls returns the name of the function that is called.
func calls(c *ast.CallExpr) string {
	switch f := c.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

func (w *mutator) walk(n, parent ast.Node, depth int) {
	switch n := n.(type) {
	case nil:
	case *ast.BlockStmt:
		w.list(n.List, depth)
	case *ast.FuncLit:
		w.list(n.Body.List, depth)
	case *ast.CommClause:
		w.list(n.Body, depth)
	case *ast.CaseClause:
		w.caseClause(n, parent, depth)
	case *ast.IfStmt:
		w.ifStmt(n, depth)
	case *ast.BinaryExpr:
		w.binary(n, depth)
	case *ast.CallExpr:
		w.call(n, parent, depth)
	case *ast.ReturnStmt:
		w.returns(n, depth)
	case *ast.BasicLit:
		w.literal(n, parent, depth)
	case *ast.KeyValueExpr:
		w.walk(n.Value, n, depth+1)
	case *ast.SwitchStmt:
		for _, c := range []ast.Node{n.Init, n.Tag} {
			if c != nil {
				w.walk(c, n, depth+1)
			}
		}
		for _, c := range n.Body.List {
			w.walk(c, n, depth+1)
		}
	case *ast.ArrayType, *ast.MapType, *ast.FuncType, *ast.StructType, *ast.InterfaceType, *ast.ChanType, *ast.IndexListExpr:
	case *ast.IndexExpr:
		if !w.info.Types[n].IsType() && !w.info.Types[n.Index].IsType() {
			w.children(n, depth)
		}
	case *ast.GenDecl:
		if n.Tok == token.VAR {
			w.children(n, depth)
		}
	default:
		w.children(n, depth)
	}
}

func (w *mutator) children(n ast.Node, depth int) {
	var list []ast.Node
	ast.Inspect(n, func(c ast.Node) bool {
		if c != n && c != nil {
			list = append(list, c)
		}
		return c == n
	})
	for _, c := range list {
		w.walk(c, n, depth+1)
	}
}

func (w *mutator) caseClause(n *ast.CaseClause, parent ast.Node, depth int) {
	if s, ok := parent.(*ast.SwitchStmt); ok && s.Tag == nil {
		for _, e := range n.List {
			id := w.new(e, "case never taken", "%s", w.text(e))
			w.around(e, depth, "((", fmt.Sprintf(") && !mutant.On(%d))", id))
			w.walk(e, n, depth+1)
		}
	}
	w.list(n.Body, depth)
}

// ifStmt makes the condition of an early exit false.
func (w *mutator) ifStmt(n *ast.IfStmt, depth int) {
	if n.Init != nil {
		w.walk(n.Init, n, depth+1)
	}
	if n.Else == nil && len(n.Body.List) > 0 {
		operator := ""
		switch n.Body.List[len(n.Body.List)-1].(type) {
		case *ast.ReturnStmt:
			if operator = "check dropped"; w.text(n.Cond) == "err != nil" {
				operator = "error ignored"
			}
		case *ast.BranchStmt:
			operator = "check dropped"
		}
		if operator != "" {
			id := w.new(n.Cond, operator, "%s", w.text(n.Cond))
			w.around(n.Cond, depth, "(", fmt.Sprintf(") && !mutant.On(%d)", id))
		}
	}
	w.walk(n.Cond, n, depth+1)
	was := w.failing
	w.failing = asksForError(n.Cond)
	w.walk(n.Body, n, depth+1)
	w.failing = was
	if n.Else != nil {
		w.walk(n.Else, n, depth+1)
	}
}

// asksForError reports whether a condition is err != nil.
func asksForError(cond ast.Expr) bool {
	b, ok := cond.(*ast.BinaryExpr)
	if !ok || b.Op != token.NEQ {
		return false
	}
	x, isName := b.X.(*ast.Ident)
	y, isNil := b.Y.(*ast.Ident)
	return isName && isNil && x.Name == "err" && y.Name == "nil"
}

// fails reports whether what a return gives last is an error: the other results are not read.
func (w *mutator) fails(n *ast.ReturnStmt) bool {
	if len(n.Results) < 2 {
		return false
	}
	last := n.Results[len(n.Results)-1]
	if id, ok := last.(*ast.Ident); ok && id.Name == "err" {
		return w.failing
	}
	return w.errors.Makes(last)
}

// returns turns true into false and false into true.
func (w *mutator) returns(n *ast.ReturnStmt, depth int) {
	if w.fails(n) {
		w.walk(n.Results[len(n.Results)-1], n, depth+1)
		return
	}
	for _, r := range n.Results {
		id, ok := r.(*ast.Ident)
		if t := w.info.Types[r].Type; !ok || id.Name != "true" && id.Name != "false" || t == nil || t.String() != "bool" {
			w.walk(r, n, depth+1)
			continue
		}
		m := w.new(r, "result turned", "%s", id.Name)
		if id.Name == "true" {
			w.around(r, depth, fmt.Sprintf("(!mutant.On(%d) && ", m), ")")
		} else {
			w.around(r, depth, fmt.Sprintf("(mutant.On(%d) || ", m), ")")
		}
	}
}

func (w *mutator) call(n *ast.CallExpr, parent ast.Node, depth int) {
	name := calls(n)
	if texts[name] {
		return
	}
	sel, isMethod := n.Fun.(*ast.SelectorExpr)
	if _, isStmt := parent.(*ast.ExprStmt); isMethod && charges[name] && !isStmt && w.info.Types[n].Type != nil && w.info.Types[n].Type.String() == "error" {
		id := w.new(n, "charge dropped", "%s", w.text(n))
		w.around(n, depth, fmt.Sprintf("mutant.Skip(%d, func() error { return ", id), " })")
	}
	if isMethod && len(n.Args) == 1 && w.pure(n.Args[0]) {
		if order, ok := sel.X.(*ast.SelectorExpr); ok && (order.Sel.Name == "LittleEndian" || order.Sel.Name == "BigEndian") {
			if t, ok := w.integer(n); ok {
				other := map[string]string{"LittleEndian": "BigEndian", "BigEndian": "LittleEndian"}[order.Sel.Name]
				id := w.new(n, "byte order", "%s", other)
				w.around(n, depth, fmt.Sprintf("mutant.Choose[%s](%d, ", t, id), fmt.Sprintf(", %s.%s.%s(%s))", w.text(order.X), other, sel.Sel.Name, w.text(n.Args[0])))
			}
		}
	}
	if !w.info.Types[n.Fun].IsType() {
		w.walk(n.Fun, n, depth+1)
	}
	if w.isConstant(n) {
		return
	}
	for _, a := range n.Args {
		if !w.info.Types[a].IsType() {
			w.walk(a, n, depth+1)
		}
	}
}

// literal adds one to a whole number. Masks such as 255 are left: with one more they are
// other programs, not likely mistakes.
func (w *mutator) literal(n *ast.BasicLit, parent ast.Node, depth int) {
	if n.Kind != token.INT || w.generic {
		return
	}
	switch p := parent.(type) {
	case *ast.BinaryExpr:
		if w.isConstant(p) {
			return
		}
	case *ast.SliceExpr, *ast.IndexExpr, *ast.CallExpr, *ast.ReturnStmt, *ast.AssignStmt:
	default:
		return
	}
	t, ok := w.integer(n)
	v := w.info.Types[n].Value
	if !ok || v == nil {
		return
	}
	if u, exact := constant.Uint64Val(v); !exact || u > 14 && u&(u+1) == 0 {
		return
	}
	id := w.new(n, "constant", "%s+1", n.Value)
	w.around(n, depth, fmt.Sprintf("mutant.Choose[%s](%d, ", t, id), fmt.Sprintf(", %s+1)", n.Value))
}

// others are the operators that arithmetic is changed to.
var others = map[token.Token]string{token.ADD: "-", token.SUB: "+", token.MUL: "+", token.SHL: ">>", token.SHR: "<<", token.AND: "|", token.OR: "&", token.XOR: "|"}

func (w *mutator) binary(n *ast.BinaryExpr, depth int) {
	if w.isConstant(n) {
		return
	}
	switch n.Op {
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		w.bound(n, depth)
	case token.LAND:
		for _, operand := range []ast.Expr{n.X, n.Y} {
			if !isLogic(operand) || operand == n.Y {
				id := w.new(operand, "operand dropped", "&& %s", w.text(operand))
				w.around(operand, depth+1, "((", fmt.Sprintf(") || mutant.On(%d))", id))
			}
		}
		depth++
	case token.LOR:
		for _, operand := range []ast.Expr{n.X, n.Y} {
			if !isLogic(operand) || operand == n.Y {
				id := w.new(operand, "operand dropped", "|| %s", w.text(operand))
				w.around(operand, depth+1, "((", fmt.Sprintf(") && !mutant.On(%d))", id))
			}
		}
		depth++
	default:
		other, ok := others[n.Op]
		t, isInt := w.integer(n)
		shift := n.Op == token.SHL || n.Op == token.SHR
		if ok && isInt && !w.generic && w.pure(n) && !(shift && w.isConstant(n.X)) {
			id := w.new(n, "arithmetic", "%s to %s", w.text(n), other)
			w.around(n, depth, fmt.Sprintf("mutant.Choose[%s](%d, ", t, id), fmt.Sprintf(", (%s) %s (%s))", w.text(n.X), other, w.text(n.Y)))
		}
	}
	w.walk(n.X, n, depth+1)
	w.walk(n.Y, n, depth+1)
}

func isLogic(e ast.Expr) bool {
	for {
		p, ok := e.(*ast.ParenExpr)
		if !ok {
			break
		}
		e = p.X
	}
	b, ok := e.(*ast.BinaryExpr)
	return ok && (b.Op == token.LAND || b.Op == token.LOR)
}

// bound moves a bound by one: < to <=, and so on.
func (w *mutator) bound(n *ast.BinaryExpr, depth int) {
	if w.generic || !w.pure(n) || w.info.Types[n.X].Type == nil {
		return
	}
	x, y := w.text(n.X), w.text(n.Y)
	strict := n.Op == token.LSS || n.Op == token.GTR
	to := strings.TrimSuffix(n.Op.String(), "=")
	if strict {
		to = n.Op.String() + "="
	}
	id := w.new(n, "bound", "%s to %s", w.text(n), to)
	if strict {
		w.around(n, depth, "(", fmt.Sprintf(" || mutant.On(%d) && (%s) == (%s))", id, x, y))
	} else {
		w.around(n, depth, "(", fmt.Sprintf(" && !(mutant.On(%d) && (%s) == (%s)))", id, x, y))
	}
}

func (w *mutator) isConstant(e ast.Expr) bool { return w.info.Types[e].Value != nil }

// pure reports whether an expression may be computed twice.
func (w *mutator) pure(e ast.Expr) bool {
	pure := true
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			id, isIdent := n.Fun.(*ast.Ident)
			pure = pure && (w.info.Types[n.Fun].IsType() || isIdent && slices.Contains([]string{"len", "cap", "min", "max"}, id.Name))
		case *ast.UnaryExpr:
			pure = pure && n.Op != token.ARROW
		case *ast.FuncLit:
			pure = false
		}
		return pure
	})
	return pure
}

// integer returns the name of the type of an expression if it is a whole number and the name
// means it in this package.
func (w *mutator) integer(e ast.Expr) (string, bool) {
	switch t := w.info.Types[e].Type.(type) {
	case *types.Basic:
		return t.Name(), t.Info()&types.IsUntyped == 0 && t.Info()&types.IsInteger != 0
	case *types.Named:
		b, ok := t.Underlying().(*types.Basic)
		o := t.Obj()
		return o.Name(), ok && b.Info()&types.IsInteger != 0 && o.Pkg() != nil && o.Pkg().Path() == w.pkg.Path && o.Parent() == o.Pkg().Scope()
	}
	return "", false
}
