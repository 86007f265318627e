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
//	m, err := parser.Open(b, path)
//
// A host that serves many requests opens one account for itself and a child per
// request with [Budget.Child]. What the open children hold together (bytes and
// items) must fit the parent; steps, depth, ratios and the deadline belong to
// one operation and are asked of the child alone. [Budget.Close] returns all
// that the child holds, so a host's account never runs dry; closing the host
// ends its children.
//
// Policies are written as JSON: [ReadPolicy] and [Policy.MarshalJSON]; [Profile]
// gives the named ones.
//
// # Charging
//
// Code that reads files allocates with [Make], [Grow], [Append], [Clone] and
// [String], which charge a [Budget] or the [Workspace] of one run. Where something else grows (a map, a structure), it charges with
// [Budget.Alloc] or [Budget.Hold] first; a buffer that is given back is a
// [Budget.Lease]. Counted things are [Budget.Items], nesting is [Budget.Enter]
// and [Budget.Leave], loops step with [Steps].
//
// # Concurrent use
//
// A Budget is safe for concurrent use by many goroutines. A [Steps] and a
// [Workspace] are not: each belongs to one loop.
//
// # Limits
//
// Every axis has a finite default, listed at [Policy]. There is no way to ask
// for "unlimited" except for the deadline, which long conversions switch off.
//
// # Not supported
//
// The bytes counted are those that a file asks for. The Go heap may take about
// twice as much before it collects, and what the caller allocates is its own.
package limits
