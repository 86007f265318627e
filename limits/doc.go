// Package limits is the account that every other package charges.
//
//	b := limits.Policy{}.Budget(ctx)
//	defer b.Close()
//	m, err := parser.Open(b, path)
//
// A [Policy] is a plain struct of ceilings; its zero value is the safe default of a
// server. [Policy.Budget] opens one account, a [Budget], for one operation. What costs
// memory, items, depth or time on the word of a file is charged to it before it is
// spent; the first charge that does not fit ends the operation with an [*Error].
//
// A host opens one account for itself and a child for each request, with
// [Budget.Child]: what the open children hold together must fit the parent.
//
// Policies are files of JSON: [ReadPolicy], [Policy.MarshalJSON]; [Profile] gives the
// named ones. Whoever writes a reader charges with [Make], [Grow], [Append], [Clone] and
// [String], and in its loops with [Steps].
//
// The bytes counted are those that a file asks for. The heap of Go may take about twice
// as much before it collects, and what the caller allocates is its own.
package limits

// # Charging
//
// Code that reads files allocates with Make, Grow, Append, Clone and String, which
// charge a Budget or the Workspace of one run. Where something else grows (a map, a
// structure), it charges with Budget.Alloc or Budget.Hold first; a buffer that is given
// back is a Budget.Lease. Counted things are Budget.Items, nesting is Budget.Enter and
// Budget.Leave, loops step with Steps.
//
// # Limits
//
// Every axis has a finite default, listed at Policy. There is no way to ask for
// "unlimited" except for the deadline, which long conversions switch off.
