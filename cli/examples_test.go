package cli_test

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/anamnesis-go/anamnesis/cli"
)

// Each example of the help runs, and ends well.
func TestExamplesOfTheHelpRun(t *testing.T) {
	t.Chdir(workplace(t))
	list := cli.HelpCommands()
	for _, line := range list {
		if strings.HasPrefix(line, "amn serve ") {
			service(t, line)
			continue
		}
		if strings.HasPrefix(line, "curl ") {
			continue // TestServeAnswersAndEnds asks as it does
		}
		if strings.HasPrefix(line, "amn view ") {
			continue // TestViewInATerminal does
		}
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

var aPort = regexp.MustCompile(`:\d{4}\b`)

// service runs a command that serves until it is interrupted: here, on a free port, until it
// listens.
func service(t *testing.T, line string) {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	errs := &listening{end: end}
	args := strings.Fields(aPort.ReplaceAllString(line, ":0"))[1:]
	if code := cli.Main(ctx, args, cli.Stdio{Out: io.Discard, Err: errs}); code != 0 {
		t.Errorf("%s: exit %d\n%s", line, code, &errs.text)
	}
}

// listening ends a service that says it listens.
type listening struct {
	text bytes.Buffer
	end  func()
}

func (l *listening) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("msg=listening")) {
		l.end()
	}
	return l.text.Write(p)
}
