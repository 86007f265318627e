package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// A command that is asked for by its first word is parsed by a model of its own: it takes
// what the model of all commands takes, and nothing else.
func TestOneCommandIsParsedAsAmongAll(t *testing.T) {
	answer := func(k *kong.Kong, args []string) string {
		k.Exit = func(int) {}
		parsed, err := k.Parse(permute(k.Model, args))
		if err != nil {
			return "refused"
		}
		taken := parsed.Command()
		for _, p := range parsed.Path {
			if p.Flag != nil {
				taken += fmt.Sprint(" ", p.Flag.Name, "=", parsed.FlagValue(p.Flag))
			} else if p.Positional != nil {
				taken += fmt.Sprint(" ", parsed.Value(p))
			}
		}
		return taken
	}
	parser := func(list []command) *kong.Kong {
		k, err := newParser(new(globals), list, newSession(Stdio{Out: io.Discard, Err: io.Discard}))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	all := parser(commands)
	var flags []string
	err := kong.Visit(all.Model, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok && f.Name != "help" && !slices.Contains(flags, "--"+f.Name) {
			flags = append(flags, "--"+f.Name)
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	answers := map[string]int{}
	for _, c := range commands {
		own := parser(named([]string{c.name}))
		if len(own.Model.Children) != 1 {
			t.Fatalf("%s: %d commands", c.name, len(own.Model.Children))
		}
		for _, flag := range flags {
			for _, rest := range []string{"", "x", "x y", "show x", "--json x", "--=", "=x a b", "x --" + c.name} {
				args := strings.Fields(c.name + " " + flag + " " + rest)
				if value, ok := strings.CutPrefix(rest, "="); ok {
					args = strings.Fields(c.name + " " + flag + "=" + value)
				}
				got, want := answer(own, args), answer(all, args)
				if answers[want]++; got != want {
					t.Errorf("%q: %s, among all %s", args, got, want)
				}
			}
		}
	}
	if refused := answers["refused"]; refused == 0 || len(answers) < len(flags) {
		t.Errorf("%d refused, %d kinds of answers to %d flags", refused, len(answers), len(flags))
	}
}

// Kong looks for names given twice within a command alone.
func TestNoCommandHasANameTwice(t *testing.T) {
	words, m := map[string]bool{}, model(t)
	for _, c := range m.Children {
		for _, word := range append([]string{c.Name}, c.Aliases...) {
			if words[word] {
				t.Errorf("two commands are called %s", word)
			}
			words[word] = true
		}
	}
	for _, c := range m.Leaves(false) {
		flags := map[string]bool{}
		for _, f := range flagsOf(m, c) {
			for _, name := range append([]string{"--" + f.Name, "-" + string(f.Short)}, f.Aliases...) {
				if name != "-\x00" && flags[name] {
					t.Errorf("%s has %s twice", c.Path(), name)
				}
				flags[name] = true
			}
		}
	}
}
