package report

import (
	"fmt"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/memory"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// A memoryUse is the memory of a running model, or why it is unknown.
type memoryUse struct {
	tokens, batch int64
	cache         memory.Cache
	err           error
}

// estimateMemory computes the size of the cache from the configuration, or from the keys of
// a GGUF file.
func (r *Report) estimateMemory(b *limits.Budget, tokens, batch int64) {
	if tokens == 0 {
		return
	}
	r.memory = &memoryUse{tokens: tokens, batch: batch}
	if r.Model.Format() == gguf.Format {
		r.memory.cache, r.memory.err = memory.OfGGUF(b, r.Model.Meta(), tokens, batch)
		return
	}
	r.memory.cache, r.memory.err = memory.Of(b, r.Model.Configs(), tokens, batch)
}

// parameters returns the number of parameters: of quantized weights as they are decoded, of
// other tensors as they are stored.
func (p *Plan) parameters() int64 {
	n := p.plain.Elements
	for _, w := range p.weights {
		n = wire.AddCap(n, w.Rows()*w.Cols())
	}
	return n
}

// bits returns the bits per parameter, of quantized weights and of all tensors.
func (p *Plan) bits() (quantized, all float64) {
	n := p.parameters()
	if n == p.plain.Elements || n == 0 {
		return 0, 0
	}
	stored := float64(p.Total.Stored)
	return 8 * stored / float64(n-p.plain.Elements), 8 * (stored + float64(p.plain.Bytes)) / float64(n)
}

func printParameters(s *run.Run, r *Report) {
	p := r.planned
	if p == nil || p.err != nil {
		return
	}
	quantized, all := p.bits()
	s.Out.Fact("", "Parameters", fmt.Sprintf("%s, %.3g bits each (%.3g where quantized)", term.Count(p.parameters()), all, quantized))
}

func printMemory(s *run.Run, r *Report) {
	m := r.memory
	if m == nil {
		return
	}
	weights := r.Total.Bytes
	if m.err != nil {
		s.Out.Fact("", "Memory", fmt.Sprintf("%s for weights; cache not computed: %s", term.Bytes(weights), unknownCache(m.err)))
		return
	}
	s.Out.Fact("", "Memory", fmt.Sprintf("%s of weights + %s of cache = %s", term.Bytes(weights), term.Bytes(m.cache.Bytes), term.Bytes(wire.AddCap(weights, m.cache.Bytes))))
	c := &m.cache
	kept := fmt.Sprintf("2 x %d heads x %d", c.Heads, c.Size)
	if c.Latent > 0 {
		kept = fmt.Sprintf("%d numbers of latents", c.Latent)
	}
	layers := term.Plural(c.Layers, "layer")
	if c.Sliding > 0 {
		layers += fmt.Sprintf(", %d of them with windows of %s", c.Sliding, term.Count(c.Window))
	}
	s.Out.Line("  %s tokens x %s x %s: %s", term.Count(m.tokens), term.Plural(m.batch, "sequence"), c.Type, kept+", "+layers)
}

// unknownCache returns why the cache is not computed, without the class of the error.
func unknownCache(err error) string {
	return strings.TrimPrefix(fault.Text(err), wire.ErrUnsupported.Error()+": ")
}

func jsonMemory(o *jsonout.Object, r *Report) {
	if p := r.planned; p != nil && p.err == nil {
		quantized, all := p.bits()
		o.Number("parameters", p.parameters())
		o.Float("bits_per_parameter", all, 64)
		o.Float("bits_where_quantized", quantized, 64)
	}
	m := r.memory
	if m == nil {
		return
	}
	o.Object("memory", func(o *jsonout.Object) {
		o.Number("context", m.tokens)
		o.Number("batch", m.batch)
		o.Number("weights", r.Total.Bytes)
		if m.err != nil {
			o.Field("unknown", unknownCache(m.err))
			return
		}
		o.Number("cache", m.cache.Bytes)
		o.Field("type", m.cache.Type)
	})
}
