package forms

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
	"github.com/anamnesis-go/anamnesis/quant/mxfp4"
)

// Transformers converts a GGUF file of llama.cpp to a transformers folder.
type Transformers struct {
	// Target is what quantized weights will be decoded to.
	Target quant.Target
	// Blocks keeps the experts of gpt-oss in MXFP4, as OpenAI stores them: codes are moved
	// and nothing is rounded.
	Blocks bool
}

// Model returns a llama.cpp model in the form of transformers: names, order of rows,
// separate experts, and beside them config.json, the tokenizer and chat templates. Weights
// stay quantized until they are read. llama.cpp stores vectors in F32; a vector gets the
// type of the matrices if that holds all its numbers exactly, else it stays F32. The result
// owns m. A folder of mlx-lm is converted too.
func (t Transformers) Model(b *limits.Budget, m tensor.Model) (tensor.Model, error) {
	if ofMLX(m) {
		back, err := unstacked(b, m)
		return back, wire.At("convert", "", wire.NoOffset, err)
	}
	r, err := t.model(b, m)
	if err != nil {
		return nil, wire.At("convert", "", wire.NoOffset, err)
	}
	return r, nil
}

func (t Transformers) model(b *limits.Budget, m tensor.Model) (*model.Model, error) {
	if m.Format() != gguf.Format {
		return nil, wire.ErrUnsupported.Errorf("a folder for transformers is made only from a GGUF file or a folder of mlx-lm")
	}
	to := matrices(m, t.Target.DType(), t.Blocks)
	f, err := family.Back(b, m, encode.TorchNames[targetOf(to)], t.Blocks)
	if err != nil {
		return nil, err
	}
	from := newComposer(b, m)
	for i := range f.Tensors {
		if err := from.narrow(b, &f.Tensors[i], to); err != nil {
			one := &f.Tensors[i].Parts[0].Info
			return nil, wire.At(m.Format(), "tensor "+wire.Quote(one.Name), one.Span.Off, err)
		}
	}
	out, err := formed{gguf.Format, f.Tensors, []family.Key{{Key: "format", Value: "pt"}}, f.Files}.of(b, m)
	if err != nil {
		return nil, err
	}
	out.Facts = model.Facts{Made: true, Unmade: f.Left}
	if out.Stays() {
		out.Quantization = mxfp4.Blocks
	}
	return out, nil
}

// narrow gives a vector the type of the matrices if that holds all its numbers exactly.
func (p *composer) narrow(b *limits.Budget, t *family.Tensor, to tensor.DType) error {
	if !t.Log && (!t.Wide || to == tensor.F32) {
		return nil
	}
	fits, plain := model.Exact, *t
	if t.Log {
		fits, plain.Log, plain.DType = model.Decays, false, tensor.F32
	}
	exact, err := fits(b, p.source(model.Plain(plain.Name, plain.DType, plain.Shape), &plain), to)
	if exact && err == nil {
		t.DType = to
	}
	return err
}

// matrices returns the type of a model's weights: the one that all plain matrices have,
// or else that to which quantized ones are decoded. Experts that stay blocks do not
// count.
func matrices(m tensor.Model, decoded tensor.DType, blocks bool) tensor.DType {
	one := tensor.Unknown
	for i := range m.Tensors() {
		switch {
		case len(i.Shape) < 2 || family.Wide(&i), blocks && i.DType == tensor.MXFP4 && len(i.Shape) == 3:
		case !model.Computes(i.DType) || one != tensor.Unknown && one != i.DType:
			return decoded
		default:
			one = i.DType
		}
	}
	if one == tensor.Unknown {
		return decoded
	}
	return one
}

func targetOf(d tensor.DType) quant.Target {
	for t := range encode.TorchNames {
		if t.DType() == d {
			return t
		}
	}
	return quant.F32
}
