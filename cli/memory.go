package cli

import (
	"fmt"
	"math"
	"strings"

	"github.com/anamnesis-go/anamnesis/cli/internal/fault"
	"github.com/anamnesis-go/anamnesis/cli/internal/flags"
	"github.com/anamnesis-go/anamnesis/cli/internal/jsonout"
	"github.com/anamnesis-go/anamnesis/cli/internal/run"
	"github.com/anamnesis-go/anamnesis/cli/internal/term"
	"github.com/anamnesis-go/anamnesis/internal/memory"
	"github.com/anamnesis-go/anamnesis/internal/wire"
	"github.com/anamnesis-go/anamnesis/limits"
	"github.com/anamnesis-go/anamnesis/parser/gguf"
)

// memorySizes returns the tokens and sequences to estimate memory for, 0 without --context.
func (c *inspectCmd) memorySizes() (tokens, batch int64, err error) {
	if c.Context == "" {
		return 0, 0, nil
	}
	if tokens, err = flags.Positive(parseTokens(c.Context)); err != nil {
		return 0, 0, fault.Usage("--context: " + err.Error())
	}
	if batch, err = flags.Positive(limits.ParseCount(c.Batch)); err != nil {
		return 0, 0, fault.Usage("--batch: " + err.Error())
	}
	return tokens, batch, nil
}

// parseTokens parses a number of tokens as models state it: 8k is 8192, 1m is 1048576.
func parseTokens(text string) (int64, error) {
	digits, unit := text, int64(1)
	switch {
	case strings.HasSuffix(text, "k"), strings.HasSuffix(text, "K"):
		digits, unit = text[:len(text)-1], 1<<10
	case strings.HasSuffix(text, "m"), strings.HasSuffix(text, "M"):
		digits, unit = text[:len(text)-1], 1<<20
	}
	n, err := limits.ParseCount(digits)
	if err == nil && n > math.MaxInt64/unit {
		err = fmt.Errorf("%s passes 2^63-1", text)
	}
	return n * unit, err
}

// A memoryUse is the memory of a running model, or why it is unknown.
type memoryUse struct {
	tokens, batch int64
	cache         memory.Cache
	err           error
}

// estimateMemory computes the size of the cache from the configuration, or from the keys of
// a GGUF file.
func (r *report) estimateMemory(b *limits.Budget, tokens, batch int64) {
	if tokens == 0 {
		return
	}
	r.memory = &memoryUse{tokens: tokens, batch: batch}
	if r.model.Format() == gguf.Format {
		r.memory.cache, r.memory.err = memory.OfGGUF(b, r.model.Meta(), tokens, batch)
		return
	}
	r.memory.cache, r.memory.err = memory.Of(b, r.model.Configs(), tokens, batch)
}

// parameters returns the number of parameters: of quantized weights as they are decoded, of
// other tensors as they are stored.
func (p *quantPlan) parameters() int64 {
	n := p.plain.Elements
	for _, w := range p.weights {
		n = wire.AddCap(n, w.Rows()*w.Cols())
	}
	return n
}

// bits returns the bits per parameter, of quantized weights and of all tensors.
func (p *quantPlan) bits() (quantized, all float64) {
	n := p.parameters()
	if n == p.plain.Elements || n == 0 {
		return 0, 0
	}
	stored := float64(p.total.Stored)
	return 8 * stored / float64(n-p.plain.Elements), 8 * (stored + float64(p.plain.Bytes)) / float64(n)
}

func printParameters(s *run.Run, r *report) {
	p := r.planned
	if p == nil || p.err != nil {
		return
	}
	quantized, all := p.bits()
	s.Out.Fact("", "Parameters", fmt.Sprintf("%s, %.3g bits each (%.3g where quantized)", term.Count(p.parameters()), all, quantized))
}

func printMemory(s *run.Run, r *report) {
	m := r.memory
	if m == nil {
		return
	}
	weights := r.total.Bytes
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

func jsonMemory(o *jsonout.Object, r *report) {
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
		o.Number("weights", r.total.Bytes)
		if m.err != nil {
			o.Field("unknown", unknownCache(m.err))
			return
		}
		o.Number("cache", m.cache.Bytes)
		o.Field("type", m.cache.Type)
	})
}
