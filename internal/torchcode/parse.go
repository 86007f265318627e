package torchcode

import (
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// A parser reads one file: classes and functions, their statements and expressions. It builds no
// tree, but hands every name to the code.
type parser struct {
	c    *Code
	lex  lexer
	t    token
	file string
	mod  string // qualified name of the file: __torch__.a.b

	depth int64 // blocks and expressions around the token

	used  []variable      // names of variables in the function
	bound map[string]bool // those that it assigns
}

// A variable is where a name is used that must be one of a variable.
type variable struct {
	name string
	line int
}

// A syntax is what the grammar does not explain.
type syntax struct {
	line int
	text string
}

func (s *syntax) Error() string { return s.text }

func (p *parser) fail(text string) error { return &syntax{p.t.line, text} }

// next moves to the next token.
func (p *parser) next() (err error) {
	if p.t, err = p.lex.next(); err == nil && p.t.kind == bad {
		return p.fail(p.t.text)
	}
	return err
}

// skip moves on if the token is this operator or keyword.
func (p *parser) skip(s string) (bool, error) {
	if !p.t.is(s) && !p.t.word(s) {
		return false, nil
	}
	return true, p.next()
}

// expect moves on, or fails if the token is another.
func (p *parser) expect(s string) error {
	ok, err := p.skip(s)
	if err == nil && !ok {
		err = p.fail("expected " + s)
	}
	return err
}

func (p *parser) expectKind(k kind, what string) (token, error) {
	t := p.t
	if t.kind != k {
		return t, p.fail("expected " + what)
	}
	return t, p.next()
}

// keywords cannot be names.
var keywords = map[string]bool{
	"def": true, "if": true, "else": true, "elif": true, "while": true, "return": true, "is": true, "True": true, "False": true, "None": true, "and": true, "or": true,
	"not": true, "global": true, "for": true, "in": true, "raise": true, "assert": true, "break": true, "continue": true, "del": true, "pass": true, "class": true,
	"import": true, "with": true, "as": true, "Ellipsis": true, "NoneType": true,
}

func (p *parser) identifier() (string, error) {
	if p.t.kind != name || keywords[p.t.text] {
		return "", p.fail("expected a name")
	}
	t := p.t.text
	return t, p.next()
}

// all reads all of a file.
func (p *parser) all() error {
	if err := p.next(); err != nil {
		return err
	}
	if p.t.word("op_version_set") { // until PyTorch 1.5
		for p.t.kind != newline && p.t.kind != end {
			if err := p.next(); err != nil {
				return err
			}
		}
	}
	for p.t.kind != end {
		var err error
		switch {
		case p.t.kind == newline:
			err = p.next()
		case p.t.word("import"): // ignored by the loader since PyTorch 1.4
			for err == nil && p.t.kind != newline && p.t.kind != end {
				err = p.next()
			}
		case p.t.word("class"):
			err = p.class()
		case p.t.word("def"):
			err = p.function(true)
		default:
			err = p.fail("neither a class nor a function")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// bases are what a class may be made of.
var bases = map[string]bool{"Module": true, "NamedTuple": true, "Interface": true, "ModuleInterface": true, "Enum": true}

func (p *parser) class() error {
	if err := p.next(); err != nil {
		return err
	}
	line := p.t.line
	id, err := p.identifier()
	if err != nil {
		return err
	}
	inherits, err := p.skip("(")
	if err == nil && inherits {
		if !bases[p.t.text] {
			return p.fail("a class of another base than those of TorchScript")
		}
		if err = p.next(); err == nil {
			err = p.expect(")")
		}
	}
	if err == nil {
		err = p.expect(":")
	}
	if err == nil {
		err = p.c.define(p.mod+"."+id, place{p.file, line})
	}
	if err != nil {
		return err
	}
	return p.block(func() error { return p.member(p.mod + "." + id) })
}

// member reads a statement of a class: a method, or an attribute with its type or value.
func (p *parser) member(class string) error {
	if p.t.word("def") {
		return p.method(class)
	}
	if ok, err := p.skip("pass"); ok || err != nil {
		return p.endLine(err)
	}
	p.used, p.bound = p.used[:0], map[string]bool{}
	id, err := p.identifier()
	if err != nil {
		return err
	}
	if quoted, err := p.skip("["); err != nil {
		return err
	} else if quoted { // __annotations__["0"] = Tensor
		if id != "__annotations__" || p.t.kind != text {
			return p.fail("a statement that no class has")
		}
		id = p.t.text
		if err := p.next(); err != nil {
			return err
		}
		if err := p.expect("]"); err != nil {
			return err
		}
	}
	if err := p.c.member(id); err != nil {
		return err
	}
	if err := p.assign(); err != nil {
		return err
	}
	return p.checkUsed()
}

func (p *parser) method(class string) error {
	if err := p.next(); err != nil {
		return err
	}
	line := p.t.line
	if p.t.text == "__setstate__" {
		if err := p.c.loads(class, place{p.file, line}); err != nil {
			return err
		}
	}
	return p.definition(p.c.member)
}

// function reads a function, of a file or inside of another.
func (p *parser) function(outer bool) error {
	if err := p.next(); err != nil {
		return err
	}
	line := p.t.line
	if !outer {
		return p.parameters(p.bind)
	}
	return p.definition(func(id string) error { return p.c.define(p.mod+"."+id, place{p.file, line}) })
}

// definition reads a function with variables of its own.
func (p *parser) definition(named func(string) error) error {
	p.used, p.bound = p.used[:0], map[string]bool{}
	if err := p.parameters(named); err != nil {
		return err
	}
	return p.checkUsed()
}

// checkUsed reports the names that are neither known nor assigned.
func (p *parser) checkUsed() error {
	for _, v := range p.used {
		if err := p.lex.steps.Step(); err != nil {
			return err
		}
		if p.bound[v.name] {
			continue
		}
		if err := p.problem(unknownName, v.line, "the name "+wire.Quote(v.name)+" is neither a variable nor a function of TorchScript"); err != nil {
			return err
		}
	}
	return nil
}

// parameters reads the rest of a function from its name on.
func (p *parser) parameters(named func(string) error) error {
	id, err := p.identifier()
	if err == nil {
		err = named(id)
	}
	if err == nil {
		err = p.expect("(")
	}
	for err == nil && !p.t.is(")") {
		if err = p.parameter(); err == nil && !p.t.is(")") {
			err = p.expect(",")
		}
	}
	if err == nil {
		err = p.next()
	}
	if err == nil && p.t.is("->") {
		if err = p.next(); err == nil {
			err = p.expression()
		}
	}
	if err == nil {
		err = p.expect(":")
	}
	if err != nil {
		return err
	}
	return p.block(p.statement)
}

func (p *parser) parameter() error {
	if star, err := p.skip("*"); star || err != nil {
		return err
	}
	id, err := p.identifier()
	if err == nil {
		err = p.bind(id)
	}
	for _, mark := range [...]string{":", "="} {
		if err == nil && p.t.is(mark) {
			if err = p.next(); err == nil {
				err = p.expression()
			}
		}
	}
	return err
}

// enter bounds how deep blocks and expressions are in others, as the pickle machine does containers.
func (p *parser) enter() error {
	if most := p.lex.b.Policy().Limit(limits.Depth); p.depth >= most {
		return &limits.Error{Axis: limits.Depth, Want: p.depth + 1, Left: most}
	}
	p.depth++
	return nil
}

func (p *parser) leave() { p.depth-- }

// block reads an indented block of statements.
func (p *parser) block(statement func() error) error {
	if err := p.enter(); err != nil {
		return err
	}
	defer p.leave()
	if _, err := p.expectKind(newline, "the end of the line"); err != nil {
		return err
	}
	if _, err := p.expectKind(indent, "an indented block"); err != nil {
		return err
	}
	for p.t.kind != dedent {
		if p.t.kind == end {
			return p.fail("a block that does not end")
		}
		if err := statement(); err != nil {
			return err
		}
	}
	return p.next()
}

// endLine reads the end of a statement.
func (p *parser) endLine(err error) error {
	if err != nil || p.t.kind == end {
		return err
	}
	_, err = p.expectKind(newline, "the end of the line")
	return err
}

func (p *parser) statement() error {
	if p.t.kind == name {
		switch p.t.text {
		case "if", "while":
			return p.conditional()
		case "for":
			return p.loop()
		case "with":
			return p.with()
		case "def":
			return p.function(false)
		case "return":
			return p.simple(true)
		case "raise", "assert", "del":
			return p.simple(false)
		case "pass", "break", "continue":
			return p.endLine(p.next())
		}
	}
	from := len(p.used)
	if err := p.tuple(); err != nil {
		return err
	}
	if p.t.kind == newline || p.t.kind == end {
		return p.endLine(nil)
	}
	if err := p.bindUsed(from); err != nil {
		return err
	}
	return p.assign()
}

// simple reads a keyword and the expressions after it.
func (p *parser) simple(optional bool) error {
	if err := p.next(); err != nil {
		return err
	}
	if optional && (p.t.kind == newline || p.t.kind == end) {
		return p.endLine(nil)
	}
	return p.endLine(p.tuple())
}

// assignments are the operators that assign.
var assignments = map[string]bool{"=": true, "+=": true, "-=": true, "*=": true, "/=": true, "%=": true, "|=": true, "&=": true, "^=": true, "<<=": true, ">>=": true, "**=": true}

// assign reads the rest of an assignment: a type, and values.
func (p *parser) assign() error {
	typed, err := p.skip(":")
	if err == nil && typed {
		err = p.expression()
	}
	assigned := false
	for err == nil && p.t.kind == punct && assignments[p.t.text] {
		assigned = true
		from := len(p.used)
		if err = p.next(); err == nil {
			err = p.tuple()
		}
		if err == nil && p.t.is("=") {
			err = p.bindUsed(from)
		}
	}
	if err == nil && !typed && !assigned {
		err = p.fail("a statement that is none")
	}
	return p.endLine(err)
}

func (p *parser) conditional() error {
	for {
		word := p.t.text
		err := p.next()
		if err == nil && word != "else" {
			err = p.expression()
		}
		if err == nil {
			err = p.expect(":")
		}
		if err == nil {
			err = p.block(p.statement)
		}
		if err != nil || word == "while" || word == "else" || !p.t.word("else") && !p.t.word("elif") {
			return err
		}
	}
}

func (p *parser) loop() error {
	err := p.comprehension()
	if err == nil {
		err = p.tuple()
	}
	if err == nil {
		err = p.expect(":")
	}
	if err != nil {
		return err
	}
	return p.block(p.statement)
}

func (p *parser) with() error {
	err := p.next()
	for err == nil {
		if err = p.expression(); err != nil {
			break
		}
		var as bool
		if as, err = p.skip("as"); err == nil && as {
			var id string
			if id, err = p.identifier(); err == nil {
				err = p.bind(id)
			}
		}
		if err != nil || !p.t.is(",") {
			break
		}
		err = p.next()
	}
	if err == nil {
		err = p.expect(":")
	}
	if err != nil {
		return err
	}
	return p.block(p.statement)
}

// bind notes that the function assigns a variable.
func (p *parser) bind(id string) error {
	if p.bound[id] {
		return nil
	}
	if err := p.judgeRoot(id, p.t.line); err != nil { // it may hide nothing
		return err
	}
	if err := p.lex.b.Alloc(int64(len(id)) + entryBytes); err != nil {
		return err
	}
	p.bound[id] = true
	return nil
}

// bindUsed binds the variables that were used from an index on: they are what is assigned.
func (p *parser) bindUsed(from int) error {
	for _, v := range p.used[from:] {
		if err := p.bind(v.name); err != nil {
			return err
		}
	}
	return nil
}

func (p *parser) use(id string, line int) (err error) {
	p.used, err = limits.Append(p.lex.b, p.used, variable{id, line})
	return err
}
