package limits

import "slices"

// sortedBy are the comparisons of a sort for one step.
const sortedBy = 4

// Sort sorts a list that a file sized: stable, in the order of cmp. It pays for the
// comparisons, and when the account has no more steps or time it stops comparing and
// returns why; then the order of the list is undefined.
func Sort[T any](b *Budget, list []T, cmp func(x, y T) int) error {
	steps, n := b.Steps(), 0
	var err error
	slices.SortStableFunc(list, func(x, y T) int {
		if n++; n%sortedBy == 0 && err == nil {
			err = steps.Step()
		}
		if err != nil {
			return 0 // all are equal from here on, so that little is left to do
		}
		return cmp(x, y)
	})
	return err
}
