package cli_test

import (
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
)

// Each example of the help runs, and ends well.
func TestExamplesOfTheHelpRun(t *testing.T) {
	t.Chdir(workplace(t))
	list := cli.HelpCommands()
	for _, line := range list {
		s := &transcript{t: t}
		out := s.run(line)
		if s.last != 0 {
			t.Errorf("%s: exit %d\n%s", line, s.last, out)
		}
	}
	if len(list) < 10 {
		t.Errorf("only %d examples", len(list))
	}
}
