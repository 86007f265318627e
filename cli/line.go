package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// A line is a command line, sorted into the order that kong reads. Kong ends a list of paths at the
// first flag, but people write flags anywhere.
type line struct {
	node  *kong.Node // the last command that was named; the program if none was
	words []string   // the names of commands
	flags []string   // flags, with their values
	args  []string   // paths and other arguments
	wrong string     // what is wrong with a flag, or ""
	help  bool       // --help or -h was given
	long  bool       // it was --help
}

// sortLine sorts a command line. The commands of root decide which flags take a value.
func sortLine(root *kong.Node, args []string) *line {
	l := &line{node: root}
	for i := 0; i < len(args); i++ {
		word := args[i]
		switch {
		case word == "--":
			l.args = append(l.args, args[i+1:]...)
			return l
		case isFlag(word):
			l.flags = append(l.flags, word)
			l.checkEmpty(word, "=")
			l.noteHelp(word)
			if !takesNext(l.node, word) || i+1 == len(args) {
				continue
			}
			if i++; args[i] == "" {
				l.checkEmpty(word+"=", "=")
			}
			l.flags = append(l.flags, args[i])
			if isFlag(args[i]) { // the value is missing, which kong reports, and this may be --help
				l.noteHelp(args[i])
			}
		default:
			if child := childNamed(l.node, word); child != nil && len(l.args) == 0 {
				l.node = child
				l.words = append(l.words, word)
			} else {
				l.args = append(l.args, word)
			}
		}
	}
	return l
}

// checkEmpty notes a flag with an empty value, which is probably a variable that a script did not
// set. Without this, the flag would count as one that was not given.
func (l *line) checkEmpty(word, sign string) {
	if name, empty := strings.CutSuffix(word, sign); empty && l.wrong == "" {
		if f := flagNamed(l.node, name); f != nil {
			name = "--" + f.Name
		}
		l.wrong = name + ": the value is empty: give one, or leave the flag out"
	}
}

// sorted returns the line as kong reads it.
func (l *line) sorted() []string {
	out := append(append([]string{}, l.words...), l.flags...)
	if len(l.args) > 0 {
		out = append(append(out, "--"), l.args...)
	}
	return out
}

// command returns the command that would run.
func (l *line) command() *kong.Node {
	if l.node.DefaultCmd != nil {
		return l.node.DefaultCmd
	}
	return l.node
}

// asksHelp reports whether the line asks for the help of a command that exists, whatever
// else is wrong with it.
func (l *line) asksHelp() bool {
	unknown := len(l.args) > 0 && len(l.node.Children) > 0 && l.node.DefaultCmd == nil
	return l.help && !unknown
}

// noteHelp notes that a word asks for help, and for which.
func (l *line) noteHelp(word string) {
	if l.isHelp(word) {
		l.help, l.long = true, l.long || strings.HasPrefix(word, "--")
	}
}

// isHelp reports whether a word is --help, -h, or letters such as -qh.
func (l *line) isHelp(word string) bool {
	if strings.HasPrefix(word, "--") {
		return word == "--help" || word == "--help=true"
	}
	for i, letter := range word[1:] {
		if letter == 'h' {
			return true
		}
		if f := flagNamed(l.node, "-"+string(letter)); f == nil || takesValue(f) || i > 8 {
			return false
		}
	}
	return false
}

// isFlag reports whether a word is a flag; "-" is an argument.
func isFlag(word string) bool { return len(word) > 1 && word[0] == '-' }

// takesNext reports whether the word after a flag is its value: the flag of this command, of
// its parents, or, where it precedes the command, of any command below. Of letters such as
// -fo the last one decides, unless one before it takes the rest.
func takesNext(n *kong.Node, word string) bool {
	if strings.HasPrefix(word, "--") {
		return takesValueBelow(n, word)
	}
	letters := []rune(word[1:])
	for i, letter := range letters {
		if takesValueBelow(n, "-"+string(letter)) {
			return i == len(letters)-1
		}
	}
	return false
}

func takesValueBelow(n *kong.Node, word string) bool {
	if f := flagNamed(n, word); f != nil {
		return takesValue(f)
	}
	for _, child := range n.Children {
		for _, f := range child.Flags {
			if isNamed(f, word) && takesValue(f) {
				return true
			}
		}
		if len(child.Children) > 0 && takesValueBelow(child, word) {
			return true
		}
	}
	return false
}
