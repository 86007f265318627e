package convert

import (
	"bytes"

	"github.com/anamnesis-go/anamnesis/asm"
	"github.com/anamnesis-go/anamnesis/internal/family"
	"github.com/anamnesis-go/anamnesis/internal/form"
	"github.com/anamnesis-go/anamnesis/internal/model"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant"
)

// Transformers converts a GGUF file of llama.cpp to a transformers folder.
type Transformers struct {
	// Target is what quantized weights will be decoded to.
	Target quant.Target
	// Blocks keeps the experts of gpt-oss in MXFP4, as OpenAI stores them: codes are moved
	// and nothing is rounded.
	Blocks bool
}

// narrower are the types that vectors get if the weights of the folder have them.
var narrower = map[tensor.DType]asm.Type{tensor.F16: asm.F16, tensor.BF16: asm.BF16}

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

func (t Transformers) model(b *limits.Budget, m tensor.Model) (*rewritten, error) {
	if m.Format() != gguf.Format {
		return nil, wire.ErrUnsupported.Errorf("a folder for transformers is made only from a GGUF file or a folder of mlx-lm")
	}
	to := matrices(m, t.Target.DType(), t.Blocks)
	f, err := family.Back(b, m, torchNames[targetOf(to)], t.Blocks)
	if err != nil {
		return nil, err
	}
	r := &rewritten{Model: m, b: b, straight: model.NewStraight(b, m), tensors: f.Tensors, files: f.Files, left: f.Left, unpacked: f.Moved}
	r.keys = []family.Key{{Key: "format", Value: "pt"}}
	for i := range r.tensors {
		if one := &r.tensors[i]; one.Log || one.Wide && to != tensor.F32 {
			fits := r.holds
			if one.Log {
				fits = r.logs
			}
			exact, err := fits(one, to)
			if err != nil {
				return nil, wire.At(m.Format(), "tensor "+wire.Quote(one.Parts[0].Info.Name), one.Parts[0].Info.Span.Off, err)
			}
			if exact {
				one.DType = to
			}
		}
	}
	return r, r.index()
}

// matrices returns the type of a model's weights: the one that all plain matrices have,
// or else that to which quantized ones are decoded. Experts that stay blocks do not
// count.
func matrices(m tensor.Model, decoded tensor.DType, blocks bool) tensor.DType {
	one := tensor.Unknown
	for i := range m.Tensors() {
		_, half := narrower[i.DType]
		switch {
		case len(i.Shape) < 2 || family.Wide(&i), blocks && i.DType == tensor.MXFP4 && len(i.Shape) == 3:
		case i.DType != tensor.F32 && !half || one != tensor.Unknown && one != i.DType:
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
	for t := range torchNames {
		if t.DType() == d {
			return t
		}
	}
	return quant.F32
}

// holds reports whether every number of a tensor is exact in a narrower type.
func (r *rewritten) holds(t *family.Tensor, to tensor.DType) (bool, error) {
	const some = 4096
	var wide, back [4 * some]byte
	var half [2 * some]byte
	c, ok := form.CodecOf(to)
	if !ok {
		return false, wire.ErrInternal.Errorf("no codec of %v", to)
	}
	var numbers [some]float32
	m := &made{r: r, t: t}
	for off, size := int64(0), infoOf(t).Span.Len; off < size; off += int64(len(wide)) {
		if err := r.b.Step(1); err != nil {
			return false, err
		}
		p := wide[:min(int64(len(wide)), size-off)]
		if _, err := m.ReadAt(p, off); err != nil {
			return false, err
		}
		n := len(p) / 4
		asm.Best().Cast(asm.F32, narrower[to], half[:2*n], p)
		c.Decode(numbers[:n], half[:2*n])
		putF32(back[:4*n], numbers[:n])
		if !bytes.Equal(p, back[:4*n]) {
			return false, nil
		}
	}
	return true, nil
}
