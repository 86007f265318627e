package convert

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/quant"
)

// quantKeys are metadata of safetensors files that say how weights are
// quantized: ComfyUI's, TorchAO's, and a whole configuration.
var quantKeys = []string{"_quantization_metadata", "tensor_names", "quantization_config", "quantize_config"}

// falsified reports metadata that decoding makes untrue. TorchAO describes each
// weight under its name.
func (p *Plan) falsified(key string) bool {
	return slices.Contains(quantKeys, key) || strings.HasPrefix(key, "gptq_") || strings.HasPrefix(key, "awq_") ||
		slices.ContainsFunc(p.Weights, func(w *quant.Weight) bool { return w.Scheme == "TorchAO" && w.Name == key })
}

// meta is the metadata that is written. What a format has of its own means
// nothing in another; what decoding makes untrue is left out.
func (p *Plan) meta() (meta []Entry, err error) {
	switch from, to := p.m.Format(), p.sink.Name(); {
	case from == to && to == gguf.Format:
		if meta, err = p.ggufMeta(); err != nil {
			return nil, err
		}
	case from == to:
		for k, v := range p.m.Meta() {
			if (len(p.Weights) > 0 || p.recoded) && p.falsified(k) {
				continue
			}
			if meta, err = limits.Append(p.b, meta, Entry{k, v}); err != nil {
				return nil, err
			}
		}
	case to == safetensors.Format:
		meta = []Entry{{"format", "pt"}} // loaders ask for it
	}
	for _, alias := range p.aliases {
		taken := func(e Entry) bool { return e.Key == alias.Key }
		if slices.ContainsFunc(meta, taken) {
			continue
		}
		if meta, err = limits.Append(p.b, meta, alias); err != nil {
			return nil, err
		}
	}
	if p.o.Meta != nil {
		return p.o.Meta(meta)
	}
	return meta, nil
}
