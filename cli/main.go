package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/policies"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Stdio holds the streams of the program and what else depends on where it runs.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	// Columns is the width of the terminal that Out is; 0 means that it is determined.
	Columns int
	// Colours says that Out shows colours; for a terminal, it is determined.
	Colours bool
	// Workers is the number of workers without --threads; 0 means GOMAXPROCS.
	Workers int
	// OwnProcess says that nothing else runs in this process, so that the program may drop
	// its privileges.
	OwnProcess bool
	// Remote opens the model at an address, such as https://host/file; nil if the program
	// opens no connections.
	Remote func(ctx context.Context, b *limits.Budget, address string) (tensor.Model, error)
	// RemoteFiles returns the files at such an address, and the name among them that the
	// address means.
	RemoteFiles func(ctx context.Context, b *limits.Budget, address string) (fs.FS, string, error)
	// RemoteHelp describes addresses in the help, in rows of two columns.
	RemoteHelp [][2]string

	signals *run.Signals
}

// spare is how many more processors Go's scheduler gets than there are workers. If all of its
// processors run goroutines that are in a system call, the scheduler takes them away after 20 us
// and wakes threads that look for work. Those take the machine's processors from the writers,
// which then wait to get one back.
const spare = 2

// Program runs the program in a process of its own, on the streams of the process, and returns its
// exit code. It uses only the fields of stdio about addresses.
func Program(args []string, stdio Stdio) int {
	stdio.In, stdio.Out, stdio.Err = os.Stdin, os.Stdout, os.Stderr
	stdio.Workers, stdio.OwnProcess = runtime.GOMAXPROCS(0), true
	runtime.GOMAXPROCS(stdio.Workers + spare)
	return Main(context.Background(), args, stdio)
}

// Main runs the program and returns its exit code.
func Main(ctx context.Context, args []string, stdio Stdio) int {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	signals := make(chan os.Signal, 2)
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP} {
		if !signal.Ignored(s) { // as nohup asks
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	done, meaning := make(chan int, 1), run.NewSignals()
	stdio.signals = meaning
	go func() { done <- runArgs(ctx, args, stdio) }()
	for {
		select {
		case code := <-done:
			return code
		case s := <-signals:
			if meaning.Reloads(s) {
				continue
			}
			stop(fault.Interrupted{Signal: s})
			select {
			case code := <-done:
				if meaning.Serving.Load() {
					return code
				}
			case <-signals:
			case <-time.After(time.Duration(meaning.Grace.Load())):
			}
			return fault.Interrupted{Signal: s}.ExitCode()
		}
	}
}

// brokenPipe is the exit code that a shell reports after SIGPIPE.
const brokenPipe = 128 + 13

// runArgs runs one command. A panic is an internal error: Go's exit code 2 would mean wrong
// usage.
func runArgs(ctx context.Context, args []string, stdio Stdio) (code int) {
	s := newSession(stdio)
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(s.Err, "amn: internal error: panic: %s\n", wire.Clean(fmt.Sprint(p), 512))
			code = wire.Internal.ExitCode()
		}
	}()
	err := dispatch(ctx, s, args)
	flushed := s.Out.Flush()
	switch {
	case errors.Is(flushed, syscall.EPIPE):
		return brokenPipe
	case flushed != nil:
		fmt.Fprintf(s.Err, "amn: %s\n", term.Tidy(flushed.Error(), wire.MaxMessage))
		return wire.Internal.ExitCode()
	case err != nil:
		s.PrintError("", err)
		s.Count.Note(err)
	}
	return s.Count.Worst.ExitCode()
}

// dispatch parses the arguments and runs the command. Errors about files are reported where
// they occur; an error that dispatch returns has ended the command.
func dispatch(ctx context.Context, s *run.Run, args []string) error {
	if len(args) == 0 || args[0] == completeCommand || asksForLimits(args) {
		return printAbout(ctx, s, args)
	}
	g := new(policies.Globals)
	c, err := parseCommand(s, g, rewriteArgs(args))
	if err != nil || c == nil { // help was printed
		return err
	}
	s.JSON, s.Quiet = g.JSON, g.Quiet
	if err := s.Policy.Resolve(g); err != nil {
		return fault.Usage(err.Error())
	}
	if _, err := asm.Forced(); err != nil {
		return fault.Usage(err.Error())
	}
	return c.Run(ctx, s)
}

// printAbout prints the help of the program, the page about limits, or completions.
func printAbout(ctx context.Context, s *run.Run, args []string) error {
	if len(args) == 0 {
		printHelp(s, s.Err, modelOf(new(policies.Globals), bare()), false)
		s.Count.Worst = wire.Usage
		return nil
	}
	root := program(new(policies.Globals))
	if args[0] == completeCommand {
		return complete(ctx, s, root, args[1:])
	}
	_, err := s.Out.WriteString(limitsText(root, widthOfHelp(s)))
	return err
}
