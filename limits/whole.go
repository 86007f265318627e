package limits

// Whole opens an account under this one for a file of size bytes and everything packed
// inside it. All accounts opened below it are parts of this one operation: they share its
// deadline and its steps, and everything they inflate counts against the size of the file,
// at any depth of packing.
func (b *Budget) Whole(size int64) *Budget {
	w := b.Child(b.policy)
	w.whole, w.outer = w, size
	return w
}

// join makes the account a part of the operation whole.
func (b *Budget) join(whole *Budget) {
	b.whole = whole
	b.steps.open(min(b.steps.max, whole.steps.left()))
}

// settle adds the steps of a part to its operation.
func (b *Budget) settle() {
	if b.whole == nil || b.whole == b {
		return
	}
	if used := b.steps.used(); !b.whole.steps.take(used) {
		b.whole.steps.take(b.whole.steps.left())
	}
}

// addUnpacked counts inflated bytes against the file that all of them came from.
func (b *Budget) addUnpacked(out int64) error {
	w := b.whole
	if w == nil {
		return nil
	}
	r, allowed := &w.ratios, b.policy.Limit(InflateRatio)
	r.Lock()
	defer r.Unlock()
	r.unpacked = addCap(r.unpacked, out)
	if r.unpacked <= RatioGrace || !exceeds(r.unpacked, w.outer, allowed) {
		return nil
	}
	return &Error{InflateRatio, ratio(r.unpacked, w.outer), allowed}
}

// Text charges a text of n bytes that is packed in a file. All texts together are compared
// with the size of the file once they exceed [TextGrace]: no honest text inflates as arrays
// of zeros do, and a text is read more than once. For a file that is not packed it does
// nothing.
func (b *Budget) Text(n int64) error {
	w := b.whole
	if w == nil {
		return nil
	}
	r, allowed := &w.ratios, b.policy.Limit(InflateRatio)
	r.Lock()
	defer r.Unlock()
	r.texts = addCap(r.texts, n)
	if r.texts <= TextGrace || !exceeds(r.texts, w.outer, allowed) {
		return nil
	}
	return &Error{InflateRatio, ratio(r.texts, w.outer), allowed}
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
	r, allowed := &i.b.ratios, i.b.policy.Limit(InflateRatio)
	i.in, i.out = addCap(i.in, in), addCap(i.out, out)
	i.b.inflated.Add(out)
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
