// Amn-hub judges repositories of models, stores the verdicts and serves them over HTTP.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/alecthomas/kong"

	"github.com/anamnesis-go/anamnesis/hub/store"
	"github.com/anamnesis-go/anamnesis/hub/worker"
	"github.com/anamnesis-go/anamnesis/internal/wire"
)

// program is the command line.
type program struct {
	Run     runCmd     `cmd:"" help:"Find repositories, judge them, and serve the verdicts."`
	Verdict verdictCmd `cmd:"" help:"Print the verdict about a repository."`
	Status  statusCmd  `cmd:"" help:"Print how much of each tenant's work is done."`
	Parked  parkedCmd  `cmd:"" help:"List revisions that could not be judged, with the reason."`
	Retry   retryCmd   `cmd:"" help:"Queue parked revisions again."`
	Rejudge rejudgeCmd `cmd:"" help:"Queue revisions again that were judged under another policy or by other rules."`
	Policy  policyCmd  `cmd:"" help:"Store policies, compare them on stored verdicts, promote them, and roll back."`
	Except  exceptCmd  `cmd:"" help:"Exceptions and appeals: list, add, grant, deny, revoke."`
	Export  exportCmd  `cmd:"" help:"Print every verdict as JSON, one per line."`
	Retain  retainCmd  `cmd:"" help:"Delete what is older than a time and no longer needed."`
	Erase   eraseCmd   `cmd:"" help:"Delete a tenant and its data."`
	Hooks   hooksCmd   `cmd:"" help:"Print the events that wait for webhooks, or send failed ones again."`
	Rules   rulesCmd   `cmd:"" help:"Print each rule of this program with its digest and what it reads."`
	Events  eventsCmd  `cmd:"" help:"Print every decision as JSON, one per line."`
	Token   tokenCmd   `cmd:"" help:"Make a token, and print its entry for --tokens."`
	Version versionCmd `cmd:"" help:"Print the version."`
	Child   childCmd   `cmd:"" hidden:""`
}

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// version is set by a release.
var version = ""

// sources are the digests of the sources by which files are judged, set by a build: see
// internal/sources. Without them every change of the version touches everything.
var sources = ""

func sourcesOf() string { return sources }

func programVersion() string {
	if version != "" {
		return version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr}))
}

// run runs a command and returns its exit code: 0, 1 for a failure, 2 for a wrong command line,
// 7 for a sweep that found something to refuse, 130 after an interrupt.
func run(ctx context.Context, args []string, s streams) int {
	var p program
	exit := -1
	k, err := kong.New(&p, kong.Name("amn-hub"), kong.Description("Judges repositories of models, and keeps the verdicts."),
		kong.Writers(s.out, s.err), kong.Exit(func(code int) { exit = code }), kong.UsageOnError(), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(s))
	if err != nil {
		fmt.Fprintln(s.err, "amn-hub:", err)
		return 1
	}
	c, err := k.Parse(args)
	if exit >= 0 { // help was asked for
		return exit
	}
	if err != nil {
		fmt.Fprintln(s.err, "amn-hub:", line(err))
		return 2
	}
	err = c.Run()
	refused, isRefused := errors.AsType[refusedError](err)
	wrong, isUsage := errors.AsType[usage](err)
	switch {
	case err == nil:
		return 0
	case isRefused:
		fmt.Fprintln(s.err, "amn-hub:", line(refused))
		return 7
	case isUsage:
		fmt.Fprintln(s.err, "amn-hub:", line(wrong))
		return 2
	case ctx.Err() != nil:
		fmt.Fprintln(s.err, "amn-hub: interrupted; what is judged is kept, and the same command goes on")
		return 130
	}
	fmt.Fprintln(s.err, "amn-hub:", line(err))
	return 1
}

// line returns an error for a terminal, with the names of files in it escaped.
func line(err error) string { return wire.Text(err.Error(), 4096) }

// writeJSON writes a value on a line of its own. What a terminal would obey, or not show, is
// escaped, as JSON may.
func writeJSON(w io.Writer, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	out := make([]byte, 0, len(text)+1)
	for _, r := range string(text) {
		switch {
		case r < utf8.RuneSelf || unicode.IsPrint(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	_, err = w.Write(append(out, '\n'))
	return err
}

// usage is an error of the command line.
type usage string

func (u usage) Error() string { return string(u) }

// A refusedError means that a command is complete, and that something is refused.
type refusedError string

func (r refusedError) Error() string { return string(r) }

// dbFlags say where the database is.
type dbFlags struct {
	DB   string `name:"db" default:"hub.db" placeholder:"FILE|postgres://..." env:"AMN_HUB_DB" help:"The database: a file, which one process may use, or Postgres, which many may."`
	Wait string `default:"30s" placeholder:"TIME" help:"How long to try at the start if the database cannot be reached."`
}

func (f *dbFlags) open(ctx context.Context, s streams, o store.Options) (store.Engine, error) {
	wait, err := duration("--wait", f.Wait)
	if err != nil {
		return nil, err
	}
	o.Wait = wait
	o.Logf = func(format string, args ...any) { fmt.Fprintf(s.err, "amn-hub: "+format+"\n", args...) }
	return store.Open(ctx, f.DB, o)
}

type versionCmd struct{}

// Run implements the command.
func (versionCmd) Run(s streams) error {
	fmt.Fprintln(s.out, "amn-hub", programVersion())
	return nil
}

// childCmd judges one revision for its parent.
type childCmd struct{}

// Run implements the command.
func (childCmd) Run(ctx context.Context, s streams) error { return worker.Child(ctx, s.in, s.out) }
