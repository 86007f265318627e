package limits

// A Compressed charges what a decoder reads and makes of one compressed stream: a step for
// each [bytesOfStep] bytes made. Bytes read from which nothing comes, such as tables of
// blocks without content, cost far more to a decoder than content does, and are paid one by
// one once they exceed a slack; no writer makes them.
type Compressed struct {
	b          *Budget
	read, made int64
	unpaid     int64 // bytes made
	excess     int64 // bytes read beyond those made, paid
}

const (
	// bytesOfStep are the bytes that an inflater makes in the time of a step.
	bytesOfStep = 28
	// excessSlack is more than a decoder reads ahead.
	excessSlack = 64 << 10
	// excessSteps are the steps of a byte from which nothing came.
	excessSteps = 2
)

// Compressed begins a stream.
func (b *Budget) Compressed() Compressed { return Compressed{b: b} }

// counts refuses what no decoder does, and looks at the context.
func (c *Compressed) counts(n int64) error {
	if c == nil {
		return ErrNoAccount
	}
	return c.b.counts(StepCount, n)
}

// Read charges n compressed bytes, before they are decoded, and looks at the context.
func (c *Compressed) Read(n int64) error {
	if err := c.counts(n); err != nil {
		return err
	}
	c.read = addCap(c.read, n)
	over := c.read - c.made - excessSlack
	if over <= c.excess {
		return nil
	}
	more := over - c.excess
	c.excess = over
	return c.b.Step(excessSteps * more)
}

// Made charges n bytes that were decoded.
func (c *Compressed) Made(n int64) error {
	if err := c.counts(n); err != nil {
		return err
	}
	c.made = addCap(c.made, n)
	if c.unpaid = addCap(c.unpaid, n); c.unpaid < StepBatch*bytesOfStep/16 {
		return nil
	}
	steps := c.unpaid / bytesOfStep
	c.unpaid -= steps * bytesOfStep
	return c.b.Step(steps)
}
