package cli

import (
	"bufio"
	"cmp"
	"os"
	"runtime"

	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
)

// version is set by the linker (-X).
var version string

func newSession(stdio Stdio) *run.Run {
	s := &run.Run{
		Linked: version, In: stdio.In, Err: stdio.Err, To: stdio.Out,
		Out:     &term.Printer{Writer: bufio.NewWriterSize(stdio.Out, 64<<10), Columns: stdio.Columns, Colours: stdio.Colours},
		Workers: cmp.Or(stdio.Workers, runtime.GOMAXPROCS(0)), OwnProcess: stdio.OwnProcess,
		Remote: stdio.Remote, RemoteFiles: stdio.RemoteFiles, RemoteHelp: stdio.RemoteHelp, Signals: stdio.signals,
	}
	if s.Signals == nil {
		s.Signals = run.NewSignals()
	}
	if f, ok := stdio.Out.(*os.File); ok && s.Out.Columns == 0 {
		s.Out.Columns = term.Columns(f)
		s.Out.Colours = s.Out.Columns > 0 && term.WantsColours(os.Getenv)
	}
	return s
}
