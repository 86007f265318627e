package cli

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
)

// The words that name a command, and its flags with those of all, are each named once.
func TestNoCommandHasANameTwice(t *testing.T) {
	words, root := map[string]bool{}, program(new(policies.Globals))
	for _, word := range commandNames(root) {
		if words[word] {
			t.Errorf("two commands are called %s", word)
		}
		words[word] = true
	}
	for _, c := range root.Leaves(true) {
		flags := map[string]bool{}
		for _, f := range allowedFlags(c) {
			for _, name := range []string{"--" + f.Name, "-" + string(f.Short)} {
				if name != "-\x00" && flags[name] {
					t.Errorf("%s has %s twice", commandPath(c), name)
				}
				flags[name] = true
			}
		}
	}
}
