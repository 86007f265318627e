package write

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/targets"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/ggml/imatrix"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// ggmlFlags are the flags of mixes of llama.cpp.
type ggmlFlags struct {
	Imatrix            string   `placeholder:"FILE" help:"Importance matrix, as llama-imatrix writes it (GGUF)."`
	Pure               bool     `help:"One type for all weights instead of the mix (GGUF)."`
	OutputTensorType   string   `placeholder:"TYPE" help:"Type of output.weight (GGUF)."`
	TokenEmbeddingType string   `placeholder:"TYPE" help:"Type of token_embd.weight (GGUF)."`
	KeepSplit          bool     `help:"Write as many files as a split source has, each tensor in the file of the same number (GGUF)."`
	TensorType         []string `placeholder:"GLOB=TYPE" help:"Type of tensors whose name matches; overrides the mix (GGUF). Repeatable."`
}

// firstGiven returns the first flag that was given, or "".
func (f *ggmlFlags) firstGiven() string {
	for _, g := range []struct {
		name string
		is   bool
	}{
		{"--imatrix", f.Imatrix != ""}, {"--pure", f.Pure}, {"--output-tensor-type", f.OutputTensorType != ""},
		{"--token-embedding-type", f.TokenEmbeddingType != ""}, {"--tensor-type", len(f.TensorType) > 0}, {"--keep-split", f.KeepSplit},
	} {
		if g.is {
			return g.name
		}
	}
	return ""
}

// notTargets maps words that people may give as a target to what they may mean.
var notTargets = map[string]string{
	"f32":  "quantizes nothing: amn convert --to gguf --cast f32 writes it",
	"fp32": "quantizes nothing: amn convert --cast f32 writes it",
	"f16":  "quantizes nothing: amn convert --to gguf --cast f16 writes it",
	"fp16": "quantizes nothing: amn convert --cast f16 writes it",
	"bf16": "quantizes nothing: amn convert --to gguf --cast bf16 writes it",
	"gguf": "is a format: a mix such as q4_k_m or q8_0 is a target; amn convert --to gguf does not quantize",
	"mlx":  "is a format: mlx_4 or mlx_8 is a target; amn convert --to mlx does not quantize",
	"int4": "is not a target: 4-bit integers are w4a16 (compressed-tensors), gptq, awq and mlx_4, and nf4 is bitsandbytes'",
	"4bit": "is not a target: nf4 (bitsandbytes), w4a16 (compressed-tensors), gptq, awq, mlx_4 and q4_k_m (llama.cpp) have 4 bits",
	"8bit": "is not a target: int8 (bitsandbytes), w8a8, w8a16 and fp8_dynamic (compressed-tensors), mlx_8 and q8_0 (llama.cpp) have 8 bits",
}

// mixOf returns a mix that can be written; others are further values of the flag.
func mixOf(flag, name string, others ...string) (mix.Mix, error) {
	m, ok := mix.Find(name)
	if !ok {
		if why := notTargets[fault.Letters(name)]; why != "" {
			return m, fmt.Errorf("%s: %q %s", flag, name, why)
		}
		known := append(others, targets.MixNames()...)
		if meant := fault.Nearest(name, known); meant != "" {
			return m, fmt.Errorf("%s: %q is not a target%s", flag, name, meant)
		}
		return m, fmt.Errorf("%s: %q is not one of %s", flag, name, strings.Join(known, ", "))
	}
	if err := (ggml.Quantizer{Mix: m}).Check(); err != nil {
		return m, fmt.Errorf("%s %s: %w", flag, name, err)
	}
	return m, nil
}

// configureMix sets up a conversion to a mix: name names the output, and choose, if not nil,
// may change q once the model is open.
func (f *ggmlFlags) configureMix(c *conversion, q *ggml.Quantizer, name string, choose func(*limits.Budget, *conversion) error) {
	prepare := c.prepare
	for _, pair := range f.TensorType {
		pattern, _, _ := strings.Cut(pair, "=")
		c.patterns = append(c.patterns, patterns{"--tensor-type", flags.Globs{pattern}})
	}
	c.prepare = func(b *limits.Budget, o *conversion) (err error) {
		if err := f.readMatrix(b, q); err != nil {
			return err
		}
		if o.opts.Split, err = f.keptSplit(&o.conversionState, strings.ToLower(name)); err != nil {
			return err
		}
		if err := prepare(b, o); err != nil {
			return err
		}
		if choose != nil {
			if err := choose(b, o); err != nil {
				return err
			}
		}
		o.opts.Quantize = *q
		return nil
	}
	c.target = func(w *conversionState) string { return mixTarget(w, name) }
}

// blockType returns the type that a flag names.
func blockType(flag, name string) (tensor.DType, error) {
	if name == "" {
		return tensor.Unknown, nil
	}
	d, ok := tensor.ParseDType(strings.ToUpper(name))
	if !ok {
		known := storedTypes()
		return d, fmt.Errorf("%s: %q is not one of %s%s", flag, name, strings.Join(known, ", "), fault.Nearest(name, known))
	}
	return d, nil
}

// storedTypes returns the types that a tensor of a GGUF model may get, in lower case.
func storedTypes() (names []string) {
	for _, c := range quant.Codecs() {
		if (ggml.Quantizer{Mix: mix.Mix{Base: c.Type}}).Check() == nil {
			names = append(names, strings.ToLower(c.Type.String()))
		}
	}
	slices.Sort(names)
	return names
}

// quantizer returns the quantizer that the flags describe, without the importance matrix.
func (f *ggmlFlags) quantizer(m mix.Mix) (q ggml.Quantizer, err error) {
	q = ggml.Quantizer{Mix: m}
	q.Options.Pure = f.Pure
	if q.Options.Output, err = blockType("--output-tensor-type", f.OutputTensorType); err != nil {
		return q, err
	}
	if q.Options.Tokens, err = blockType("--token-embedding-type", f.TokenEmbeddingType); err != nil {
		return q, err
	}
	if len(f.TensorType) == 0 {
		return q, nil
	}
	type override struct {
		names flags.Globs
		to    tensor.DType
	}
	var list []override
	for _, pair := range f.TensorType {
		pattern, name, _ := strings.Cut(pair, "=")
		if name == "" {
			return q, fmt.Errorf("--tensor-type: %q is not GLOB=TYPE", pair)
		}
		to, err := blockType("--tensor-type", name)
		if err != nil {
			return q, err
		}
		o := override{flags.Globs{pattern}, to}
		if o.names.Check() != nil {
			return q, fmt.Errorf("--tensor-type: %q is not a pattern", pattern)
		}
		list = append(list, o)
	}
	q.Options.Override = func(name string) tensor.DType {
		for _, o := range list {
			if o.names.Match(name) {
				return o.to
			}
		}
		return tensor.Unknown
	}
	return q, nil
}

// quantizerWith is quantizer with the flags that mixes share with other targets.
func (f *ggmlFlags) quantizerWith(m mix.Mix, others *targetFlags) (ggml.Quantizer, error) {
	q, err := f.quantizer(m)
	if err != nil {
		return q, fault.Usage(err.Error())
	}
	q.Measure = others.Report.on
	if len(others.Exclude) > 0 {
		q.Exclude = flags.Globs(others.Exclude).Match
	}
	return q, flags.Globs(others.Exclude).Check()
}

// keptSplit returns the split of the source for --keep-split, nil without the flag.
func (f *ggmlFlags) keptSplit(w *conversionState, target string) (*convert.Split, error) {
	if !f.KeepSplit {
		return nil, nil
	}
	for key, v := range w.model.Meta() {
		if n, ok := wire.Integer(v); key == "split.count" && ok && n > 1 && w.model.Format() == gguf.Format {
			return &convert.Split{Stem: filepath.Base(unsplit(w.path)) + "-" + target, Kept: true}, nil
		}
	}
	return nil, fault.Usage("--keep-split: the source is not a GGUF model of several files")
}

// unsplit returns the path of a model without .gguf and without the number of its file.
func unsplit(path string) string {
	if prefix, _, _, ok := gguf.IsSplitName(path); ok {
		return strings.TrimSuffix(path, filepath.Base(path)) + prefix
	}
	return strings.TrimSuffix(path, ".gguf")
}

// mixTarget returns the default path of a model that is quantized to a mix.
func mixTarget(w *conversionState, name string) string {
	path, ext := trimQuantSuffix(w.path), ".gguf"
	if unsplit(path) != path {
		path = unsplit(path) + ".gguf"
	}
	if w.folder {
		ext = ""
	}
	return derivedPath(path, "-"+strings.ToLower(name), ext)
}

// readMatrix reads the importance matrix, if one was given.
func (f *ggmlFlags) readMatrix(b *limits.Budget, q *ggml.Quantizer) error {
	path := f.Imatrix
	if path == "" {
		return nil
	}
	h, err := tensor.OpenFile(disk.Dir(filepath.Dir(path)), filepath.Base(path))
	if os.IsNotExist(err) {
		return fault.Usage(fmt.Sprintf("--imatrix: %q does not exist", path))
	}
	if err != nil {
		return fmt.Errorf("--imatrix: %w", err)
	}
	defer h.Close()
	if q.Matrix, err = imatrix.Read(b, h, h.Size); err != nil {
		return fmt.Errorf("--imatrix: %w", err)
	}
	q.Matrix.File = filepath.Base(path)
	return nil
}
