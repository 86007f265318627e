package vm

import "github.com/anamnesis-go/anamnesis/limits"

// An account is what a run owes for values and calls. Both are added up here and charged in
// portions, since most cost less than the charge itself would.
type account struct {
	b      *limits.Budget
	read   *int  // how many bytes of the pickle were read
	cost   int64 // steps of calls beyond their instruction
	paid   int64 // the part of cost that is charged
	unpaid int64 // values made but not charged yet
	broke  error // a rule of a class had no memory
}

// payEvery is how many values or steps may be uncharged.
const payEvery = 64

// The steps that calls may take beyond their instructions, by bytes of the pickle so far.
// A call examines its arguments, and some copy elements; a pickler writes each element
// for one call, so honest files stay below 2 per byte.
const (
	costPerByte = 8
	freeCost    = 1024
)

// allowed is the cost that the bytes read so far explain.
func (a *account) allowed() int64 { return costPerByte*int64(*a.read) + freeCost }

// count counts one value, one entry of a dict or set, or one entry of the memo.
func (a *account) count() error {
	if a.unpaid++; a.unpaid < payEvery {
		return nil
	}
	return a.pay()
}

// pay charges values and steps of calls that are not charged yet.
func (a *account) pay() error {
	if err := a.b.Items(a.unpaid); err != nil {
		return err
	}
	a.unpaid = 0
	if a.cost > a.paid {
		if err := a.b.Step(a.cost - a.paid); err != nil {
			return err
		}
		a.paid = a.cost
	}
	return nil
}

// settle charges the steps of calls, and checks that they are in proportion to the size
// of the pickle.
func (a *account) settle() error {
	if a.broke != nil {
		return a.broke
	}
	if allowed := a.allowed(); a.cost > allowed {
		return &limits.Error{Axis: limits.StepCount, Want: a.cost, Left: allowed}
	}
	if a.cost < a.paid+payEvery {
		return nil
	}
	return a.pay()
}
