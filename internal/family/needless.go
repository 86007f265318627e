package family

import (
	"slices"
	"strings"
)

// isUnneeded reports tensors that are not converted: buffers of old checkpoints, and what
// the row skips.
func (p *planner) isUnneeded(name string) bool {
	if p.c.isOtherPart(name) {
		return true
	}
	name = p.c.rowName(name)
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
