package limits

// Worked is the sum of all steps of this account and of those that were opened below it
// and are closed: the price of all operations of a host or a tenant. Steps belong to one
// operation, so no limit of this account bounds it.
func (b *Budget) Worked() int64 {
	if !b.exists() {
		return 0
	}
	return b.op.worked.Load() + b.op.steps.used()
}

// Inflated is the sum of all bytes that this account and those below it inflated from
// archives and streams. That of an account below counts once it is closed.
func (b *Budget) Inflated() int64 {
	if !b.exists() {
		return 0
	}
	return b.op.inflated.Load()
}

// passWork adds the work of a closed account to that of its parent. The steps of a part of
// a whole are already among those of the whole, see settle.
func (b *Budget) passWork() {
	if b.parent == nil || b.holds {
		return
	}
	up := b.parent.op
	up.inflated.Add(b.op.inflated.Load())
	if b.op.whole == nil || b.op.whole == b {
		up.worked.Add(b.Worked())
	}
}
