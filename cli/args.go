package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// permute puts commands first, then flags, then the other words, so that flags
// may stand anywhere: kong ends a list of paths at the first flag.
func permute(model *kong.Application, args []string) []string {
	var flags, words []string
	for i := 0; i < len(args); i++ {
		a := args[i]
		switch {
		case a == "--":
			words = append(words, args[i+1:]...)
			i = len(args)
		case a == "-" || !strings.HasPrefix(a, "-"):
			words = append(words, a)
		case takesValue(model.Node, a) && i+1 < len(args):
			flags = append(flags, a, args[i+1])
			i++
		default:
			flags = append(flags, a)
		}
	}
	out := make([]string, 0, len(args)+1)
	for node := model.Node; len(words) > 0; words = words[1:] {
		if node = child(node, words[0]); node == nil {
			break
		}
		out = append(out, words[0])
	}
	out = append(out, flags...)
	if len(words) > 0 {
		out = append(append(out, "--"), words...)
	}
	return out
}

func child(node *kong.Node, name string) *kong.Node {
	for _, c := range node.Children {
		if c.Name == name {
			return c
		}
		for _, alias := range c.Aliases {
			if alias == name {
				return c
			}
		}
	}
	return nil
}

// takesValue reports whether a flag of any command takes the next word as its
// value.
func takesValue(node *kong.Node, arg string) bool {
	for _, f := range node.Flags {
		if (arg == "--"+f.Name || f.Short != 0 && arg == "-"+string(f.Short)) && !f.IsBool() && !f.IsCounter() {
			return true
		}
	}
	for _, c := range node.Children {
		if takesValue(c, arg) {
			return true
		}
	}
	return false
}

// usageError is an error of class Usage that says where help is.
func usageError(k *kong.Kong, err error) error {
	help := "amn --help"
	if pe, ok := err.(*kong.ParseError); ok && pe.Context != nil {
		if cmd := pe.Context.Selected(); cmd != nil {
			help = cmd.FullPath() + " --help"
		}
	}
	return fmt.Errorf("%w (%s lists what is there)", usage{wire.Clean(err.Error(), 1024)}, help)
}

// usage is wrong arguments.
type usage struct{ text string }

func (u usage) Error() string { return u.text }
func (u usage) Unwrap() error { return wire.ErrUsage }
