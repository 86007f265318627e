package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/targets"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// Quantize quantizes a model.
type Quantize struct {
	writeFlags        `embed:"" group:"Output"`
	flags.SchemeFlags `embed:"" group:"Quantized sources"`

	To       string `help:"How weights are stored: nf4, fp4, int8 (bitsandbytes); fp8 (DeepSeek's blocks); fp8_tensor, fp8_dynamic, fp8_block, mxfp8, mxfp4, nvfp4, w8a8, w8a16, w4a16, w8a16_asym, w4a16_asym (compressed-tensors); modelopt_fp8, modelopt_fp8_channel, modelopt_fp8_block, modelopt_nvfp4, modelopt_mxfp8; torchao_fp8, torchao_fp8_e5m2 (_group, _tensor), torchao_int8; gpt_oss; mlx_2 to mlx_8, mlx_mxfp4, mlx_mxfp8, mlx_nvfp4; gptq_2, gptq_3, gptq, gptq_8, awq; or a mix of llama.cpp for a GGUF model: q4_k_m, q8_0, ... (amn formats lists them)." placeholder:"nf4"`
	OutDtype string `help:"Type of weights that are decoded and not quantized again: bf16, f16, f32." enum:"bf16,f16,f32" default:"bf16" placeholder:"bf16"`

	Compare string `placeholder:"TARGET,..." help:"Measure several targets in one pass and write nothing: size against error, as text, --json, or a page with --report FILE.html."`
	Budget  string `placeholder:"SIZE" help:"Choose the type of each tensor of a GGUF model for the least error within a size: 4.5bpw (bits per quantized number) or 12GB (file). Types of --tensor-type are kept."`
	Types   string `placeholder:"TYPE,..." help:"The types that --budget chooses from: any block types of a mix, f16 and bf16. Default: q2_k,q3_k,q4_k,q5_k,q6_k,q8_0."`

	targetFlags `embed:"" group:"Quantization"`
	ggmlFlags   `embed:"" group:"GGUF"`
}

// targetFlags are the flags of targets other than mixes.
type targetFlags struct {
	DoubleQuant bool     `help:"Quantize the scales too (nf4, fp4)."`
	BlockSize   []int64  `sep:"," placeholder:"N" help:"Numbers per scale in the output (nf4, fp4): a power of two from 32 to 4096 (default 64). ROWS,COLS is the block size of FP8 scales in the source if it does not state one; ROWS,COLS,N sets both."`
	Include     []string `placeholder:"GLOB" help:"Quantize matrices whose name matches, even if the rules would not. Repeatable."`
	Exclude     []string `placeholder:"GLOB" help:"Do not quantize tensors whose name matches. Repeatable."`

	AllowRequantize bool `help:"Decode weights that are quantized already and quantize them again. This loses more than quantizing the original."`

	NaN string `name:"nan" help:"What to do with weights that contain NaN or infinities: refuse the model, keep such weights unquantized (each weight is read twice), or replace these numbers with zero." enum:"refuse,keep,zero" default:"refuse" placeholder:"refuse"`

	Report ReportFlag `placeholder:"[FILE]" help:"Measure the loss: compare each weight with its decoded form. FILE.html gets a page with charts, FILE.json the same as --json prints (a FILE.index.json is taken for a model)."`
}

func (Quantize) Help() string {
	return `nf4, fp4 and int8 write safetensors as bitsandbytes stores them, with the bits of its own
quantizer for float32 on a CPU: NF4 or FP4 in blocks, or LLM.int8() in rows. A model folder
becomes a folder that transformers loads; config.json states the quantization.

fp8 writes DeepSeek's layout, FP8 in blocks of 128 x 128 with float32 scales, which transformers
and vLLM load. Presets of compressed-tensors, which vLLM loads, are: FP8 with a scale per
matrix, row or block (fp8_tensor, fp8_dynamic, fp8_block); INT8 with a scale per row (w8a8);
integers of 8 or 4 bits in groups of 128 (w8a16, w4a16; with zero points w8a16_asym, w4a16_asym),
rounded to nearest with the scales of its min-max observer; mxfp8, mxfp4 and nvfp4. The global
scale of nvfp4 is shared by the matrices that loaders fuse. modelopt_... are ModelOpt's
formats; torchao_... are TorchAO's, with a scale per matrix, row or group. gpt_oss is OpenAI's
own layout: the experts of a gpt_oss folder become MXFP4, and nothing else.

mlx_... writes what mlx-lm writes: integers of 2, 3, 4, 5, 6 or 8 bits in groups of 64, or its
modes of small floats; embeddings and heads are quantized too. gptq (4 bits), gptq_2, gptq_3,
gptq_8 and awq write the layouts of GPTQ and AWQ with codes rounded to nearest; no calibration
data is used. All targets have the bits of their library's own quantizer on a CPU.

A GGUF model is quantized to a mix of llama.cpp, such as q4_k_m or q8_0: with the types that
llama-quantize chooses, and the bytes of ggml's reference encoders on every machine. Blocks that
already have their type are copied.

For all targets except GGUF the weights of linear modules are quantized, as transformers chooses
them. Embeddings, norms, heads, routers and fused experts are copied and listed in config.json.
Weights that are already quantized are refused, because quantizing twice loses more than
quantizing the original; --allow-requantize decodes them first. Numbers that are not finite are
refused, because no block can hold them; --nan keep copies such weights, --nan zero replaces the
numbers with zero.

--report measures for each weight and in total: mean and maximum error, root mean square error
relative to the numbers, cosine, and signal-to-noise ratio. --report FILE.html draws charts:
error by layer and kind, bytes by type, the worst weights. --compare measures several targets
and writes none of them. The model is read once, and once more for each global scale (nvfp4,
fp8_tensor, --double-quant) and for the mixes of a folder.

--budget measures each tensor of a GGUF model in each of --types and chooses one. The error of a
tensor is its squared error divided by its mean square; --imatrix weights both by the
importance of columns. The choice starts with the smallest types and repeatedly takes the step
that still fits and gains most per byte; among equal steps, the first by name. It is the same on
every machine and for any number of workers.`
}

func (Quantize) Examples() []run.Example {
	return []run.Example{
		{Command: "amn quantize model.safetensors", What: "To NF4: writes model-nf4.safetensors."},
		{Command: "amn quantize --double-quant --report -o small.safetensors model.safetensors", What: "With quantized scales, and what is lost."},
		{Command: "amn quantize --to int8 --exclude 'layers.0.*' model.safetensors", What: "LLM.int8(), except for one layer."},
		{Command: "amn quantize --dry-run --allow-requantize llama-fp8", What: "A folder that is FP8 already: what would be written."},
		{Command: "amn quantize --to q5_0 --allow-requantize tiny.gguf", What: "A GGUF model: writes tiny-q5_0.gguf."},
		{Command: "amn quantize --compare nf4,fp8_tensor,mlx_4,mlx_8 model.safetensors", What: "What would each take?"},
	}
}

// Validate checks the flags.
func (c *Quantize) Validate() error {
	if err := c.writeFlags.Validate(); err != nil {
		return err
	}
	if err := c.SchemeFlags.Validate(); err != nil {
		return err
	}
	switch err := c.targetFlags.checkSourceBlock(); {
	case err != nil:
		return err
	case c.Types != "" && c.Budget == "":
		return errors.New("--types needs --budget")
	case c.Compare != "" && c.Budget != "":
		return errors.New("--compare and --budget cannot be combined: one measures, the other writes")
	case c.Compare != "":
		return c.checkCompare()
	case c.Budget != "":
		return c.checkBudget()
	}
	if t, ok := quant.TargetNamed(c.target()); ok && t.Layout() == "" {
		if flag := c.ggmlFlags.firstGiven(); flag != "" {
			return fmt.Errorf("%s is for mixes of GGUF, such as --to q4_k_m", flag)
		}
		return c.targetFlags.check(t)
	}
	if targets.IsScaled(c.target()) {
		if flag := c.ggmlFlags.firstGiven(); flag != "" {
			return fmt.Errorf("%s is for mixes of GGUF, such as --to q4_k_m", flag)
		}
		if c.DoubleQuant || len(c.BlockSize)%2 == 1 {
			return errors.New("--double-quant and --block-size N are for nf4 and fp4")
		}
		return nil
	}
	m, err := mixOf("--to", c.target(), append(targets.Names(), targets.ScaledNames()...)...)
	if err != nil {
		return err
	}
	if err := c.targetFlags.checkMix(); err != nil {
		return err
	}
	_, err = c.ggmlFlags.quantizer(m)
	return err
}

// target returns what --to names. Nothing, the default, is apart from nf4: other flags choose the
// target in place of --to, which must not be ignored then.
func (c *Quantize) target() string { return cmp.Or(c.To, "nf4") }

// checkCompare rejects flags that say how a model is written.
func (c *Quantize) checkCompare() error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--to", c.To != ""}, {"-o", c.Output != ""}, {"--config-from", c.ConfigFrom != ""}, {"--max-shard-size", c.MaxShardSize != ""}, {"--copy-code", c.CopyCode},
		{"--keep-split", c.KeepSplit}, {"--fail-on-overflow", c.FailOnOverflow}, {"--resume", c.Resume}, {"--dry-run", c.DryRun},
	} {
		if f.given {
			return fmt.Errorf("--compare writes no model: it cannot be combined with %s", f.name)
		}
	}
	return nil
}

// checkMix rejects flags that mixes do not have.
func (f *targetFlags) checkMix() error {
	switch {
	case f.DoubleQuant:
		return errors.New("--double-quant is for nf4 and fp4, not for mixes of GGUF")
	case len(f.BlockSize)%2 == 1:
		return errors.New("--block-size N is for nf4 and fp4, not for mixes of GGUF")
	case len(f.Include) > 0:
		return errors.New("--include is not for mixes of GGUF, which choose by their own rules: --tensor-type GLOB=TYPE sets the type of a tensor")
	}
	return nil
}

// defaultBlock is the default block size.
const defaultBlock = 64

// block returns how many numbers share a scale in the output.
func (f *targetFlags) block() int64 {
	if n := len(f.BlockSize); n%2 == 1 {
		return f.BlockSize[n-1]
	}
	return defaultBlock
}

// sourceBlock returns the rows and columns of a block of the source, or nothing.
func (f *targetFlags) sourceBlock() []int64 { return f.BlockSize[:len(f.BlockSize)/2*2] }

var errBlockSize = errors.New("--block-size: give a number such as 64, the rows and columns of the source's blocks such as 128,128, or all three, as 128,128,64")

// checkSourceBlock checks how many numbers --block-size has, and those of the source.
func (f *targetFlags) checkSourceBlock() error {
	if source := f.sourceBlock(); len(f.BlockSize) > 3 || len(source) == 2 && min(source[0], source[1]) < 1 {
		return errBlockSize
	}
	return nil
}

// nan returns the value of --nan.
func (f *targetFlags) nan() convert.NaN {
	return map[string]convert.NaN{"keep": convert.KeepNaN, "zero": convert.ZeroNaN}[f.NaN]
}

// check rejects flags that cannot be combined; to is nil if nothing is quantized.
func (f *targetFlags) check(to *encode.Target) error {
	if to == nil && (f.DoubleQuant || len(f.BlockSize)%2 == 1 || len(f.Include) > 0 || len(f.Exclude) > 0 || f.Report.on || f.AllowRequantize || f.NaN != "refuse") {
		return errors.New("--double-quant, --block-size N, --include, --exclude, --allow-requantize, --nan and --report are for --to bnb-nf4, bnb-fp4 and bnb-int8")
	}
	block := f.block()
	if err := f.checkSourceBlock(); err != nil || block != int64(int(block)) {
		return cmp.Or(err, errBlockSize)
	}
	switch {
	case to == nil:
		return nil
	case to.CheckBlock == nil && block != defaultBlock:
		return fmt.Errorf("--block-size: %s has one scale for each row, not for each block", to.Name)
	case !to.Nests && f.DoubleQuant:
		return fmt.Errorf("--double-quant: %s scales cannot be quantized", to.Name)
	case to.CheckBlock == nil:
		return nil
	}
	if err := to.CheckBlock(int(block)); err != nil {
		return fmt.Errorf("--block-size: %w", err)
	}
	return nil
}

// Run implements the command.
func (c *Quantize) Run(ctx context.Context, s *run.Run) error {
	for _, list := range []flags.Globs{c.Include, c.Exclude} {
		if list.Check() != nil {
			return fault.Usage("--include, --exclude: invalid pattern; * matches any text, ? one character, [a-z] one of a range")
		}
	}
	if c.Compare != "" {
		return c.compare(ctx, s)
	}
	if c.Budget != "" {
		return c.toGGUF(ctx, s)
	}
	var q convert.Quantizer
	if t, ok := quant.TargetNamed(c.target()); ok {
		q = c.targetFlags.quantizer(t)
	} else {
		return c.toGGUF(ctx, s)
	}
	return convertModel(ctx, s, &conversion{
		schema: "amn.forget/1",
		verb:   "quantizing",
		flags:  &c.writeFlags,
		opts:   convert.Options{Quant: *c.Options(c.OutDtype, c.sourceBlock()), Quantize: q, Requantize: c.AllowRequantize, NaN: c.nan()},
		report: c.Report.on, page: c.Report.page, patterns: c.targetFlags.patterns(),
		typed:   strings.ToUpper(c.target()),
		admit:   admitQuantized,
		prepare: func(b *limits.Budget, o *conversion) error { return c.prepare(b, o) },
		target: func(w *conversionState) string {
			if w.folder {
				return derivedPath(w.path, "-"+c.target(), "")
			}
			return derivedPath(w.path, "-"+c.target(), ".safetensors")
		},
	})
}

// isMLX reports whether a target is one of mlx-lm.
func isMLX(target string) bool { return strings.HasPrefix(target, "mlx_") }

// prepare gives a transformers folder the form of mlx-lm if the target is one of mlx-lm, which
// stacks experts and has its own names for the tensors of some types.
func (c *Quantize) prepare(b *limits.Budget, o *conversion) error {
	if !isMLX(c.target()) || !forms.Stated(o.model) {
		return nil
	}
	o.inFolder = true
	return toMLX(b, o)
}

// toGGUF quantizes a GGUF model, or a folder that llama.cpp runs, to a mix.
func (c *Quantize) toGGUF(ctx context.Context, s *run.Run) error {
	name := c.target()
	if c.Budget != "" {
		name = "q4_k_m" // until the types are chosen
	}
	m, _ := mix.Find(name)
	q, err := c.ggmlFlags.quantizerWith(m, &c.targetFlags)
	if err != nil {
		return err
	}
	o := &conversion{
		schema: "amn.forget/1",
		verb:   "quantizing",
		flags:  &c.writeFlags,
		opts:   convert.Options{Quant: *c.Options(c.OutDtype, c.sourceBlock()), Sink: convert.GGUF{RawNames: true}, Requantize: c.AllowRequantize, NaN: c.nan()},
		prepare: func(b *limits.Budget, o *conversion) error {
			return forLlamaCPP(b, &o.conversionState, forms.LlamaCPP{Quant: o.opts.Quant})
		},
		report: c.Report.on, page: c.Report.page, patterns: c.targetFlags.patterns(),
	}
	var choose func(*limits.Budget, *conversion) error
	if c.Budget != "" {
		choose = func(b *limits.Budget, o *conversion) error { return c.chooseForBudget(s, b, o, &q) }
	}
	c.ggmlFlags.configureMix(o, &q, cmp.Or(c.Budget, c.target()), choose)
	return convertModel(ctx, s, o)
}

// quantizer returns the quantizer of a target that the flags describe.
func (f *targetFlags) quantizer(to *encode.Target) convert.Quantizer {
	o := encode.Choices{Nested: f.DoubleQuant, Measure: f.Report.on}
	if to.CheckBlock != nil {
		o.Block = int(f.block())
	}
	o.Include, o.Exclude = f.filters()
	return to.Quantizer(o)
}

// patterns returns the patterns of the flags, each of which must match a tensor.
func (f *targetFlags) patterns() []patterns {
	return []patterns{{"--include", f.Include}, {"--exclude", f.Exclude}}
}

// filters returns functions that match the names of --include and --exclude; nil if a flag
// was not given.
func (f *targetFlags) filters() (include, exclude func(string) bool) {
	if len(f.Include) > 0 {
		include = flags.Globs(f.Include).Match
	}
	if len(f.Exclude) > 0 {
		exclude = flags.Globs(f.Exclude).Match
	}
	return include, exclude
}

// keptText describes the matrices that are not quantized.
func keptText(kept []convert.KeptMatrix) string {
	if len(kept) == 0 {
		return ""
	}
	return "; left alone: " + matrices(int64(len(kept))) + reasonsText(kept)
}

// admitQuantized rejects models with nothing to quantize, and those that no quantization
// configuration can describe, before anything is written.
func admitQuantized(w *conversionState) error {
	if len(w.plan.Quantized.Weights) == 0 {
		return fault.Usage("no weight in it is quantized by the rule of transformers, which takes matrices of linear modules, called NAME.weight; --include names some of those" + keptText(w.plan.Quantized.Kept))
	}
	_, err := w.plan.QuantizationConfig()
	return err
}
