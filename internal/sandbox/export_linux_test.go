package sandbox

import "slices"

// LeaveOut locks without a part from now on.
func LeaveOut(part string) {
	parts = slices.DeleteFunc(slices.Clone(parts), func(p lockPart) bool { return p.name == part })
}
