package convert

import (
	"strconv"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// torchaoName returns TorchAO's name for a part of a parameter: for "m.weight",
// "m._weight_qdata".
func torchaoName(name, part string) string {
	at := strings.LastIndexByte(name, '.') + 1
	return name[:at] + "_" + name[at:] + part
}

// wholeMatrix stands for the columns per scale if the matrix has a single scale.
const wholeMatrix = -1

// torchaoConfig returns transformers' TorchAoConfig for weights with cols columns per
// scale, 0 for a whole row.
func torchaoConfig(e *encode.Linear, code scaled.Code, cols int64) ([]byte, error) {
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

// A describer is an encoder whose weights are described in the metadata.
type describer interface {
	describe(p *Plan, meta []Entry) ([]Entry, error)
}

// describe adds the descriptions of TorchAO's layouts.
func (e *scaledEncoder) describe(p *Plan, meta []Entry) ([]Entry, error) {
	if e.f.Library != scaled.TorchAO {
		return meta, nil
	}
	block := func(w *encode.QuantizedWeight) (int64, int64) {
		if e.f.Cols > 0 {
			return 1, e.f.Cols
		}
		return 1, w.Shape[1]
	}
	return described(&e.Linear, p, meta, e.f.Code, block)
}

func (e *groupedEncoder) describe(p *Plan, meta []Entry) ([]Entry, error) {
	if e.f.Library != scaled.TorchAO {
		return meta, nil
	}
	return described(&e.Linear, p, meta, scaled.E5M2, func(w *encode.QuantizedWeight) (int64, int64) { return w.Shape[0], w.Shape[1] })
}

// described adds what TorchAO's loader needs: the names of all parameters, and the
// description of each under its name. Metadata of the source under these names is left
// out.
func described(e *encode.Linear, p *Plan, source []Entry, code scaled.Code, block func(*encode.QuantizedWeight) (rows, cols int64)) ([]Entry, error) {
	names, meta, err := descriptions(e, p, code, block)
	if err != nil {
		return nil, err
	}
	if meta, err = limits.Append(p.b, meta, Entry{Key: "tensor_names", Value: string(names)}); err != nil {
		return nil, err
	}
	own := len(meta)
	keys, err := wire.NewNameSet(p.b, own, func(i int) string { return meta[i].Key })
	for i := 0; err == nil && i < own; i++ {
		_, _, err = keys.Add(i)
	}
	for _, k := range source {
		if err != nil {
			return nil, err
		}
		if _, taken := keys.Find(k.Key); !taken {
			meta, err = limits.Append(p.b, meta, k)
		}
	}
	return meta, err
}

// descriptions returns a description of each parameter, and the list of their names.
func descriptions(e *encode.Linear, p *Plan, code scaled.Code, block func(*encode.QuantizedWeight) (rows, cols int64)) (names []byte, meta []Entry, err error) {
	list, before, next := jsontree.NewText(p.b), "[", 0
	for i := range p.Outs {
		entry := Entry{Key: p.Outs[i].Name, Value: `{"_type": "Tensor"}`}
		switch {
		case next < len(e.Weights) && entry.Key == torchaoName(e.Weights[next].Name, "_qdata"):
			w := &e.Weights[next]
			rows, cols := block(w)
			entry, next = Entry{Key: w.Name, Value: description(code, rows, cols, encode.TorchTypes[floatNames[w.From]])}, next+1
		case next > 0 && isPart(entry.Key, e.Weights[next-1].Name):
			continue
		}
		if err := p.b.Hold(int64(len(entry.Key)) + 512); err != nil {
			return nil, nil, err
		}
		list.Put(before)
		list.Quote(entry.Key)
		before = ", "
		if meta, err = limits.Append(p.b, meta, entry); err != nil {
			return nil, nil, err
		}
	}
	list.Put("]")
	names, err = list.Done()
	return names, meta, err
}

// description returns that of one weight in blocks, with a type by torch's name, spaced
// like Python's json.
func description(code scaled.Code, rows, cols int64, dtype string) string {
	kind, parts := "Float8Tensor", `"qdata", "scale"`
	rest := `"mm_config": null, "act_quant_kwargs": null, "kernel_preference": {"_type": "KernelPreference", "_data": "AUTO"}`
	if code == scaled.Int8 {
		kind, parts, rest = "Int8Tensor", `"zero_point", "qdata", "scale"`, `"act_quant_kwargs": null, "reduce_range": false`
	}
	return `{"_type": "` + kind + `", "_data": {"block_size": [` + strconv.FormatInt(rows, 10) + ", " + strconv.FormatInt(cols, 10) + "], " + rest +
		`, "dtype": {"_type": "torch.dtype", "_data": "` + dtype + `"}}, "_tensor_data_names": [` + parts + "]}"
}

// isPart reports whether a tensor accompanies the codes of a weight.
func isPart(name, weight string) bool {
	return name == torchaoName(weight, "_scale") || name == torchaoName(weight, "_zero_point")
}
