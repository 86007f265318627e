package write

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/disk"
	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/targets"
	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/forms"
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/ggml/mix"
)

// Convert writes a model in another format.
type Convert struct {
	writeFlags        `embed:"" group:"Output"`
	flags.SchemeFlags `embed:"" group:"Quantized sources"`

	To           string   `placeholder:"FORMAT" help:"Output format: safetensors (or bf16), gguf, hf, mlx, npz, bnb-nf4 (or nf4), bnb-fp4, bnb-int8. The default is what the extension of the output means; with --cast, safetensors."`
	OutDtype     string   `help:"Type to decode quantized weights to: bf16, f16, f32." default:"" enum:",bf16,f16,f32" placeholder:"bf16"`
	Cast         string   `help:"Round all floating-point tensors to this type: bf16, f16, f32, or f8 (E4M3, saturated) and f8e5m2, without a scale. Norms keep a wider type." default:"" enum:",bf16,f16,f32,f8,f8e5m2" placeholder:"TYPE"`
	CastAll      bool     `help:"With --cast: round norms as well."`
	AsIs         bool     `help:"Copy quantized weights as they are stored, if the output format has their types."`
	GGUFMetadata string   `name:"gguf-metadata" placeholder:"FILE" help:"A JSON file with an object of keys that replace or extend those of the source."`
	GGUFKV       []string `name:"gguf-kv" placeholder:"KEY=VALUE" help:"Set one key, with the type that llama.cpp expects, or a given one: KEY:u32=VALUE. Overrides all other sources. Repeatable."`
	Quant        string   `placeholder:"TYPE" help:"Quantize weights. With --to gguf: to a mix of llama.cpp such as q4_k_m, as amn quantize --to does (amn formats lists them). With --to mlx: to mlx_4, mlx_8, mlx_mxfp4, ..."`
	nameFlags    `embed:"" group:"Names"`
	MMProj       bool   `name:"mmproj" help:"With --to gguf: write the vision part of the folder, which llama.cpp loads together with the text model."`
	TargetModel  string `placeholder:"FOLDER" help:"With --to gguf, of a model that drafts for another (EAGLE-3, DFlash, DSpark): the folder of that model, whose vocabulary is written."`
	RawNames     bool   `help:"Write a GGUF file with the tensor names of the source. llama.cpp does not run it."`

	targetFlags `embed:"" group:"Quantization"`
	ggmlFlags   `embed:"" group:"GGUF"`
}

func (Convert) Help() string {
	return `Reads any format and writes another. Quantized weights are decoded on the way. Other tensors
keep their type and their bytes, in row-major and little-endian order. A type or a name that
the output format does not have is an error; nothing is changed silently. The bitsandbytes
targets are those of amn quantize, whose help describes them; --quant and its flags are the
same too.

From a GGUF source, GGUF keeps all keys except those that the conversion makes wrong: file type,
split, alignment. A transformers folder becomes a file that llama.cpp runs, as llama.cpp's own
converter writes it: names, order of rows, keys and vocabulary, by the architecture in
config.json. Other sources have no keys for llama.cpp (--raw-names). --to hf is the way back:
a GGUF file of such an architecture becomes a transformers folder. --to mlx writes the same
folder as mlx_lm.convert, from a transformers folder or such a GGUF file.`
}

func (Convert) Examples() []run.Example {
	return []run.Example{
		{Command: "amn convert --to safetensors checkpoint.pt", What: "From a pickle: writes checkpoint.safetensors."},
		{Command: "amn convert --to safetensors --tensors-only --select state_dict --strip-prefix model. lightning.pt", What: "The model from a trainer's checkpoint, with its own names."},
		{Command: "amn convert --to safetensors --tensors-only --dry-run --rename '2.*=head.*' whole.pt", What: "A whole module: what would be written, by both names."},
		{Command: "amn convert --cast f16 model.safetensors", What: "Rounded to F16: writes model-f16.safetensors."},
		{Command: "amn convert tiny.gguf tiny.npz", What: "For NumPy: the extension says the format."},
		{Command: "amn convert --to gguf --out-dtype f16 tiny.gguf", What: "Blocks decoded to F16, the keys kept."},
		{Command: "amn convert --to gguf --as-is -o joined.gguf split/tiny-00001-of-00002.gguf", What: "One file of several, as they are."},
		{Command: "amn convert --to gguf --gguf-kv general.name=mine -o named.gguf tiny.gguf", What: "Another name in its metadata."},
		{Command: "amn convert --to bnb-nf4 --allow-requantize tiny.gguf", What: "Quantized anew: writes tiny-bnb-nf4.safetensors."},
		{Command: "amn convert --to gguf --quant q8_0 --allow-requantize -o small.gguf tiny.gguf", What: "Quantized as llama-quantize does it."},
		{Command: "amn convert --to gguf --raw-names weights.npz", What: "For programs that read names as they are."},
	}
}

// A convertTarget is a value of --to.
type convertTarget struct {
	Names []string // the first is its name, the others are aliases
	ext   string
	sink  func(c *Convert, from string) convert.Sink
	to    *encode.Target // what weights are quantized to, as by amn quantize; nil for nothing
	// folder says that a transformers folder is written, of a GGUF file too.
	folder bool
	mlx    bool // with the names of mlx-lm
}

var ConvertTargets = append([]convertTarget{
	{Names: []string{"safetensors", "bf16"}, ext: ".safetensors", sink: toSafetensors},
	{Names: []string{"gguf"}, ext: ".gguf", sink: func(c *Convert, from string) convert.Sink {
		return convert.GGUF{RawNames: c.RawNames || from == gguf.Format}
	}},
	{Names: []string{"hf", "transformers"}, sink: toSafetensors, folder: true},
	{Names: []string{"mlx"}, sink: toSafetensors, folder: true, mlx: true},
	{Names: []string{"npz"}, ext: ".npz", sink: func(*Convert, string) convert.Sink { return convert.NPZ{} }},
}, quantizedTargets()...)

// quantizedTargets are those whose weights are quantized.
func quantizedTargets() (list []convertTarget) {
	for _, t := range quant.Targets() {
		if t.Converts != nil {
			list = append(list, convertTarget{Names: t.Converts, ext: ".safetensors", sink: toSafetensors, to: t})
		}
	}
	return list
}

func toSafetensors(*Convert, string) convert.Sink { return convert.Safetensors{} }

// target returns the target that --to names, ignoring case, or that the extension of the
// output means.
func (c *Convert) target() (*convertTarget, error) {
	if err := c.settle(); err != nil {
		return nil, err
	}
	var known []string
	ext := strings.ToLower(filepath.Ext(c.Output))
	if c.To == "" {
		for i, t := range ConvertTargets {
			if t.ext != "" && t.ext == ext {
				return &ConvertTargets[i], nil
			}
		}
		if c.Cast != "" {
			return &ConvertTargets[0], nil
		}
	}
	for i, t := range ConvertTargets {
		if slices.Contains(t.Names, strings.ToLower(c.To)) {
			return &ConvertTargets[i], nil
		}
		known = append(known, t.Names[0])
	}
	if c.To == "" {
		missing := fmt.Sprintf("--to is missing: give one of %s, or --cast TYPE, or an output that ends in .safetensors, .gguf or .npz", strings.Join(known, ", "))
		if isPickleName(strings.TrimPrefix(ext, ".")) {
			missing += "; pickles are only read"
		}
		return nil, errors.New(missing)
	}
	meant := fault.Nearest(c.To, known)
	switch _, isMix := mix.Find(c.To); {
	case targets.IsScaled(c.To) || isMix:
		meant = "; amn quantize --to " + c.To + " writes it"
	case isPickleName(strings.ToLower(c.To)):
		meant = "; pickles are only read"
	}
	return nil, fmt.Errorf("--to: %q is not one of %s%s", c.To, strings.Join(known, ", "), meant)
}

// isPickleName reports whether a word is what people call PyTorch's checkpoints.
func isPickleName(word string) bool {
	return slices.Contains([]string{"pt", "pth", "bin", "ckpt", "pytorch", "torch"}, word)
}

// Validate checks the flags.
func (c *Convert) Validate() error {
	if c.Path == "" { // which kong reports
		return nil
	}
	t, err := c.target()
	if err != nil {
		return err
	}
	switch err := c.targetFlags.checkSourceBlock(); {
	case err != nil:
		return err
	case (c.MMProj || c.RawNames || c.TargetModel != "") && t.Names[0] != gguf.Format:
		return errors.New("--mmproj, --target-model and --raw-names need --to gguf")
	case c.MMProj && c.RawNames:
		return errors.New("--mmproj and --raw-names cannot be combined")
	case c.CastAll && c.Cast == "":
		return errors.New("--cast-all needs --cast")
	case c.Quant != "" && t.mlx:
		return c.checkMLX()
	case c.Quant != "":
		return c.checkQuant(t)
	}
	if flag := c.ggmlFlags.firstGiven(); flag != "" {
		return fmt.Errorf("%s needs --to gguf --quant TYPE", flag)
	}
	if err := c.targetFlags.check(t.to); err != nil {
		return err
	}
	switch {
	case c.Cast != "" && (c.AsIs || t.to != nil):
		return errors.New("--cast decodes quantized weights: it cannot be combined with --as-is or bitsandbytes")
	case c.Cast != "" && c.OutDtype != "" && c.Cast != c.OutDtype:
		return errors.New("--cast and --out-dtype: give one type")
	}
	if c.AsIs && t.to != nil {
		return errors.New("--as-is cannot be combined with a quantized target")
	}
	if _, _, err := c.nameFlags.names(); err != nil {
		return err
	}
	if err := c.writeFlags.Validate(); err != nil {
		return err
	}
	return c.SchemeFlags.Validate()
}

// checkQuant checks the flags of a conversion to a mix.
func (c *Convert) checkQuant(t *convertTarget) error {
	switch {
	case t.Names[0] != gguf.Format:
		return errors.New("--quant needs --to gguf or --to mlx")
	case c.Cast != "" || c.AsIs || c.RawNames || c.MMProj:
		return errors.New("--quant cannot be combined with --cast, --as-is, --raw-names or --mmproj")
	}
	err := c.targetFlags.checkMix()
	m, unknown := mixOf("--quant", c.Quant)
	if err = errors.Join(err, unknown); err == nil {
		_, err = c.ggmlFlags.quantizer(m)
	}
	return errors.Join(err, c.writeFlags.Validate(), c.SchemeFlags.Validate())
}

// checkMLX checks the flags of a conversion to a format of MLX.
func (c *Convert) checkMLX() error {
	t, ok := quant.TargetNamed(c.Quant)
	switch {
	case !ok || !t.KeepsRules:
		return fmt.Errorf("--quant: %q is not a format of MLX: mlx_2 to mlx_8, mlx_mxfp4, mlx_mxfp8, mlx_nvfp4", c.Quant)
	case c.Cast != "" || c.AsIs || c.DoubleQuant || len(c.BlockSize)%2 == 1 || len(c.Include) > 0 || c.ggmlFlags.firstGiven() != "":
		return errors.New("--quant with --to mlx cannot be combined with --cast, --as-is, --double-quant, --block-size N, --include or the flags of GGUF")
	}
	return errors.Join(c.writeFlags.Validate(), c.SchemeFlags.Validate())
}

// trimQuantSuffix removes the name of a quantization format from the end of a path's stem.
func trimQuantSuffix(path string) string {
	ext := filepath.Ext(path)
	stem := strings.TrimSuffix(path, ext)
	for _, ending := range quant.Endings() {
		if short, ok := strings.CutSuffix(stem, ending); ok && filepath.Base(stem) != ending {
			return short + ext
		}
	}
	return path
}

// decodeType returns the type that weights are decoded to.
func (c *Convert) decodeType() string {
	if castTypes[c.Cast] != tensor.Unknown {
		return cmp.Or(c.OutDtype, "bf16")
	}
	return cmp.Or(c.Cast, c.OutDtype, "bf16")
}

// castTypes are the types of --cast that --out-dtype does not have.
var castTypes = map[string]tensor.DType{"f8": tensor.F8E4M3, "f8e5m2": tensor.F8E5M2}

// cast returns a function that reports whether --cast rounds a tensor, or nil.
func (c *Convert) cast() func(*tensor.Info) bool {
	if c.Cast == "" {
		return nil
	}
	return func(i *tensor.Info) bool { return c.CastAll || c.Cast == "f32" || !convert.IsNorm(i) }
}

// checkOutDtype rejects --out-dtype if no weight is decoded.
func (c *Convert) checkOutDtype(w *conversionState) error {
	if c.OutDtype != "" && c.Cast == "" && len(w.plan.Weights) == 0 && len(w.plan.Read) == 0 {
		return fault.Usage("--out-dtype has no effect, because no written tensor is quantized; --cast rounds plain tensors")
	}
	return nil
}

// prepare converts the source to the names and layouts of the target.
func (c *Convert) prepare(b *limits.Budget, o *conversion, t *convertTarget) error {
	if err := c.nameFlags.apply(b, o); err != nil {
		return err
	}
	o.opts.Sink = t.sink(c, o.model.Format())
	switch {
	case t.mlx:
		return c.forMLX(b, o)
	case t.folder:
		return c.forTransformers(b, o)
	}
	over, err := c.setKeys(b, o)
	if err != nil || t.Names[0] != gguf.Format || c.RawNames {
		return err
	}
	if c.MMProj && !forms.Stated(o.model) {
		return fault.Usage("--mmproj: only a folder of transformers has a vision part to write")
	}
	if c.TargetModel != "" && !forms.Stated(o.model) {
		return fault.Usage("--target-model: only a folder of transformers is a draft model")
	}
	if c.AsIs && forms.Stated(o.model) && quant.Any(o.model) {
		return fault.Usage("--as-is: a quantized folder is decoded for llama.cpp; --raw-names writes it as it is")
	}
	var target fs.FS
	if c.TargetModel != "" {
		target = disk.Dir(c.TargetModel)
	}
	return forLlamaCPP(b, &o.conversionState, forms.LlamaCPP{Target: target, Pre: textOf(over, "tokenizer.ggml.pre"), Template: textOf(over, "tokenizer.chat_template") != "", Quant: o.opts.Quant, Blocks: c.OutDtype == "" && c.Cast == "" && c.Quant == "", All: c.castsAll(o), Projector: c.MMProj})
}

// castsAll reports whether all matrices of a folder get the type of --out-dtype, as
// llama.cpp's converter does with --outtype.
func (c *Convert) castsAll(o *conversion) bool {
	all := c.OutDtype != "" && c.Cast == "" && c.Quant == "" && forms.Stated(o.model)
	if all {
		o.admit = nil
	}
	return all
}

// Run implements the command.
func (c *Convert) Run(ctx context.Context, s *run.Run) error {
	t, err := c.target()
	if err != nil {
		return fault.Usage(err.Error())
	}
	o := &conversion{
		schema:  "amn.convert/1",
		verb:    "converting",
		flags:   &c.writeFlags,
		opts:    convert.Options{Quant: *c.Options(c.decodeType(), c.sourceBlock()), AsIs: c.AsIs, Cast: c.cast(), CastTo: castTypes[c.Cast], Requantize: c.AllowRequantize, NaN: c.nan()},
		admit:   c.checkOutDtype,
		prepare: func(b *limits.Budget, o *conversion) error { return c.prepare(b, o, t) },
		target: func(w *conversionState) string {
			suffix := "-" + t.Names[0]
			if t.Names[0] == safetensors.Format && len(w.plan.Weights) > 0 {
				suffix = "-" + cmp.Or(c.Cast, c.decodeType())
			} else if t.Names[0] == safetensors.Format && w.model.Format() != safetensors.Format {
				suffix = "" // the types do not change
			}
			if w.folder {
				path := trimQuantSuffix(w.path)
				if t.folder {
					path = strings.TrimSuffix(path, filepath.Ext(path))
				}
				return derivedPath(path, suffix, "")
			}
			return derivedPath(trimQuantSuffix(w.path), suffix, t.ext)
		},
	}
	if to, ok := quant.TargetNamed(c.Quant); t.mlx && ok {
		o.opts.Quantize, o.admit, o.report = c.targetFlags.quantizer(to), admitQuantized, c.Report.on
	} else if c.Quant != "" {
		m, _ := mix.Find(c.Quant)
		q, err := c.ggmlFlags.quantizerWith(m, &c.targetFlags)
		if err != nil {
			return err
		}
		c.ggmlFlags.configureMix(o, &q, c.Quant, nil)
		o.admit, o.report, o.page = nil, c.Report.on, c.Report.page
	}
	if t.to != nil {
		o.opts.Quantize, o.admit, o.report = c.targetFlags.quantizer(t.to), admitQuantized, c.Report.on
	}
	return convertModel(ctx, s, o)
}
