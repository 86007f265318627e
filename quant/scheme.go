package quant

import (
	"cmp"
	"slices"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/scheme"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/awq"
	"github.com/anamnesis-go/anamnesis/quant/bitnet"
	"github.com/anamnesis-go/anamnesis/quant/bnb"
	"github.com/anamnesis-go/anamnesis/quant/comfy"
	"github.com/anamnesis-go/anamnesis/quant/compressed"
	"github.com/anamnesis-go/anamnesis/quant/fp8"
	"github.com/anamnesis-go/anamnesis/quant/gemma"
	"github.com/anamnesis-go/anamnesis/quant/ggml"
	"github.com/anamnesis-go/anamnesis/quant/gptq"
	"github.com/anamnesis-go/anamnesis/quant/hqq"
	"github.com/anamnesis-go/anamnesis/quant/mistral"
	"github.com/anamnesis-go/anamnesis/quant/mlx"
	"github.com/anamnesis-go/anamnesis/quant/modelopt"
	"github.com/anamnesis-go/anamnesis/quant/mxfp4"
	"github.com/anamnesis-go/anamnesis/quant/nvfp4"
	"github.com/anamnesis-go/anamnesis/quant/onnx"
	"github.com/anamnesis-go/anamnesis/quant/quanto"
	"github.com/anamnesis-go/anamnesis/quant/sdnq"
	"github.com/anamnesis-go/anamnesis/quant/tflite"
	"github.com/anamnesis-go/anamnesis/quant/torchao"
	"github.com/anamnesis-go/anamnesis/quant/w8a8"
)

// schemes are all rows. Each is defined in the file of its bind.
var schemes = []*scheme.Scheme{
	&comfy.Scheme,
	&ggml.Scheme,
	&bnb.FourBit,
	&bnb.EightBit,
	&gptq.Scheme,
	&awq.GEMM,
	&fp8.Scheme,
	&nvfp4.Scheme,
	&mxfp4.Scheme,
	&compressed.Packed,
	&w8a8.Scheme,
	&mlx.Scheme,
	&awq.GEMV,
	&awq.Fast,
	&bitnet.Scheme,
	&modelopt.Int4,
	&gemma.Scheme,
	&hqq.Scheme,
	&compressed.Sparse,
	&torchao.Scheme,
	&mistral.Scheme,
	&sdnq.Scheme,
	&quanto.Scheme,
	&onnx.Scheme,
	&tflite.Scheme,
}

// targets are what schemes write, in the order in which they are listed.
var targets = [][]*encode.Target{
	bnb.Targets,
	fp8.Targets,
	compressed.Floats,
	modelopt.Rows,
	torchao.Rows,
	compressed.Integers,
	compressed.Groups,
	modelopt.Matrix,
	torchao.Matrix,
	modelopt.Groups,
	mxfp4.Targets,
	gptq.Targets,
	awq.Targets,
	mlx.Floats,
	mlx.Integers,
}

// rows is the table. A bind gets it from its set: schemes that referred to the table
// would be an initialization cycle.
var rows = scheme.NewTable(schemes, foreignNames(func(f *foreign) []string { return f.names }), foreignNames(func(f *foreign) []string { return f.modules }))

// foreignNames lists names of the tensors of refused schemes.
func foreignNames(of func(*foreign) []string) (all []string) {
	for _, f := range foreigners {
		all = append(all, of(f)...)
	}
	return all
}

// A Support is a row of the table of schemes.
type Support struct {
	Name, Stores, Oracle string
}

// Schemes lists the schemes that are decoded, and those that are refused by name.
func Schemes() (decoded []Support, refusedNames []string) {
	for _, s := range rows.Rows {
		decoded = append(decoded, Support{s.Name, s.Stores, s.Oracle})
	}
	for _, f := range foreigners {
		refusedNames = append(refusedNames, f.name)
	}
	slices.Sort(refusedNames)
	return decoded, refusedNames
}

// Endings lists the suffixes that publishers append to the name of a quantized model,
// longest first.
func Endings() (all []string) {
	for _, s := range rows.Rows {
		all = scheme.Union(all, s.Endings)
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}

// Describes reports whether a metadata key describes the quantization of weights, and so
// does not apply to the decoded model.
func Describes(key string) bool { return rows.Describes(key) }

// Any reports whether a model may hold quantized weights: whether the type or the name of
// any tensor fits a main tensor of a scheme. If not, Plan would bind nothing.
func Any(m tensor.Model) bool {
	graph, _ := m.(tensor.Quantizer)
	for i := range m.Tensors() {
		if graph != nil {
			if _, ok := graph.Quantized(i.Name); ok {
				return true
			}
		}
		if rows.HoldsCodes(&i) || scheme.EndsIn(i.Name, rows.Alone) {
			return true
		}
	}
	return false
}
