// Package command reads a command line into structs. A command is a struct whose fields
// are its flags, its arguments and its own commands, as their tags say:
//
//	help:"..."           what it is: in the help, and what makes a field one of the command's
//	name:"max-total"     its name, else that of the field: MaxTotal is max-total
//	short:"o"            the letter of a flag
//	placeholder:"PATH"   what the help calls the value of a flag
//	default:"20"         the value of what is not given; ${default} stands for it in the help
//	enum:"bf16,f16"      the only values that it takes
//	sep:","              between the values of a list that one word gives
//	group:"limits"       flags that the help lists together
//	arg:""               an argument, not a flag; a slice takes all that follow
//	optional:""          an argument that may be left out
//	negatable:""         a flag that --no-NAME turns off
//	embed:""             a struct whose fields are those of the command, as those of an embedded one are
//	cmd:""               a struct that is a command of this one
//	default:"withargs"   of such a command: it is meant where none is named
//
// What a command can do is asked of it by interfaces and never by the name of a method:
// the linker keeps all methods of all types in a program that computes such names.
package command

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// A Command is a program, or one of its commands.
type Command struct {
	Name    string
	Aliases []string
	Hidden  bool   // not in the help
	Help    string // one sentence
	Detail  string // paragraphs: what the method Help of Target returns

	Parent *Command // nil of a program

	// Target is the pointer to the struct that parsing sets.
	Target any

	isRead   bool // that the fields of Target have been: most commands are never asked for
	commands []*Command
	flags    []*Flag
	args     []*Arg
	meant    *Command // the one of commands that is meant where none is named
	checkers []checker
}

// Commands are those of the command, in the order of the help.
func (c *Command) Commands() []*Command { return c.read().commands }

// Flags are those of the command, without its parents'.
func (c *Command) Flags() []*Flag { return c.read().flags }

// Args are what the command takes besides flags.
func (c *Command) Args() []*Arg { return c.read().args }

// A checker is a struct, a command's or one embedded there, that checks what it was given.
type checker interface{ Validate() error }

// A Flag may be given anywhere behind the program's name.
type Flag struct {
	Name, Help, Placeholder, Group string

	Short rune // 0 is none
	Enum  []string

	negatable bool
	value     value
}

// TakesValue reports whether a value follows the flag.
func (f *Flag) TakesValue() bool { return !f.value.bool }

// An Arg is a word that is no flag, at its place.
type Arg struct {
	Name, Help string
	Enum       []string
	Optional   bool
	Many       bool // all words that follow

	value value
	given bool
}

// Usage is the argument in a line of usage: [<path> ...].
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

// New models the command whose fields target points to. A struct that is no model is a
// mistake in the program: whatever reads it panics.
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

// Path is the words that call the command: amn limits show.
func (c *Command) Path() string {
	if c.Parent == nil {
		return c.Name
	}
	return c.Parent.Path() + " " + c.Name
}

// Find finds a command by its name or an alias of it, nil if there is none.
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

// Words are the names and the aliases of the commands.
func (c *Command) Words() []string {
	var list []string
	for _, child := range c.Commands() {
		list = append(append(list, child.Name), child.Aliases...)
	}
	return list
}

// Leaves are the commands without commands of their own that are not hidden.
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

// Allowed are the flags that may follow the command: its own, then its parents'.
func (c *Command) Allowed() []*Flag {
	list := slices.Clone(c.Flags())
	if c.Parent != nil {
		list = append(list, c.Parent.Allowed()...)
	}
	return list
}

// Flag finds the flag that a word names, with its dashes.
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

// ErrHelp is returned where a flag of type Help was given.
var ErrHelp = errors.New("help was asked for")

// An Error is a command line that is none of the program's.
type Error struct {
	Command *Command // the last that was understood
	Unknown string   // a word in the place of a command, if that is what is wrong
	text    string
}

func (e *Error) Error() string { return e.text }

func (c *Command) errorf(format string, args ...any) *Error {
	return &Error{Command: c, text: fmt.Sprintf(format, args...)}
}
