package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/vm"
)

// An Example is a command line in the help, which a test runs.
type Example struct{ Command, What string }

// A Run is one run of the program: its streams, its policy, and what it has counted.
type Run struct {
	In  io.Reader
	Out *term.Printer
	Err io.Writer
	To  io.Writer // what Out writes to

	JSON, Quiet bool

	// OwnProcess says that nothing else runs in this process, so it may be sandboxed.
	OwnProcess bool

	Linked  string // the version that the linker has set
	Workers int

	// Remote opens the model at an address, RemoteFiles the files there; nil if the program opens
	// no connections.
	Remote      func(context.Context, *limits.Budget, string) (tensor.Model, error)
	RemoteFiles func(context.Context, *limits.Budget, string) (fs.FS, string, error)
	// RemoteHelp describes addresses, in rows of the help.
	RemoteHelp [][2]string

	Signals *Signals

	Command    string        // its name
	Given      func() []Flag // the flags of the command that were given
	Policy     policies.InForce
	Count      Counters
	StdinTaken bool
}

// A Flag is a flag of the command with its value.
type Flag struct {
	Name, Value string
	Names       bool // the value names a file or a folder
}

// Counters count what a run has seen.
type Counters struct {
	Worst wire.Class // of all, which decides the exit code
	Files Classes
}

// Note records the class of an error.
func (c *Counters) Note(err error) { c.Worst = max(c.Worst, fault.ClassOf(err)) }

// Classes counts files by class.
type Classes [wire.Differs + 1]int64

// String returns the counts: "4 ok, 1 malformed".
func (c *Classes) String() string {
	var list []string
	for class, n := range c {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s %v", term.Count(n), wire.Class(class)))
		}
	}
	return strings.Join(list, ", ")
}

// Total returns how many files there were.
func (c *Classes) Total() (n int64) {
	for _, k := range c {
		n += k
	}
	return n
}

// Progress shows the progress of long work, unless --quiet was given. The caller calls done at
// the end of the work.
func (s *Run) Progress(what string, at func() (done, size int64)) (done func()) {
	if s.Quiet {
		return func() {}
	}
	return term.Progress(s.Err, what, at)
}

// PrintError prints an error and a hint to standard error, after the data printed so far.
func (s *Run) PrintError(path string, err error) {
	if s.Out.Flush() != nil || errors.As(err, new(fault.Interrupted)) {
		return
	}
	text := term.Tidy(fault.Message(path, err), wire.MaxMessage)
	if path != "" {
		text = term.Path(path) + ": " + text
	}
	fmt.Fprintf(s.Err, "amn: %s\n", text)
	hint := fault.Hint(err, &s.Policy.Limits)
	if e, ok := errors.AsType[*vm.Forbidden](err); ok && s.Policy.Strict && e.Status == vm.Unknown {
		hint = "--tensors-only reads the tensors nevertheless, and runs nothing"
	}
	if hint != "" {
		fmt.Fprintf(s.Err, "     %s\n", hint)
	}
}
