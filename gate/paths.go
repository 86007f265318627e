package gate

import "slices"

// A Block changes a policy for files whose names match.
type Block struct {
	// Path is a pattern of names, as that of an [Exception].
	Path string
	// Policy holds the members of the block, and Set their names in JSON. All other members
	// are inherited from the enclosing policy.
	Policy Policy
	Set    []string
}

// For returns the policy for a file name.
func (p *Policy) For(name string) *Policy {
	if p == nil {
		return refusesAll()
	}
	matched := false
	out := p
	for _, b := range p.Paths {
		if !matchPath(b.Path, name) {
			continue
		}
		if !matched {
			matched, out = true, p.clone()
		}
		for i := range members {
			if m := &members[i]; slices.Contains(b.Set, m.name) {
				m.copy(out, &b.Policy)
			}
		}
	}
	return out
}

func (p *Policy) clone() *Policy {
	out := *p
	return &out
}

// Everywhere makes a member apply to all names: no block changes it.
func (p *Policy) Everywhere(member string) {
	if p == nil {
		return
	}
	p.Paths = slices.Clone(p.Paths)
	for i := range p.Paths {
		b := &p.Paths[i]
		b.Set = slices.DeleteFunc(slices.Clone(b.Set), func(name string) bool { return name == member })
	}
}
