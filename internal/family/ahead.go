package family

import (
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/tensor"
)

// leavesOutMTP reports a layer that predicts further tokens and of which the file has no
// tensor: transformers saves models without it, and llama.cpp loads them.
func (p *planner) leavesOutMTP(names *wire.NameSet, layer int64) (bool, error) {
	if !p.c.row.ahead.optional || !isMTPLayer(p.c, layer) {
		return false, nil
	}
	for i := range p.c.row.layers() {
		if err := p.b.Step(1); err != nil {
			return false, err
		}
		at := location{name: &p.c.row.layers()[i], layer: layer}
		for at.view = range max(1, len(at.name.views)) {
			if _, ok := names.Find(p.nameOf(&at)); ok {
				return false, nil
			}
		}
	}
	return true, nil
}

// dropMTP omits layers that predict further tokens.
func dropMTP(c *config, at *location) bool { return !at.outer && isMTPLayer(c, at.layer) }

// isExtraLayer reports whether a tensor belongs to a layer beyond the last one that is
// needed.
func (p *planner) isExtraLayer(name string) bool {
	if !p.c.row.ahead.dropped {
		return false
	}
	before, after, _ := strings.Cut(p.c.row.layer, "#")
	tail, ok := strings.CutPrefix(name, before)
	number, _, cut := strings.Cut(tail, after)
	n, isNumber := index(number)
	return ok && cut && isNumber && n >= p.c.layers()
}

// isMTPLayer reports layers that predict further tokens.
func isMTPLayer(c *config, layer int64) bool { return layer >= c.hiddenLayers() }

// aheadCounted are layers that the configuration counts, and a file may lack.
var aheadCounted = ahead{optional: true, count: func(c *config) int64 { return c.int("num_nextn_predict_layers") }}

// aheadKey adds their number, if there are any.
func (k *keys) aheadKey() {
	if k.c.int("num_nextn_predict_layers") > 0 {
		k.u32("nextn_predict_layers", "num_nextn_predict_layers")
	}
}

// glmMTP are their tensors.
var glmMTP = []mapping{
	{hf: "eh_proj", gguf: "nextn.eh_proj", shape: dims{Hidden, Hidden2}, inLayer: isMTPLayer},
	{hf: "enorm", gguf: "nextn.enorm", shape: dims{Hidden}, inLayer: isMTPLayer},
	{hf: "hnorm", gguf: "nextn.hnorm", shape: dims{Hidden}, inLayer: isMTPLayer},
	{hf: "embed_tokens", gguf: "nextn.embed_tokens", shape: dims{Vocab, Hidden}, inLayer: isMTPLayer, optional: true},
	{hf: "shared_head.head", gguf: "nextn.shared_head_head", shape: dims{Vocab, Hidden}, inLayer: isMTPLayer, optional: true},
	{hf: "shared_head.norm", gguf: "nextn.shared_head_norm", shape: dims{Hidden}, inLayer: isMTPLayer, optional: true},
}

// mtpMembers puts the number of layers without those that predict further tokens.
func (s *settings) mtpMembers() {
	n, _ := s.int("nextn_predict_layers")
	all, _ := s.int("block_count")
	if n >= all && n > 0 {
		s.fail(s.row.arch+".nextn_predict_layers", "its value is %d, of %d layers", n, all)
	}
	for i := range s.list {
		if s.list[i].name == "num_hidden_layers" {
			s.list[i].value = itoa(all - n)
		}
	}
	s.putInt("num_nextn_predict_layers", n)
}

// aheadApart are layers that predict further tokens, of which the names of tensors tell how
// many there are.
var aheadApart = ahead{apart: true, count: func(c *config) int64 { return c.mtpLayers }}

// mtpNames are names under "mtp." and their names after the layers.
var mtpNames = map[string]string{"fc": "eh_proj", "pre_fc_norm_embedding": "enorm", "pre_fc_norm_hidden": "hnorm", "norm": "shared_head.norm"}

// mtpToLayer returns the name after the other layers of a tensor under "mtp.".
func mtpToLayer(c *config, full string) string {
	rest, ok := strings.CutPrefix(strings.TrimPrefix(full, "model."), "mtp.")
	if !ok {
		return full
	}
	if tail, ok := strings.CutPrefix(rest, "layers."); ok {
		number, tail, _ := strings.Cut(tail, ".")
		if n, ok := index(number); ok {
			return "model.layers." + itoa(c.hiddenLayers()+n) + "." + tail
		}
	}
	stem, end, _ := strings.Cut(rest, ".")
	if own, ok := mtpNames[stem]; ok {
		return "model.layers." + itoa(c.hiddenLayers()) + "." + own + "." + end
	}
	return full
}

// layerToMTP is the inverse of mtpToLayer.
func layerToMTP(c *config, full string) string {
	n, rest, ok := numbered(full, decoderLayer)
	if !ok || n < c.hiddenLayers() {
		return full
	}
	for own, last := range mtpNames {
		if end, ok := strings.CutPrefix(rest, last+"."); ok && n == c.hiddenLayers() {
			return "mtp." + own + "." + end
		}
	}
	return "mtp.layers." + itoa(n-c.hiddenLayers()) + "." + rest
}

// countMTPLayers counts the layers under "mtp.".
func (c *config) countMTPLayers(b *limits.Budget, m tensor.Model) error {
	if !c.row.ahead.apart {
		return nil
	}
	for i := range m.Tensors() {
		if err := b.Step(1); err != nil {
			return err
		}
		if rest, ok := strings.CutPrefix(strings.TrimPrefix(i.Name, "model."), "mtp.layers."); ok {
			number, _, _ := strings.Cut(rest, ".")
			if n, ok := index(number); ok {
				c.mtpLayers = max(c.mtpLayers, n+1)
			}
		}
	}
	if n := c.int("mtp_num_hidden_layers"); n > 0 && c.mtpLayers > 0 && n != c.mtpLayers {
		return wire.ErrMismatch.Errorf("mtp_num_hidden_layers is %d, and there are %d", n, c.mtpLayers)
	}
	if c.layers() > maxLayers {
		return wire.ErrRange.Errorf("%d layers", c.layers())
	}
	return nil
}
