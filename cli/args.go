package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
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
		case a == "--report" && i+1 < len(args) && (isPage(args[i+1]) || isJSON(args[i+1])):
			flags = append(flags, a+"="+args[i+1]) // the one flag whose value may be left out
			i++
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

// unknownCommand says that the first word is no command, and what was meant if
// it is a path.
func unknownCommand(model *kong.Application, args []string) error {
	for i, a := range args {
		switch {
		case strings.HasPrefix(a, "-"), i > 0 && takesValue(model.Node, args[i-1]):
		case child(model.Node, a) != nil:
			return nil
		case strings.ContainsAny(a, "./"):
			return usage{fmt.Sprintf("%q is no command: amn inspect %s, perhaps (amn --help lists all)", a, a)}
		default:
			return usage{fmt.Sprintf("%q is no command%s (amn --help lists them)", a, didYouMean(a, commandNames(model.Node)))}
		}
	}
	return nil
}

// commandNames are the words that may follow a command, aliases too.
func commandNames(node *kong.Node) []string {
	var list []string
	for _, c := range node.Children {
		list = append(append(list, c.Name), c.Aliases...)
	}
	return list
}

// usageError is an error of class Usage that says where help is.
func usageError(err error) error {
	text, help := strings.Replace(err.Error(), `,"" but got `, ` but got `, 1), "amn --help" // "" is the flag left out
	text += meant(text)
	if flag, rest, ok := strings.Cut(text, ": expected "); ok && (strings.Contains(rest, ` value but got "--" `) || strings.Contains(rest, ` value but got "EOL" `)) {
		text = flag + ": its value is missing"
	}
	if pe, ok := err.(*kong.ParseError); ok && pe.Context != nil {
		if cmd := pe.Context.Selected(); cmd != nil {
			text = strings.TrimPrefix(text, cmd.Path()+": ") // kong's, with the aliases
			help = commandPath(cmd) + " --help"
			text = meantFlag(text, cmd)
		}
	}
	return usage{fmt.Sprintf("%s (%s lists what is there)", text, help)}
}

// meantFlag is what an unknown flag was perhaps to be, in the place of kong's guesses:
// it offers what begins alike, and short flags for anything.
func meantFlag(text string, cmd *kong.Node) string {
	given, unknown := strings.CutPrefix(text, "unknown flag --")
	if !unknown {
		return text
	}
	given, _, _ = strings.Cut(given, ", did you mean ")
	var known []string
	for _, group := range cmd.AllFlags(true) {
		for _, f := range group {
			known = append(known, "--"+f.Name)
		}
	}
	return "unknown flag --" + given + didYouMean("--"+given, known)
}

// meant finds the word of a list that was mistyped, in kong's words about a flag or an
// argument with such a list.
func meant(text string) string {
	_, list, ok := strings.Cut(text, " must be one of ")
	list, got, found := strings.Cut(list, " but got ")
	word, err := strconv.Unquote(got)
	if !ok || !found || err != nil {
		return ""
	}
	var known []string
	for k := range strings.SplitSeq(list, ",") {
		if k, err := strconv.Unquote(k); err == nil && k != "" {
			known = append(known, k)
		}
	}
	return didYouMean(word, known)
}

// usual puts what people try with any program in words of this one: "help" with
// a command or without, and the flags that print a version.
func usual(args []string) []string {
	switch args[0] {
	case "help":
		return append(slices.Clone(args[1:]), "--help")
	case "--version", "-V":
		return append([]string{"version"}, args[1:]...)
	default:
		return args
	}
}

// commandPath is the words that call a command: "amn limits show".
func commandPath(node *kong.Node) string {
	if node.Parent == nil {
		return "amn"
	}
	return commandPath(node.Parent) + " " + node.Name
}

// usage is wrong arguments.
type usage struct{ text string }

func (u usage) Error() string { return u.text }
func (u usage) Unwrap() error { return wire.ErrUsage }

// A word is an argument as it was given. Kong passes strings through JSON, which
// loses bytes that are not UTF-8.
type word string

// Decode implements kong.MapperValue.
func (w *word) Decode(ctx *kong.DecodeContext) error {
	t, err := ctx.Scan.PopValue("word")
	if err != nil {
		return err
	}
	if *w = word(t.String()); *w == "" && ctx.Value.Name == "output" { // a shell's variable that is not set
		return errors.New("give a path")
	}
	return nil
}
