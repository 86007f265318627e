package write

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/limits"
)

// writeFlags are the flags of commands that write a model.
type writeFlags struct {
	Path   string `arg:"" name:"path" help:"A file, a model folder, ollama:NAME, or - for standard input."`
	Second string `arg:"" optional:"" name:"output" help:"The output, as with --output."`

	Output     string `short:"o" placeholder:"PATH" help:"Output path (default: a name next to the input). - is standard output, if that is a pipe or a file and the format can be written in one pass."`
	Force      bool   `short:"f" help:"Replace existing files."`
	DryRun     bool   `help:"Print what would be written, and write nothing."`
	Weights    string `placeholder:"FILE" help:"Weights of a folder to use, a file or an index in it, instead of those its library would load."`
	ConfigFrom string `placeholder:"DIR" help:"Take config.json and the other files from this folder instead of the model's own. With a single file as input the output becomes a folder."`

	Threads int    `placeholder:"N" help:"Maximum number of workers (default: all processors)."`
	Memory  string `placeholder:"SIZE" help:"Maximum memory for buffers. If it is small, fewer workers run."`

	flags.TensorsFlag `embed:""`

	MaxShardSize string `placeholder:"SIZE" help:"Write safetensors files of at most this size each, with an index, to a folder (default for folders: 5GB)."`
	CopyCode     bool   `help:"Also copy .py files, which auto_map in config.json may run."`

	Tensor         []string `placeholder:"GLOB" help:"Write only tensors whose name matches: * is any text, ? one character, [a-z] one of a range. Repeatable."`
	KeepScales     bool     `help:"Also write scales that only a runtime needs, for activations and the cache."`
	NoSync         bool     `help:"Do not wait for the disk. Faster, but the output may be lost if the machine crashes."`
	resumeFlag     `embed:""`
	FailOnOverflow bool `help:"Fail and write nothing if a finite number becomes infinite in the output type."`
}

// settle makes the second argument, if there is one, the output.
func (f *writeFlags) settle() error {
	switch {
	case f.Second == "" || f.Output == f.Second:
		return nil
	case f.Output != "":
		return fmt.Errorf("the output is given twice: %s and --output %s", term.Path(f.Second), term.Path(f.Output))
	case f.Force && disk.Exists(f.Second): // a glob of the shell may have expanded to two models
		return fmt.Errorf("%s exists: name it with --output to replace it", term.Path(f.Second))
	}
	f.Output = f.Second
	return nil
}

// Validate checks the flags.
func (f *writeFlags) Validate() error {
	if err := f.settle(); err != nil {
		return err
	}
	if f.Threads < 0 {
		return errors.New("--threads: give a number of workers")
	}
	if name := f.Weights; name != "" && (!filepath.IsLocal(name) || filepath.Base(name) != name) {
		return fmt.Errorf("--weights: %q is not the name of a file in the folder", name)
	}
	if _, err := f.memory(); err != nil {
		return fmt.Errorf("--memory: %w", err)
	}
	if _, err := f.shardSize(); err != nil {
		return fmt.Errorf("--max-shard-size: %w", err)
	}
	return nil
}

// defaultShard is the default size of a shard.
const defaultShard = 5_000_000_000

// shardSize returns the maximum size of a shard. As in transformers, GB is 10^9 bytes.
func (f *writeFlags) shardSize() (int64, error) {
	text, unit := f.MaxShardSize, int64(1)
	for name, n := range map[string]int64{"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12} {
		if rest, ok := strings.CutSuffix(text, name); ok {
			text, unit = rest, n
		}
	}
	switch {
	case f.MaxShardSize == "":
		return defaultShard, nil
	case unit == 1:
		n, err := limits.ParseSize(text)
		if err != nil {
			err = fmt.Errorf("%w; or KB, MB, GB, TB", err)
		}
		return flags.Positive(n, err)
	}
	n, err := flags.Positive(limits.ParseCount(text))
	if err == nil && n > math.MaxInt64/unit {
		err = errors.New("that is larger than any file")
	}
	return n * unit, err
}

func (f *writeFlags) memory() (int64, error) {
	if f.Memory == "" {
		return 0, nil
	}
	return limits.ParseSize(f.Memory)
}

// filter returns a function that matches the names of --tensor, or nil.
func (f *writeFlags) filter() func(string) bool {
	if len(f.Tensor) == 0 {
		return nil
	}
	return flags.Globs(f.Tensor).Match
}
