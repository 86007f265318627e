package limits

import (
	"math/bits"
	"sync"

	"github.com/anamnesis-go/anamnesis/internal/watch"
)

// ratios are the sizes that one operation has read and produced.
type ratios struct {
	sync.Mutex
	source, inIn, inOut int64 // file bytes, compressed and inflated bytes
	worstIn, worstOut   int64 // the member with the highest ratio so far
	expanded            int64
	unpacked            int64 // by all parts, see [Budget.Whole]
	texts               int64 // bytes of texts in all parts
}

// Source tells the account that n bytes of a file will be decoded. Call it once for each
// file of a model.
func (b *Budget) Source(n int64) error {
	if err := b.counts(ExpandRatio, n); err != nil {
		return err
	}
	r := &b.op.ratios
	r.Lock()
	defer r.Unlock()
	r.source = addCap(r.source, n)
	return nil
}

// counts returns why amounts cannot count for a ratio, or nil.
func (b *Budget) counts(a Axis, amounts ...int64) error {
	if err := b.Err(); err != nil {
		return err
	}
	for _, n := range amounts {
		if n < 0 {
			return b.refuse(a, n, 0)
		}
	}
	return nil
}

// Inflate charges one compressed member: in bytes that inflate to out bytes. The ratio of
// the worst member and of all together is checked once all together exceed RatioGrace. The
// order of the members does not matter.
func (b *Budget) Inflate(in, out int64) error {
	watch.Tell(InflateRatio.String(), out)
	if err := b.counts(InflateRatio, in, out); err != nil {
		return err
	}
	if err := b.addUnpacked(out); err != nil {
		return err
	}
	b.op.inflated.Add(out)
	r, allowed := &b.op.ratios, b.op.policy.Limit(InflateRatio)
	r.Lock()
	defer r.Unlock()
	r.inIn, r.inOut = addCap(r.inIn, in), addCap(r.inOut, out)
	if r.worstOut == 0 || above(out, r.worstIn, in, r.worstOut) {
		r.worstIn, r.worstOut = in, out
	}
	if r.inOut <= RatioGrace {
		return nil
	}
	if exceeds(r.worstOut, r.worstIn, allowed) {
		return &Error{InflateRatio, ratio(r.worstOut, r.worstIn), allowed}
	}
	if exceeds(r.inOut, r.inIn, allowed) {
		return &Error{InflateRatio, ratio(r.inOut, r.inIn), allowed}
	}
	return nil
}

// Expand charges n bytes of decoded tensors, for the ratio of decoded to stored bytes.
func (b *Budget) Expand(n int64) error {
	watch.Tell(ExpandRatio.String(), n)
	if err := b.counts(ExpandRatio, n); err != nil {
		return err
	}
	r, allowed := &b.op.ratios, b.op.policy.Limit(ExpandRatio)
	r.Lock()
	defer r.Unlock()
	r.expanded = addCap(r.expanded, n)
	base := max(r.source, r.inOut)
	if r.expanded <= RatioGrace || !exceeds(r.expanded, base, allowed) {
		return nil
	}
	return &Error{ExpandRatio, ratio(r.expanded, base), allowed}
}

// above reports whether a*b > c*d, for non-negative numbers.
func above(a, b, c, d int64) bool {
	h1, l1 := bits.Mul64(uint64(a), uint64(b))
	h2, l2 := bits.Mul64(uint64(c), uint64(d))
	return h1 > h2 || h1 == h2 && l1 > l2
}

// exceeds reports whether out > in*allowed.
func exceeds(out, in, allowed int64) bool { return above(out, 1, in, allowed) }

// ratio returns out/in rounded up, counting an empty input as one byte.
func ratio(out, in int64) int64 {
	in = max(in, 1)
	return out/in + min(out%in, 1)
}

func addCap(a, b int64) int64 {
	if s := a + b; s >= a {
		return s
	}
	return 1<<63 - 1
}
