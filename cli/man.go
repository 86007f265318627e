package cli

import (
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// manCmd prints pages for man.
type manCmd struct {
	Command []string `arg:"" optional:"" help:"The command to describe; without it, the whole program."`
}

func (manCmd) Help() string {
	return `The pages are made from the commands, like the help. amn man > amn.1 is amn(1), amn man scan >
amn-scan.1 is amn-scan(1).`
}

func (manCmd) examples() []example {
	return []example{
		{"amn man > amn.1", "Then: man ./amn.1."},
		{"amn man scan > amn-scan.1", "The page of one command."},
	}
}

// Run implements the command.
func (c *manCmd) Run(s *session) error {
	if s.json {
		return usage{"amn man prints a page for man, which JSON does not hold"}
	}
	k, err := newParser(new(globals), commands, s)
	if err != nil {
		return fmt.Errorf("internal error: %w", err)
	}
	node := k.Model.Node
	for _, word := range c.Command {
		next := child(node, word)
		if next == nil {
			return usage{fmt.Sprintf("%q is no command%s (amn --help lists them)", word, didYouMean(word, commandNames(node)))}
		}
		node = next
	}
	_, err = s.out.WriteString(manPage(k.Model, node))
	return err
}

// manPage is the page of a command, or of the program.
func manPage(app *kong.Application, node *kong.Node) string {
	m := manWriter{}
	name := strings.ReplaceAll(commandPath(node), " ", "-")
	m.line(`.TH %s 1 "" "anamnesis" "User commands"`, strings.ToUpper(roff(name)))
	m.section("NAME")
	help := node.Help
	if node == app.Node {
		help = app.Help
	}
	m.line(`%s \- %s`, roff(name), roff(strings.TrimSuffix(help, ".")))
	m.section("SYNOPSIS")
	if node == app.Node {
		m.line(`.B amn
.I command
[flags] ...`)
	} else {
		m.line(".B %s", roff(commandPath(node)))
		for _, p := range node.Positional {
			m.line(".I %s", roff(p.Summary()))
		}
		m.line("[flags]")
	}
	if node.Detail != "" {
		m.section("DESCRIPTION")
		m.prose(node.Detail)
	}
	if len(node.Children) > 0 {
		m.section("COMMANDS")
		for _, c := range node.Leaves(true) {
			m.row(strings.TrimPrefix(commandPath(c), commandPath(node)+" "), c.Help)
		}
	}
	m.flags(app, node)
	m.more(app, node)
	return m.String()
}

// more is what follows the flags: examples of a command, what all share of the
// program.
func (m *manWriter) more(app *kong.Application, node *kong.Node) {
	if e, ok := node.Target.Addr().Interface().(examples); ok && node != app.Node {
		m.section("EXAMPLES")
		for _, e := range e.examples() {
			m.line(".PP\n%s\n.PP\n.nf\n.RS\n%s\n.RE\n.fi", roff(e.what), roff(e.command))
		}
	}
	m.section("EXIT STATUS")
	for _, c := range exitCodes {
		m.row(c[0], c[1])
	}
	m.section("SEE ALSO")
	if node != app.Node {
		m.line(".BR amn (1)")
		return
	}
	for i, c := range app.Leaves(true) {
		end := ","
		if i == len(app.Leaves(true))-1 {
			end = ""
		}
		m.line(".BR %s (1)%s", roff(strings.ReplaceAll(commandPath(c), " ", "-")), end)
	}
}

// exitCodes are those of every command.
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

// manWriter lays a page out in the macros of man(7).
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

// flags are those of the command, then those of all, then the limits.
func (m *manWriter) flags(app *kong.Application, node *kong.Node) {
	m.section("OPTIONS")
	list := node.Flags
	if node != app.Node {
		list = append(append([]*kong.Flag{}, node.Flags...), app.Flags...)
	}
	for _, f := range list {
		if f.Group == nil && !f.Hidden {
			m.row(strings.TrimSpace(flagUsage(f)), f.Help)
		}
	}
	if node != app.Node {
		return
	}
	m.section("LIMITS")
	m.prose(limitsHelp)
	for _, f := range app.Flags {
		if f.Group != nil && !f.Hidden {
			m.row(strings.TrimSpace(flagUsage(f)), f.Help)
		}
	}
}

// roff is text as a line of the page: nothing in it is an instruction.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "^", `\(ha`, "~", `\(ti`, "`", `\(ga`).Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		text = `\&` + text
	}
	return text
}
