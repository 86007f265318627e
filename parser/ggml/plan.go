package ggml

import (
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// weights are the types of whisper.cpp's models by ftype, without the version of its blocks: those
// that its converter and its quantize write. ggml_ftype_to_ggml_type ends in an assertion for a number
// that it does not have, and whisper_init for several that it has.
var weights = map[uint32]gguf.Type{
	0: 0, 1: 1, 2: 2, 3: 3, 7: 8, 8: 6, 9: 7, // F32, F16, Q4_0, Q4_1, Q8_0, Q5_0, Q5_1
	10: 10, 11: 11, 12: 12, 13: 13, 14: 14, // Q2_K to Q6_K
}

// A plan is what the hyperparameters say of the tensors.
type plan struct {
	weight gguf.Type // of matrices
	kernel gguf.Type // of convolutions
}

const (
	typeF32 gguf.Type = 0
	typeF16 gguf.Type = 1
)

// agree checks that the hyperparameters fit one another.
func (d *decoder) agree() error {
	p, at := &d.out.params, int64(len(Magic))
	for k, v := range p {
		if v == 0 && k != ftype {
			return d.c.FailAt(params[k].name, at+4*int64(k), errHead.Errorf("%s is 0", params[k].name))
		}
	}
	for _, k := range [...][2]int{{audioState, audioHeads}, {textState, textHeads}} {
		if p[k[0]]%p[k[1]] != 0 {
			return d.c.FailAt(params[k[1]].name, at+4*int64(k[1]), errHead.Errorf("%d heads do not divide a state of %d", p[k[1]], p[k[0]]))
		}
	}
	if p[audioState] != p[textState] {
		return d.c.FailAt(params[textState].name, at+4*textState, errHead.Errorf("the decoder has a state of %d, and the encoder, at which it looks, one of %d", p[textState], p[audioState]))
	}
	var known bool
	if d.plan.weight, known = weights[p[ftype]%versionFactor]; !known {
		return d.c.FailAt(params[ftype].name, at+4*ftype, errHead.Errorf("ftype %d, and whisper.cpp writes no weights of this type", p[ftype]))
	}
	if d.plan.kernel = typeF16; d.plan.weight == typeF32 {
		d.plan.kernel = typeF32
	}
	return nil
}

// planned checks that a tensor is one of whisper.cpp's table of tensors, of the shape that follows
// from the hyperparameters, and of the type: the loader compares sizes alone, and takes the
// type of the table.
func (d *decoder) planned(i *tensor.Info, of gguf.Type, where string, at int64) error {
	shape, rank, want := d.table(i.Name)
	switch {
	case rank == 0:
		return d.c.FailAt(where, at, errOther.Errorf("the layers of whisper.cpp's models have no tensor of this name: it is a file of another program"))
	case !slices.Equal(i.Shape, shape[:rank]):
		return d.c.FailAt(where, at, errHead.Errorf("shape %v, and by the hyperparameters it is %v", i.Shape, shape[:rank]))
	case of != want:
		return d.c.FailAt(where, at, errHead.Errorf("the type %v, and the loader takes it for %v", of, want))
	}
	return nil
}

// table returns the shape and the type of the tensor of a name; no dimensions where there is none.
func (d *decoder) table(name string) (shape [maxDims - 1]int64, rank int, of gguf.Type) {
	p := &d.out.params
	state := int64(p[audioState])
	switch name {
	case "encoder.positional_embedding":
		return [...]int64{int64(p[audioCtx]), state, 0}, 2, typeF32
	case "encoder.conv1.weight":
		return [...]int64{state, int64(p[mels]), 3}, 3, d.plan.kernel
	case "encoder.conv2.weight":
		return [...]int64{state, state, 3}, 3, d.plan.kernel
	case "encoder.conv1.bias", "encoder.conv2.bias":
		return [...]int64{state, 1, 0}, 2, typeF32
	case "encoder.ln_post.weight", "encoder.ln_post.bias", "decoder.ln.weight", "decoder.ln.bias":
		return [...]int64{state, 0, 0}, 1, typeF32
	case "decoder.positional_embedding":
		return [...]int64{int64(p[textCtx]), state, 0}, 2, typeF32
	case "decoder.token_embedding.weight":
		return [...]int64{int64(p[vocab]), state, 0}, 2, d.plan.weight
	}
	side, rest, _ := strings.Cut(name, ".blocks.")
	number, rest, _ := strings.Cut(rest, ".")
	layers, decodes := p[audioLayers], side == "decoder"
	if decodes {
		layers = p[textLayers]
	}
	k, err := strconv.ParseUint(number, 10, 32)
	if side != "encoder" && !decodes || err != nil || k >= uint64(layers) || number != strconv.FormatUint(k, 10) {
		return shape, 0, 0
	}
	rows, cols, in := layer(rest, decodes)
	switch {
	case !in:
		return shape, 0, 0
	case cols == 0:
		return [...]int64{rows * state, 0, 0}, 1, typeF32
	}
	return [...]int64{rows * state, cols * state, 0}, 2, d.plan.weight
}

// layer returns how often the state a tensor of a layer has rows and columns; no columns for a vector.
func layer(name string, decodes bool) (rows, cols int64, in bool) {
	if cross := strings.TrimPrefix(name, "cross_"); decodes && strings.HasPrefix(cross, "attn") {
		name = cross
	}
	switch name {
	case "attn.query.weight", "attn.key.weight", "attn.value.weight", "attn.out.weight":
		return 1, 1, true
	case "attn.query.bias", "attn.value.bias", "attn.out.bias", "attn_ln.weight", "attn_ln.bias", "mlp_ln.weight", "mlp_ln.bias", "mlp.2.bias":
		return 1, 0, true
	case "mlp.0.weight":
		return 4, 1, true
	case "mlp.0.bias":
		return 4, 0, true
	case "mlp.2.weight":
		return 1, 4, true
	}
	return 0, 0, false
}
