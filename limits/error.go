package limits

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// ErrLimit is in the chain of every [*Error].
var ErrLimit = errors.New("limit reached")

// ErrPolicy is in the chain of every error about a policy itself: an invalid field, number
// or name.
var ErrPolicy = errors.New("policy")

// ErrClosed is returned for a charge to an account that has been closed.
var ErrClosed = errors.New("limits: account is closed")

// ErrNoAccount is returned for a charge to an account that was never opened: a nil *Budget,
// or the zero value of a type of this package.
var ErrNoAccount = errors.New("limits: there is no account: open one with Policy.Budget or Budget.Child")

// ErrAmount is in the chain of the errors about amounts that make no sense: a negative
// size, or more given back than is held.
var ErrAmount = errors.New("limits: impossible amount")

var errNoContext = errors.New("limits: the account was opened without a context: pass context.Background() if there is none")

// An Error says which limit was reached, how much was wanted and how much was left. On the
// Time axis both numbers are nanoseconds; on a ratio axis Want is the ratio that the file
// reached, rounded up, and Left the ratio allowed.
type Error struct {
	Axis Axis
	Want int64
	Left int64
}

func (e *Error) Error() string {
	if e.Want < 0 {
		return fmt.Sprintf("limit %v: %d wanted, which is negative", e.Axis, e.Want)
	}
	switch e.Axis {
	case Time:
		return "limit time: more than " + FormatTimeout(time.Duration(e.Left))
	case InflateRatio, ExpandRatio:
		return fmt.Sprintf("limit %v: the file reaches %d:1, allowed is %d:1", e.Axis, e.Want, e.Left)
	}
	if e.Axis < axisCount && axes[e.Axis].unit == bytes {
		return fmt.Sprintf("limit %v: it takes %d bytes, and %d are left", e.Axis, e.Want, e.Left)
	}
	return fmt.Sprintf("limit %v: it takes %d, and %d are left", e.Axis, e.Want, e.Left)
}

// Unwrap makes errors.Is(err, ErrLimit) true.
func (e *Error) Unwrap() error { return ErrLimit }

// Is makes the deadline [context.DeadlineExceeded] too, and a negative charge [ErrAmount].
func (e *Error) Is(target error) bool {
	return e.Axis == Time && target == context.DeadlineExceeded || e.Want < 0 && target == ErrAmount
}
