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
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
	"github.com/anamnesis-go/anamnesis/vm"
)

// A session is one run of the program: its flags resolved, its streams, and the
// worst that happened so far.
type session struct {
	in  io.Reader
	out *bufio.Writer
	err io.Writer
	to  io.Writer // what out writes to

	// ownProcess says that nothing else runs in this process, so that it may be locked.
	ownProcess bool

	columns int // of the terminal that is written to, 0 if it is none
	workers int
	remote  func(context.Context, *limits.Budget, string) (tensor.Model, error)
	// remoteHelp are rows of the program's help.
	remoteHelp [][2]string

	remoteFiles func(context.Context, *limits.Budget, string) (fs.FS, string, error)

	flags       *globals
	json, quiet bool
	gate        bool // a policy was asked for: bodies are verified
	policy      limits.Policy

	strictPickles bool        // the command has --tensors-only, which was not given
	gatePolicy    gate.Policy // what a scan asks beyond the limits
	maxSpool      int64
	stdinTaken    bool
	colours       bool   // the terminal shows them, and nothing forbids it
	paint         string // colour of the first word of the next line, once
	printed       bool   // a file, so that the next one gets a space before it

	worst wire.Class
	count classes
}

// classes counts files by class.
type classes [wire.Differs + 1]int64

// String lists them: "4 ok, 1 malformed".
func (c *classes) String() string {
	var list []string
	for class, n := range c {
		if n > 0 {
			list = append(list, fmt.Sprintf("%s %v", formatCount(n), wire.Class(class)))
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

func newSession(stdio Stdio) *session {
	s := &session{
		in: stdio.In, out: bufio.NewWriterSize(stdio.Out, 64<<10), err: stdio.Err, to: stdio.Out,
		columns: stdio.Columns, workers: cmp.Or(stdio.Workers, runtime.GOMAXPROCS(0)), ownProcess: stdio.OwnProcess,
		remote: stdio.Remote, remoteFiles: stdio.RemoteFiles, remoteHelp: stdio.RemoteHelp,
	}
	if f, ok := stdio.Out.(*os.File); ok && s.columns == 0 {
		s.columns = columnsOf(f)
		s.colours = s.columns > 0 && wantsColours(os.Getenv)
	}
	return s
}

// note keeps the worst class: the exit code is the highest one seen.
func (s *session) note(err error) { s.worst = max(s.worst, wire.ClassOf(err)) }

// complain prints an error for people, after what was printed as data.
func (s *session) complain(path string, err error) {
	if s.out.Flush() != nil || errors.As(err, new(interrupted)) {
		return
	}
	text := tidy(message(path, err), wire.MaxMessage)
	if path != "" {
		text = showPath(path) + ": " + text
	}
	fmt.Fprintf(s.err, "amn: %s\n", text)
	hint := hintFor(err, &s.policy)
	if e, ok := errors.AsType[*vm.Forbidden](err); ok && s.strictPickles && e.Status == vm.Unknown {
		hint = "--tensors-only reads its tensors all the same, and runs nothing"
	}
	if hint != "" {
		fmt.Fprintf(s.err, "     %s\n", hint)
	}
}

// message is an error's text where the path stands before it. What is known
// before the format is, needs no place: it is about the file as a whole.
func message(path string, err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok && error(e) == err && (e.Path == path || e.Path == filepath.Base(path)) {
		return e.Err.Error()
	}
	if e, ok := placed(err); ok && e.Format == "detect" && e.Where == "" && path != "" {
		return flagged(e.Err)
	}
	return strings.TrimPrefix(flagged(err), path+": ") // the errors of an address name it
}

// hintFor says which flag raises the limit that was reached.
func hintFor(err error, p *limits.Policy) string {
	if errors.As(err, new(*outOfTime)) {
		return "--total-timeout raises it"
	}
	if e, ok := errors.AsType[*limits.Error](err); ok {
		also := ""
		if e.Axis == limits.OpenFiles {
			also = ", and the system's limit (ulimit -n) bounds it"
		}
		return fmt.Sprintf("%s raises it; it is %s%s", axisFlag(e.Axis), flagText(e.Axis, p.Limit(e.Axis)), also)
	}
	if _, ok := errors.AsType[*bnb.NotFinite](err); ok {
		return "--nan keep leaves its weight alone, --nan zero makes it 0"
	}
	if _, ok := errors.AsType[*convert.RequantizeError](err); ok {
		return "--allow-requantize does it all the same"
	}
	if e, ok := errors.AsType[*spoolError](err); ok {
		return fmt.Sprintf("--max-spool raises it; it is %s", limits.FormatSize(e.limit))
	}
	return ""
}

// flagText is a ceiling as its flag takes it.
func flagText(a limits.Axis, n int64) string {
	switch a {
	case limits.SingleAlloc, limits.Total, limits.WorkingSet:
		return limits.FormatSize(n)
	case limits.Time:
		return limits.FormatTimeout(time.Duration(n))
	default:
		return strconv.FormatInt(n, 10)
	}
}

// tidy cleans text that may quote a file or an argument, its quotes left alone.
func tidy(s string, limit int) string { return wire.Text(s, limit) }

// showPath is a path as it may reach a terminal, whole.
func showPath(path string) string {
	if path == "-" {
		return "standard input"
	}
	return tidy(path, 4096)
}

// localDir is a folder whose files are opened by whatever name they have: os.DirFS
// wants UTF-8.
type localDir string

func (d localDir) Open(name string) (fs.File, error) { return os.Open(filepath.Join(string(d), name)) }
func (d localDir) Stat(name string) (fs.FileInfo, error) {
	return os.Stat(filepath.Join(string(d), name))
}
