package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// Look-ups in kong's model of the command line.

// commandPath returns the words that call a command, such as "amn limits show".
func commandPath(n *kong.Node) string {
	if n.Parent == nil {
		return n.Name
	}
	return commandPath(n.Parent) + " " + n.Name
}

// targetOf returns the pointer to the struct of a command.
func targetOf(n *kong.Node) any { return n.Target.Addr().Interface() }

// childNamed returns the command with a name or an alias below n, or nil.
func childNamed(n *kong.Node, word string) *kong.Node {
	for _, c := range n.Children {
		if c.Name == word {
			return c
		}
		for _, alias := range c.Aliases {
			if alias == word {
				return c
			}
		}
	}
	return nil
}

// commandNames returns the names and the aliases of the commands below n.
func commandNames(n *kong.Node) []string {
	var list []string
	for _, c := range n.Children {
		list = append(append(list, c.Name), c.Aliases...)
	}
	return list
}

// allowedFlags returns the flags that a command takes: its own, then those of its parents.
func allowedFlags(n *kong.Node) []*kong.Flag {
	var list []*kong.Flag
	for ; n != nil; n = n.Parent {
		list = append(list, n.Flags...)
	}
	return list
}

// flagNamed returns the flag that a word such as "--name" or "-n" names, or nil.
func flagNamed(n *kong.Node, word string) *kong.Flag {
	if n.DefaultCmd != nil { // kong takes the flags of a default command before it is named
		n = n.DefaultCmd
	}
	for _, f := range allowedFlags(n) {
		if isNamed(f, word) {
			return f
		}
	}
	return nil
}

func isNamed(f *kong.Flag, word string) bool {
	long, isLong := strings.CutPrefix(word, "--")
	return isLong && f.Name == long || !isLong && f.Short != 0 && word == "-"+string(f.Short)
}

// takesValue reports whether a value follows a flag.
func takesValue(f *kong.Flag) bool { return !f.IsBool() }

// enumOf returns the values that a flag or an argument allows; none means any. The empty
// value, which kong asks for where a flag has no default, is left out.
func enumOf(v *kong.Value) []string {
	return strings.FieldsFunc(v.Enum, func(r rune) bool { return r == ',' })
}
