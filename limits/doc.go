// Package limits bounds what an operation may cost; every other package charges it.
//
//	b := limits.Policy{}.Budget(ctx)
//	defer b.Close()
//	m, err := parser.Open(b, path)
//
// A [Policy] is a plain struct of limits; its zero value is the safe default of a
// server. [Policy.Budget] opens an account, a [Budget], for one operation. Memory,
// items, depth and time whose amount a file decides are charged before they are
// spent; the first charge that does not fit ends the operation with an [*Error].
//
// A host opens one account for itself and, with [Budget.Child], a child for each
// request. All open children together must fit the parent. Within an operation,
// [Budget.Holding] opens an account for what one object holds, such as an open model: it is
// returned with the object, while steps, ratios and the deadline stay the operation's.
//
// Policies are stored as JSON: [ReadPolicy], [Policy.MarshalJSON]. [Profile] returns the
// built-in ones. Code that reads files charges with [Make], [Grow], [Append], [Clone] and
// [String], and in its loops with [Steps].
//
// The bytes counted are those that a file asks for. The Go heap may take about twice as
// much between collections. Memory that the caller allocates itself is not counted.
package limits

// # Charging
//
// Code that reads files allocates with Make, Grow, Append, Clone and String, which
// charge a Budget or the Workspace of one run. Before anything else grows (a map, a
// structure), it charges with Budget.Alloc or Budget.Hold. A buffer that is returned
// later is a Budget.Lease. Items are charged with Budget.Items, nesting with
// Budget.Enter and Budget.Leave, iterations of loops with Steps.
//
// # Limits
//
// Every axis has a finite default, listed at Policy. There is no way to ask for
// "unlimited" except for the deadline, which long conversions switch off.
