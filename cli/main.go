package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/anamnesis-go/anamnesis/asm"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// Stdio is what the program reads and writes.
type Stdio struct {
	In       io.Reader
	Out, Err io.Writer
	// Columns is the width of the terminal that Out is, 0 to find out.
	Columns int
	// Workers is how many write a model where --threads does not say, 0 for as many
	// as Go runs at once.
	Workers int
	// OwnProcess says that the program is all that runs in this process, which it may
	// lock for good.
	OwnProcess bool
	// Remote opens the model at an address, such as https://host/file; nil where the
	// program opens no connection.
	Remote func(ctx context.Context, b *limits.Budget, address string) (tensor.Model, error)
	// RemoteFiles lists the files at such an address, and says which of them it means.
	RemoteFiles func(ctx context.Context, b *limits.Budget, address string) (fs.FS, string, error)
	// RemoteHelp is what the program's help says of addresses, in rows of two columns.
	RemoteHelp [][2]string
}

// grace is how long an interrupted command may take to clean up.
const grace = 5 * time.Second

// longGrace is that of a service, which ends what it has begun.
const longGrace = drainTime + grace

// isService reports a command that runs until it is told to end: that is its
// success.
func isService(args []string) bool {
	for _, a := range args {
		if !strings.HasPrefix(a, "-") {
			return a == "serve"
		}
	}
	return false
}

// interrupted is why a context ended.
type interrupted struct{ os.Signal }

func (i interrupted) Error() string { return "interrupted by " + i.String() }

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
	done := make(chan int, 1)
	go func() { done <- run(ctx, args, stdio) }()
	select {
	case code := <-done:
		return code
	case s := <-signals:
		stop(interrupted{s})
		wait := grace
		if isService(args) {
			wait = longGrace
		}
		select {
		case code := <-done:
			if isService(args) {
				return code
			}
		case <-signals:
		case <-time.After(wait):
		}
		number, _ := s.(syscall.Signal)
		return 128 + int(number)
	}
}

// brokenPipe is what a shell reports for a program that wrote to a closed pipe.
const brokenPipe = 128 + 13

// run runs one command. A panic is an internal error, not Go's exit code 2,
// which is that of wrong usage.
func run(ctx context.Context, args []string, stdio Stdio) (code int) {
	s := newSession(stdio)
	defer func() {
		if p := recover(); p != nil {
			fmt.Fprintf(s.err, "amn: internal error: panic: %s\n", wire.Clean(fmt.Sprint(p), 512))
			code = wire.Internal.ExitCode()
		}
	}()
	err := s.command(ctx, args)
	flushed := s.out.Flush()
	switch {
	case errors.Is(flushed, syscall.EPIPE):
		return brokenPipe
	case flushed != nil:
		fmt.Fprintf(s.err, "amn: %s\n", tidy(flushed.Error(), wire.MaxMessage))
		return wire.Internal.ExitCode()
	case err != nil:
		s.complain("", err)
		s.note(err)
	}
	return s.worst.ExitCode()
}

// command parses the arguments and runs what they ask for. Errors about files
// are reported where they occur; what it returns ended the command.
func (s *session) command(ctx context.Context, args []string) error {
	if len(args) == 0 || args[0] == askForWords || asksForLimits(args) {
		return s.aboutItself(ctx, args)
	}
	g := new(globals)
	c, err := s.parse(g, usual(args))
	if err != nil || c == nil { // help was printed
		return err
	}
	if err := s.resolve(g); err != nil {
		return usage{err.Error()}
	}
	if _, err := asm.Forced(); err != nil {
		return usage{err.Error()}
	}
	return c.Run(ctx, s)
}

// aboutItself answers what is asked about all commands.
func (s *session) aboutItself(ctx context.Context, args []string) error {
	root := program(new(globals))
	switch {
	case len(args) == 0: // nothing was asked for
		s.printHelp(s.err, root)
		s.worst = wire.Usage
	case args[0] == askForWords:
		return s.complete(ctx, root, args[1:])
	default:
		s.out.WriteString(limitsText(root, s.helpWidth()))
	}
	return nil
}
