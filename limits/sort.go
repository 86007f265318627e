package limits

import "slices"

// sortedBy are the comparisons of a sort for one step.
const sortedBy = 4

// Sort sorts a list that a file sized: stable, in the order of cmp. It pays for the
// comparisons, and when the account has no more steps or time it stops comparing and
// returns why; then the order of the list is undefined.
func Sort[T any](b *Budget, list []T, cmp func(x, y T) int) error {
	p := paidOrder[T]{steps: b.Steps(), cmp: cmp}
	slices.SortStableFunc(list, p.compare)
	return p.err
}

// SortUnstable is [Sort] in less time, for lists in which no two are equal, or it does not
// matter which of them comes first.
func SortUnstable[T any](b *Budget, list []T, cmp func(x, y T) int) error {
	p := paidOrder[T]{steps: b.Steps(), cmp: cmp}
	slices.SortFunc(list, p.compare)
	return p.err
}

// A paidOrder pays for comparisons.
type paidOrder[T any] struct {
	steps Steps
	n     int
	err   error
	cmp   func(x, y T) int
}

func (p *paidOrder[T]) compare(x, y T) int {
	if p.n++; p.n%sortedBy == 0 && p.err == nil {
		p.err = p.steps.Step()
	}
	if p.err != nil {
		return 0 // all are equal from here on, so that little is left to do
	}
	return p.cmp(x, y)
}
