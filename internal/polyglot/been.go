package polyglot

import "github.com/anamnesis-go/anamnesis/limits"

// places are where pickles came through that began before the one that is followed, with what
// they had on their stacks. A pickle that comes there with no more than that does nothing else
// from there on: an instruction only uses what lies on top, and where the larger stack has
// enough the smaller one may not. So each place of a text is followed few times, however many
// starts lead there.
//
// They are kept for the next bytes of a text only: most pickles in one are short.
type places struct {
	stacks []int64 // by place, around a ring
	to     int64   // the end of what is kept
}

// kept is how far ahead of a start places are kept, a power of two.
const kept = 128 << 10

func newPlaces(b *limits.Budget, size int64) (*places, error) {
	n := int64(512)
	for n < min(size, kept) {
		n *= 2
	}
	stacks, err := limits.Make[int64](b, int(n))
	return &places{stacks, n}, err
}

// leave forgets a place, which no later start comes through.
func (p *places) leave(at int64) {
	p.stacks[at&int64(len(p.stacks)-1)] = 0
	p.to = at + 1 + int64(len(p.stacks))
}

// covers reports whether another pickle was at this place with all that this one has, and
// else notes this one.
func (p *places) covers(w *walker) bool {
	if w.in.pos >= p.to {
		return false
	}
	s := &p.stacks[w.in.pos&int64(len(p.stacks)-1)]
	// One more than the depth, so that zero is no pickle; texts and imports decide what is called.
	texts, global := int64(*w.texts), int64(0)
	if w.global {
		global = 1
	}
	now := (w.depth+1)<<3 | texts<<1 | global
	if len(w.marks) == 0 && *s>>3 >= now>>3 && *s>>1&3 >= texts && *s&1 >= global {
		return true
	}
	*s = max(*s, now)
	return false
}
