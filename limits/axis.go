package limits

// An Axis is one quantity that a policy bounds.
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
	OpenFiles                // files of models that are open at once
	Requests                 // requests to servers
	Fetched                  // bytes of their answers
	Time                     // wall clock
	axisCount
)

// A unit says how the numbers of an axis are written.
type unit uint8

const (
	count unit = iota // a plain number
	bytes             // "64MiB", or a number of bytes
	clock             // "60s", or "none"
)

// axes has the name of each axis in messages and its field in the policy's JSON.
var axes = [axisCount]struct {
	name, field string
	unit        unit
}{
	SingleAlloc:  {"single_alloc", "max_single_alloc", bytes},
	Total:        {"total", "max_total_bytes", bytes},
	Items:        {"items", "max_items", count},
	InflateRatio: {"inflate_ratio", "max_inflate_ratio", count},
	ExpandRatio:  {"expand_ratio", "max_expand_ratio", count},
	Depth:        {"depth", "max_depth", count},
	StepCount:    {"steps", "max_steps", count},
	WorkingSet:   {"working_set", "max_working_set", bytes},
	OpenFiles:    {"open_files", "max_open_files", count},
	Requests:     {"requests", "max_requests", count},
	Fetched:      {"fetched", "max_fetched", bytes},
	Time:         {"time", "timeout", clock},
}

// Axes lists every axis.
func Axes() []Axis {
	out := make([]Axis, axisCount)
	for i := range out {
		out[i] = Axis(i)
	}
	return out
}

// String returns the axis's name as JSON and messages spell it.
func (a Axis) String() string {
	if a >= axisCount {
		return "axis?"
	}
	return axes[a].name
}

// Field returns the axis's name in the JSON of a policy: "max_total_bytes".
func (a Axis) Field() string {
	if a >= axisCount {
		return ""
	}
	return axes[a].field
}
