package cli

import (
	"flag"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
)

// allFlags are those of the program, then those of each command.
func allFlags(c *kong.Node) []*kong.Flag {
	list := slices.Clone(c.Flags)
	for _, child := range c.Children {
		list = append(list, allFlags(child)...)
	}
	return list
}

// Each ceiling has the flag that messages name, in the group of limits.
func TestEveryAxisHasItsFlag(t *testing.T) {
	flags := map[string]*kong.Flag{}
	for _, f := range program(new(policies.Globals)).Flags {
		flags["--"+f.Name] = f
	}
	var given policies.AxisFlags
	v := reflect.ValueOf(&given).Elem()
	for i := range v.NumField() {
		v.Field(i).SetString(v.Type().Field(i).Tag.Get("name"))
	}
	for _, a := range limits.Axes() {
		if f := flags[fault.AxisFlag(a)]; f == nil || !isLimit(f) {
			t.Errorf("%v: no flag %s among the limits", a, fault.AxisFlag(a))
		}
		if got := "--" + given.ByAxis()[a]; got != fault.AxisFlag(a) {
			t.Errorf("%v is set by %s", a, got)
		}
	}
}

// Each option that a message of the library names has a flag.
func TestEveryOptionHasItsFlag(t *testing.T) {
	flags := map[string]bool{}
	for _, f := range allFlags(program(new(policies.Globals))) {
		flags["--"+f.Name] = true
	}
	for _, o := range wire.Options() {
		names := flagsIn(fault.OptionFlags[o])
		if len(names) == 0 {
			t.Errorf("%s: %q names no flag", o, fault.OptionFlags[o])
		}
		for _, name := range names {
			if !flags[name] {
				t.Errorf("%s: no flag %q", o, name)
			}
		}
		said := fault.Text(wire.At("quant", "", wire.NoOffset, wire.ErrUsage.Errorf("%s decides", o)))
		if want := "quant: " + fault.OptionFlags[o] + " decides"; said != want {
			t.Errorf("%s is said as %q", o, said)
		}
	}
}

// A flag may come before its command, so a name must mean the same everywhere.
func TestAFlagTakesAValueInAllCommandsOrInNone(t *testing.T) {
	takes := map[string]bool{}
	for _, f := range allFlags(program(new(policies.Globals))) {
		names := []string{"--" + f.Name}
		if f.Short != 0 {
			names = append(names, "-"+string(f.Short))
		}
		for _, name := range names {
			if before, ok := takes[name]; ok && before != takesValue(f) {
				t.Errorf("%s takes a value in one command and none in another", name)
			}
			takes[name] = takesValue(f)
		}
	}
}

// Every command runs and has examples; whatever has a help, has a sentence.
func TestEveryCommandIsExplained(t *testing.T) {
	root := program(new(policies.Globals))
	for _, c := range root.Leaves(true) {
		if e, ok := targetOf(c).(examples); !ok || len(e.Examples()) == 0 {
			t.Errorf("%s has no examples", commandPath(c))
		}
	}
	sentence := func(of, help string) {
		if !strings.HasSuffix(help, ".") && !strings.HasSuffix(help, "?") {
			t.Errorf("%s: help %q", of, help)
		}
	}
	for _, f := range allFlags(root) {
		sentence("--"+f.Name, f.Help)
	}
	var visit func(c *kong.Node)
	visit = func(c *kong.Node) {
		sentence(commandPath(c), c.Help)
		for _, a := range c.Positional {
			sentence(commandPath(c)+" "+a.Name, a.Help)
		}
		if _, ok := targetOf(c).(runner); ok == (len(c.Children) > 0) {
			t.Errorf("%s: either it runs or it has commands that do", commandPath(c))
		}
		for _, child := range c.Children {
			visit(child)
		}
	}
	visit(root)
}

// docs/cli.md is this model, written out.
func TestDocsAreCurrent(t *testing.T) {
	const path = "../docs/cli.md"
	got := manual(program(new(policies.Globals)))
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

// Examples to copy come before the flags, and the flags of limits are one line.
func TestHelpLeadsWithExamples(t *testing.T) {
	root := program(new(policies.Globals))
	for _, c := range append(root.Leaves(true), root) {
		text := helpText(c, helpWidth, false)
		at, flags := strings.Index(text, "\nExamples:\n"), strings.Index(text, "\n  -h, --help ")
		if at < 0 || flags < at {
			t.Errorf("examples at %d, flags at %d:\n%s", at, flags, text)
		}
		if strings.Contains(text, "\n      --max-total ") || strings.Count(text, "\n      --help-limits ") != 1 {
			t.Errorf("limits:\n%s", text)
		}
	}
	if text := limitsText(root, helpWidth); !strings.Contains(text, "--max-total SIZE") {
		t.Error(text)
	}
}

// CommandPaths lists the commands, by the words that follow "amn".
func CommandPaths() []string {
	var list []string
	for _, c := range program(new(policies.Globals)).Leaves(true) {
		list = append(list, strings.TrimPrefix(commandPath(c), "amn "))
	}
	return list
}

// HelpCommands lists the commands of the help, for the test that runs them.
func HelpCommands() []string {
	var list []string
	for _, e := range firstExamples {
		list = append(list, e.Command)
	}
	for _, c := range program(new(policies.Globals)).Leaves(true) {
		if e, ok := targetOf(c).(examples); ok {
			for _, e := range e.Examples() {
				if !slices.Contains(list, e.Command) {
					list = append(list, e.Command)
				}
			}
		}
	}
	return list
}

// With -h a command says less: three examples, and of each flag the first sentence.
func TestShortHelp(t *testing.T) {
	for _, c := range program(new(policies.Globals)).Leaves(true) {
		short, long := helpText(c, helpWidth, true), helpText(c, helpWidth, false)
		if len(short) > len(long) && c.Detail != "" || !strings.Contains(short, commandPath(c)+" --help says more.") {
			t.Errorf("%s: %d bytes in short, %d in long\n%s", commandPath(c), len(short), len(long), short)
		}
		for _, f := range allowedFlags(c) {
			if usage := flagUsage(f); !isLimit(f) && (!strings.Contains(short, usage) || !strings.Contains(long, usage)) {
				t.Errorf("%s: %s is left out", commandPath(c), usage)
			}
		}
	}
}

// Help is wrapped to the terminal; an example stays on one line, so that it can be copied.
func TestHelpFitsTheTerminal(t *testing.T) {
	for _, c := range program(new(policies.Globals)).Leaves(true) {
		for _, width := range []int{80, -helpWidth, helpWidth} {
			short := width < 0
			width = max(width, -width)
			text := helpText(c, width, short)
			head, rest, _ := strings.Cut(text, "Examples:\n")
			_, tail, _ := strings.Cut(rest, "\n\n")
			for line := range strings.Lines(head + tail) {
				if n := term.Width(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%s at %d: %d columns: %s", commandPath(c), width, n, line)
				}
			}
		}
	}
}

// The help of the program needs no flags of its commands: a model without them reads the same.
func TestTheHelpOfTheProgramIsThatOfItsWholeModel(t *testing.T) {
	for _, short := range []bool{false, true} {
		want := helpText(program(new(policies.Globals)), helpWidth, short)
		if got := helpText(modelOf(new(policies.Globals), bare()), helpWidth, short); got != want {
			t.Errorf("%s\nwant:\n%s", got, want)
		}
	}
}
