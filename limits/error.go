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

// An Error says which limit was reached, how much was wanted and how much was left. On the
// Time axis both numbers are nanoseconds; on a ratio axis Want is the ratio that the file
// reached, rounded up, and Left the ratio allowed.
type Error struct {
	Axis Axis
	Want int64
	Left int64
}

func (e *Error) Error() string {
	switch e.Axis {
	case Time:
		return "limit time: more than " + FormatTimeout(time.Duration(e.Left))
	case InflateRatio, ExpandRatio:
		return fmt.Sprintf("limit %v: the file reaches %d:1, allowed is %d:1", e.Axis, e.Want, e.Left)
	default:
		return fmt.Sprintf("limit %v: %d wanted, %d left", e.Axis, e.Want, e.Left)
	}
}

// Unwrap makes errors.Is(err, ErrLimit) true.
func (e *Error) Unwrap() error { return ErrLimit }

// Is makes the deadline [context.DeadlineExceeded] too.
func (e *Error) Is(target error) bool {
	return e.Axis == Time && target == context.DeadlineExceeded
}
