package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
)

// manCmd prints man pages.
type manCmd struct {
	Command []string `arg:"" optional:"" help:"The command to describe; without it, the whole program."`
}

func (manCmd) Help() string {
	return `The pages are made from the commands, like the help. amn man > amn.1 is amn(1), amn man scan >
amn-scan.1 is amn-scan(1).`
}

func (manCmd) Examples() []run.Example {
	return []run.Example{
		{Command: "amn man > amn.1", What: "Then: man ./amn.1."},
		{Command: "amn man scan > amn-scan.1", What: "The page of one command."},
	}
}

// Run implements the command.
func (c *manCmd) Run(_ context.Context, s *run.Run) error {
	if s.JSON {
		return fault.Usage("amn man prints a man page: it has no JSON form")
	}
	node := program(new(policies.Globals))
	for _, word := range c.Command {
		next := childNamed(node, word)
		if next == nil {
			return fault.Usage(fmt.Sprintf("%q is not a command%s (see amn --help)", word, fault.Nearest(word, commandNames(node))))
		}
		node = next
	}
	_, err := s.Out.WriteString(manPage(node))
	return err
}

// manPage returns the page of a command, or of the program.
func manPage(c *kong.Node) string {
	m := manWriter{}
	name := pageName(c)
	m.line(`.TH %s 1 "" "anamnesis" "User commands"`, strings.ToUpper(roff(name)))
	m.section("NAME")
	m.line(`%s \- %s`, roff(name), roff(strings.TrimSuffix(c.Help, ".")))
	m.section("SYNOPSIS")
	if c.Parent == nil {
		m.line(`.B amn
.I command
[flags] ...`)
	} else {
		m.line(".B %s", roff(commandPath(c)))
		for _, a := range c.Positional {
			m.line(".I %s", roff(a.Summary()))
		}
		m.line("[flags]")
	}
	if c.Detail != "" {
		m.section("DESCRIPTION")
		m.prose(c.Detail)
	}
	if len(c.Children) > 0 {
		m.section("COMMANDS")
		for _, leaf := range c.Leaves(true) {
			m.row(strings.TrimPrefix(commandPath(leaf), commandPath(c)+" "), leaf.Help)
		}
	}
	m.flags(c)
	m.more(c)
	return m.String()
}

// pageName returns the name of a command's page, such as amn-limits-show.
func pageName(c *kong.Node) string { return strings.ReplaceAll(commandPath(c), " ", "-") }

// more writes what follows the flags: examples, exit codes, other pages.
func (m *manWriter) more(c *kong.Node) {
	if e, ok := targetOf(c).(examples); ok && c.Parent != nil {
		m.section("EXAMPLES")
		for _, e := range e.Examples() {
			m.line(".PP\n%s\n.PP\n.nf\n.RS\n%s\n.RE\n.fi", roff(e.What), roff(e.Command))
		}
	}
	m.section("EXIT STATUS")
	for _, c := range exitCodes {
		m.row(c[0], c[1])
	}
	m.section("SEE ALSO")
	if c.Parent != nil {
		m.line(".BR amn (1)")
		return
	}
	leaves := c.Leaves(true)
	for i, leaf := range leaves {
		end := ","
		if i == len(leaves)-1 {
			end = ""
		}
		m.line(".BR %s (1)%s", roff(pageName(leaf)), end)
	}
}

// exitCodes lists the exit codes, which all commands share.
var exitCodes = [][2]string{
	{"0", "accepted"},
	{"1", "the disk, the network, or a bug: never counts as accepted"},
	{"2", "wrong flags or arguments"},
	{"3", "malformed: no file with this beginning could be valid"},
	{"4", "truncated: some longer file with this beginning could be valid"},
	{"5", "unsupported: legal, but not read here"},
	{"6", "limit: a ceiling was reached; the message names the flag that raises it"},
	{"7", "forbidden: refused by rule: code, or what the policy refuses"},
	{"8", "differs: two models are not equal"},
}

// A manWriter writes a page with the macros of man(7).
type manWriter struct{ strings.Builder }

func (m *manWriter) line(format string, args ...any) { fmt.Fprintf(m, format+"\n", args...) }
func (m *manWriter) section(name string)             { m.line(".SH %s", name) }

func (m *manWriter) row(left, text string) {
	m.line(".TP\n.B %s\n%s", roff(left), roff(strings.Join(strings.Fields(text), " ")))
}

func (m *manWriter) prose(text string) {
	for i, p := range strings.Split(text, "\n\n") {
		if i > 0 {
			m.line(".PP")
		}
		m.line("%s", roff(strings.Join(strings.Fields(p), " ")))
	}
}

// flags writes the flags of the command and of the program. Only the page of the program
// has the flags for limits.
func (m *manWriter) flags(c *kong.Node) {
	m.section("OPTIONS")
	for _, f := range allowedFlags(c) {
		if !isLimit(f) {
			m.row(strings.TrimSpace(flagUsage(f)), f.Help)
		}
	}
	if c.Parent != nil {
		return
	}
	m.section("LIMITS")
	m.prose(limitsHelp)
	for _, f := range c.Flags {
		if isLimit(f) {
			m.row(strings.TrimSpace(flagUsage(f)), f.Help)
		}
	}
}

// roff escapes a line of text, so that nothing in it is an instruction.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
