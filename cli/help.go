package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/cli/internal/run"
)

// examples is implemented by commands with examples in their help.
type examples interface{ Examples() []run.Example }

// helpWidth is the largest width of help, helpLeft the column at which descriptions begin.
const (
	helpWidth = 96
	helpLeft  = 31
)

// printHelp prints the help of a command, or of the program.
func printHelp(s *run.Run, w io.Writer, c *kong.Node, short bool) {
	text := helpText(c, widthOfHelp(s), short)
	if c.Parent == nil && len(s.RemoteHelp) > 0 {
		h := helpWriter{width: widthOfHelp(s)}
		h.section("Addresses, where a command takes a file:")
		for _, r := range s.RemoteHelp {
			h.row(r[0], r[1])
		}
		text += h.String()
	}
	io.WriteString(w, text)
}

// widthOfHelp returns the width of help on this terminal.
func widthOfHelp(s *run.Run) int {
	if s.Out.Columns == 0 {
		return helpWidth
	}
	return max(min(helpWidth, s.Out.Columns), 2*helpLeft)
}

// helpText returns the help of a command, or of the program. The short help of a command has
// three examples, and of each flag the first sentence.
func helpText(c *kong.Node, width int, short bool) string {
	h := helpWriter{width: width, short: short}
	h.line("%s", c.Help)
	h.section("Usage:")
	if c.Parent == nil {
		h.line("  %s <command> [flags] ...", c.Name)
		h.examples(firstExamples)
		h.commands(c)
		h.flags(c)
		h.section("amn <command> --help says more about a command.")
		return h.String()
	}
	h.line("  %s", usageLine(c))
	if len(c.Aliases) > 0 {
		h.line("  also: amn %s", strings.Join(c.Aliases, ", "))
	}
	if e, ok := targetOf(c).(examples); ok {
		list := e.Examples()
		if short {
			list = list[:min(len(list), 3)]
		}
		h.examples(list)
	}
	if !short {
		h.prose(c.Detail)
	}
	if len(c.Children) > 0 {
		h.commands(c)
	}
	if len(c.Positional) > 0 {
		h.section("Arguments:")
		for _, a := range c.Positional {
			h.row(a.Summary(), a.Help)
		}
	}
	h.flags(c)
	if short {
		h.section("%s --help says more.", commandPath(c))
	}
	return h.String()
}

// firstExamples are the examples in the help of the program.
var firstExamples = []run.Example{
	{Command: "amn inspect model.safetensors", What: "What is in it?"},
	{Command: "amn scan checkpoint.pt", What: "Is it safe to load?"},
	{Command: "amn view tiny.gguf", What: "Look around in it."},
	{Command: "amn dequantize llama-fp8", What: "Recover the precision of a quantized model."},
}

// examples prints command lines to copy, each below its description.
func (h *helpWriter) examples(list []run.Example) {
	h.section("Examples:")
	for _, e := range list {
		h.line("  # %s", e.What)
		h.line("  %s", e.Command)
	}
}

// usageLine returns the command with its arguments.
func usageLine(c *kong.Node) string {
	s := commandPath(c)
	for _, a := range c.Positional {
		s += " " + a.Summary()
	}
	return s + " [flags]"
}

// A helpWriter formats help.
type helpWriter struct {
	strings.Builder
	width int
	short bool
}

func (h *helpWriter) line(format string, args ...any) { fmt.Fprintf(h, format+"\n", args...) }

func (h *helpWriter) section(format string, args ...any) {
	h.WriteByte('\n')
	h.line(format, args...)
}

// prose prints paragraphs, wrapped to the width.
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

func (h *helpWriter) commands(c *kong.Node) {
	h.section("Commands:")
	for _, leaf := range c.Leaves(true) {
		name := strings.TrimPrefix(commandPath(leaf), commandPath(c)+" ")
		if len(leaf.Aliases) > 0 {
			name += " (" + strings.Join(leaf.Aliases, ", ") + ")"
		}
		h.row(name, leaf.Help)
	}
}

// isLimit reports whether a flag sets a single limit. Every command takes these, and a page
// of their own lists them.
func isLimit(f *kong.Flag) bool { return f.Group != nil && f.Group.Key == "limits" }

// groupOf returns the title above a flag of a command: flags of the program are apart.
func groupOf(c *kong.Node, f *kong.Flag) string {
	switch {
	case f.Group != nil:
		return f.Group.Key
	case c.Parent != nil && !slices.Contains(c.Flags, f):
		return "Every command"
	}
	return "Flags"
}

// flags prints the flags of a command by their groups, those without one first. In short
// help, a flag has its first sentence.
func (h *helpWriter) flags(c *kong.Node) {
	var titles []string
	for _, f := range allowedFlags(c) {
		if title := groupOf(c, f); !isLimit(f) && !slices.Contains(titles, title) {
			titles = append(titles, title)
		}
	}
	slices.SortStableFunc(titles, func(a, b string) int { return titleOrder(a) - titleOrder(b) })
	for _, title := range titles {
		h.section("%s:", title)
		for _, f := range allowedFlags(c) {
			if !isLimit(f) && groupOf(c, f) == title {
				h.row(flagUsage(f), h.sentence(f.Help))
			}
		}
	}
}

// titleOrder orders the titles of flags: a command's own, then its groups, then the program's.
func titleOrder(title string) int {
	switch title {
	case "Flags":
		return 0
	case "Every command":
		return 2
	}
	return 1
}

// sentence returns the help of a flag, in short help its first sentence.
func (h *helpWriter) sentence(help string) string {
	if !h.short {
		return help
	}
	first, _, cut := strings.Cut(help, ". ")
	if cut {
		first += "."
	}
	return first
}

// limitsText returns the page of amn help limits: the flags for limits, which every command
// takes and no other page lists.
func limitsText(root *kong.Node, width int) string {
	h := helpWriter{width: width}
	h.line("Limits: what a file may cost before it is refused.")
	h.prose(limitsHelp)
	h.section("Flags:")
	for _, f := range root.Flags {
		if isLimit(f) {
			h.row(flagUsage(f), f.Help)
		}
	}
	h.section("Examples:")
	h.line("  amn inspect --limits strict upload.npz")
	h.line("  amn limits show --max-total 2GiB > policy.json")
	return h.String()
}

const limitsHelp = `Every command takes these flags. A limit that is reached is a refusal (exit 6) that names
the flag to raise it. A flag overrides the policy of --limits, which overrides the defaults;
amn limits show prints what holds.`

// asksForLimits reports whether args ask for the page about limits.
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
	case !takesValue(f):
	case f.PlaceHolder != "":
		s += " " + f.PlaceHolder
	case f.Enum != "":
		s += " " + strings.Join(enumOf(f.Value), "|")
	default:
		s += " " + strings.ToUpper(f.Name)
	}
	return s
}

// row prints a name and its description, wrapped.
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
