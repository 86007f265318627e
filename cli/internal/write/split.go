package write

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// partFlags are the flags of commands that rewrite the files of a model.
type partFlags struct {
	Path     string `arg:"" name:"path" help:"A file or a model folder."`
	outFlags `embed:"" group:"Output"`
}

// outFlags are the flags about the output of such commands.
type outFlags struct {
	Output  string `short:"o" placeholder:"PATH" help:"Output path (default: a name next to the input)."`
	Force   bool   `short:"f" help:"Replace existing files."`
	DryRun  bool   `help:"Print what would be written, and write nothing."`
	Threads int    `placeholder:"N" help:"Maximum number of workers (default: all processors)."`
	Memory  string `placeholder:"SIZE" help:"Maximum memory for buffers. If it is small, fewer workers run."`
	NoSync  bool   `help:"Do not wait for the disk. Faster, but the output may be lost if the machine crashes."`

	resumeFlag `embed:""`
}

// writeFlags returns the flags of a conversion.
func (f *partFlags) writeFlags(size string) *writeFlags { return f.writeFlagsFor(f.Path, size) }

// writeFlagsFor returns the flags of a conversion of path.
func (f *outFlags) writeFlagsFor(path string, size string) *writeFlags {
	return &writeFlags{Path: path, Output: f.Output, Force: f.Force, DryRun: f.DryRun, Threads: f.Threads, Memory: f.Memory, MaxShardSize: size, NoSync: f.NoSync, resumeFlag: f.resumeFlag, KeepScales: true}
}

// Split splits a model file into several.
type Split struct {
	partFlags  `embed:""`
	MaxTensors int    `placeholder:"N" help:"Maximum number of tensors per file (GGUF; default 128 unless a size is given)."`
	MaxSize    string `placeholder:"SIZE" help:"Maximum tensor bytes per file, in powers of 1000: 500M, 4G (default for safetensors: 5GB)."`
	KeysAlone  bool   `help:"Write no tensors to the first file (GGUF)."`
}

func (Split) Help() string {
	return `Writes a folder: for a GGUF file, the files that llama-gguf-split writes; for safetensors, the
shards and the index that transformers writes. Tensors keep their bytes. The folder appears
only when it is complete.`
}

func (Split) Examples() []run.Example {
	return []run.Example{
		{Command: "amn split --max-tensors 2 tiny.gguf", What: "Two tensors a file: writes tiny-split/tiny-00001-of-..."},
	}
}

// Validate checks the flags.
func (c *Split) Validate() error {
	if c.MaxTensors < 0 || c.MaxTensors > 0 && c.MaxSize != "" {
		return errors.New("--max-tensors: give a positive number, without --max-size")
	}
	if _, err := c.size(); err != nil {
		return fmt.Errorf("--max-size: %w", err)
	}
	return c.writeFlags(c.MaxSize).Validate()
}

// size returns the maximum size of a file; --max-size also takes llama-gguf-split's units.
func (c *Split) size() (int64, error) {
	if n := len(c.MaxSize); n > 0 && strings.ContainsRune("MG", rune(c.MaxSize[n-1])) {
		c.MaxSize += "B"
	}
	if c.MaxSize == "" {
		return 0, nil
	}
	return c.writeFlags(c.MaxSize).shardSize()
}

// Run implements the command.
func (c *Split) Run(ctx context.Context, s *run.Run) error {
	size, _ := c.size()
	shard := c.MaxSize
	if shard == "" {
		shard = "5GB"
	}
	return convertModel(ctx, s, &conversion{
		schema: "amn.convert/1", verb: "splitting", flags: c.writeFlags(shard), opts: convert.Options{AsIs: true},
		prepare: func(_ *limits.Budget, o *conversion) error {
			switch o.model.Format() {
			case safetensors.Format:
				if c.MaxTensors > 0 || c.KeysAlone {
					return fault.Usage("--max-tensors and --keys-alone need a GGUF file")
				}
				return nil
			case gguf.Format:
			default:
				return fault.Usage("only GGUF and safetensors can be split")
			}
			base := filepath.Base(o.path)
			o.opts.Split = &convert.Split{Stem: strings.TrimSuffix(base, filepath.Ext(base)), Tensors: c.MaxTensors, Bytes: size, KeysAlone: c.KeysAlone}
			if size == 0 && c.MaxTensors == 0 {
				o.opts.Split.Tensors = 128
			}
			o.opts.Sink, o.opts.Lean = convert.GGUF{RawNames: true}, true
			return nil
		},
		target: func(w *conversionState) string { return derivedPath(w.path, "-split", "") },
	})
}

// Join joins the files of a model into one.
type Join struct {
	partFlags `embed:""`
}

func (Join) Help() string {
	return `Name the first file of a split GGUF model, or the folder or index of shards. Tensors keep their
bytes. A GGUF file gets the bytes that llama-gguf-split --merge writes.`
}

func (Join) Examples() []run.Example {
	return []run.Example{{Command: "amn join -o whole.gguf split/tiny-00001-of-00002.gguf", What: "One file of several."}}
}

// Validate checks the flags.
func (c *Join) Validate() error { return c.writeFlags("").Validate() }

// Run implements the command.
func (c *Join) Run(ctx context.Context, s *run.Run) error {
	ext := ".safetensors"
	return convertModel(ctx, s, &conversion{
		schema: "amn.convert/1", verb: "joining", flags: c.writeFlags(""), opts: convert.Options{AsIs: true}, whole: true,
		prepare: func(_ *limits.Budget, o *conversion) error {
			switch o.model.Format() {
			case safetensors.Format:
				return nil
			case gguf.Format:
			default:
				return fault.Usage("only GGUF and safetensors can be joined")
			}
			ext = ".gguf"
			o.opts.Sink, o.opts.Lean = convert.GGUF{RawNames: true}, true
			n := o.model.Len()
			o.opts.Meta = func(meta []convert.Entry) ([]convert.Entry, error) { return append(meta, convert.Joined(n)...), nil }
			return nil
		},
		target: func(w *conversionState) string { return derivedPath(w.path, "-joined", ext) },
	})
}
