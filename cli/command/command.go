// Package command parses a command line into structs. A command is a struct; the tags of its
// fields make them flags, arguments and subcommands:
//
//	help:"..."           the description in the help; fields without it are ignored
//	name:"max-total"     the name; by default that of the field: MaxTotal is max-total
//	short:"o"            the letter of a flag
//	placeholder:"PATH"   the name of a flag's value in the help
//	default:"20"         the default value, which replaces ${default} in the help
//	enum:"bf16,f16"      the allowed values
//	sep:","              the separator of the elements of a list
//	group:"limits"       the group of a flag in the help
//	arg:""               an argument, not a flag; a slice takes all remaining arguments
//	optional:""          an argument that may be left out
//	negatable:""         a flag that --no-NAME turns off
//	embed:""             a struct whose fields belong to the command; so do those of an embedded struct
//	cmd:""               a struct that is a subcommand
//	default:"withargs"   the subcommand that runs if none is named
//
// Methods of commands are found by interfaces, never by name: in a program that looks methods
// up by computed names, the linker keeps all methods of all types.
package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Command is a program, or one of its commands or subcommands.
type Command struct {
	Name    string
	Aliases []string
	Hidden  bool   // not in the help
	Help    string // one sentence
	Detail  string // paragraphs, from the method Help of Target

	Parent *Command // nil for the program

	// Target is the pointer to the struct that parsing sets.
	Target any

	isRead   bool // the fields of Target have been read; for most commands they never are
	commands []*Command
	flags    []*Flag
	args     []*Arg
	fallback *Command // the subcommand that runs if none is named
	checkers []checker
}

// Commands returns the subcommands, in the order of the help.
func (c *Command) Commands() []*Command { return c.read().commands }

// Flags returns the flags of the command, without those of its parents.
func (c *Command) Flags() []*Flag { return c.read().flags }

// Args returns the arguments of the command.
func (c *Command) Args() []*Arg { return c.read().args }

// A checker is a struct, of a command or embedded in one, that checks its values.
type checker interface{ Validate() error }

// A Flag may be given anywhere after the program's name.
type Flag struct {
	Name, Help, Placeholder, Group string

	Short rune // 0 for none
	Enum  []string

	negatable bool
	value     value
}

// TakesValue reports whether a value follows the flag.
func (f *Flag) TakesValue() bool { return !f.value.bool }

// An Arg is a positional argument.
type Arg struct {
	Name, Help string
	Enum       []string
	Optional   bool
	Many       bool // it takes all remaining words

	value value
	given bool
}

// Usage returns the argument as in a line of usage: [<path> ...].
func (a *Arg) Usage() string {
	s := "<" + a.Name + ">"
	if a.Many {
		s += " ..."
	}
	if a.Optional {
		s = "[" + s + "]"
	}
	return s
}

// New returns a command for the struct that target points to. If the tags of the struct are
// invalid, a later call panics.
func New(name, help string, target any) *Command {
	c := &Command{Name: name, Help: help, Target: target}
	if d, ok := target.(interface{ Help() string }); ok {
		c.Detail = d.Help()
	}
	return c
}

// Add adds a command.
func (c *Command) Add(child *Command) {
	child.Parent = c
	c.commands = append(c.commands, child)
}

// Path returns the words that call the command, such as "amn limits show".
func (c *Command) Path() string {
	if c.Parent == nil {
		return c.Name
	}
	return c.Parent.Path() + " " + c.Name
}

// Find returns the subcommand with a name or an alias, or nil.
func (c *Command) Find(word string) *Command {
	for _, child := range c.Commands() {
		if child.Name == word {
			return child
		}
		for _, alias := range child.Aliases {
			if alias == word {
				return child
			}
		}
	}
	return nil
}

// Words returns the names and the aliases of the subcommands.
func (c *Command) Words() []string {
	var list []string
	for _, child := range c.Commands() {
		list = append(append(list, child.Name), child.Aliases...)
	}
	return list
}

// Leaves returns the commands below c that have no subcommands and are not hidden.
func (c *Command) Leaves() []*Command {
	var list []*Command
	for _, child := range c.Commands() {
		switch {
		case child.Hidden:
		case len(child.Commands()) == 0:
			list = append(list, child)
		default:
			list = append(list, child.Leaves()...)
		}
	}
	return list
}

// Allowed returns the flags that the command takes: its own, then those of its parents.
func (c *Command) Allowed() []*Flag {
	list := slices.Clone(c.Flags())
	if c.Parent != nil {
		list = append(list, c.Parent.Allowed()...)
	}
	return list
}

// Flag returns the flag that a word such as "--name" or "-n" names, or nil.
func (c *Command) Flag(word string) *Flag {
	for ; c != nil; c = c.Parent {
		if f := flagIn(c.Flags(), word); f != nil {
			return f
		}
	}
	return nil
}

func flagIn(list []*Flag, word string) *Flag {
	long, isLong := strings.CutPrefix(word, "--")
	for _, f := range list {
		if isLong && f.Name == long || !isLong && f.Short != 0 && word == "-"+string(f.Short) {
			return f
		}
	}
	return nil
}

// ErrHelp is returned if a flag of type Help was given.
var ErrHelp = errors.New("help was asked for")

// An Error describes an invalid command line.
type Error struct {
	Command *Command // the last command that was recognized
	Unknown string   // the word that is not a command, or ""
	text    string
}

func (e *Error) Error() string { return e.text }

func (c *Command) errorf(format string, args ...any) *Error {
	return &Error{Command: c, text: fmt.Sprintf(format, args...)}
}
