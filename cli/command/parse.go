package command

import (
	"fmt"
	"slices"
	"strings"
)

// Parse parses the words after the program's name, and sets the fields of the structs. It
// returns the command to run, or an Error, or ErrHelp with the command whose help is asked
// for. Flags may be anywhere before a word "--".
func (c *Command) Parse(args []string) (*Command, error) {
	named, rest := c.choose(args)
	p := parser{command: named}
	if named.read().fallback != nil {
		p.command = named.fallback
	}
	p.parse(rest)
	switch {
	case p.help && (p.err == nil || p.err.Unknown == ""):
		return named, ErrHelp // even if a flag is wrong
	case p.err != nil:
		return named, p.err
	}
	if err := p.command.check(); err != nil {
		return named, err
	}
	return p.command, nil
}

// choose returns the command that the leading words name, and the other words. Flags may
// precede the command, with a value if a flag of that name of any command takes one.
func (c *Command) choose(args []string) (*Command, []string) {
	var rest []string
	for i := 0; i < len(args); i++ {
		word := args[i]
		if isFlag(word) {
			rest = append(rest, word)
			if word == "--" {
				return c, append(rest, args[i+1:]...)
			}
			if c.TakesValue(word) && i+1 < len(args) {
				i++
				rest = append(rest, args[i])
			}
			continue
		}
		child := c.Find(word)
		if child == nil {
			return c, append(rest, args[i:]...)
		}
		c = child
	}
	return c, rest
}

// TakesValue reports whether a value follows the flag that a word names: a flag of this
// command, its parents, or any command below it.
func (c *Command) TakesValue(word string) bool {
	if f := c.Flag(word); f != nil {
		return f.TakesValue()
	}
	return slices.ContainsFunc(c.Commands(), func(child *Command) bool {
		f := flagIn(child.Flags(), word)
		return f != nil && f.TakesValue() || child.TakesValue(word)
	})
}

// isFlag reports whether a word is a flag; "-" is an argument.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

// A parser sets the flags and arguments of one command.
type parser struct {
	command *Command
	words   int // arguments so far
	help    bool
	err     *Error // the first error; parsing continues, since --help may follow
}

func (p *parser) parse(args []string) {
	for len(args) > 0 {
		word := args[0]
		args = args[1:]
		switch {
		case word == "--":
			for _, word := range args {
				p.argument(word)
			}
			return
		case strings.HasPrefix(word, "--"):
			args = p.long(word, args)
		case isFlag(word):
			args = p.short(word[1:], args)
		default:
			p.argument(word)
		}
	}
}

// long parses --flag, --flag value, --flag=value, --no-flag.
func (p *parser) long(word string, args []string) []string {
	name, text, given := strings.Cut(word, "=")
	f := p.command.Flag(name)
	switch off, no := strings.CutPrefix(name, "--no-"); {
	case f != nil && given:
		p.set(f, text)
	case f != nil:
		return p.setNext(f, args)
	case no && !given && p.negate("--"+off):
	default:
		p.unknown(name)
	}
	return args
}

func (p *parser) negate(name string) bool {
	f := p.command.Flag(name)
	if f == nil || !f.negatable {
		return false
	}
	p.set(f, "false")
	return true
}

// short parses letters: -q, -rq, -o value, -ovalue, -o=value.
func (p *parser) short(letters string, args []string) []string {
	for letters != "" {
		letter, rest := splitRune(letters)
		f := p.command.Flag("-" + letter)
		switch {
		case f == nil:
			p.unknown("-" + letter)
			return args
		case f.TakesValue() && rest != "":
			p.set(f, strings.TrimPrefix(rest, "="))
			return args
		case f.TakesValue():
			return p.setNext(f, args)
		default:
			p.set(f, "true")
		}
		letters = rest
	}
	return args
}

// splitRune splits off the first character, which may be an invalid byte.
func splitRune(s string) (string, string) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// setNext sets a flag to the next word, if it takes a value.
func (p *parser) setNext(f *Flag, args []string) []string {
	switch {
	case !f.TakesValue():
		p.set(f, "true")
	case len(args) == 0:
		p.fail("--%s: the value is missing", f.Name)
	case isFlag(args[0]):
		p.fail("--%s: the value is missing; if it is %s, write --%s=%s", f.Name, args[0], f.Name, args[0])
	default:
		p.set(f, args[0])
		return args[1:]
	}
	return args
}

func (p *parser) set(f *Flag, text string) {
	if text == "" { // probably an unset variable of a script: ignoring the flag would skip its check
		p.fail("--%s: the value is empty: give one, or leave the flag out", f.Name)
		return
	}
	err := checkEnum(f.Enum, text)
	if err == nil {
		err = f.value.set(text)
	}
	if err != nil {
		p.fail("--%s: %v", f.Name, err)
	}
	p.help = p.help || f.value.help && err == nil && text == "true"
}

// checkEnum rejects a value that is not in enum, unless enum is empty.
func checkEnum(enum []string, text string) error {
	if len(enum) == 0 || slices.Contains(enum, text) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s%s", text, strings.Join(enum, ", "), Nearest(text, enum))
}

func (p *parser) argument(word string) {
	c, args := p.command, p.command.Args()
	switch {
	case c.Find(word) != nil:
		p.fail("%s: a command cannot follow --", word)
		return
	case len(c.Commands()) > 0:
		e := c.errorf("%q is not a command%s", word, Nearest(word, c.Words()))
		if e.Unknown = word; p.err == nil {
			p.err = e
		}
		return
	case len(args) == 0, p.words >= len(args) && !args[len(args)-1].Many:
		p.fail("unexpected argument %s", word)
		return
	}
	a := args[min(p.words, len(args)-1)]
	p.words++
	a.given = true
	err := checkEnum(a.Enum, word)
	if err == nil {
		err = a.value.set(word)
	}
	if err != nil {
		p.fail("%s: %v", a.Usage(), err)
	}
}

func (p *parser) unknown(name string) {
	var known []string
	if strings.HasPrefix(name, "--") {
		for _, f := range p.command.Allowed() {
			known = append(known, "--"+f.Name)
		}
	}
	p.fail("unknown flag %s%s", name, Nearest(name, known))
}

func (p *parser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = p.command.errorf(format, args...)
	}
}

// check checks that all arguments are given, then calls the checks of the structs.
func (c *Command) check() error {
	if len(c.Commands()) > 0 {
		list := c.visible()
		if len(list) > 5 {
			list = append(list[:5], "...")
		}
		return c.errorf("name a command: %s", strings.Join(list, ", "))
	}
	for _, a := range c.Args() {
		if !a.given && !a.Optional {
			return c.errorf("%s is missing", a.Usage())
		}
	}
	for at := c; at != nil; at = at.Parent {
		for _, v := range at.read().checkers {
			if err := v.Validate(); err != nil {
				return c.errorf("%v", err)
			}
		}
	}
	return nil
}

// visible returns the names of the subcommands in the help.
func (c *Command) visible() []string {
	var list []string
	for _, child := range c.Commands() {
		if !child.Hidden {
			list = append(list, child.Name)
		}
	}
	return list
}
