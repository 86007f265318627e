package gptq

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// library is the name of its method, and that under which transformers' tables have it.
const library = "gptq"

// Targets are codes rounded to nearest.
var Targets = []*encode.Target{
	target(scaled.Groups{Name: "gptq_2", Layout: "INT2 as GPTQ packs it, groups of 128, rounded to nearest", Bits: 2}, ""),
	target(scaled.Groups{Name: "gptq_3", Layout: "INT3 as GPTQ packs it, groups of 128, rounded to nearest", Bits: 3}, ""),
	target(scaled.Groups{Name: tried, Layout: "INT4 as GPTQ packs it, groups of 128, rounded to nearest", Bits: 4}, library),
	target(scaled.Groups{Name: "gptq_8", Layout: "INT8 as GPTQ packs it, groups of 128, rounded to nearest", Bits: 8}, library),
}

// tried is the target that was tried with every type; the loader of the others is the same.
const tried = "gptq"

func target(f scaled.Groups, method string) *encode.Target {
	f.Size, f.Scale, f.Second, f.Columns, f.Rule = 128, scaled.Half, scaled.ZeroPoint, true, scaled.MiddleRule
	t := &encode.Target{Name: f.Name, Library: "GPTQModel", Groups: &f, Fuses: true, Start: start}
	t.Served = encode.Served{Method: method, Packers: []loaders.Library{loaders.GPTQModel}, Packed: library}
	if method != "" {
		t.Served.SGLangMethod = "gptq_marlin" // on CUDA it has no other, and takes symmetric codes of 4 and 8 bits to it
	}
	if f.Name != tried {
		t.Served.TriedAs = tried
	}
	return t
}

// encoder encodes the weights of one model.
type encoder struct {
	encode.Grouped

	listed bool // the configuration lists the modules
}

func start(j *encode.Job) (encode.Encoder, error) {
	e := &encoder{}
	e.Plan, e.Column = plan, putColumn
	if err := e.Start(j); err != nil {
		return nil, err
	}
	e.Breaks(library)
	return e, nil
}

// plan lists the tensors of a weight.
func plan(e *encode.GroupedWeight) error {
	p, stem, outs, in := &e.Parts, strings.TrimSuffix(e.Source.Name, "weight"), e.Source.Rows(), e.Source.Cols()
	_, scale := e.ScaleType()
	bits, count := int64(e.F.Bits), e.F.Count(in)
	return errors.Join(e.Out(&p.Codes, stem+"qweight", tensor.I32, in*bits/32, outs), e.Out(&p.Seconds, stem+"qzeros", tensor.I32, count, outs*bits/32),
		e.Out(&p.Scales, stem+"scales", scale, count, outs), e.Out(&p.Order, stem+"g_idx", tensor.I32, in))
}

// putColumn writes a group of one output that begins with input at.
func putColumn(e *encode.GroupedWeight, out, at, _ int64, c scaled.Coded) {
	outs, bits, group := e.Source.Rows(), int64(e.F.Bits), at/e.F.Size
	codes, zeros, scales := e.Held(e.Parts.Codes), e.Held(e.Parts.Seconds), e.Held(e.Parts.Scales)
	for i, code := range c.Codes {
		encode.AddBits(codes[out*4:], (at+int64(i))*bits, outs, uint32(code))
	}
	encode.AddBits(zeros[group*outs*bits/32*4:], out*bits, 1, uint32(c.Second)-1) // stored minus one, as in the first version of the layout
	e.PutScale(scales[(group*outs+out)*2:], c.Scale)
}

// Loadings notes why transformers would not load it, once all weights are known.
func (e *encoder) Loadings() (list []encode.Loading, err error) {
	if e.listed, err = e.takesOthers(); err != nil {
		return nil, err
	}
	input := transformers.MainInput(e.Type)
	switch byHand := e.NoCodesOf(); {
	case input != "":
		e.BreaksAgain = "it loads GPTQ of models of text alone, and the main input of these is " + input
	case byHand != "":
		e.BreaksAgain = byHand
	case e.listed && transformers.Renames(e.Type):
		e.BreaksAgain = "it gives weights other names when it loads them, and finds modules by their names"
	}
	return e.Linear.Loadings()
}

// Config returns GPTQModel's configuration. Modules that are left alone match a
// pattern in dynamic that begins with a minus; embeddings and heads need no pattern.
func (e *encoder) Config() ([]byte, error) {
	var alone []string
	for i := range e.Kept {
		k := &e.Kept[i]
		if k.Reason == transformers.Embedding || k.Reason == transformers.Head {
			continue
		}
		for _, module := range e.Spellings(strings.TrimSuffix(k.Name, ".weight")) {
			var err error
			if alone, err = limits.Append(e.Budget, alone, "-:^"+strings.ReplaceAll(encode.PlainPattern(module), ".", `\.`)+"$"); err != nil {
				return nil, err
			}
		}
	}
	w := jsontree.NewText(e.Budget)
	w.Put("{\n  \"bits\": ", strconv.Itoa(e.Format().Bits))
	if e.listed {
		w.Put(",\n  \"block_name_to_quantize\": \"\"")
	}
	w.Put(",\n  \"checkpoint_format\": \"gptq\",\n  \"desc_act\": false,\n")
	if len(alone) > 0 {
		w.Put("  \"dynamic\": {")
		for i, name := range alone {
			if i > 0 {
				w.Put(",")
			}
			w.Put("\n    ")
			w.Quote(name)
			w.Put(": {}")
		}
		w.Put("\n  },\n")
	}
	w.Put("  \"group_size\": ", strconv.FormatInt(e.Format().Size, 10), ",\n  \"lm_head\": false")
	if e.listed {
		e.putBlocks(w)
	}
	w.Put(",\n  \"pack_dtype\": \"int32\",\n  \"quant_method\": \"gptq\",\n  \"sym\": true\n}")
	return w.Done()
}

// blockNames are the prefixes by which optimum finds the blocks of a model when
// transformers loads GPTQ: it takes all linear modules below the first of these that is a
// prefix of a module (optimum 2.3.0, gptq/constants.py), unless the configuration lists
// them.
var blockNames = [...]string{"transformer.h", "model.decoder.layers", "gpt_neox.layers", "model.layers", "model.language_model.layers", "h", "decoder.layers", "layers"}

// takesOthers reports whether optimum would take other modules than the quantized ones.
func (e *encoder) takesOthers() (bool, error) {
	var has [len(blockNames)]bool
	for i := range e.Model.Tensors() {
		if err := e.Budget.Step(int64(len(blockNames))); err != nil {
			return false, err
		}
		for k, begin := range blockNames {
			has[k] = has[k] || strings.HasPrefix(i.Name, begin)
		}
	}
	at := slices.Index(has[:], true)
	if at < 0 {
		return true, nil
	}
	begins := func(name string) bool { return strings.HasPrefix(name, blockNames[at]) }
	return slices.ContainsFunc(e.Weights, func(w encode.QuantizedWeight) bool { return !begins(w.Name) }) ||
		slices.ContainsFunc(e.Kept, func(k encode.KeptMatrix) bool { return begins(k.Name) }), nil
}

// putBlocks lists the quantized modules as one block that is the whole model. vLLM reads
// the list the same way.
func (e *encoder) putBlocks(w *jsontree.Text) {
	w.Put(",\n  \"modules_in_block_to_quantize\": [\n    [")
	for i := range e.Weights {
		if i > 0 {
			w.Put(",")
		}
		w.Put("\n      ")
		w.Quote(strings.TrimSuffix(e.Weights[i].Name, ".weight"))
	}
	w.Put("\n    ]\n  ]")
}
