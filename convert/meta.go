package convert

import (
	"github.com/anamnesis-go/anamnesis/internal/encode"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
	"github.com/anamnesis-go/anamnesis/parser/safetensors"
	"github.com/anamnesis-go/anamnesis/quant"
)

// described returns the names of the weights that the metadata describes one by one.
func (p *Plan) described() (*wire.NameSet, error) {
	names, err := wire.NewNameSet(p.b, 0, func(i int) string { return p.Weights[i].Name })
	for i := 0; err == nil && i < len(p.Weights); i++ {
		if p.Weights[i].Described() {
			_, _, err = names.Add(i)
		}
	}
	return names, err
}

// falsified reports whether decoding makes a key of the metadata untrue.
func falsified(key string, described *wire.NameSet) bool {
	_, its := described.Find(key)
	return its || quant.Describes(key)
}

// meta returns the metadata of the output. Keys that belong to another format, or that
// decoding makes untrue, are left out.
func (p *Plan) meta() (meta []Entry, err error) {
	switch from, to := p.m.Format(), p.sink.Name(); {
	case from == to && to == gguf.Format:
		if meta, err = p.ggufMeta(); err != nil {
			return nil, err
		}
	case from == to:
		described, err := p.described()
		if err != nil {
			return nil, err
		}
		for k, v := range p.m.Meta() {
			if (len(p.Weights) > 0 || p.recoded) && falsified(k, described) {
				continue
			}
			if meta, err = limits.Append(p.b, meta, Entry{Key: k, Value: v}); err != nil {
				return nil, err
			}
		}
	case to == safetensors.Format:
		meta = []Entry{{Key: "format", Value: "pt"}} // loaders require it
	}
	if meta, err = p.withAliases(meta); err != nil {
		return nil, err
	}
	if d, ok := p.encoder.(encode.Describer); ok {
		if meta, err = d.Describe(p.b, len(p.Outs), func(i int) string { return p.Outs[i].Name }, meta); err != nil {
			return nil, err
		}
	}
	if p.o.Meta != nil {
		if meta, err = p.o.Meta(meta); err != nil {
			return nil, err
		}
	}
	return meta, p.noteLoader(meta)
}

// withAliases adds the names of tied tensors that were left out, unless the metadata has
// them.
func (p *Plan) withAliases(meta []Entry) ([]Entry, error) {
	if len(p.aliases) == 0 {
		return meta, nil
	}
	keys, err := wire.NewNameSet(p.b, len(meta), func(i int) string { return meta[i].Key })
	for i := 0; err == nil && i < len(meta); i++ {
		_, _, err = keys.Add(i)
	}
	for _, alias := range p.aliases {
		if err != nil {
			return nil, err
		}
		if _, taken := keys.Find(alias.Key); taken {
			continue
		}
		if meta, err = limits.Append(p.b, meta, alias); err == nil {
			_, _, err = keys.Add(len(meta) - 1)
		}
	}
	return meta, err
}
