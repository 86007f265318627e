package family

import (
	"slices"
	"strings"
)

// needless are buffers that old checkpoints hold.
func (p *planner) needless(name string) bool {
	if p.c.apart(name) {
		return true
	}
	name = p.c.named(name)
	list := p.c.row.drop
	if !p.c.classifies() {
		list = slices.Concat(list, p.c.row.without)
	}
	for _, s := range list {
		if strings.HasPrefix(name, s) {
			return true
		}
	}
	for _, end := range append([]string{".attention.masked_bias", ".attention.bias", ".rotary_emb.inv_freq"}, p.c.row.skip...) {
		if strings.HasSuffix(name, end) {
			return true
		}
	}
	return false
}

// again is a tensor that was read under another name.
func (p *planner) again(name string) bool {
	if !slices.Contains(p.c.row.alike, name) {
		return false
	}
	again := p.alike
	p.alike = true
	return again
}
