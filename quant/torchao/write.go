package torchao

import (
	"errors"
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/transformers"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Rows and Matrix are the targets: a scale for each row or group, and one for a matrix.
var (
	Rows = []*encode.Target{
		ofBlocks(scaled.Format{Name: "torchao_fp8", Layout: "FP8 E4M3 of TorchAO, one scale per row", Code: scaled.E4M3, Rows: 1, Precision: scaled.WideCodes}),
		ofBlocks(scaled.Format{Name: "torchao_fp8_e5m2", Layout: "FP8 E5M2 of TorchAO, one scale per row", Code: scaled.E5M2, Rows: 1, Precision: scaled.WideCodes}),
		ofBlocks(scaled.Format{Name: "torchao_fp8_e5m2_group", Layout: "FP8 E5M2 of TorchAO, groups of 128", Code: scaled.E5M2, Rows: 1, Cols: 128, Whole: true, Precision: scaled.WideCodes}),
		ofBlocks(scaled.Format{Name: "torchao_int8", Layout: "INT8 of TorchAO, one scale per row", Code: scaled.Int8, Rows: 1, Precision: scaled.WideCodes, Reciprocal: true}),
	}
	Matrix = []*encode.Target{
		ofMatrix(scaled.Groups{Name: "torchao_fp8_e5m2_tensor", Layout: "FP8 E5M2 of TorchAO, one scale per matrix", Bits: 8, Float: true, E5M2: true, Scale: scaled.Nothing, Global: true, Rule: scaled.WholeRule}),
	}
)

// row returns the common part of the targets.
func row(name string) *encode.Target {
	return &encode.Target{Name: name, Library: "TorchAO", Served: encode.Served{Method: "torchao", Diffusers: "torchao"}}
}

func ofBlocks(f scaled.Format) *encode.Target {
	t := row(f.Name)
	t.Scaled, t.Start = &f, startBlocks
	return t
}

func ofMatrix(f scaled.Groups) *encode.Target {
	t := row(f.Name)
	t.Groups, t.Start = &f, startMatrix
	return t
}

// Encoders of the weights of one model: blocks has a scale for each row or group, matrix one for
// the whole weight.
type (
	blocks struct{ encode.Scaled }
	matrix struct{ encode.Grouped }
)

func startBlocks(j *encode.Job) (encode.Encoder, error) {
	e := &blocks{}
	e.Names = func(weight string, lines, per int64) (codes, scales string, shape []int64) {
		return nameOf(weight, "_qdata"), nameOf(weight, "_scale"), []int64{lines, per}
	}
	if j.Target.Scaled.Code == scaled.Int8 {
		e.Zeros = func(weight string) string { return nameOf(weight, "_zero_point") }
	}
	if err := e.Start(j); err != nil {
		return nil, err
	}
	renames(&e.Linear)
	return e, nil
}

func startMatrix(j *encode.Job) (encode.Encoder, error) {
	e := &matrix{}
	e.Plan = func(w *encode.GroupedWeight) error {
		p, name := &w.Parts, w.Source.Name
		return errors.Join(w.Out(&p.Codes, nameOf(name, "_qdata"), tensor.F8E5M2, w.Source.Rows(), w.Source.Cols()), w.Out(&p.Over, nameOf(name, "_scale"), tensor.F32, 1, 1))
	}
	if err := e.Start(j); err != nil {
		return nil, err
	}
	renames(&e.Linear)
	return e, nil
}

// renames notes that transformers would not find the descriptions of weights.
func renames(e *encode.Linear) {
	if transformers.Renames(e.Type) {
		e.BreaksAgain = "it gives weights other names when it loads them, and looks for torchao's metadata under those"
	}
}

// nameOf returns TorchAO's name for a part of a parameter: for "m.weight",
// "m._weight_qdata".
func nameOf(name, part string) string {
	at := strings.LastIndexByte(name, '.') + 1
	return name[:at] + "_" + name[at:] + part
}

// wholeMatrix stands for the columns per scale if the matrix has a single scale.
const wholeMatrix = -1

func (e *blocks) Config() ([]byte, error) {
	return configText(&e.Linear, e.Format().Code, e.Format().Cols)
}
func (e *matrix) Config() ([]byte, error) { return configText(&e.Linear, scaled.E5M2, wholeMatrix) }

// configText returns transformers' TorchAoConfig for weights with cols columns per
// scale, 0 for a whole row.
func configText(e *encode.Linear, code scaled.Code, cols int64) ([]byte, error) {
	skip, err := e.Skipped()
	if err != nil {
		return nil, err
	}
	data, granularity := "\"dim\": -1", "PerRow"
	switch {
	case cols == wholeMatrix:
		data, granularity = "", "PerTensor"
	case cols > 0:
		data, granularity = "\"group_size\": "+strconv.FormatInt(cols, 10), "PerGroup"
	}
	kind, rest := "Float8WeightOnlyConfig", "\"weight_dtype\": {\"_data\": \"float8_e4m3fn\", \"_type\": \"torch.dtype\"}"
	switch code {
	case scaled.Int8:
		kind, rest = "Int8WeightOnlyConfig", "\"group_size\": null"
	case scaled.E5M2:
		rest = strings.Replace(rest, "e4m3fn", "e5m2", 1)
	}
	w := jsontree.NewText(e.Budget)
	w.Put("{\n  \"include_input_output_embeddings\": false,\n  \"modules_to_not_convert\": ")
	w.Names(skip)
	w.Put(",\n  \"quant_method\": \"torchao\",\n  \"quant_type\": {\n    \"default\": {\n      \"_data\": {\"granularity\": {\"_data\": {", data,
		"}, \"_type\": \"", granularity, "\", \"_version\": 1}, ", rest, ", \"set_inductor_config\": true},\n      \"_type\": \"", kind,
		"\",\n      \"_version\": 2\n    }\n  },\n  \"untie_embedding_weights\": false\n}")
	return w.Done()
}
