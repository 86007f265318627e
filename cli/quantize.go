package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/convert"
	"github.com/anamnesis-go/anamnesis/convert/mix"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// ggmlFlags are those of targets of ggml's blocks.
type ggmlFlags struct {
	Imatrix            word   `placeholder:"FILE" help:"Importance of columns, as llama-imatrix writes it (mixes of GGUF)."`
	Pure               bool   `help:"One type for all weights instead of the mix (GGUF)."`
	AllowRequantize    bool   `help:"Decode blocks of other types and quantize them anew (GGUF)."`
	OutputTensorType   string `placeholder:"TYPE" help:"Type of output.weight (GGUF)."`
	TokenEmbeddingType string `placeholder:"TYPE" help:"Type of token_embd.weight (GGUF)."`
	TensorType         []word `sep:"none" placeholder:"GLOB=TYPE" help:"Type of tensors whose name matches, before the mix (GGUF). May be given several times."`
}

// given names the first flag that was given, or nothing.
func (f *ggmlFlags) given() string {
	for _, g := range []struct {
		name string
		is   bool
	}{
		{"--imatrix", f.Imatrix != ""}, {"--pure", f.Pure}, {"--allow-requantize", f.AllowRequantize}, {"--output-tensor-type", f.OutputTensorType != ""},
		{"--token-embedding-type", f.TokenEmbeddingType != ""}, {"--tensor-type", len(f.TensorType) > 0},
	} {
		if g.is {
			return g.name
		}
	}
	return ""
}

// mixNames lists the mixes that can be written, in small letters.
func mixNames() []string {
	var list []string
	for _, m := range mix.All() {
		if (convert.GGML{Mix: m}).Check() == nil {
			list = append(list, strings.ToLower(m.Name))
		}
	}
	slices.Sort(list)
	return list
}

// blockType reads the name of a type that a tensor may get.
func blockType(flag, name string) (tensor.DType, error) {
	if name == "" {
		return tensor.Unknown, nil
	}
	d, ok := tensor.ParseDType(strings.ToUpper(name))
	if !ok {
		return d, fmt.Errorf("%s: %q is no type", flag, name)
	}
	return d, nil
}

// quantizer is what the flags say, but for the matrix, which is read on the account.
func (f *ggmlFlags) quantizer(m mix.Mix) (q convert.GGML, err error) {
	q = convert.GGML{Mix: m, Requantize: f.AllowRequantize}
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
		names globs
		to    tensor.DType
	}
	var list []override
	for _, pair := range f.TensorType {
		pattern, name, ok := strings.Cut(string(pair), "=")
		to, err := blockType("--tensor-type", name)
		if err != nil || !ok || name == "" {
			return q, fmt.Errorf("--tensor-type: %q is not GLOB=TYPE", pair)
		}
		o := override{globs{word(pattern)}, to}
		if o.names.check() != nil {
			return q, fmt.Errorf("--tensor-type: %q is no pattern", pattern)
		}
		list = append(list, o)
	}
	q.Options.Override = func(name string) tensor.DType {
		for _, o := range list {
			if o.names.match(name) {
				return o.to
			}
		}
		return tensor.Unknown
	}
	return q, nil
}

// readMatrix reads the importance matrix, if one was given.
func (f *ggmlFlags) readMatrix(b *limits.Budget, q *convert.GGML) error {
	path := string(f.Imatrix)
	if path == "" {
		return nil
	}
	h, err := tensor.OpenFile(localDir(filepath.Dir(path)), filepath.Base(path))
	if os.IsNotExist(err) {
		return usage{fmt.Sprintf("--imatrix: there is no file %q", path)}
	}
	if err != nil {
		return fmt.Errorf("--imatrix: %w", err)
	}
	defer h.Close()
	if q.Matrix, err = convert.ReadImportance(b, h, h.Size); err != nil {
		return fmt.Errorf("--imatrix: %w", err)
	}
	q.Matrix.File = filepath.Base(path)
	return nil
}
