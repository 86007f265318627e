package limits

// An Axis is one thing that a policy bounds.
type Axis uint8

// The axes, in the order in which [Budget.Usage] lists them.
const (
	SingleAlloc  Axis = iota // bytes of one buffer that a file asks for
	Total                    // bytes held on the word of a file
	Items                    // tensors, keys, members, JSON members, pickle values, strings
	InflateRatio             // inflated bytes per compressed byte
	ExpandRatio              // decoded tensor bytes per byte of source
	Depth                    // nesting
	StepCount                // steps of parsers and of the pickle machine
	WorkingSet               // live bytes of the pickle machine
	Time                     // wall clock
	axisCount
)

var axisNames = [axisCount]string{
	SingleAlloc:  "single_alloc",
	Total:        "total",
	Items:        "items",
	InflateRatio: "inflate_ratio",
	ExpandRatio:  "expand_ratio",
	Depth:        "depth",
	StepCount:    "steps",
	WorkingSet:   "working_set",
	Time:         "time",
}

// Axes lists every axis.
func Axes() []Axis {
	return []Axis{SingleAlloc, Total, Items, InflateRatio, ExpandRatio, Depth, StepCount, WorkingSet, Time}
}

// String returns the axis's name as JSON and messages spell it.
func (a Axis) String() string {
	if a >= axisCount {
		return "axis?"
	}
	return axisNames[a]
}
