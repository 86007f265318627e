package limits

// Meter sets a function that pays for the steps of this account and of all accounts that
// are opened below it afterwards. It is called with the number of steps before they are
// used, a batch at a time, by whichever goroutine uses them. It may block: a host makes
// an operation wait for its turn in this way. Set it before the account is used.
func (b *Budget) Meter(pay func(steps int64)) {
	if b.exists() {
		b.op.meter = pay
	}
}

// pay tells the meter of steps that were granted.
func (b *Budget) pay(n int64) {
	if b.op.meter != nil {
		b.op.meter(n)
	}
}
