package write

import (
	"cmp"
	"context"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
)

// Dequantize decodes the quantized weights of a model.
type Dequantize struct {
	writeFlags        `embed:"" group:"Output"`
	flags.SourceFlags `embed:"" group:"Quantized sources"`

	To   string `help:"Type to decode weights to: bf16, f16, f32." default:"" enum:",bf16,f16,f32" placeholder:"bf16"`
	Copy bool   `help:"Write the model even if nothing in it is quantized."`
}

func (Dequantize) Help() string {
	return `Writes safetensors with every quantized weight decoded, bit for bit as the library that
quantized it computes, rounded once. Other tensors are copied byte for byte. Memory does not
grow with the model. The output appears only when it is complete; after a failure the old file,
if any, is unchanged.

A model folder becomes a folder that transformers loads: shards and their index, config.json
without the quantization, and the other files that a loader needs. Code, pickles and old
weights are never copied; files that were left out are listed.

Checksums of archives are checked. A GGUF file keeps its own tensor names.`
}

func (Dequantize) Examples() []run.Example {
	return []run.Example{
		{Command: "amn dequantize llama-fp8", What: "A model's folder: writes llama-fp8-bf16, which transformers loads."},
		{Command: "amn dequantize --dry-run tiny.gguf", What: "What it would do."},
		{Command: "amn dequantize tiny.gguf", What: "Decode to BF16: writes tiny.safetensors."},
		{Command: "amn dequantize --to f32 -o full.safetensors tiny.gguf", What: "In full precision, under a name."},
		{Command: "amn dequantize --tensor 'blk.0.*' -o block.safetensors tiny.gguf", What: "A part of the model."},
		{Command: "amn dequantize --force --json tiny.gguf", What: "Replace the output, for a program."},
	}
}

// Validate checks the flags.
func (c *Dequantize) Validate() error {
	if err := c.writeFlags.Validate(); err != nil {
		return err
	}
	return c.SourceFlags.Validate()
}

// Run implements the command.
func (c *Dequantize) Run(ctx context.Context, s *run.Run) error {
	to := cmp.Or(c.To, "bf16")
	suffix := func(w *conversionState) string {
		if len(w.plan.Weights) == 0 {
			return "-copy" // the types do not change
		}
		return "-" + to
	}
	return convertModel(ctx, s, &conversion{
		schema: "amn.remember/1",
		verb:   "dequantizing",
		// A pipeline without a quantized component is an error, as is such a model.
		decodes: !c.Copy,
		flags:   &c.writeFlags,
		opts:    convert.Options{Quant: *c.Options(to)},
		admit: func(w *conversionState) error {
			if w.model.Format() == safetensors.Format && len(w.plan.Weights) == 0 && !c.Copy {
				return fault.Usage("the model is not quantized, so there is nothing to dequantize; --copy writes a copy")
			}
			if c.To != "" && len(w.plan.Weights) == 0 {
				return fault.Usage("--to has no effect, because no written tensor is quantized; amn convert --cast rounds plain tensors")
			}
			return nil
		},
		target: func(w *conversionState) string {
			if w.folder {
				return derivedPath(w.path, suffix(w), "")
			}
			if w.model.Format() == safetensors.Format { // a name that differs from the source's
				return derivedPath(w.path, suffix(w), ".safetensors")
			}
			return derivedPath(w.path, "", ".safetensors")
		},
	})
}
