package torchcode

import (
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// The kinds of problems.
const (
	impureOperator = "operator"
	unknownName    = "name"
	customClass    = "class"
	onLoading      = "setstate"
	notGrammar     = "syntax"
)

// A Problem is why code does more than compute, or is not understood.
type Problem struct {
	Kind string // operator, name, class, setstate or syntax
	File string
	Line int
	Text string
}

// A place is a line of a file.
type place struct {
	file string
	line int
}

// entryBytes is what an entry of a map takes besides its name.
const entryBytes = 64

// maxProblems bounds those that are kept; the rest are counted.
const maxProblems = 64

// A Code is all files of the code of a program.
type Code struct {
	b        *limits.Budget
	defined  map[string]bool  // classes and functions, by their qualified names
	members  map[string]bool  // attributes and methods of all classes
	referred map[string]place // qualified names in the code
	selected map[string]place // attributes of values that are no operators
	reported map[string]bool
	problems []Problem
	more     int
}

// New returns code without files.
func New(b *limits.Budget) *Code {
	return &Code{b: b, defined: map[string]bool{}, members: map[string]bool{}, referred: map[string]place{}, selected: map[string]place{}, reported: map[string]bool{}}
}

// Read reads a file of the code. module is its qualified name, such as __torch__.a for a.py in the
// folder __torch__. The error is that of the account; what is wrong with the text is a problem.
func (c *Code) Read(file, module, src string) error {
	p := &parser{c: c, file: file, mod: module, lex: lexer{src: src, line: 1, b: c.b, steps: c.b.Steps()}}
	err := p.all()
	if s, ok := errors.AsType[*syntax](err); ok {
		return c.problem(Problem{notGrammar, file, s.line, "not code as torch prints it: " + s.text})
	}
	return err
}

// Defines reports whether the code has a class or function of this name.
func (c *Code) Defines(qualified string) bool { return c.defined[qualified] }

// Problems returns what is wrong with all files, and how many more problems there are.
func (c *Code) Problems() (list []Problem, more int, err error) {
	for _, full := range slices.Sorted(maps.Keys(c.referred)) {
		if err := c.resolve(full, c.referred[full]); err != nil {
			return nil, 0, err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(c.selected)) {
		if c.members[id] {
			continue
		}
		at := c.selected[id]
		if err := c.problem(Problem{unknownName, at.file, at.line, "the attribute " + wire.Quote(id) + " is neither an operator nor a member of a class of the code"}); err != nil {
			return nil, 0, err
		}
	}
	return c.problems, c.more, nil
}

// resolve looks for the class or function that a qualified name begins with: the rest are its
// members.
func (c *Code) resolve(full string, at place) error {
	if err := c.b.Step(int64(1 + len(full)/16)); err != nil {
		return err
	}
	if strings.HasPrefix(full, "__torch__.torch.classes.") {
		return c.problem(Problem{customClass, at.file, at.line, "the class " + wire.Quote(full) + ", whose code is in a library"})
	}
	for head := full; head != ""; {
		if c.defined[head] {
			return c.attributes(full[len(head):], at)
		}
		cut := strings.LastIndexByte(head, '.')
		head = head[:max(cut, 0)]
	}
	return c.problem(Problem{customClass, at.file, at.line, "the class or function " + wire.Quote(full) + " is not in the code"})
}

// attributes judges the names after a class.
func (c *Code) attributes(dotted string, at place) error {
	for _, id := range strings.FieldsFunc(dotted, func(r rune) bool { return r == '.' }) {
		if !c.members[id] && !views[id] {
			return c.problem(Problem{unknownName, at.file, at.line, "the attribute " + wire.Quote(id) + " is not a member of a class of the code"})
		}
	}
	return nil
}

// define adds a class or a function.
func (c *Code) define(qualified string, at place) error {
	if c.defined[qualified] {
		return c.problem(Problem{notGrammar, at.file, at.line, wire.Quote(qualified) + " is defined twice"})
	}
	return c.note(c.defined, qualified)
}

// member adds an attribute or a method of a class.
func (c *Code) member(id string) error { return c.note(c.members, id) }

// loads reports a class whose objects run code when they are loaded.
func (c *Code) loads(class string, at place) error {
	return c.problem(Problem{onLoading, at.file, at.line, "objects of " + wire.Quote(class) + " run their __setstate__ when they are loaded, so that their tensors are not those of the file"})
}

func (c *Code) note(set map[string]bool, id string) error {
	if set[id] {
		return nil
	}
	if err := c.b.Alloc(int64(len(id)) + entryBytes); err != nil {
		return err
	}
	set[id] = true
	return nil
}

// refer notes a qualified name that a later file may define.
func (c *Code) refer(full string, at place) error { return c.keep(c.referred, full, at) }

// attribute judges an attribute of a value, whose type is not known: it may be an operator of aten
// or prim, or a member.
func (c *Code) attribute(id string, at place) error {
	pure := views[id]
	for _, space := range [...]string{"aten::", "prim::"} {
		why, known := operators()[space+id]
		if known && why != "" && !messages[space+id] {
			return c.problem(Problem{impureOperator, at.file, at.line, "operator " + space + id + " (" + why + ")"})
		}
		pure = pure || known
	}
	if pure {
		return nil
	}
	return c.keep(c.selected, id, at)
}

func (c *Code) keep(set map[string]place, id string, at place) error {
	if _, has := set[id]; has {
		return nil
	}
	if err := c.b.Alloc(int64(len(id)) + entryBytes); err != nil {
		return err
	}
	set[id] = at
	return nil
}

// problem adds a problem, once for each text.
func (c *Code) problem(p Problem) error {
	if c.reported[p.Text] {
		return nil
	}
	if len(c.problems) >= maxProblems {
		c.more++
		return nil
	}
	if err := c.b.Alloc(int64(len(p.Text)) + entryBytes); err != nil {
		return err
	}
	c.reported[p.Text] = true
	c.problems = append(c.problems, p)
	return nil
}

func (p *parser) problem(kind string, line int, text string) error {
	return p.c.problem(Problem{kind, p.file, line, text})
}
