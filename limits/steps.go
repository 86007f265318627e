package limits

import "github.com/anamnesis-go/anamnesis/internal/watch"

// StepBatch is the largest number of steps that a loop prepays, and so the delay of a
// cancellation in steps.
const StepBatch = 1024

// firstBatch is how many steps a loop prepays at first. Most loops are short, and what they
// prepay and do not use would be most of the price of a small file.
const firstBatch = 16

// Steps holds the prepaid steps of one loop. Keep it in the state of the loop; it is not
// safe for concurrent use.
type Steps struct {
	b     *Budget
	left  int64
	batch int64 // the last one
}

// Steps opens a meter. It prepays batches, four times the last one up to [StepBatch], so open
// one per decoder, not one per item.
func (b *Budget) Steps() Steps { return Steps{b: b} }

// Step pays for one step. At the latest every [StepBatch] steps it charges the account and
// looks at the context.
func (s *Steps) Step() error {
	if s != nil && s.left > 0 {
		s.left--
		return nil
	}
	return s.refill(1)
}

// Take pays for n steps at once: for an item of a loop whose work is known, such as a
// line. It is cheaper than [Budget.Step] for a few steps at a time.
func (s *Steps) Take(n int64) error {
	if s != nil && 0 < n && n <= s.left {
		s.left -= n
		return nil
	}
	return s.refill(n)
}

// refill pays for n steps, which are more than it has.
func (s *Steps) refill(n int64) error {
	if s == nil {
		return ErrNoAccount
	}
	if n <= 0 {
		return s.b.Step(n) // which refuses what is negative
	}
	want := n - s.left
	if s.batch = min(max(4*s.batch, firstBatch), StepBatch); watch.On() {
		s.batch = 1
	}
	got, err := s.b.prepay(want, max(want, s.batch))
	if err != nil {
		return err
	}
	s.left = got - want
	return nil
}

// prepay charges a batch, or what is left of the account if that covers want.
func (b *Budget) prepay(want, batch int64) (int64, error) {
	if err := b.Err(); err != nil {
		return 0, err
	}
	n := max(want, batch)
	watch.Tell(StepCount.String(), n)
	if b.op.steps.take(n) {
		b.pay(n)
		return n, b.Err() // the meter may have waited
	}
	left := b.op.steps.left()
	if left < want || !b.op.steps.take(left) {
		return 0, b.refuse(StepCount, want, left)
	}
	b.pay(left)
	return left, b.Err()
}

// Step charges n steps at once and looks at the context: for a call that does a
// known amount of work.
func (b *Budget) Step(n int64) error {
	watch.Tell(StepCount.String(), n)
	if err := b.Err(); err != nil {
		return err
	}
	if !b.op.steps.take(n) {
		return b.refuse(StepCount, n, b.op.steps.left())
	}
	b.pay(n)
	return nil
}
