package family

import (
	"slices"
	"strings"
)

// isUnneeded are buffers that old checkpoints hold.
func (p *planner) isUnneeded(name string) bool {
	if p.c.isOtherPart(name) {
		return true
	}
	name = p.c.rowName(name)
	list := p.c.row.skipPrefixes
	if !p.c.classifies() {
		list = slices.Concat(list, p.c.row.headPrefixes)
	}
	for _, s := range list {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	for _, end := range append([]string{".attention.masked_bias", ".attention.bias", ".rotary_emb.inv_freq"}, p.c.row.skipSuffixes...) {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// isAlias is a tensor that was read under another name.
func (p *planner) isAlias(name string) bool {
	if !slices.Contains(p.c.row.aliases, name) {
		return false
	}
	again := p.aliasSeen
	p.aliasSeen = true
	return again
}
