package limits

import "fmt"

// Whole opens an account under this one for a file of size bytes and everything packed
// inside it. All accounts opened below it are parts of this one operation: they share its
// deadline and its steps, and everything they inflate counts against the size of the file,
// at any depth of packing.
func (b *Budget) Whole(size int64) *Budget {
	w := b.Child(*b.Policy())
	if size < 0 && w.op.invalid == nil {
		w.op.invalid = fmt.Errorf("%w: a file of %d bytes", ErrAmount, size)
		w.end(w.op.invalid)
	}
	w.op.whole, w.op.outer = w, size
	return w
}

// join makes the account a part of the operation whole.
func (b *Budget) join(whole *Budget) {
	b.op.whole = whole
	b.op.steps.open(min(b.op.steps.max, whole.op.steps.left()))
}

// settle adds the steps of a part to its operation.
func (b *Budget) settle() {
	whole := b.op.whole
	if b.holds || whole == nil || whole == b {
		return
	}
	if used := b.op.steps.used(); !whole.op.steps.take(used) {
		whole.op.steps.take(whole.op.steps.left())
	}
}

// addUnpacked counts inflated bytes against the file that all of them came from.
func (b *Budget) addUnpacked(out int64) error {
	w := b.op.whole
	if w == nil {
		return nil
	}
	r, allowed := &w.op.ratios, b.op.policy.Limit(InflateRatio)
	r.Lock()
	defer r.Unlock()
	r.unpacked = addCap(r.unpacked, out)
	if r.unpacked <= RatioGrace || !exceeds(r.unpacked, w.op.outer, allowed) {
		return nil
	}
	return &Error{InflateRatio, ratio(r.unpacked, w.op.outer), allowed}
}

// Text charges a text of n bytes that is packed in a file. All texts together are compared
// with the size of the file once they exceed [TextGrace]: no honest text inflates as arrays
// of zeros do, and a text is read more than once. For a file that is not packed it does
// nothing.
func (b *Budget) Text(n int64) error {
	if err := b.counts(InflateRatio, n); err != nil {
		return err
	}
	w := b.op.whole
	if w == nil {
		return nil
	}
	r, allowed := &w.op.ratios, b.op.policy.Limit(InflateRatio)
	r.Lock()
	defer r.Unlock()
	r.texts = addCap(r.texts, n)
	if r.texts <= TextGrace || !exceeds(r.texts, w.op.outer, allowed) {
		return nil
	}
	return &Error{InflateRatio, ratio(r.texts, w.op.outer), allowed}
}

// An Inflation charges one compressed stream while it is read. [Budget.Inflate] charges one
// whose sizes are known in advance.
type Inflation struct {
	b       *Budget
	in, out int64
}

// Inflation begins a stream.
func (b *Budget) Inflation() Inflation { return Inflation{b: b} }

// Add charges the next in compressed bytes, which inflated to out bytes.
func (i *Inflation) Add(in, out int64) error {
	if i == nil {
		return ErrNoAccount
	}
	if err := i.b.counts(InflateRatio, in, out); err != nil {
		return err
	}
	r, allowed := &i.b.op.ratios, i.b.op.policy.Limit(InflateRatio)
	i.in, i.out = addCap(i.in, in), addCap(i.out, out)
	i.b.op.inflated.Add(out)
	r.Lock()
	r.inIn, r.inOut = addCap(r.inIn, in), addCap(r.inOut, out)
	all, from := r.inOut, r.inIn
	r.Unlock()
	switch {
	case all <= RatioGrace:
	case exceeds(i.out, i.in, allowed):
		return &Error{InflateRatio, ratio(i.out, i.in), allowed}
	case exceeds(all, from, allowed):
		return &Error{InflateRatio, ratio(all, from), allowed}
	}
	return i.b.addUnpacked(out)
}
