package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// An example is a command line of the help, run by a test.
type example struct{ command, what string }

// examples are what a command offers for its help.
type examples interface{ examples() []example }

// helpWidth is the widest that help gets, helpLeft the column of flags.
const (
	helpWidth = 96
	helpLeft  = 31
)

// printHelp prints the help of a command, or of the program.
func (s *session) printHelp(_ kong.HelpOptions, c *kong.Context) error {
	text := helpText(c.Model, c.Selected(), s.helpWidth())
	if c.Selected() == nil && len(s.remoteHelp) > 0 {
		h := helpWriter{width: s.helpWidth()}
		h.section("Addresses, where a command takes a file:")
		for _, r := range s.remoteHelp {
			h.row(r[0], r[1])
		}
		text += h.String()
	}
	_, err := c.Stdout.Write([]byte(text))
	return err
}

// helpWidth is how wide help may get on this terminal.
func (s *session) helpWidth() int {
	if s.columns == 0 {
		return helpWidth
	}
	return max(min(helpWidth, s.columns), 2*helpLeft)
}

// helpText is the help of a node; nil is the program.
func helpText(app *kong.Application, node *kong.Node, width int) string {
	h := helpWriter{width: width}
	if node == nil {
		h.line("%s", app.Help)
		h.section("Usage:")
		h.line("  %s <command> [flags] ...", app.Name)
		h.examples(firstExamples)
		h.commands(app.Node)
		h.flags(app.Node.Flags)
		h.section("amn <command> --help says more about a command.")
		return h.String()
	}
	h.line("%s", node.Help)
	h.section("Usage:")
	h.line("  %s", usageLine(node))
	if len(node.Aliases) > 0 {
		h.line("  also: %s %s", app.Name, strings.Join(node.Aliases, ", "))
	}
	if e, ok := node.Target.Addr().Interface().(examples); ok {
		h.examples(e.examples())
	}
	h.prose(node.Detail)
	if len(node.Children) > 0 {
		h.commands(node)
	}
	if len(node.Positional) > 0 {
		h.section("Arguments:")
		for _, p := range node.Positional {
			h.row(p.Summary(), p.Help)
		}
	}
	h.flags(append(append([]*kong.Flag{}, node.Flags...), app.Node.Flags...))
	return h.String()
}

// firstExamples are those of the program: what people come for.
var firstExamples = []example{
	{"amn inspect model.safetensors", "What is in it?"},
	{"amn scan checkpoint.pt", "Is it safe to load?"},
	{"amn view tiny.gguf", "Look around in it."},
	{"amn dequantize llama-fp8", "Recover the precision of a quantized model."},
}

// examples are lines to copy, each on one line, under what they do.
func (h *helpWriter) examples(list []example) {
	h.section("Examples:")
	for _, e := range list {
		h.line("  # %s", e.what)
		h.line("  %s", e.command)
	}
}

// usageLine is the command with its arguments.
func usageLine(node *kong.Node) string {
	s := commandPath(node)
	for _, p := range node.Positional {
		s += " " + p.Summary()
	}
	return s + " [flags]"
}

// helpWriter lays text out.
type helpWriter struct {
	strings.Builder
	width int
}

func (h *helpWriter) line(format string, args ...any) { fmt.Fprintf(h, format+"\n", args...) }

func (h *helpWriter) section(format string, args ...any) {
	h.WriteByte('\n')
	h.line(format, args...)
}

// prose prints paragraphs, wrapped anew.
func (h *helpWriter) prose(text string) {
	if text == "" {
		return
	}
	for p := range strings.SplitSeq(text, "\n\n") {
		h.line("")
		for line := range wrapped(p, h.width) {
			h.line("%s", line)
		}
	}
}

func (h *helpWriter) commands(node *kong.Node) {
	h.section("Commands:")
	for _, c := range node.Leaves(true) {
		h.row(strings.TrimPrefix(c.Path(), node.Path()+" "), c.Help)
	}
}

// flags prints the flags by group, those without one first.
func (h *helpWriter) flags(list []*kong.Flag) {
	h.section("Flags:")
	for _, f := range list {
		if f.Group == nil && !f.Hidden {
			h.row(flagUsage(f), f.Help)
		}
	}
}

// limitsText is the page of amn help limits: the flags that every command takes to
// set what a file may cost. They stand on no other page.
func limitsText(app *kong.Application, width int) string {
	h := helpWriter{width: width}
	h.line("Limits: what a file may cost before it is refused.")
	h.prose(limitsHelp)
	for _, g := range flagGroups {
		h.section("%s", g.Title)
		for _, f := range app.Node.Flags {
			if f.Group != nil && f.Group.Key == g.Key && !f.Hidden {
				h.row(flagUsage(f), f.Help)
			}
		}
	}
	h.section("Examples:")
	h.line("  amn inspect --limits strict upload.npz")
	h.line("  amn limits show --max-total 2GiB > policy.json")
	return h.String()
}

const limitsHelp = `Every command takes these flags. A limit that is reached is a refusal (exit 6) that names
the flag to raise it. A flag is laid over the policy of --limits, and that over the defaults;
amn limits show prints what holds.`

// asksForLimits reports whether the page about limits is asked for.
func asksForLimits(args []string) bool {
	if len(args) == 2 && args[0] == "help" && args[1] == "limits" {
		return true
	}
	for _, a := range args {
		switch a {
		case "--":
			return false
		case "--help-limits":
			return true
		}
	}
	return false
}

func flagUsage(f *kong.Flag) string {
	s := "    --" + f.Name
	if f.Short != 0 {
		s = "-" + string(f.Short) + ", --" + f.Name
	}
	switch {
	case f.IsBool() || f.IsCounter():
	case f.PlaceHolder != "":
		s += " " + f.PlaceHolder
	case f.Enum != "":
		s += " " + strings.ReplaceAll(f.Enum, ",", "|")
	default:
		s += " " + strings.ToUpper(f.Name)
	}
	return s
}

// row prints what something is called and what it means, wrapped.
func (h *helpWriter) row(left, text string) {
	left = "  " + left
	if len(left) > helpLeft-2 {
		h.line("%s", left)
		left = ""
	}
	for line := range wrapped(text, h.width-helpLeft) {
		h.line("%-*s%s", helpLeft, left, line)
		left = ""
	}
}

// wrapped breaks text at spaces into lines of at most width bytes, where it can.
func wrapped(text string, width int) func(func(string) bool) {
	return func(yield func(string) bool) {
		line := ""
		for _, word := range strings.Fields(text) {
			if line != "" && len(line)+1+len(word) > width {
				if !yield(line) {
					return
				}
				line = ""
			}
			line = strings.TrimPrefix(line+" "+word, " ")
		}
		yield(line)
	}
}
