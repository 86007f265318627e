package torchao

import (
	"strconv"

	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/jsontree"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/quant/scaled"
)

// Describe adds the descriptions of weights.
func (e *blocks) Describe(b *limits.Budget, n int, name func(int) string, meta []encode.Entry) ([]encode.Entry, error) {
	f := e.Format()
	block := func(w *encode.QuantizedWeight) (int64, int64) {
		if f.Cols > 0 {
			return 1, f.Cols
		}
		return 1, w.Shape[1]
	}
	return described(&e.Linear, b, n, name, meta, f.Code, block)
}

func (e *matrix) Describe(b *limits.Budget, n int, name func(int) string, meta []encode.Entry) ([]encode.Entry, error) {
	return described(&e.Linear, b, n, name, meta, scaled.E5M2, func(w *encode.QuantizedWeight) (int64, int64) { return w.Shape[0], w.Shape[1] })
}

// described adds what TorchAO's loader needs: the names of all parameters, and the
// description of each under its name. Metadata of the source under these names is left
// out.
func described(e *encode.Linear, b *limits.Budget, n int, name func(int) string, source []encode.Entry, code scaled.Code, block func(*encode.QuantizedWeight) (rows, cols int64)) ([]encode.Entry, error) {
	names, meta, err := descriptions(e, b, n, name, code, block)
	if err != nil {
		return nil, err
	}
	if meta, err = limits.Append(b, meta, encode.Entry{Key: namesKey, Value: string(names)}); err != nil {
		return nil, err
	}
	own := len(meta)
	keys, err := wire.NewNameSet(b, own, func(i int) string { return meta[i].Key })
	for i := 0; err == nil && i < own; i++ {
		_, _, err = keys.Add(i)
	}
	for _, k := range source {
		if err != nil {
			return nil, err
		}
		if _, taken := keys.Find(k.Key); !taken {
			meta, err = limits.Append(b, meta, k)
		}
	}
	return meta, err
}

// descriptions returns a description of each parameter, and the list of their names.
func descriptions(e *encode.Linear, b *limits.Budget, n int, name func(int) string, code scaled.Code, block func(*encode.QuantizedWeight) (rows, cols int64)) (names []byte, meta []encode.Entry, err error) {
	list, before, next := jsontree.NewText(b), "[", 0
	for i := range n {
		entry := encode.Entry{Key: name(i), Value: `{"_type": "Tensor"}`}
		switch {
		case next < len(e.Weights) && entry.Key == nameOf(e.Weights[next].Name, "_qdata"):
			w := &e.Weights[next]
			rows, cols := block(w)
			entry, next = encode.Entry{Key: w.Name, Value: description(code, rows, cols, encode.TorchTypes[encode.FloatTypes[w.From]])}, next+1
		case next > 0 && isPart(entry.Key, e.Weights[next-1].Name):
			continue
		}
		if err := b.Hold(int64(len(entry.Key)) + 512); err != nil {
			return nil, nil, err
		}
		list.Put(before)
		list.Quote(entry.Key)
		before = ", "
		if meta, err = limits.Append(b, meta, entry); err != nil {
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
	return name == nameOf(weight, "_scale") || name == nameOf(weight, "_zero_point")
}
