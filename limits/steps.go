package limits

// StepBatch is the number of steps that a loop prepays, and so the delay of a cancellation
// in steps.
const StepBatch = 1024

// Steps holds the prepaid steps of one loop. Keep it in the state of the loop; it is not
// safe for concurrent use.
type Steps struct {
	b    *Budget
	left int64
}

// Steps opens a meter. It prepays whole batches, so open one per decoder, not one per item.
func (b *Budget) Steps() Steps { return Steps{b: b} }

// Step pays for one step. Every [StepBatch] steps it charges the account and
// looks at the context.
func (s *Steps) Step() error {
	if s.left > 0 {
		s.left--
		return nil
	}
	return s.refill()
}

func (s *Steps) refill() error {
	n, err := s.b.prepay(1)
	if err != nil {
		return err
	}
	s.left = n - 1
	return nil
}

// prepay charges a batch, or what is left of the account if that covers want.
func (b *Budget) prepay(want int64) (int64, error) {
	if err := b.Err(); err != nil {
		return 0, err
	}
	n := max(want, StepBatch)
	if b.steps.take(n) {
		return n, nil
	}
	left := b.steps.left()
	if left < want || !b.steps.take(left) {
		return 0, &Error{StepCount, want, left}
	}
	return left, nil
}

// Step charges n steps at once and looks at the context: for a call that does a
// known amount of work.
func (b *Budget) Step(n int64) error {
	if err := b.Err(); err != nil {
		return err
	}
	if !b.steps.take(n) {
		return b.refuse(StepCount, n, b.steps.left())
	}
	return nil
}
