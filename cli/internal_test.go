package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"syscall"
	"testing"
	"unicode"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// Short work, and quiet work, shows nothing.
func TestShortWorkIsSilent(t *testing.T) {
	var errs bytes.Buffer
	s := newSession(Stdio{Out: io.Discard, Err: &errs})
	s.Progress("reading", func() (int64, int64) { return 1, 2 })()
	s.Quiet = true
	s.Progress("reading", func() (int64, int64) { panic("asked") })()
	if errs.Len() > 0 {
		t.Error(errs.String())
	}
}

// A panic of the program is class internal: Go's exit code for it is 2.
func TestAPanicOfTheProgramIsInternal(t *testing.T) {
	var errs bytes.Buffer
	code := runArgs(context.Background(), []string{"formats"}, Stdio{Out: panicWriter{}, Err: &errs})
	if code != 1 || !strings.Contains(errs.String(), "amn: internal error: panic: the writer is gone") {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

type panicWriter struct{}

func (panicWriter) Write([]byte) (int, error) { panic("the writer is gone") }

// A closed pipe that is no process's standard output ends as SIGPIPE would.
func TestABrokenPipeIsQuiet(t *testing.T) {
	var errs bytes.Buffer
	code := runArgs(context.Background(), []string{"formats"}, Stdio{Out: brokenWriter{}, Err: &errs})
	if code != 141 || errs.Len() > 0 {
		t.Errorf("exit %d, %q", code, errs.String())
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, fmt.Errorf("write: %w", syscall.EPIPE) }

func TestAnInterruptIsNotReported(t *testing.T) {
	ctx, stop := context.WithCancelCause(context.Background())
	stop(fault.Interrupted{Signal: syscall.SIGINT})
	var out, errs bytes.Buffer
	runArgs(ctx, []string{"inspect", "../testdata/demo/model.safetensors"}, Stdio{Out: &out, Err: &errs})
	if out.Len() > 0 || errs.Len() > 0 {
		t.Errorf("%q, %q", out.String(), errs.String())
	}
}

// Every message fits, whatever the error holds.
func TestComplaintsAreBounded(t *testing.T) {
	var errs bytes.Buffer
	s := newSession(Stdio{Out: io.Discard, Err: &errs})
	s.PrintError("p", errors.New(strings.Repeat("x\x1b", 10_000)))
	text := strings.TrimSuffix(errs.String(), "\n")
	if len(text) > wire.MaxMessage+len("amn: p: ") || strings.ContainsFunc(text, unicode.IsControl) {
		t.Errorf("%d bytes", len(text))
	}
}
