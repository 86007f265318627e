package awq

import (
	"cmp"
	"errors"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/loaders"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// library is the name of its method, and that under which transformers' tables have it.
const library = "awq"

// Targets are codes rounded to nearest. GPTQModel loads them too.
var Targets = []*encode.Target{{
	Name: "awq", Library: "AutoAWQ", Groups: &groups, Fuses: true, Start: start,
	Served: encode.Served{Method: library, Packers: []loaders.Library{loaders.AutoAWQ, loaders.GPTQModel}, Packed: library},
}}

var groups = scaled.Groups{
	Name: "awq", Layout: "INT4 as AWQ packs it, groups of 128, rounded to nearest", Bits: 4, Size: 128, Scale: scaled.Half, Second: scaled.ZeroPoint,
	Half: true, Columns: true, Rule: scaled.HalfRule,
}

// encoder encodes the weights of one model.
type encoder struct{ encode.Grouped }

func start(j *encode.Job) (encode.Encoder, error) {
	e := &encoder{encode.Grouped{Plan: plan, Column: putColumn}}
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
	words, count := outs*int64(e.F.Bits)/32, e.F.Count(in)
	return errors.Join(e.Out(&p.Codes, stem+"qweight", tensor.I32, in, words), e.Out(&p.Seconds, stem+"qzeros", tensor.I32, count, words),
		e.Out(&p.Scales, stem+"scales", scale, count, outs))
}

// order has the positions of the codes of eight outputs in a word.
var order = [8]int64{0, 4, 1, 5, 2, 6, 3, 7}

// putColumn writes a group of one output that begins with input at.
func putColumn(e *encode.GroupedWeight, out, at, _ int64, c scaled.Coded) {
	outs, bits, group := e.Source.Rows(), int64(e.F.Bits), at/e.F.Size
	codes, zeros, scales := e.Held(e.Parts.Codes), e.Held(e.Parts.Seconds), e.Held(e.Parts.Scales)
	words, field := outs*bits/32, out/8*32+order[out%8]*bits
	for i, code := range c.Codes {
		encode.AddBits(codes[(at+int64(i))*words*4:], field, 1, uint32(code))
	}
	encode.AddBits(zeros[group*words*4:], field, 1, uint32(c.Second))
	e.PutScale(scales[(group*outs+out)*2:], c.Scale)
}

// Loadings notes why transformers would not load it, once all weights are known.
func (e *encoder) Loadings() ([]encode.Loading, error) {
	if why := cmp.Or(e.NoCodesOf(), e.KeptUnderAnotherName()); why != "" {
		e.BreaksAgain = why
	}
	return e.Linear.Loadings()
}

// Config returns AutoAWQ's configuration.
func (e *encoder) Config() ([]byte, error) {
	names, err := e.Skipped()
	if err != nil {
		return nil, err
	}
	w, size := jsontree.NewText(e.Budget), strconv.FormatInt(e.Format().Size, 10)
	w.Put("{\n  \"backend\": \"autoawq\",\n  \"bits\": 4,\n  \"do_fuse\": false,\n  \"group_size\": ", size, ",\n  \"modules_to_not_convert\": ")
	w.Names(names)
	w.Put(",\n  \"quant_method\": \"awq\",\n  \"version\": \"gemm\",\n  \"zero_point\": true\n}")
	return w.Done()
}
