package command

import (
	"fmt"
	"slices"
	"strings"
)

// Parse parses the words behind the program's name, and sets the fields of the structs.
// It returns the command that is to run, or an Error, or ErrHelp with the command whose
// help was asked for. Flags may stand anywhere, until a word "--".
func (c *Command) Parse(args []string) (*Command, error) {
	named, rest := c.choose(args)
	p := parser{command: named}
	if named.read().meant != nil {
		p.command = named.meant
	}
	p.parse(rest)
	switch {
	case p.help && (p.err == nil || p.err.Unknown == ""):
		return named, ErrHelp // whatever flag is wrong: who asks for help may not know it yet
	case p.err != nil:
		return named, p.err
	}
	if err := p.command.check(); err != nil {
		return named, err
	}
	return p.command, nil
}

// choose takes the leading words that name commands out of the arguments. A flag may
// stand before them, with a value if any command's flag of that name takes one.
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

// TakesValue reports whether a value follows the flag that a word names: one of this
// command, of its parents, or of any command below it.
func (c *Command) TakesValue(word string) bool {
	if f := c.Flag(word); f != nil {
		return f.TakesValue()
	}
	return slices.ContainsFunc(c.Commands(), func(child *Command) bool {
		f := flagIn(child.Flags(), word)
		return f != nil && f.TakesValue() || child.TakesValue(word)
	})
}

// isFlag reports whether a word is no argument; "-" is one.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

// A parser sets the flags and arguments of one command.
type parser struct {
	command *Command
	words   int // arguments so far
	help    bool
	err     *Error // the first; parsing goes on, for a --help behind it
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
		return p.valued(f, args)
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
			return p.valued(f, args)
		default:
			p.set(f, "true")
		}
		letters = rest
	}
	return args
}

// splitRune cuts the first character off, which may be a byte that is not UTF-8.
func splitRune(s string) (string, string) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:]
		}
	}
	return s, ""
}

// valued sets a flag to the word behind it, if it takes one.
func (p *parser) valued(f *Flag, args []string) []string {
	switch {
	case !f.TakesValue():
		p.set(f, "true")
	case len(args) == 0:
		p.fail("--%s: its value is missing", f.Name)
	case isFlag(args[0]):
		p.fail("--%s: its value is missing, or is written --%s=%s", f.Name, f.Name, args[0])
	default:
		p.set(f, args[0])
		return args[1:]
	}
	return args
}

func (p *parser) set(f *Flag, text string) {
	if text == "" { // a script's variable that is not set: what it asks to be checked would not be
		p.fail("--%s: its value is empty: leave the flag out, or give one", f.Name)
		return
	}
	err := admit(f.Enum, text)
	if err == nil {
		err = f.value.set(text)
	}
	if err != nil {
		p.fail("--%s: %v", f.Name, err)
	}
	p.help = p.help || f.value.help && err == nil && text == "true"
}

// admit refuses what a list of values does not have.
func admit(enum []string, text string) error {
	if len(enum) == 0 || slices.Contains(enum, text) {
		return nil
	}
	return fmt.Errorf("%q is not one of %s%s", text, strings.Join(enum, ", "), Nearest(text, enum))
}

func (p *parser) argument(word string) {
	c, args := p.command, p.command.Args()
	switch {
	case c.Find(word) != nil:
		p.fail("%s: no command may follow --", word)
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
	err := admit(a.Enum, word)
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

// check asks for what must be given, then each struct for what it checks itself.
func (c *Command) check() error {
	if len(c.Commands()) > 0 {
		list := c.visible()
		if len(list) > 5 {
			list = append(list[:5], "...")
		}
		return c.errorf("say which command: %s", strings.Join(list, ", "))
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

// visible are the names of the commands in the help.
func (c *Command) visible() []string {
	var list []string
	for _, child := range c.Commands() {
		if !child.Hidden {
			list = append(list, child.Name)
		}
	}
	return list
}
