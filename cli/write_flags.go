package cli

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
)

// writeFlags are those of commands that write a model.
type writeFlags struct {
	Path word `arg:"" name:"path" help:"A file, a model's folder, ollama:NAME, or - for standard input."`

	Output     word `short:"o" placeholder:"PATH" help:"What to write; by default a name beside the input. - is standard output, where that is a pipe or a file and the format is written in one pass."`
	Force      bool `short:"f" help:"Replace what is there."`
	DryRun     bool `help:"Say what would be written, and write nothing."`
	Weights    word `placeholder:"FILE" help:"Which weights of a folder are meant: a file or an index in it, where its library would read others."`
	ConfigFrom word `placeholder:"DIR" help:"Read config.json and what else stands beside weights from this folder, not from the model's own: of a file too, which then becomes a folder."`

	Threads int    `placeholder:"N" help:"Most workers (all processors)."`
	Memory  string `placeholder:"SIZE" help:"Most memory for buffers; fewer workers run where it is short."`

	tensorsFlag `embed:""`

	MaxShardSize string `placeholder:"SIZE" help:"Write a folder of safetensors files of at most this size each, and their index; 5GB for folders."`
	CopyCode     bool   `help:"Copy the .py files of a folder too, which auto_map in config.json may run."`

	Tensor         []word `sep:"none" placeholder:"GLOB" help:"Write only tensors whose name matches: * any text, ? one character, [a-z] one of a range. May be given several times."`
	KeepScales     bool   `help:"Write scales that only a runtime needs too: of activations and of the cache."`
	NoSync         bool   `help:"Do not wait until the disk has what was written: faster, for what may be lost with the machine."`
	FailOnOverflow bool   `help:"Write nothing and fail if a finite number becomes infinite in the type that is written."`
}

// Validate implements kong's check of flags.
func (f *writeFlags) Validate() error {
	if f.Threads < 0 {
		return errors.New("--threads: give a number of workers")
	}
	if name := string(f.Weights); name != "" && (!filepath.IsLocal(name) || filepath.Base(name) != name) {
		return fmt.Errorf("--weights: %q is no name of a file in the folder", name)
	}
	if _, err := f.memory(); err != nil {
		return fmt.Errorf("--memory: %w", err)
	}
	if _, err := f.shard(); err != nil {
		return fmt.Errorf("--max-shard-size: %w", err)
	}
	return nil
}

// defaultShard is what a folder's files hold at most.
const defaultShard = 5_000_000_000

// shard is the bytes of a shard. As in transformers, GB is a thousand million.
func (f *writeFlags) shard() (int64, error) {
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
		return positive(n, err)
	}
	n, err := positive(limits.ParseCount(text))
	if err == nil && n > math.MaxInt64/unit {
		err = errors.New("that is more than any file can hold")
	}
	return n * unit, err
}

func positive(n int64, err error) (int64, error) {
	if err == nil && n == 0 {
		err = errors.New("give more than nothing")
	}
	return n, err
}

func (f *writeFlags) memory() (int64, error) {
	if f.Memory == "" {
		return 0, nil
	}
	return limits.ParseSize(f.Memory)
}

// keep chooses tensors by the patterns.
func (f *writeFlags) keep() func(string) bool {
	if len(f.Tensor) == 0 {
		return nil
	}
	return globs(f.Tensor).match
}
