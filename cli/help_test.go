package cli

import (
	"flag"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

func model(t *testing.T) *kong.Application {
	t.Helper()
	k, err := newParser(new(globals), commands, newSession(Stdio{Out: io.Discard, Err: io.Discard}))
	if err != nil {
		t.Fatal(err)
	}
	return k.Model
}

// Each ceiling has the flag that messages name, in the group of limits.
func TestEveryAxisHasItsFlag(t *testing.T) {
	flags := map[string]*kong.Flag{}
	for _, f := range model(t).Flags {
		flags["--"+f.Name] = f
	}
	var given axisFlags
	v := reflect.ValueOf(&given).Elem()
	for i := range v.NumField() {
		v.Field(i).SetString(v.Type().Field(i).Tag.Get("name"))
	}
	for _, a := range limits.Axes() {
		if f := flags[axisFlag(a)]; f == nil || f.Group == nil {
			t.Errorf("%v: no flag %s among the limits", a, axisFlag(a))
		}
		if got := "--" + given.given()[a]; got != axisFlag(a) {
			t.Errorf("%v is set by %s", a, got)
		}
	}
}

// Whatever option a message of the library names has its flag.
func TestEveryOptionHasItsFlag(t *testing.T) {
	flags := map[string]bool{}
	err := kong.Visit(model(t), func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			flags["--"+f.Name] = true
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range wire.Options() {
		names := strings.Split(optionFlags[o], " or ")
		for _, name := range names {
			if !flags[name] {
				t.Errorf("%s: no flag %q", o, name)
			}
		}
		said := flagged(wire.At("quant", "", wire.NoOffset, wire.ErrUsage.With("%s decides", o)))
		if want := "quant: " + optionFlags[o] + " decides"; said != want {
			t.Errorf("%s is said as %q", o, said)
		}
	}
}

// permute moves a flag's value with it, so a name must mean the same everywhere.
func TestAFlagTakesAValueInAllCommandsOrInNone(t *testing.T) {
	takes := map[string]bool{}
	err := kong.Visit(model(t), func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			names := []string{"--" + f.Name}
			if f.Short != 0 {
				names = append(names, "-"+string(f.Short))
			}
			for _, name := range names {
				value := !f.IsBool() && !f.IsCounter()
				if before, ok := takes[name]; ok && before != value {
					t.Errorf("%s takes a value in one command and none in another", name)
				}
				takes[name] = value
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestFlagsMayStandAnywhere(t *testing.T) {
	m := model(t)
	for _, c := range []struct{ in, want string }{
		{"inspect a b", "inspect -- a b"},
		{"inspect a --json b --limits strict c", "inspect --json --limits strict -- a b c"},
		{"--json inspect a", "inspect --json -- a"},
		{"limits show edge -q", "limits show -q -- edge"},
		{"inspect - --limits=edge", "inspect --limits=edge -- -"},
		{"inspect -q -- --json -x", "inspect -q -- --json -x"},
		{"version", "version"},
		{"inspect --limits", "inspect --limits"},
		{"inspect inspect", "inspect -- inspect"},
	} {
		if got := strings.Join(permute(m, strings.Fields(c.in)), " "); got != c.want {
			t.Errorf("%s: %s, want %s", c.in, got, c.want)
		}
	}
}

// Every command has help and examples, every flag help that is a sentence.
func TestEveryCommandIsExplained(t *testing.T) {
	m := model(t)
	for _, c := range m.Leaves(true) {
		if e, ok := c.Target.Addr().Interface().(examples); !ok || len(e.examples()) == 0 {
			t.Errorf("%s has no examples", c.Path())
		}
	}
	err := kong.Visit(m, func(node kong.Visitable, next kong.Next) error {
		help := ""
		switch n := node.(type) {
		case *kong.Flag:
			help = n.Help
		case *kong.Node:
			help = n.Help
		case *kong.Value:
			help = n.Help
		default:
			return next(nil)
		}
		if !strings.HasSuffix(help, ".") && !strings.HasSuffix(help, "?") {
			t.Errorf("help %q", help)
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// docs/cli.md is this model, written out.
func TestDocsAreCurrent(t *testing.T) {
	const path = "../docs/cli.md"
	got := manual(model(t))
	if flag.Lookup("update").Value.String() == "true" {
		if err := os.WriteFile(path, []byte(got), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s is not what the program's help says: go generate ./cli rewrites it", path)
	}
}

// What people copy stands before what they read, and the limits behind one line.
func TestHelpLeadsWithExamples(t *testing.T) {
	m := model(t)
	for _, c := range append(m.Leaves(true), nil) {
		text := helpText(m, c, helpWidth)
		at, flags := strings.Index(text, "\nExamples:\n"), strings.Index(text, "\nFlags:\n")
		if at < 0 || flags < at {
			t.Errorf("examples at %d, flags at %d:\n%s", at, flags, text)
		}
		if strings.Contains(text, "\n      --max-total ") || strings.Count(text, "\n      --help-limits ") != 1 {
			t.Errorf("limits:\n%s", text)
		}
	}
	if text := limitsText(m, helpWidth); !strings.Contains(text, "--max-total SIZE") {
		t.Error(text)
	}
}

// CommandPaths lists the commands, by the words that follow "amn".
func CommandPaths() []string {
	k, err := newParser(new(globals), commands, newSession(Stdio{Out: io.Discard, Err: io.Discard}))
	if err != nil {
		panic(err)
	}
	var list []string
	for _, c := range k.Model.Leaves(true) {
		list = append(list, strings.TrimPrefix(commandPath(c), "amn "))
	}
	return list
}

// HelpCommands lists the commands of the help, for the test that runs them.
func HelpCommands() []string {
	k, err := newParser(new(globals), commands, newSession(Stdio{Out: io.Discard, Err: io.Discard}))
	if err != nil {
		panic(err)
	}
	var list []string
	for _, e := range firstExamples {
		list = append(list, e.command)
	}
	for _, c := range k.Model.Leaves(true) {
		if e, ok := c.Target.Addr().Interface().(examples); ok {
			for _, e := range e.examples() {
				if !slices.Contains(list, e.command) {
					list = append(list, e.command)
				}
			}
		}
	}
	return list
}

// Help is wrapped to the terminal; examples stand on one line, to be copied.
func TestHelpFitsTheTerminal(t *testing.T) {
	m := model(t)
	for _, c := range m.Leaves(true) {
		for _, width := range []int{80, helpWidth} {
			text := helpText(m, c, width)
			head, rest, _ := strings.Cut(text, "Examples:\n")
			_, tail, _ := strings.Cut(rest, "\n\n")
			for line := range strings.Lines(head + tail) {
				if n := columns(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s at %d: %d columns: %s", c.Path(), width, n, line)
				}
			}
		}
	}
}
