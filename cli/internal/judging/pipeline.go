package judging

import (
	"bytes"
	"context"
	"io"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/gate"
	"github.com/anamnesis-go/anamnesis/limits"
)

// PipelineFlags choose the files of a scan, its total time, and the refusals that are known.
type PipelineFlags struct {
	FilesFrom    string   `placeholder:"FILE" help:"Read file names from FILE, or - for standard input: one per line, or each ended by a zero byte. An empty list is refused (exit code 5)."`
	Exclude      []string `placeholder:"GLOB" help:"Leave out files and folders of this name or, if GLOB has a slash, of this path; ** matches any folders. Repeatable. Files named on the command line are still judged."`
	Baseline     string   `placeholder:"FILE" help:"Do not fail for refusals in this baseline, written earlier with --output baseline=FILE. Files are identified by content."`
	TotalTimeout string   `placeholder:"TIME" help:"Time limit for all files together, such as 10m. Files that are not judged by then are refused (exit code 6)."`
}

// Inputs lists the files that the flags name to be read.
func (f *PipelineFlags) Inputs() []string { return []string{f.FilesFrom, f.Baseline} }

// Apply applies --exclude and --baseline to a gate.
func (f *PipelineFlags) Apply(g *gate.Gate) (err error) {
	if len(f.Exclude) > 0 {
		if g.Exclude, err = gate.Exclude(f.Exclude...); err != nil {
			return fault.Usage("--exclude: " + err.Error())
		}
	}
	if f.Baseline == "" {
		return nil
	}
	file, err := disk.OpenNamed(f.Baseline)
	if err != nil {
		return err
	}
	defer file.Close()
	list, err := gate.ReadBaseline(file)
	if err != nil {
		return fault.Usage("--baseline " + f.Baseline + ": " + err.Error())
	}
	g.Policy.Ignore = slices.Concat(g.Policy.Ignore, list)
	return nil
}

// maxList bounds the size of a list of files.
const maxList = 64 << 20

// ReadList returns the names in the list of --files-from.
func (f *PipelineFlags) ReadList(s *run.Run) (names []string, err error) {
	in := s.In
	if f.FilesFrom == "-" {
		s.StdinTaken = true
	} else {
		file, err := disk.OpenNamed(f.FilesFrom)
		if err != nil {
			return nil, err
		}
		defer file.Close()
		in = file
	}
	text, err := io.ReadAll(io.LimitReader(in, maxList+1))
	switch {
	case err != nil:
		return nil, err
	case len(text) > maxList:
		return nil, fault.Usage("--files-from " + f.FilesFrom + ": more than " + limits.FormatSize(maxList) + ": give the names in parts")
	}
	end, trim := []byte("\n"), "\r"
	if bytes.IndexByte(text, 0) >= 0 {
		end, trim = []byte{0}, ""
	}
	for line := range bytes.SplitSeq(text, end) {
		switch name := strings.TrimSuffix(string(line), trim); name {
		case "":
		case "-": // a file of this name, not standard input
			names = append(names, "./-")
		default:
			names = append(names, name)
		}
	}
	return names, nil
}

// WithTotalTimeout returns ctx with the deadline of --total-timeout.
func (f *PipelineFlags) WithTotalTimeout(ctx context.Context) (context.Context, context.CancelFunc, error) {
	if f.TotalTimeout == "" {
		return ctx, func() {}, nil
	}
	d, err := limits.ParseTimeout(f.TotalTimeout)
	if err != nil {
		return nil, nil, fault.Usage("--total-timeout: " + err.Error())
	}
	if d == limits.NoTimeout {
		return ctx, func() {}, nil
	}
	ctx, stop := context.WithTimeoutCause(ctx, d, &fault.OutOfTime{D: d})
	return ctx, stop, nil
}
