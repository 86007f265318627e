package family

import (
	"slices"
	"strings"

	"github.com/anamnesis-go/anamnesis/internal/jsontree"
)

// isUnneeded reports tensors that are not converted: buffers of old checkpoints, and what
// the row skips.
func (p *planner) isUnneeded(name string) bool {
	if p.c.isOtherPart(name) {
		return true
	}
	name = p.c.rowName(name)
	if more := p.c.row.naming.unneeded; more != nil && more(p.c, name) {
		return true
	}
	list := p.c.row.naming.skipPrefixes
	if !p.c.classifies() {
		list = slices.Concat(list, p.c.row.classifier.heads)
	}
	for _, s := range list {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	for _, end := range append([]string{".attention.masked_bias", ".attention.bias", ".rotary_emb.inv_freq"}, p.c.row.naming.skipSuffixes...) {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// isAlias reports another name of a tensor that was already read.
func (p *planner) isAlias(name string) bool {
	if !slices.Contains(p.c.row.naming.aliases, name) {
		return false
	}
	again := p.aliasSeen
	p.aliasSeen = true
	return again
}

// rowName returns a tensor's name as the mappings have it.
func (c *config) rowName(full string) string {
	full = c.row.renamed(full)
	if c.isPart() {
		full = strings.Replace(full, "language_model.", "", 1)
	}
	for _, s := range c.row.naming.inner {
		full = strings.Replace(full, s, "", 1)
	}
	if c.row.ahead.apart {
		full = mtpToLayer(c, full)
	}
	if slices.Contains(c.row.naming.aliases, full) {
		full = c.row.naming.aliases[0]
	}
	return c.row.trimmed(full)
}

// otherParts are prefixes of tensors that are not the text model's.
var otherParts = []string{"vision_tower.", "vision_model.", "multi_modal_projector.", "mm_projector.", "visual.", "audio_tower.", "connector."}

// isOtherPart reports a tensor of the part of a model that is not written.
func (c *config) isOtherPart(full string) bool {
	begins := func(list []string) bool {
		for _, s := range list {
			if strings.HasPrefix(full, s) {
				return true
			}
		}
		return false
	}
	switch {
	case c.isVision:
		return !begins(c.row.vision.keep) || begins(c.row.naming.otherParts)
	case begins(c.row.naming.otherParts):
		return true
	case !c.isPart():
		return false
	}
	full = strings.TrimPrefix(full, "model.")
	return begins(otherParts)
}

// isPart reports whether the text model is one part of a model of several.
func (c *config) isPart() bool {
	return !c.isVision && (c.text.There || c.root.Get("vision_config").There || c.root.Get("audio_config").There)
}

// textConfig returns the configuration of the text model where it is a member of the model's: under
// the names of transformers, InternVL, GLM-ASR, Qwen's Omni models and DeepSeek-OCR.
func textConfig(root jsontree.Value) jsontree.Value {
	if v := root.Get("text_config"); v.There {
		return v
	}
	if v := root.Get("thinker_config").Get("text_config"); v.There {
		return v
	}
	return root.First("llm_config", "lm_config", "language_config", "transformer_layer_config")
}

// rootDecides reports a model whose text model states a class of its own that is not the one which
// llama.cpp has it as.
func rootDecides(list []jsontree.Value) bool {
	return len(list) == 1 && slices.Contains(converterRoots, list[0].String())
}

// trimmed returns a name as the mappings have it: without optional prefixes, and with
// today's suffixes.
func (r *row) trimmed(name string) string {
	for _, s := range r.naming.trimPrefixes {
		if rest, ok := strings.CutPrefix(name, s); ok {
			name = rest
			break
		}
	}
	if len(r.naming.trimPrefixes) == 0 {
		if !strings.HasPrefix(name, r.naming.optionalPrefix) && !strings.HasPrefix(name, "lm_head.") {
			return r.naming.optionalPrefix + name
		}
		return name
	}
	if s, ok := strings.CutSuffix(name, ".gamma"); ok {
		return s + ".weight"
	}
	if s, ok := strings.CutSuffix(name, ".beta"); ok {
		return s + ".bias"
	}
	return name
}

// renamed returns a name as the mappings have it, where the row says how they differ.
func (r *row) renamed(name string) string {
	for _, m := range r.naming.replaces {
		name = strings.Replace(name, m[0], m[1], 1)
	}
	for _, m := range r.naming.renames {
		if rest, ok := strings.CutPrefix(name, m[0]); ok {
			return m[1] + rest
		}
	}
	return name
}
