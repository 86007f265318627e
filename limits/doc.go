// Package limits is the account that every other package charges.
//
// A [Policy] is a plain struct of ceilings; its zero value is the safe default
// of a server. [Policy.Budget] opens one mutable account for one operation.
// Everything that costs memory, items, depth or time on the word of a file is
// charged to that account before it is spent, and the first charge that does
// not fit ends the operation with an [*Error].
//
//	b := limits.Policy{}.Budget(ctx)
//	defer b.Close()
//	m, err := parser.Open(path, b)
//
// A host that serves many requests opens one account for itself and a child per
// request with [Budget.Child]. What the open children hold together (bytes and
// items) must fit the parent; steps, depth, ratios and the deadline belong to
// one operation and are asked of the child alone. [Budget.Close] returns all
// that the child holds, so a host's account never runs dry; closing the host
// ends its children.
//
// # Concurrent use
//
// A Budget is safe for concurrent use by many goroutines. A [Steps] is not: it
// belongs to one loop.
//
// # Limits
//
// Every axis has a finite default, listed at [Policy]. There is no way to ask
// for "unlimited" except for the deadline, which long conversions switch off.
package limits
