package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A session is one run of the program: its streams, what holds for it, and what it has counted.
type session struct {
	in  io.Reader
	out *term.Printer
	err io.Writer
	to  io.Writer // what out writes to

	json, quiet bool

	// ownProcess says that nothing else runs in this process, so that it may be sandboxed.
	ownProcess bool

	linked  string // the version that the linker has set
	workers int

	remote      func(context.Context, *limits.Budget, string) (tensor.Model, error)
	remoteFiles func(context.Context, *limits.Budget, string) (fs.FS, string, error)
	// remoteHelp describes addresses, in rows of the help.
	remoteHelp [][2]string

	life *life // what signals mean

	command    string             // its name
	given      func() []givenFlag // the flags of the command that were given
	policy     policies.InForce
	count      counters
	stdinTaken bool
}

// A givenFlag is a flag of the command with its value.
type givenFlag struct {
	name, value string
	names       bool // the value names a file or a folder
}

// counters count what a run has seen.
type counters struct {
	worst wire.Class // of all, which decides the exit code
	files classes
}

// note records the class of an error.
func (c *counters) note(err error) { c.worst = max(c.worst, fault.ClassOf(err)) }

// classes counts files by class.
type classes [wire.Differs + 1]int64

// String returns the counts: "4 ok, 1 malformed".
func (c *classes) String() string {
	var list []string
	for class, n := range c {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s %v", term.Count(n), wire.Class(class)))
		}
	}
	return strings.Join(list, ", ")
}

func (c *classes) total() (n int64) {
	for _, k := range c {
		n += k
	}
	return n
}

// version is set by the linker (-X).
var version string

func newSession(stdio Stdio) *session {
	s := &session{
		linked: version, in: stdio.In, err: stdio.Err, to: stdio.Out,
		out:     &term.Printer{Writer: bufio.NewWriterSize(stdio.Out, 64<<10), Columns: stdio.Columns, Colours: stdio.Colours},
		workers: cmp.Or(stdio.Workers, runtime.GOMAXPROCS(0)), ownProcess: stdio.OwnProcess,
		remote: stdio.Remote, remoteFiles: stdio.RemoteFiles, remoteHelp: stdio.RemoteHelp, life: stdio.life,
	}
	if s.life == nil {
		s.life = newLife()
	}
	if f, ok := stdio.Out.(*os.File); ok && s.out.Columns == 0 {
		s.out.Columns = term.Columns(f)
		s.out.Colours = s.out.Columns > 0 && term.WantsColours(os.Getenv)
	}
	return s
}

// progress shows the progress of long work, unless --quiet was given. The caller calls done at
// the end of the work.
func (s *session) progress(what string, at func() (done, size int64)) (done func()) {
	if s.quiet {
		return func() {}
	}
	return term.Progress(s.err, what, at)
}

// printError prints an error and a hint to standard error, after the data printed so far.
func (s *session) printError(path string, err error) {
	if s.out.Flush() != nil || errors.As(err, new(fault.Interrupted)) {
		return
	}
	text := term.Tidy(fault.Message(path, err), wire.MaxMessage)
	if path != "" {
		text = term.Path(path) + ": " + text
	}
	fmt.Fprintf(s.err, "amn: %s\n", text)
	hint := fault.Hint(err, &s.policy.Limits)
	if e, ok := errors.AsType[*vm.Forbidden](err); ok && s.policy.Strict && e.Status == vm.Unknown {
		hint = "--tensors-only reads the tensors nevertheless, and runs nothing"
	}
	if hint != "" {
		fmt.Fprintf(s.err, "     %s\n", hint)
	}
}

// verifyGated verifies the bodies of a model if --limits was given.
func (s *session) verifyGated(b *limits.Budget, m tensor.Model) error {
	if !s.policy.Verify {
		return nil
	}
	return parser.Verify(b, m)
}
